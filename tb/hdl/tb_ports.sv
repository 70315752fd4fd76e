// Bench of the appliance for port-level verification: Python drives and watches the CXL.mem ports, a store in
// SystemVerilog is the media, taps show what crosses the lightpaths.
//
// Time moves by 1 ns a clock. Straps are plusargs (tb_straps); `+inject=NAME` plants a fault (check_pkg, line_store,
// check_lanes). The checkers of the RTL are bound as in tb_rack.

module tb_ports
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Hosts = 2,
  parameter int unsigned Modules = 2,
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
  input  logic                            clk_i,
  input  logic                            rst_ni,
  /// What crosses at the coming edge: 8 bits a host (port_pins), 4 a lightpath (path_tap), 2 a module and port:
  /// {hit, access starts}.
  output logic [Hosts*8-1:0]              fire_o,
  output logic [Hosts*Modules*4-1:0]      path_fire_o,
  output logic [Modules*Hosts*2-1:0]      media_o,
  /// Frames and flits that the injector has hit or lost so far.
  output logic [31:0]                     faults_o
);

  pf_straps_t straps;
  hdm_decoder_t [Decoders-1:0] decoders;
  hdm_decoder_t [Decoders-1:0] host_decoders[Hosts];
  logic [63:0] module_lines;
  time_ns_t now, unused_wake_ns;
  logic [31:0] outstanding[Hosts];
  time_ns_t progress_ns[Hosts];

  // Written by Python: lightpaths from NIC to module that are dark, bit {host, module}.
  logic [Hosts*Modules-1:0] path_down;
  // Faults for the negative twins: lightpaths that cannot be switched off, or that have no light at all.
  bit stays_bright, stays_dark;

  // Fault hooks; `path_fault`: what the injector says of the requests' paths.
  link_fault_t path_fault[Hosts][Modules];
  link_fault_t req_fault[Hosts][Modules];
  link_fault_t rsp_fault[Modules][Hosts];
  link_fault_t cxl_fault[Hosts][2];
  logic [Hosts-1:0][1:0] cxl_start;
  logic [Hosts-1:0][Modules-1:0] req_start;
  logic [Modules-1:0][Hosts-1:0] rsp_start;
  logic [15:0] req_start_bits[Hosts][Modules];
  logic [15:0] rsp_start_bits[Modules][Hosts];
  cxl_status_t unused_cxl_status[Hosts];

  logic [Hosts-1:0][Lanes-1:0] req_valid, req_ready, rwd_valid, rwd_ready, ndr_valid, ndr_ready, drs_valid, drs_ready;
  m2s_req_t req[Hosts][Lanes];
  m2s_rwd_t rwd[Hosts][Lanes];
  wline_t   rwd_line[Hosts][Lanes];
  s2m_ndr_t ndr[Hosts][Lanes];
  s2m_drs_t drs[Hosts][Lanes];
  data_t    drs_data[Hosts][Lanes];

  logic [Modules-1:0][Hosts-1:0] media_rd_valid, media_wr_valid;
  req_hdr_t media_rd_hdr[Modules][Hosts];
  req_hdr_t media_wr_hdr[Modules][Hosts];
  data_t    media_rd_data[Modules][Hosts];
  wline_t   media_wr_line[Modules][Hosts];
  logic [31:0] unused_nxm_count[Hosts];
  logic [$clog2(NicTags):0] unused_tags_used[Hosts];

  tb_straps #(
    .Modules  (Modules),
    .PathReach(PathReach)
  ) u_straps (
    .straps_o      (straps),
    .decoders_o    (decoders),
    .module_lines_o(module_lines)
  );

  check_live #(
    .Hosts(Hosts)
  ) u_live (
    .clk_i,
    .rst_ni,
    .now_i        (now),
    .outstanding_i(outstanding),
    .progress_ns_i(progress_ns)
  );

  tb_link_faults #(
    .Hosts  (Hosts),
    .Modules(Modules)
  ) u_link_faults (
    .clk_i,
    .rst_ni,
    .now_i           (now),
    .req_start_i     (req_start),
    .req_start_bits_i(req_start_bits),
    .req_fault_o     (path_fault),
    .rsp_start_i     (rsp_start),
    .rsp_start_bits_i(rsp_start_bits),
    .rsp_fault_o     (rsp_fault),
    .cxl_start_i     (cxl_start),
    .cxl_bits_i      (16'(8 * cxl_flit_pkg::FlitBytes)),
    .cxl_fault_o     (cxl_fault)
  );

  always_ff @(posedge clk_i) now <= now + 1;

  for (genvar h = 0; h < Hosts; h++) begin : gen_host
    assign host_decoders[h] = decoders;

    port_pins u_pins (
      .clk_i,
      .rst_ni,
      .now_i        (now),
      .id_i         (4'(h)),
      .fire_o       (fire_o[h*8+:8]),
      .outstanding_o(outstanding[h]),
      .progress_ns_o(progress_ns[h]),
      .req_valid_o  (req_valid[h]),
      .req_ready_i  (req_ready[h]),
      .req_o        (req[h]),
      .rwd_valid_o  (rwd_valid[h]),
      .rwd_ready_i  (rwd_ready[h]),
      .rwd_o        (rwd[h]),
      .rwd_line_o   (rwd_line[h]),
      .ndr_valid_i  (ndr_valid[h]),
      .ndr_ready_o  (ndr_ready[h]),
      .ndr_i        (ndr[h]),
      .drs_valid_i  (drs_valid[h]),
      .drs_ready_o  (drs_ready[h]),
      .drs_i        (drs[h]),
      .drs_data_i   (drs_data[h])
    );

    for (genvar m = 0; m < Modules; m++) begin : gen_path
      path_tap u_tap (
        .req_tx_fire_i    (u_dut.req_tx_valid[h][m] && u_dut.req_tx_ready[h][m]),
        .req_tx_hdr_i     (u_dut.req_tx_hdr[h][m]),
        .req_tx_line_i    (u_dut.req_tx_line[h][m]),
        .req_rx_fire_i    (u_dut.req_rx_valid[m][h] && u_dut.req_rx_ready[m][h]),
        .req_rx_hdr_i     (u_dut.req_rx_hdr[m][h]),
        .req_rx_line_i    (u_dut.req_rx_line[m][h]),
        .rsp_tx_fire_i    (u_dut.rsp_tx_valid[m][h] && u_dut.rsp_tx_ready[m][h]),
        .rsp_tx_hdr_i     (u_dut.rsp_tx_hdr[m][h]),
        .rsp_tx_data_i    (u_dut.rsp_tx_data[m][h]),
        .rsp_rx_fire_i    (u_dut.rsp_rx_valid[h][m] && u_dut.rsp_rx_ready[h][m]),
        .rsp_rx_hdr_i     (u_dut.rsp_rx_hdr[h][m]),
        .rsp_rx_data_i    (u_dut.rsp_rx_data[h][m]),
        .rsp_tx_has_data_i(u_dut.rsp_tx_has_data[m][h]),
        .rsp_rx_has_data_i(u_dut.rsp_rx_has_data[h][m]),
        .fire_o           (path_fire_o[(h*Modules+m)*4+:4])
      );

      assign media_o[(m*Hosts+h)*2+:2] = {
        u_dut.u_modules.gen_module[m].u_mem.hit[h], u_dut.u_modules.gen_module[m].u_mem.grant[h]
      };
    end
  end

  pf_appliance_top #(
    .Hosts         (Hosts),
    .Modules       (Modules),
    .NicTags       (NicTags),
    .PathQueueDepth(PathQueueDepth),
    .PathReach     (PathReach),
    .HbmChannels   (HbmChannels),
    .HbmBanks      (HbmBanks),
    .HbmSets       (HbmSets),
    .HbmWays       (HbmWays),
    .HbmSectorLines(HbmSectorLines),
    .DdrChannels   (DdrChannels),
    .DdrBanks      (DdrBanks)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .now_i           (now),
    .straps_i        (straps),
    .decoders_i      (host_decoders),
    .cxl_fault_i     (cxl_fault),
    .cxl_start_o     (cxl_start),
    .viral_i         ('0),
    .cxl_status_o    (unused_cxl_status),
    .req_fault_i     (req_fault),
    .rsp_fault_i     (rsp_fault),
    .req_start_o     (req_start),
    .req_start_bits_o(req_start_bits),
    .rsp_start_o     (rsp_start),
    .rsp_start_bits_o(rsp_start_bits),
    .req_valid_i     (req_valid),
    .req_ready_o     (req_ready),
    .req_i           (req),
    .rwd_valid_i     (rwd_valid),
    .rwd_ready_o     (rwd_ready),
    .rwd_i           (rwd),
    .rwd_line_i      (rwd_line),
    .ndr_valid_o     (ndr_valid),
    .ndr_ready_i     (ndr_ready),
    .ndr_o           (ndr),
    .drs_valid_o     (drs_valid),
    .drs_ready_i     (drs_ready),
    .drs_o           (drs),
    .drs_data_o      (drs_data),
    .media_rd_valid_o(media_rd_valid),
    .media_rd_hdr_o  (media_rd_hdr),
    .media_rd_data_i (media_rd_data),
    .media_wr_valid_o(media_wr_valid),
    .media_wr_hdr_o  (media_wr_hdr),
    .media_wr_line_o (media_wr_line),
    .nxm_count_o     (unused_nxm_count),
    .tags_used_o     (unused_tags_used),
    .wake_ns_o       (unused_wake_ns)
  );

  always_comb begin
    for (int unsigned h = 0; h < Hosts; h++) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        req_fault[h][m] = path_fault[h][m];
        if (stays_dark || (path_down[h*Modules+m] && !stays_bright)) req_fault[h][m].down = 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    automatic logic [31:0] count = '0;
    for (int unsigned l = 0; l < Hosts * Modules; l++) begin
      count += 32'(u_link_faults.u_req.hits_q[l]) + 32'(u_link_faults.u_req.drops_q[l]);
      count += 32'(u_link_faults.u_rsp.hits_q[l]) + 32'(u_link_faults.u_rsp.drops_q[l]);
    end
    for (int unsigned l = 0; l < 2 * Hosts; l++)
      count += 32'(u_link_faults.u_cxl.hits_q[l]) + 32'(u_link_faults.u_cxl.drops_q[l]);
    faults_o <= count;
  end

  line_store #(
    .Modules(Modules),
    .Ports  (Hosts)
  ) u_store (
    .clk_i,
    .now_i         (now),
    .module_lines_i(module_lines),
    .rd_valid_i    (media_rd_valid),
    .rd_hdr_i      (media_rd_hdr),
    .rd_data_o     (media_rd_data),
    .wr_valid_i    (media_wr_valid),
    .wr_hdr_i      (media_wr_hdr),
    .wr_line_i     (media_wr_line)
  );

  initial begin
    now = 64'd1;
    path_down = '0;
    stays_bright = check_pkg::injected() == "bright";
    stays_dark = check_pkg::injected() == "dark";
    if (Hosts < 1 || Hosts > 16) $fatal(1, "%m: Hosts %0d is outside 1..16", Hosts);
  end

endmodule
