// Liveness at the host ports: while requests are out, some completion comes within `+live_ns_max=N` (default 100,000).
//
// When it does not, or when the NIC finds a transaction that is older, all checkers print queue depths and credits, and the
// run ends.

module check_live
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 4
) (
  input logic        clk_i,
  input logic        rst_ni,
  input time_ns_t    now_i,
  input logic [31:0] outstanding_i[Hosts],
  input time_ns_t    progress_ns_i[Hosts]
);

  time_ns_t live_ns_max;
  bit       told_q;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        if (outstanding_i[h] != 0 && now_i > progress_ns_i[h] + live_ns_max) check_pkg::stuck <= 1'b1;
      end
      if (check_pkg::stuck) begin
        told_q <= 1'b1;
        if (!told_q) begin
          for (int unsigned h = 0; h < Hosts; h++)
            $display("%m: host %0d: %0d requests out, last completion at %0d ns", h, outstanding_i[h],
                     progress_ns_i[h]);
        end else begin
          $fatal(1, "%m: t=%0d ns: no progress for more than %0d ns; the state of queues and credits is above", now_i,
                 live_ns_max);
        end
      end
    end
  end

  initial begin
    live_ns_max = 64'd100_000;
    void'($value$plusargs("live_ns_max=%d", live_ns_max));
  end

endmodule
