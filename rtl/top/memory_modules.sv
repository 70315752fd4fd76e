// Memory side of every top: the memory modules, each with a port for every host.
//
// Each port has its requests and responses of its own; how they come here and go back is the tops' business. The media of
// each module and port leave here.

module memory_modules
  import pf_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Ports = 4,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned HbmBanks = 32,
  parameter int unsigned HbmSets = 4096,
  parameter int unsigned HbmWays = 8,
  parameter int unsigned HbmSectorLines = 32,
  parameter int unsigned DdrChannels = 8,
  parameter int unsigned DdrBanks = 64
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  mem_straps_t                   straps_i,
  // Requests, by module and port
  input  logic [Modules-1:0][Ports-1:0] rx_valid_i,
  output logic [Modules-1:0][Ports-1:0] rx_ready_o,
  input  req_hdr_t                      rx_hdr_i       [Modules][Ports],
  input  wline_t                        rx_line_i      [Modules][Ports],
  input  time_ns_t                      rx_since_ns_i  [Modules][Ports],
  // Responses, by module and port
  output logic [Modules-1:0][Ports-1:0] tx_valid_o,
  output logic [Modules-1:0][Ports-1:0] tx_has_data_o,
  input  logic [Modules-1:0][Ports-1:0] tx_ready_i,
  output rsp_hdr_t                      tx_hdr_o       [Modules][Ports],
  output data_t                         tx_data_o      [Modules][Ports],
  // Media; read data one cycle after the request, writes of a cycle before its reads
  output logic [Modules-1:0][Ports-1:0] media_rd_valid_o,
  output req_hdr_t                      media_rd_hdr_o [Modules][Ports],
  input  data_t                         media_rd_data_i[Modules][Ports],
  output logic [Modules-1:0][Ports-1:0] media_wr_valid_o,
  output req_hdr_t                      media_wr_hdr_o [Modules][Ports],
  output wline_t                        media_wr_line_o[Modules][Ports],
  /// Nothing happens inside before this time unless something comes in; all ones when all is idle.
  output time_ns_t                      wake_ns_o
);

  time_ns_t mem_wake_ns[Modules];

  always_comb begin
    wake_ns_o = '1;
    for (int unsigned m = 0; m < Modules; m++) wake_ns_o = earlier(wake_ns_o, mem_wake_ns[m]);
  end

  for (genvar m = 0; m < Modules; m++) begin : gen_module
    pf_mem #(
      .Ports         (Ports),
      .HbmChannels   (HbmChannels),
      .HbmBanks      (HbmBanks),
      .HbmSets       (HbmSets),
      .HbmWays       (HbmWays),
      .HbmSectorLines(HbmSectorLines),
      .DdrChannels   (DdrChannels),
      .DdrBanks      (DdrBanks)
    ) u_mem (
      .clk_i,
      .rst_ni,
      .now_i,
      .id_i            (4'(m)),
      .straps_i,
      .rx_valid_i      (rx_valid_i[m]),
      .rx_ready_o      (rx_ready_o[m]),
      .rx_hdr_i        (rx_hdr_i[m]),
      .rx_line_i       (rx_line_i[m]),
      .rx_since_ns_i   (rx_since_ns_i[m]),
      .tx_valid_o      (tx_valid_o[m]),
      .tx_has_data_o   (tx_has_data_o[m]),
      .tx_ready_i      (tx_ready_i[m]),
      .tx_hdr_o        (tx_hdr_o[m]),
      .tx_data_o       (tx_data_o[m]),
      .media_rd_valid_o(media_rd_valid_o[m]),
      .media_rd_hdr_o  (media_rd_hdr_o[m]),
      .media_rd_data_i (media_rd_data_i[m]),
      .media_wr_valid_o(media_wr_valid_o[m]),
      .media_wr_hdr_o  (media_wr_hdr_o[m]),
      .media_wr_line_o (media_wr_line_o[m]),
      .wake_ns_o       (mem_wake_ns[m])
    );
  end

endmodule
