// Stage probes between the heads and the memory of a Type-3 device: no wire lies there, so nothing is serialized or flies.

module probe_direct
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Heads = 4
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input time_ns_t              now_i,
  input logic [Heads-1:0][0:0] req_fire_i,
  input req_hdr_t              req_hdr_i[Heads][1],
  input logic [0:0][Heads-1:0] rsp_fire_i,
  input rsp_hdr_t              rsp_hdr_i[1][Heads]
);

  always_ff @(posedge clk_i) begin
    if (rst_ni && (req_fire_i != '0 || rsp_fire_i != '0)) begin
      for (int unsigned h = 0; h < Heads; h++) begin
        if (req_fire_i[h][0]) begin
          emu_probe(now_i, StagePathTx, h, 32'(req_hdr_i[h][0].tag), 0);
          emu_probe(now_i, StageFlight, h, 32'(req_hdr_i[h][0].tag), 0);
        end
        if (rsp_fire_i[0][h]) begin
          emu_probe(now_i, StageRspTx, h, 32'(rsp_hdr_i[0][h].tag), 0);
          emu_probe(now_i, StageRspFlight, h, 32'(rsp_hdr_i[0][h].tag), 0);
        end
      end
    end
  end

endmodule

bind type3_top probe_direct #(
  .Heads(Heads)
) u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .req_fire_i(req_tx_valid & req_tx_ready),
  .req_hdr_i (req_tx_hdr),
  .rsp_fire_i(rsp_tx_valid & rsp_tx_ready),
  .rsp_hdr_i (rsp_tx_hdr)
);
