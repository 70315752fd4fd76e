// Lightpaths: credits are conserved (in use = in the ring + on their way back), never more than granted, and no ring overflows.

module check_path
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4,
  parameter int unsigned Depth = 128
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input time_ns_t                      now_i,
  input logic [$clog2(Depth):0]        credits_i,
  input logic [Hosts-1:0][Modules-1:0] tx_fire_i,
  input logic [Hosts-1:0][Modules-1:0] rx_fire_i,
  input logic [$clog2(Depth):0]        wr_i       [Hosts*Modules],
  input logic [$clog2(Depth):0]        rd_i       [Hosts*Modules],
  input logic [$clog2(Depth):0]        credit_wr_i[Hosts*Modules],
  input logic [$clog2(Depth):0]        credit_rd_i[Hosts*Modules],
  input logic [$clog2(Depth):0]        held_i     [Hosts*Modules]
);

  typedef logic [$clog2(Depth):0] count_t;

  longint unsigned inject_ns;
  bit inject_credit, inject_overflow;

  function automatic void check(int unsigned h, int unsigned m, count_t ring, count_t returning, count_t held);
    if (32'(ring) > Depth)
      $fatal(1, "%m: t=%0d ns: host %0d module %0d: %0d frames in a ring of %0d", now_i, h, m, ring, Depth);
    if (held != ring + returning || held > credits_i)
      $fatal(1, "%m: t=%0d: host %0d module %0d: %0d credits in use, not %0d in the ring + %0d returning, or over %0d",
             now_i, h, m, held, ring, returning, credits_i);
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        if ((tx_fire_i[h] | rx_fire_i[h]) != '0) begin
          for (int unsigned m = 0; m < Modules; m++) begin
            automatic int unsigned l = h * Modules + m;
            if (tx_fire_i[h][m] || rx_fire_i[h][m]) begin
              check(h, m, wr_i[l] - rd_i[l] + (inject_overflow && now_i >= inject_ns ? count_t'(Depth + 1) : '0),
                    credit_wr_i[l] - credit_rd_i[l], held_i[l] + count_t'(inject_credit && now_i >= inject_ns));
            end
          end
        end
      end
      if (check_pkg::stuck) begin
        for (int unsigned l = 0; l < Hosts * Modules; l++) begin
          if (held_i[l] != 0) begin
            $display("%m: host %0d module %0d: %0d of %0d credits in use, %0d frames in flight or received",
                     l / Modules, l % Modules, held_i[l], credits_i, wr_i[l] - rd_i[l]);
          end
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject_credit = check_pkg::injected() == "credit";
    inject_overflow = check_pkg::injected() == "overflow";
  end

endmodule

bind lightpath_array check_path #(
  .Hosts  (Hosts),
  .Modules(Modules),
  .Depth  (Depth)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .credits_i,
  .tx_fire_i  (tx_fire),
  .rx_fire_i  (rx_fire),
  .wr_i       (wr_q),
  .rd_i       (rd_q),
  .credit_wr_i(credit_wr_q),
  .credit_rd_i(credit_rd_q),
  .held_i     (held_q)
);
