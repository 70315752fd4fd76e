// Electrical switched pool: a NIC for each host, switches in series on the way to the devices and back, the memory devices.
//
// The first switch arbitrates between all hosts for each device (on the way back: between all devices for each host); further
// ones pass on what it has put in order. Requests and responses have networks of their own, so no response ever waits for a
// request. On the way back the hops are passed in reverse, so that a hop means the same switch both ways. The ports are those
// of the other tops; a device is a memory module.

module switch_top
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Devices = 4,
  parameter int unsigned Hops = 2,  // switches in series between a host and a device
  parameter int unsigned NicTags = 2048,
  parameter int unsigned PathQueueDepth = 2048,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned HbmBanks = 16,
  parameter int unsigned HbmSets = 4096,
  parameter int unsigned HbmWays = 8,
  parameter int unsigned HbmSectorLines = 32,
  parameter int unsigned DdrChannels = 8,
  parameter int unsigned DdrBanks = 32
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  pf_straps_t                    straps_i,
  input  hdm_decoder_t [Decoders-1:0]   decoders_i[Hosts],
  // CXL links, by host and direction (0 to the adapter, 1 to the host): what befalls the next flit; a flit starts
  input  link_fault_t                   cxl_fault_i[Hosts][2],
  output logic [Hosts-1:0][1:0]         cxl_start_o,
  /// The device behind the adapter is in viral state.
  input  logic [Hosts-1:0]              viral_i,
  output cxl_status_t                   cxl_status_o[Hosts],
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
  // Media, by device and port; read data one cycle after the request, writes of a cycle before its reads
  output logic [Devices-1:0][Hosts-1:0] media_rd_valid_o,
  output req_hdr_t                      media_rd_hdr_o [Devices][Hosts],
  input  data_t                         media_rd_data_i[Devices][Hosts],
  output logic [Devices-1:0][Hosts-1:0] media_wr_valid_o,
  output req_hdr_t                      media_wr_hdr_o [Devices][Hosts],
  output wline_t                        media_wr_line_o[Devices][Hosts],
  // Status, by host
  output logic [31:0]                   nxm_count_o    [Hosts],
  output logic [$clog2(NicTags):0]      tags_used_o    [Hosts],
  /// Nothing happens inside before this time unless something comes in; all ones when all is idle.
  output time_ns_t                      wake_ns_o
);

  time_ns_t host_wake_ns, request_wake_ns, response_wake_ns, mem_wake_ns;

  assign wake_ns_o = earlier(earlier(request_wake_ns, response_wake_ns), earlier(host_wake_ns, mem_wake_ns));

  // By host
  logic [Hosts-1:0][Devices-1:0] req_tx_valid, req_tx_has_data, req_tx_ready;
  logic [Hosts-1:0][Devices-1:0] rsp_rx_valid, rsp_rx_has_data, rsp_rx_ready;
  req_hdr_t req_tx_hdr[Hosts][Devices];
  wline_t   req_tx_line[Hosts][Devices];
  rsp_hdr_t rsp_rx_hdr[Hosts][Devices];
  data_t    rsp_rx_data[Hosts][Devices];
  time_ns_t unused_rsp_rx_since_ns[Hosts][Devices];

  // By device
  logic [Devices-1:0][Hosts-1:0] req_rx_valid, req_rx_ready, unused_req_rx_has_data;
  logic [Devices-1:0][Hosts-1:0] rsp_tx_valid, rsp_tx_has_data, rsp_tx_ready;
  req_hdr_t req_rx_hdr[Devices][Hosts];
  wline_t   req_rx_line[Devices][Hosts];
  time_ns_t req_rx_since_ns[Devices][Hosts];
  rsp_hdr_t rsp_tx_hdr[Devices][Hosts];
  data_t    rsp_tx_data[Devices][Hosts];

  // Seen from the devices, the last switch is the first.
  switch_straps_t back_straps;
  always_comb begin
    back_straps = straps_i.sw;
    for (int unsigned k = 0; k < Hops; k++) back_straps.hop_ns[k] = straps_i.sw.hop_ns[Hops-1-k];
  end

  logic [Hosts-1:0][Devices-1:0] unused_path_dead;

  host_adapters #(
    .Hosts         (Hosts),
    .Modules       (Devices),
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
    .link_dead_i  ('0),
    .path_dead_o  (unused_path_dead),
    .nxm_count_o,
    .tags_used_o,
    .wake_ns_o    (host_wake_ns)
  );

  switch_network #(
    .Near  (Hosts),
    .Far   (Devices),
    .Hops  (Hops),
    .head_t(req_hdr_t),
    .line_t(wline_t)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i         (1'b0),
    .straps_i     (straps_i.sw),
    .tx_valid_i   (req_tx_valid),
    .tx_has_data_i(req_tx_has_data),
    .tx_ready_o   (req_tx_ready),
    .tx_head_i    (req_tx_hdr),
    .tx_line_i    (req_tx_line),
    .rx_valid_o   (req_rx_valid),
    .rx_has_data_o(unused_req_rx_has_data),
    .rx_ready_i   (req_rx_ready),
    .rx_head_o    (req_rx_hdr),
    .rx_line_o    (req_rx_line),
    .rx_since_ns_o(req_rx_since_ns),
    .wake_ns_o    (request_wake_ns)
  );

  switch_network #(
    .Near  (Devices),
    .Far   (Hosts),
    .Hops  (Hops),
    .head_t(rsp_hdr_t),
    .line_t(data_t)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i         (1'b1),
    .straps_i     (back_straps),
    .tx_valid_i   (rsp_tx_valid),
    .tx_has_data_i(rsp_tx_has_data),
    .tx_ready_o   (rsp_tx_ready),
    .tx_head_i    (rsp_tx_hdr),
    .tx_line_i    (rsp_tx_data),
    .rx_valid_o   (rsp_rx_valid),
    .rx_has_data_o(rsp_rx_has_data),
    .rx_ready_i   (rsp_rx_ready),
    .rx_head_o    (rsp_rx_hdr),
    .rx_line_o    (rsp_rx_data),
    .rx_since_ns_o(unused_rsp_rx_since_ns),
    .wake_ns_o    (response_wake_ns)
  );

  memory_modules #(
    .Modules       (Devices),
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
