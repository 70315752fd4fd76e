// The photonic appliance: a NIC for each host, the mesh of lightpaths with its fibre shuffles, and the memory modules.
//
// Each host's CXL.mem port and each module's media leave here; what drives them is the bench's business. type3_top and
// switch_top have the same ports: the fabric between adapters and modules is all that differs.

module pf_appliance_top
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4,
  parameter int unsigned NicTags = 2048,
  parameter int unsigned PathQueueDepth = 2048,
  parameter int unsigned PathReach = 0,
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
  input  pf_straps_t                    straps_i,
  input  hdm_decoder_t [Decoders-1:0]   decoders_i[Hosts],
  // CXL links, by host and direction (0 to the NIC, 1 to the host): what befalls the next flit; a flit starts
  input  link_fault_t                   cxl_fault_i[Hosts][2],
  output logic [Hosts-1:0][1:0]         cxl_start_o,
  /// The device behind the adapter is in viral state.
  input  logic [Hosts-1:0]              viral_i,
  output cxl_status_t                   cxl_status_o[Hosts],
  // Fault hooks of the lightpaths, requests by host and responses by module; frames that start in this cycle, and their bits
  input  link_fault_t                   req_fault_i     [Hosts][Modules],
  input  link_fault_t                   rsp_fault_i     [Modules][Hosts],
  output logic [Hosts-1:0][Modules-1:0] req_start_o,
  output logic [15:0]                   req_start_bits_o[Hosts][Modules],
  output logic [Modules-1:0][Hosts-1:0] rsp_start_o,
  output logic [15:0]                   rsp_start_bits_o[Modules][Hosts],
  // CXL.mem, by host
  input  logic [Hosts-1:0][Lanes-1:0]   req_valid_i,
  output logic [Hosts-1:0][Lanes-1:0]   req_ready_o,
  input  m2s_req_t                      req_i     [Hosts][Lanes],
  input  logic [Hosts-1:0][Lanes-1:0]   rwd_valid_i,
  output logic [Hosts-1:0][Lanes-1:0]   rwd_ready_o,
  input  m2s_rwd_t                      rwd_i     [Hosts][Lanes],
  input  wline_t                        rwd_line_i[Hosts][Lanes],
  output logic [Hosts-1:0][Lanes-1:0]   ndr_valid_o,
  input  logic [Hosts-1:0][Lanes-1:0]   ndr_ready_i,
  output s2m_ndr_t                      ndr_o     [Hosts][Lanes],
  output logic [Hosts-1:0][Lanes-1:0]   drs_valid_o,
  input  logic [Hosts-1:0][Lanes-1:0]   drs_ready_i,
  output s2m_drs_t                      drs_o     [Hosts][Lanes],
  output data_t                         drs_data_o[Hosts][Lanes],
  // Media, by module and port; read data one cycle after the request, writes of a cycle before its reads
  output logic [Modules-1:0][Hosts-1:0] media_rd_valid_o,
  output req_hdr_t                      media_rd_hdr_o [Modules][Hosts],
  input  data_t                         media_rd_data_i[Modules][Hosts],
  output logic [Modules-1:0][Hosts-1:0] media_wr_valid_o,
  output req_hdr_t                      media_wr_hdr_o [Modules][Hosts],
  output wline_t                        media_wr_line_o[Modules][Hosts],
  // Status, by host
  output logic [31:0]                   nxm_count_o    [Hosts],
  output logic [$clog2(NicTags):0]      tags_used_o    [Hosts],
  /// Nothing happens inside before this time unless something comes in; all ones when all is idle.
  output time_ns_t                      wake_ns_o
);

  time_ns_t host_wake_ns, path_wake_ns, mem_wake_ns;

  assign wake_ns_o = earlier(path_wake_ns, earlier(host_wake_ns, mem_wake_ns));

  // NIC order
  logic [Hosts-1:0][Modules-1:0] req_tx_valid, req_tx_has_data, req_tx_ready;
  logic [Hosts-1:0][Modules-1:0] rsp_rx_valid, rsp_rx_has_data, rsp_rx_ready;
  req_hdr_t req_tx_hdr[Hosts][Modules];
  wline_t   req_tx_line[Hosts][Modules];
  rsp_hdr_t rsp_rx_hdr[Hosts][Modules];
  data_t    rsp_rx_data[Hosts][Modules];

  // Module order
  logic [Modules-1:0][Hosts-1:0] req_rx_valid, req_rx_ready;
  logic [Modules-1:0][Hosts-1:0] rsp_tx_valid, rsp_tx_has_data, rsp_tx_ready;
  req_hdr_t req_rx_hdr[Modules][Hosts];
  wline_t   req_rx_line[Modules][Hosts];
  time_ns_t req_rx_since_ns[Modules][Hosts];
  rsp_hdr_t rsp_tx_hdr[Modules][Hosts];
  data_t    rsp_tx_data[Modules][Hosts];

  logic [Hosts-1:0][Modules-1:0] link_dead, path_dead;

  host_adapters #(
    .Hosts         (Hosts),
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
    .tx_has_data_o(req_tx_has_data),
    .tx_ready_i   (req_tx_ready),
    .tx_hdr_o     (req_tx_hdr),
    .tx_line_o    (req_tx_line),
    .rx_valid_i   (rsp_rx_valid),
    .rx_has_data_i(rsp_rx_has_data),
    .rx_ready_o   (rsp_rx_ready),
    .rx_hdr_i     (rsp_rx_hdr),
    .rx_data_i    (rsp_rx_data),
    .link_dead_i  (link_dead),
    .path_dead_o  (path_dead),
    .nxm_count_o,
    .tags_used_o,
    .wake_ns_o    (host_wake_ns)
  );

  lightpaths #(
    .Hosts  (Hosts),
    .Modules(Modules),
    .Reach  (PathReach)
  ) u_paths (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i         (straps_i.path),
    .req_tx_valid_i   (req_tx_valid),
    .req_tx_has_data_i(req_tx_has_data),
    .req_tx_ready_o   (req_tx_ready),
    .req_tx_hdr_i     (req_tx_hdr),
    .req_tx_line_i    (req_tx_line),
    .rsp_rx_valid_o   (rsp_rx_valid),
    .rsp_rx_has_data_o(rsp_rx_has_data),
    .rsp_rx_ready_i   (rsp_rx_ready),
    .rsp_rx_hdr_o     (rsp_rx_hdr),
    .rsp_rx_data_o    (rsp_rx_data),
    .req_rx_valid_o   (req_rx_valid),
    .req_rx_ready_i   (req_rx_ready),
    .req_rx_hdr_o     (req_rx_hdr),
    .req_rx_line_o    (req_rx_line),
    .req_rx_since_ns_o(req_rx_since_ns),
    .rsp_tx_valid_i   (rsp_tx_valid),
    .rsp_tx_has_data_i(rsp_tx_has_data),
    .rsp_tx_ready_o   (rsp_tx_ready),
    .rsp_tx_hdr_i     (rsp_tx_hdr),
    .rsp_tx_data_i    (rsp_tx_data),
    .req_fault_i,
    .rsp_fault_i,
    .req_start_o,
    .req_start_bits_o,
    .rsp_start_o,
    .rsp_start_bits_o,
    .kill_i           (path_dead),
    .dead_o           (link_dead),
    .wake_ns_o        (path_wake_ns)
  );

  memory_modules #(
    .Modules       (Modules),
    .Ports         (Hosts),
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

endmodule
