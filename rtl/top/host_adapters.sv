// Host side of every top: for each host a CXL link and the adapter that ends it, decodes its addresses and keeps its tags.
//
// What lies between the adapters and the memory is the tops' business: each adapter has a port for each memory module, for
// requests out and for responses in. A top of another fabric differs only in what it connects there.

module host_adapters
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4,
  parameter int unsigned NicTags = 2048,
  parameter int unsigned PathQueueDepth = 2048
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  cxl_straps_t                   cxl_straps_i,
  input  nic_straps_t                   nic_straps_i,
  input  hdm_decoder_t [Decoders-1:0]   decoders_i[Hosts],
  // CXL links, by host and direction (0 to the NIC, 1 to the host): what befalls the next flit; a flit starts
  input  link_fault_t                   cxl_fault_i [Hosts][2],
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
  // Requests to the modules, by host
  output logic [Hosts-1:0][Modules-1:0] tx_valid_o,
  output logic [Hosts-1:0][Modules-1:0] tx_has_data_o,
  input  logic [Hosts-1:0][Modules-1:0] tx_ready_i,
  output req_hdr_t                      tx_hdr_o  [Hosts][Modules],
  output wline_t                        tx_line_o [Hosts][Modules],
  // Responses of the modules, by host
  input  logic [Hosts-1:0][Modules-1:0] rx_valid_i,
  input  logic [Hosts-1:0][Modules-1:0] rx_has_data_i,
  output logic [Hosts-1:0][Modules-1:0] rx_ready_o,
  input  rsp_hdr_t                      rx_hdr_i  [Hosts][Modules],
  input  data_t                         rx_data_i [Hosts][Modules],
  /// Paths to modules whose link has failed; paths that their adapter has given up, for good.
  input  logic [Hosts-1:0][Modules-1:0] link_dead_i,
  output logic [Hosts-1:0][Modules-1:0] path_dead_o,
  // Status, by host
  output logic [31:0]                   nxm_count_o[Hosts],
  output logic [$clog2(NicTags):0]      tags_used_o[Hosts],
  /// Nothing happens inside before this time unless something comes in; all ones when all is idle.
  output time_ns_t                      wake_ns_o
);

  time_ns_t cxl_wake_ns[Hosts];
  time_ns_t nic_wake_ns[Hosts];

  always_comb begin
    wake_ns_o = '1;
    for (int unsigned h = 0; h < Hosts; h++) wake_ns_o = earlier(wake_ns_o, earlier(cxl_wake_ns[h], nic_wake_ns[h]));
  end

  for (genvar h = 0; h < Hosts; h++) begin : gen_host
    logic [Lanes-1:0] nic_req_valid, nic_req_ready, nic_rwd_valid, nic_rwd_ready;
    logic [Lanes-1:0] nic_ndr_valid, nic_ndr_ready, nic_drs_valid, nic_drs_ready;
    m2s_req_t nic_req     [Lanes];
    m2s_rwd_t nic_rwd     [Lanes];
    wline_t   nic_rwd_line[Lanes];
    s2m_ndr_t nic_ndr     [Lanes];
    s2m_drs_t nic_drs     [Lanes];
    data_t    nic_drs_data[Lanes];

    cxl_channel u_cxl (
      .clk_i,
      .rst_ni,
      .now_i,
      .id_i            (4'(h)),
      .straps_i        (cxl_straps_i),
      .fault_i         (cxl_fault_i[h]),
      .start_o         (cxl_start_o[h]),
      .viral_i         (viral_i[h]),
      .status_o        (cxl_status_o[h]),
      .host_req_valid_i(req_valid_i[h]),
      .host_req_ready_o(req_ready_o[h]),
      .host_req_i      (req_i[h]),
      .host_rwd_valid_i(rwd_valid_i[h]),
      .host_rwd_ready_o(rwd_ready_o[h]),
      .host_rwd_i      (rwd_i[h]),
      .host_rwd_line_i (rwd_line_i[h]),
      .host_ndr_valid_o(ndr_valid_o[h]),
      .host_ndr_ready_i(ndr_ready_i[h]),
      .host_ndr_o      (ndr_o[h]),
      .host_drs_valid_o(drs_valid_o[h]),
      .host_drs_ready_i(drs_ready_i[h]),
      .host_drs_o      (drs_o[h]),
      .host_drs_data_o (drs_data_o[h]),
      .nic_req_valid_o (nic_req_valid),
      .nic_req_ready_i (nic_req_ready),
      .nic_req_o       (nic_req),
      .nic_rwd_valid_o (nic_rwd_valid),
      .nic_rwd_ready_i (nic_rwd_ready),
      .nic_rwd_o       (nic_rwd),
      .nic_rwd_line_o  (nic_rwd_line),
      .nic_ndr_valid_i (nic_ndr_valid),
      .nic_ndr_ready_o (nic_ndr_ready),
      .nic_ndr_i       (nic_ndr),
      .nic_drs_valid_i (nic_drs_valid),
      .nic_drs_ready_o (nic_drs_ready),
      .nic_drs_i       (nic_drs),
      .nic_drs_data_i  (nic_drs_data),
      .wake_ns_o       (cxl_wake_ns[h])
    );

    pf_nic #(
      .Modules       (Modules),
      .Tags          (NicTags),
      .PathQueueDepth(PathQueueDepth)
    ) u_nic (
      .clk_i,
      .rst_ni,
      .now_i,
      .id_i         (4'(h)),
      .straps_i     (nic_straps_i),
      .decoders_i   (decoders_i[h]),
      .req_valid_i  (nic_req_valid),
      .req_ready_o  (nic_req_ready),
      .req_i        (nic_req),
      .rwd_valid_i  (nic_rwd_valid),
      .rwd_ready_o  (nic_rwd_ready),
      .rwd_i        (nic_rwd),
      .rwd_line_i   (nic_rwd_line),
      .ndr_valid_o  (nic_ndr_valid),
      .ndr_ready_i  (nic_ndr_ready),
      .ndr_o        (nic_ndr),
      .drs_valid_o  (nic_drs_valid),
      .drs_ready_i  (nic_drs_ready),
      .drs_o        (nic_drs),
      .drs_data_o   (nic_drs_data),
      .tx_valid_o   (tx_valid_o[h]),
      .tx_has_data_o(tx_has_data_o[h]),
      .tx_ready_i   (tx_ready_i[h]),
      .tx_hdr_o     (tx_hdr_o[h]),
      .tx_line_o    (tx_line_o[h]),
      .rx_valid_i   (rx_valid_i[h]),
      .rx_has_data_i(rx_has_data_i[h]),
      .rx_ready_o   (rx_ready_o[h]),
      .rx_hdr_i     (rx_hdr_i[h]),
      .rx_data_i    (rx_data_i[h]),
      .link_dead_i  (link_dead_i[h]),
      .dead_o       (path_dead_o[h]),
      .nxm_count_o  (nxm_count_o[h]),
      .tags_used_o  (tags_used_o[h]),
      .wake_ns_o    (nic_wake_ns[h])
    );
  end

endmodule
