// Simulated time, and when the run is over.
//
// Time moves by 1 ns a clock while the hardware is at work. When all that is in flight waits for its due time, the hosts are
// asked in the middle of the cycle when they next act, and time jumps at the next edge to whichever comes first: waiting costs
// nothing, and no cycle in which something happens is left out. Asking before the edge at which the host ports take requests
// keeps the answer free of races. `+every_cycle=1` leaves no cycle out.

module tb_timebase
  import pf_pkg::*;
  import emu_dpi_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  /// A request or completion is under way anywhere.
  input  logic        busy_i,
  /// Traffic engines have work left; a phase of theirs is over.
  input  logic        traffic_busy_i,
  input  logic        traffic_report_i,
  /// The hardware does nothing of its own before this time.
  input  time_ns_t    wake_ns_i,
  output time_ns_t    now_o,
  output logic        done_o,
  output logic [31:0] state_o
);

  time_ns_t    now_q;
  time_ns_t    drain_ns_max;
  time_ns_t    ended_ns_q;
  time_ns_t    wake_ns_q;
  logic        skip_q;
  int          every_cycle;
  logic        ended_q;
  logic        done_q;
  logic [31:0] state_q;

  logic        ending;

  assign ending = state_q != 0 && !traffic_busy_i && !ended_q && (!busy_i || now_q > ended_ns_q + drain_ns_max);
  assign now_o = now_q;
  assign done_o = done_q;
  assign state_o = state_q;

  always_ff @(negedge clk_i) begin
    skip_q <= 1'b0;
    if (rst_ni && wake_ns_i > now_q && (state_q == 0 || traffic_busy_i) && every_cycle == 0) begin
      automatic time_ns_t wake_ns = earlier(emu_next_wake(now_q), wake_ns_i);
      void'(emu_tick(now_q));
      skip_q <= wake_ns > now_q + 1 && wake_ns != '1;
      wake_ns_q <= wake_ns;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now_q <= 64'd1;
      state_q <= '0;
      done_q <= 1'b0;
      ended_q <= 1'b0;
      ended_ns_q <= '0;
    end else begin
      automatic int state = emu_tick(now_q);
      now_q <= skip_q ? wake_ns_q : now_q + 1;
      state_q <= state;
      if (state != 0 && (state_q == 0 || traffic_busy_i)) ended_ns_q <= now_q;
      check_pkg::reporting <= 1'b0;
      if (traffic_report_i || ending) begin
        emu_counters_begin();
        emu_counter("time_ns", 0, 0, longint'(now_q));
        check_pkg::reporting <= 1'b1;
      end
      if (ending) ended_q <= 1'b1;
      done_q <= ended_q;
    end
  end

  initial begin
    automatic int probes = 1;
    void'($value$plusargs("probes=%d", probes));
    probes_off = probes == 0;
    drain_ns_max = 64'd100_000;
    void'($value$plusargs("drain_ns_max=%d", drain_ns_max));
    every_cycle = 0;
    void'($value$plusargs("every_cycle=%d", every_cycle));
  end

endmodule
