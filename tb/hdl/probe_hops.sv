// Stage probes of the electrical switch: serialization into the first hop starts, last byte has left; requests and responses.

module probe_hops
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input time_ns_t                      now_i,
  input logic [Hosts-1:0][Modules-1:0] req_fire_i,
  input req_hdr_t                      req_hdr_i    [Hosts][Modules],
  input time_ns_t                      req_last_ns_i[Hosts][Modules],
  input logic [Modules-1:0][Hosts-1:0] rsp_fire_i,
  input rsp_hdr_t                      rsp_hdr_i    [Modules][Hosts],
  input time_ns_t                      rsp_last_ns_i[Modules][Hosts]
);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        if (req_fire_i[h] != '0) begin
          for (int unsigned m = 0; m < Modules; m++) begin
            if (req_fire_i[h][m]) begin
              emu_probe(now_i, StagePathTx, h, 32'(req_hdr_i[h][m].tag), 0);
              emu_probe(req_last_ns_i[h][m], StageFlight, h, 32'(req_hdr_i[h][m].tag), 0);
            end
          end
        end
      end
      for (int unsigned m = 0; m < Modules; m++) begin
        if (rsp_fire_i[m] != '0) begin
          for (int unsigned h = 0; h < Hosts; h++) begin
            if (rsp_fire_i[m][h]) begin
              emu_probe(now_i, StageRspTx, h, 32'(rsp_hdr_i[m][h].tag), 0);
              emu_probe(rsp_last_ns_i[m][h], StageRspFlight, h, 32'(rsp_hdr_i[m][h].tag), 0);
            end
          end
        end
      end
    end
  end

endmodule

bind switch_top probe_hops #(
  .Hosts  (Hosts),
  .Modules(Devices)
) u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .req_fire_i   (u_requests.tx_fire),
  .req_hdr_i    (req_tx_hdr),
  .req_last_ns_i(u_requests.tx_last_ns),
  .rsp_fire_i   (u_responses.tx_fire),
  .rsp_hdr_i    (rsp_tx_hdr),
  .rsp_last_ns_i(u_responses.tx_last_ns)
);
