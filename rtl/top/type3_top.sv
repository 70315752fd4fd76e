// Multi-headed Type-3 device: each head has its CXL link, its HDM decoders and its tags; all heads share one memory.
//
// The heads meet in the memory module, whose arbitration serves them in turn; a queue a head lies between, in which a message
// spends the port time of the memory. There is no other fabric: what one head has written and had completed, every head reads.
// The ports are those of the other tops, with one module.

module type3_top
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter  int unsigned Heads = 4,
  parameter  int unsigned NicTags = 2048,
  parameter  int unsigned PathQueueDepth = 2048,
  parameter  int unsigned HbmChannels = 64,
  parameter  int unsigned HbmBanks = 16,
  parameter  int unsigned HbmSets = 4096,
  parameter  int unsigned HbmWays = 8,
  parameter  int unsigned HbmSectorLines = 32,
  parameter  int unsigned DdrChannels = 8,
  parameter  int unsigned DdrBanks = 32,
  localparam int unsigned Modules = 1,
  localparam int unsigned HeadQueueDepth = 256  // messages between a head and the memory: its port time at full rate
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  pf_straps_t                    straps_i,
  input  hdm_decoder_t [Decoders-1:0]   decoders_i[Heads],
  // CXL links, by host and direction (0 to the adapter, 1 to the host): what befalls the next flit; a flit starts
  input  link_fault_t                   cxl_fault_i[Heads][2],
  output logic [Heads-1:0][1:0]         cxl_start_o,
  /// The device behind the adapter is in viral state.
  input  logic [Heads-1:0]              viral_i,
  output cxl_status_t                   cxl_status_o[Heads],
  // CXL.mem, by head
  input  logic [Heads-1:0][Lanes-1:0]   req_valid_i,
  output logic [Heads-1:0][Lanes-1:0]   req_ready_o,
  input  m2s_req_t                      req_i     [Heads][Lanes],
  input  logic [Heads-1:0][Lanes-1:0]   rwd_valid_i,
  output logic [Heads-1:0][Lanes-1:0]   rwd_ready_o,
  input  m2s_rwd_t                      rwd_i     [Heads][Lanes],
  input  wline_t                        rwd_line_i[Heads][Lanes],
  output logic [Heads-1:0][Lanes-1:0]   ndr_valid_o,
  input  logic [Heads-1:0][Lanes-1:0]   ndr_ready_i,
  output s2m_ndr_t                      ndr_o     [Heads][Lanes],
  output logic [Heads-1:0][Lanes-1:0]   drs_valid_o,
  input  logic [Heads-1:0][Lanes-1:0]   drs_ready_i,
  output s2m_drs_t                      drs_o     [Heads][Lanes],
  output data_t                         drs_data_o[Heads][Lanes],
  // Media, by port; read data one cycle after the request, writes of a cycle before its reads
  output logic [Modules-1:0][Heads-1:0] media_rd_valid_o,
  output req_hdr_t                      media_rd_hdr_o [Modules][Heads],
  input  data_t                         media_rd_data_i[Modules][Heads],
  output logic [Modules-1:0][Heads-1:0] media_wr_valid_o,
  output req_hdr_t                      media_wr_hdr_o [Modules][Heads],
  output wline_t                        media_wr_line_o[Modules][Heads],
  // Status, by head
  output logic [31:0]                   nxm_count_o    [Heads],
  output logic [$clog2(NicTags):0]      tags_used_o    [Heads],
  /// Nothing happens inside before this time unless something comes in; all ones when all is idle.
  output time_ns_t                      wake_ns_o
);

  time_ns_t host_wake_ns, mem_wake_ns;
  time_ns_t queue_wake_ns[Heads];
  delay_ns_t port_ns;

  // A queue needs 2 ns; what is due sooner comes then.
  assign port_ns = straps_i.mem.port_ns > 2 ? straps_i.mem.port_ns : delay_ns_t'(2);

  always_comb begin
    wake_ns_o = earlier(host_wake_ns, mem_wake_ns);
    for (int unsigned h = 0; h < Heads; h++) wake_ns_o = earlier(wake_ns_o, queue_wake_ns[h]);
  end

  // By head
  logic [Heads-1:0][Modules-1:0] req_tx_valid, req_tx_ready, unused_req_tx_has_data;
  logic [Heads-1:0][Modules-1:0] rsp_rx_valid, rsp_rx_has_data, rsp_rx_ready;
  req_hdr_t req_tx_hdr [Heads][Modules];
  wline_t   req_tx_line[Heads][Modules];
  rsp_hdr_t rsp_rx_hdr [Heads][Modules];
  data_t    rsp_rx_data[Heads][Modules];

  // By port of the memory
  logic [Modules-1:0][Heads-1:0] req_rx_valid, req_rx_ready;
  logic [Modules-1:0][Heads-1:0] rsp_tx_valid, rsp_tx_has_data, rsp_tx_ready;
  req_hdr_t req_rx_hdr     [Modules][Heads];
  wline_t   req_rx_line    [Modules][Heads];
  time_ns_t req_rx_since_ns[Modules][Heads];
  rsp_hdr_t rsp_tx_hdr     [Modules][Heads];
  data_t    rsp_tx_data    [Modules][Heads];

  logic [Heads-1:0][Modules-1:0] unused_path_dead;

  host_adapters #(
    .Hosts         (Heads),
    .Modules       (Modules),
    .NicTags       (NicTags),
    .PathQueueDepth(PathQueueDepth)
  ) u_hosts (
    .clk_i,
    .rst_ni,
    .now_i,
    .cxl_straps_i (straps_i.cxl),
    .nic_straps_i (straps_i.nic),
    .decoders_i,
    .cxl_fault_i,
    .cxl_start_o,
    .viral_i,
    .cxl_status_o,
    .req_valid_i,
    .req_ready_o,
    .req_i,
    .rwd_valid_i,
    .rwd_ready_o,
    .rwd_i,
    .rwd_line_i,
    .ndr_valid_o,
    .ndr_ready_i,
    .ndr_o,
    .drs_valid_o,
    .drs_ready_i,
    .drs_o,
    .drs_data_o,
    .tx_valid_o   (req_tx_valid),
    .tx_has_data_o(unused_req_tx_has_data),
    .tx_ready_i   (req_tx_ready),
    .tx_hdr_o     (req_tx_hdr),
    .tx_line_o    (req_tx_line),
    .rx_valid_i   (rsp_rx_valid),
    .rx_has_data_i(rsp_rx_has_data),
    .rx_ready_o   (rsp_rx_ready),
    .rx_hdr_i     (rsp_rx_hdr),
    .rx_data_i    (rsp_rx_data),
    .link_dead_i  ('0),
    .path_dead_o  (unused_path_dead),
    .nxm_count_o,
    .tags_used_o,
    .wake_ns_o    (host_wake_ns)
  );

  for (genvar h = 0; h < Heads; h++) begin : gen_head
    // The line comes first, at bit 0, so that it is copied as whole words.
    pf_due_ring #(
      .Width($bits(time_ns_t) + $bits(req_hdr_t) + $bits(wline_t)),
      .Depth(HeadQueueDepth)
    ) u_queue (
      .clk_i,
      .rst_ni,
      .now_i,
      .push_i   (req_tx_valid[h][0] && req_tx_ready[h][0]),
      .due_i    (now_i + time_ns_t'(port_ns)),
      .data_i   ({now_i, req_tx_hdr[h][0], req_tx_line[h][0]}),
      .room_o   (req_tx_ready[h][0]),
      .valid_o  (req_rx_valid[0][h]),
      .data_o   ({req_rx_since_ns[0][h], req_rx_hdr[0][h], req_rx_line[0][h]}),
      .pop_i    (req_rx_valid[0][h] && req_rx_ready[0][h]),
      .wake_ns_o(queue_wake_ns[h])
    );

    assign rsp_rx_valid[h][0] = rsp_tx_valid[0][h];
    assign rsp_rx_has_data[h][0] = rsp_tx_has_data[0][h];
    assign rsp_rx_hdr[h][0] = rsp_tx_hdr[0][h];
    assign rsp_rx_data[h][0] = rsp_tx_data[0][h];
    assign rsp_tx_ready[0][h] = rsp_rx_ready[h][0];
  end

  memory_modules #(
    .Modules       (Modules),
    .Ports         (Heads),
    .HbmChannels   (HbmChannels),
    .HbmBanks      (HbmBanks),
    .HbmSets       (HbmSets),
    .HbmWays       (HbmWays),
    .HbmSectorLines(HbmSectorLines),
    .DdrChannels   (DdrChannels),
    .DdrBanks      (DdrBanks)
  ) u_modules (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i     (straps_i.mem),
    .rx_valid_i   (req_rx_valid),
    .rx_ready_o   (req_rx_ready),
    .rx_hdr_i     (req_rx_hdr),
    .rx_line_i    (req_rx_line),
    .rx_since_ns_i(req_rx_since_ns),
    .tx_valid_o   (rsp_tx_valid),
    .tx_has_data_o(rsp_tx_has_data),
    .tx_ready_i   (rsp_tx_ready),
    .tx_hdr_o     (rsp_tx_hdr),
    .tx_data_o    (rsp_tx_data),
    .media_rd_valid_o,
    .media_rd_hdr_o,
    .media_rd_data_i,
    .media_wr_valid_o,
    .media_wr_hdr_o,
    .media_wr_line_o,
    .wake_ns_o    (mem_wake_ns)
  );

  initial begin
    if (Heads < 1 || Heads > 16) $fatal(1, "%m: Heads %0d is outside 1..16", Heads);
  end

endmodule
