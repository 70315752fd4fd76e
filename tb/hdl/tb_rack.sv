// Bench of a rack: emulated hosts in front of the RTL, a sparse store behind it, probes and checkers bound to it.
//
// `Fabric` says which top stands between them; all tops have the same ports for hosts, media, status and wake time.
// Python drives the clock and the reset and waits for `done_o`; everything else goes through DPI (emu_dpi_pkg). Sizes are
// parameters, delays and rates plusargs (tb_straps), faults for the tests of the checkers too (tb_faults).

module tb_rack
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Fabric = 0,  // 0: photonic (pf_appliance_top), 1: direct (type3_top), 2: switch (switch_top)
  parameter int unsigned Hops = 1,    // of the switch
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
  input  logic        clk_i,
  input  logic        rst_ni,
  /// The run has ended and nothing is in flight any more.
  output logic        done_o,
  /// Simulated ns.
  output logic [63:0] now_o,
  /// enum emu_state of the emulator.
  output logic [31:0] state_o
);

  pf_straps_t straps;
  hdm_decoder_t [Decoders-1:0] decoders;
  hdm_decoder_t [Decoders-1:0] host_decoders[Hosts];
  logic [63:0] module_lines;
  time_ns_t now;
  logic [Hosts-1:0] active;
  time_ns_t wake_ns;
  logic [Hosts-1:0] busy, fault_double, fault_deaf, fault_lose, fault_again;
  logic fault_flip;
  logic [Hosts-1:0] engines, engine_busy;
  logic traffic_busy, traffic_load, traffic_report;
  logic [31:0] traffic_phase;
  time_ns_t port_wake_ns[Hosts];
  time_ns_t all_wake_ns;
  logic [Hosts-1:0][Modules-1:0] checker_down;
  link_fault_t path_fault[Hosts][Modules];
  link_fault_t req_fault[Hosts][Modules];
  link_fault_t cxl_fault[Hosts][2];
  logic [Hosts-1:0][1:0] cxl_start;
  cxl_status_t cxl_status[Hosts];
  link_fault_t rsp_fault[Modules][Hosts];
  logic [Hosts-1:0][Modules-1:0] req_start;
  logic [15:0] req_start_bits[Hosts][Modules];
  logic [Modules-1:0][Hosts-1:0] rsp_start;
  logic [15:0] rsp_start_bits[Modules][Hosts];
  logic [31:0] outstanding[Hosts];
  time_ns_t progress_ns[Hosts];

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
  logic [31:0] nxm_count[Hosts];
  logic [$clog2(NicTags):0] tags_used[Hosts];

  tb_straps #(
    .Modules  (Modules),
    .PathReach(PathReach)
  ) u_straps (
    .straps_o      (straps),
    .decoders_o    (decoders),
    .module_lines_o(module_lines)
  );

  tb_timebase u_timebase (
    .clk_i,
    .rst_ni,
    .busy_i          (|busy),
    .traffic_busy_i  (traffic_busy),
    .traffic_report_i(traffic_report),
    .wake_ns_i       (all_wake_ns),
    .now_o           (now),
    .done_o,
    .state_o
  );

  always_comb begin
    all_wake_ns = |active || (traffic_busy && engine_busy == '0) ? now : wake_ns;
    if (traffic_busy) begin
      for (int unsigned h = 0; h < Hosts; h++) all_wake_ns = earlier(all_wake_ns, port_wake_ns[h]);
    end
  end

  traffic_control #(
    .Hosts(Hosts)
  ) u_traffic (
    .clk_i,
    .rst_ni,
    .busy_i   (engine_busy),
    .engines_o(engines),
    .phase_o  (traffic_phase),
    .load_o   (traffic_load),
    .report_o (traffic_report),
    .busy_o   (traffic_busy)
  );

  assign now_o = now;

  tb_faults #(
    .Hosts  (Hosts),
    .Modules(Modules)
  ) u_faults (
    .now_i   (now),
    .double_o(fault_double),
    .deaf_o  (fault_deaf),
    .lose_o  (fault_lose),
    .again_o (fault_again),
    .flip_o  (fault_flip),
    .down_o  (checker_down)
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

  always_comb begin
    req_fault = path_fault;
    if (checker_down != '0) begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        for (int unsigned m = 0; m < Modules; m++) if (checker_down[h][m]) req_fault[h][m].down = 1'b1;
      end
    end
  end

  check_live #(
    .Hosts(Hosts)
  ) u_live (
    .clk_i,
    .rst_ni,
    .now_i        (now),
    .outstanding_i(outstanding),
    .progress_ns_i(progress_ns)
  );

  for (genvar h = 0; h < Hosts; h++) begin : gen_host
    assign host_decoders[h] = decoders;

    host_port u_port (
      .clk_i,
      .rst_ni,
      .now_i         (now),
      .id_i          (4'(h)),
      .decoders_i    (host_decoders[h]),
      .engine_i      (engines[h]),
      .load_i        (traffic_load),
      .phase_i       (traffic_phase),
      .stop_i        (state_o != 0),
      .fault_double_i(fault_double[h]),
      .fault_deaf_i  (fault_deaf[h]),
      .fault_lose_i  (fault_lose[h]),
      .fault_again_i (fault_again[h]),
      .busy_o        (busy[h]),
      .engine_busy_o (engine_busy[h]),
      .active_o      (active[h]),
      .wake_ns_o     (port_wake_ns[h]),
      .outstanding_o (outstanding[h]),
      .progress_ns_o (progress_ns[h]),
      .req_valid_o   (req_valid[h]),
      .req_ready_i   (req_ready[h]),
      .req_o         (req[h]),
      .rwd_valid_o   (rwd_valid[h]),
      .rwd_ready_i   (rwd_ready[h]),
      .rwd_o         (rwd[h]),
      .rwd_line_o    (rwd_line[h]),
      .ndr_valid_i   (ndr_valid[h]),
      .ndr_ready_o   (ndr_ready[h]),
      .ndr_i         (ndr[h]),
      .drs_valid_i   (drs_valid[h]),
      .drs_ready_o   (drs_ready[h]),
      .drs_i         (drs[h]),
      .drs_data_i    (drs_data[h])
    );
  end

  if (Fabric != 0) begin : gen_no_paths
    assign req_start = '0;
    assign rsp_start = '0;
    assign req_start_bits = '{default: '{default: '0}};
    assign rsp_start_bits = '{default: '{default: '0}};
  end

  if (Fabric == 0) begin : gen_photonic
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
      .cxl_status_o    (cxl_status),
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
      .nxm_count_o     (nxm_count),
      .tags_used_o     (tags_used),
      .wake_ns_o       (wake_ns)
    );
  end else if (Fabric == 1) begin : gen_direct
    type3_top #(
      .Heads         (Hosts),
      .NicTags       (NicTags),
      .PathQueueDepth(PathQueueDepth),
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
      .cxl_status_o    (cxl_status),
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
      .nxm_count_o     (nxm_count),
      .tags_used_o     (tags_used),
      .wake_ns_o       (wake_ns)
    );
  end else begin : gen_switch
    switch_top #(
      .Hosts         (Hosts),
      .Devices       (Modules),
      .Hops          (Hops),
      .NicTags       (NicTags),
      .PathQueueDepth(PathQueueDepth),
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
      .cxl_status_o    (cxl_status),
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
      .nxm_count_o     (nxm_count),
      .tags_used_o     (tags_used),
      .wake_ns_o       (wake_ns)
    );
  end

  sparse_store #(
    .Modules(Modules),
    .Ports  (Hosts)
  ) u_store (
    .clk_i,
    .module_lines_i(module_lines),
    .engines_i     (engines),
    .flip_i        (fault_flip),
    .rd_valid_i    (media_rd_valid),
    .rd_hdr_i      (media_rd_hdr),
    .rd_data_o     (media_rd_data),
    .wr_valid_i    (media_wr_valid),
    .wr_hdr_i      (media_wr_hdr),
    .wr_line_i     (media_wr_line)
  );

  initial begin
    if (Fabric > 2) $fatal(1, "%m: Fabric %0d is outside 0..2", Fabric);
    if (Hosts < 1 || Hosts > 16) $fatal(1, "%m: Hosts %0d is outside 1..16", Hosts);
    if (Fabric == 1 && Modules != 1) $fatal(1, "%m: Modules %0d: a direct fabric has 1", Modules);
  end

endmodule
