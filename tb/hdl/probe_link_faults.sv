// Counters of the fault injectors: frames hit by a bit error, frames lost, and links that were dark, by group and link.

module probe_link_faults
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Links = 4,
  parameter int unsigned GroupId = 0
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             down_i,
  input logic [Links-1:0] chosen_i,
  input logic [Links-1:0] dark_i,
  input longint           hits_i [Links],
  input longint           drops_i[Links]
);

  // Links that have been dark.
  logic [Links-1:0] outages_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      outages_q <= '0;
    end else begin
      if (down_i || dark_i != '0) outages_q <= outages_q | dark_i | (down_i ? chosen_i : '0);
      if (check_pkg::reporting) begin
        for (int unsigned l = 0; l < Links; l++) begin
          if (hits_i[l] != 0) emu_counter("fault_hits", GroupId, l, hits_i[l]);
          if (drops_i[l] != 0) emu_counter("fault_drops", GroupId, l, drops_i[l]);
          if (outages_q[l]) emu_counter("fault_outages", GroupId, l, 1);
        end
      end
    end
  end

endmodule

bind link_faults probe_link_faults #(
  .Links  (Links),
  .GroupId(GroupId)
) u_probe (
  .clk_i,
  .rst_ni,
  .down_i  (down),
  .chosen_i(down_chosen),
  .dark_i,
  .hits_i  (hits_q),
  .drops_i (drops_q)
);
