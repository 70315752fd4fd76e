// Statistics of a traffic engine: lines, requests and bytes in the counted window, latencies, lines in flight.
//
// The window opens when the engine is warm and closes when it has issued its last request, so it holds neither ramp nor drain.
// Latencies of requests go into a histogram of 1 ns bins, by host here and by module in traffic_pkg. The integral of the lines in
// flight is kept for Little's law: lines in flight = rate x latency.

module traffic_stats
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
  import traffic_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input time_ns_t    now_i,
  input logic [3:0]  id_i,
  input logic        load_i,
  input logic        counting_i,
  input logic [31:0] in_flight_i,
  /// Useful bytes of a request; requests that share a line.
  input logic [31:0] useful_bytes_i,
  input logic [31:0] requests_a_line_i,
  input logic        some_i,
  input done_line_t  done_i[2*Lanes]
);

  // Index: 0 reads, 1 writes; {is_write, module}; {is_write, ns}
  longint      requests_q[2];
  longint      line_ns_q [2];
  int unsigned max_ns_q  [2];
  longint      lines_q   [2*ModulesMax];
  longint      path_ns_q [2*ModulesMax];
  int unsigned hist_q    [2*Bins];
  longint      in_flight_ns_q;
  time_ns_t    open_ns_q, close_ns_q, prev_ns_q;
  logic        was_counting_q;
  bit          told_q;  // the phase has been reported

  task automatic clear();
    for (int unsigned i = 0; i < 2; i++) begin
      requests_q[i] = 0;
      line_ns_q[i] = 0;
      max_ns_q[i] = 0;
    end
    for (int unsigned i = 0; i < 2 * ModulesMax; i++) begin
      lines_q[i] = 0;
      path_ns_q[i] = 0;
    end
    for (int unsigned i = 0; i < 2 * Bins; i++) hist_q[i] = 0;
    in_flight_ns_q = 0;
    open_ns_q = '0;
    close_ns_q = '0;
    told_q = 1'b0;
  endtask

  task automatic add(done_line_t done);
    int unsigned bin = done.request_ns < Bins - 1 ? done.request_ns : Bins - 1;
    lines_q[{done.is_write, done.module_id}] += 1;
    path_ns_q[{done.is_write, done.module_id}] += longint'(done.line_ns);
    line_ns_q[done.is_write] += longint'(done.line_ns);
    if (done.last) begin
      requests_q[done.is_write] += longint'(requests_a_line_i);
      hist_q[32'(done.is_write)*Bins+bin] += 1;
      module_hist[32'({done.module_id, done.is_write})*Bins+bin] += 1;
      if (done.request_ns > max_ns_q[done.is_write]) max_ns_q[done.is_write] = done.request_ns;
    end
  endtask

  task automatic report();
    emu_counter("engine_window_ns", 32'(id_i), 0, longint'(open_ns_q));
    emu_counter("engine_window_ns", 32'(id_i), 1, longint'(close_ns_q));
    emu_counter("engine_in_flight_ns", 32'(id_i), 0, in_flight_ns_q);
    for (int unsigned w = 0; w < 2; w++) begin
      emu_counter("engine_requests", 32'(id_i), w, requests_q[w]);
      emu_counter("engine_useful_bytes", 32'(id_i), w, requests_q[w] * longint'(useful_bytes_i));
      emu_counter("engine_line_ns", 32'(id_i), w, line_ns_q[w]);
      emu_counter("engine_max_ns", 32'(id_i), w, longint'(max_ns_q[w]));
      for (int unsigned m = 0; m < ModulesMax; m++) begin
        if (lines_q[w*ModulesMax+m] != 0) begin
          emu_counter(w == 0 ? "engine_read_lines" : "engine_write_lines", 32'(id_i), m, lines_q[w*ModulesMax+m]);
          emu_counter(w == 0 ? "engine_read_path_ns" : "engine_write_path_ns", 32'(id_i), m, path_ns_q[w*ModulesMax+m]);
        end
      end
      for (int unsigned i = 0; i < Bins; i++) begin
        if (hist_q[w*Bins+i] != 0)
          emu_counter(w == 0 ? "engine_read_ns" : "engine_write_ns", 32'(id_i), i, longint'(hist_q[w*Bins+i]));
      end
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (load_i) begin
        clear();
      end else begin
        if (counting_i) in_flight_ns_q += longint'(in_flight_i) * longint'(now_i - prev_ns_q);
        if (counting_i && !was_counting_q) open_ns_q = prev_ns_q;
        if (!counting_i && was_counting_q) close_ns_q = prev_ns_q;
        if (some_i) begin
          for (int unsigned i = 0; i < 2 * Lanes; i++) begin
            if (done_i[i].valid) add(done_i[i]);
          end
        end
      end
      was_counting_q <= counting_i;
      prev_ns_q <= now_i;
      if (check_pkg::reporting && !told_q) begin
        report();
        told_q = 1'b1;
      end
    end
  end

  initial told_q = 1'b1;

endmodule
