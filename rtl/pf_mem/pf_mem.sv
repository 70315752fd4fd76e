// Memory module of the photonic fabric: ports, an HBM write-through cache and DDR5 channels behind it.
//
// A request that has come through its port waits in the receive buffer of its lightpath (the port queue), starts in order of
// arrival at the port, and is answered when it is done. Starting is the point at which reads take their data from the media;
// a write is applied whole its commit time later and completes then, so what has completed is what every later read sees.
// Timing comes from the models of HBM and DDR5: a hit takes HBM's, a miss DDR5's and fills the cache on the side, a write
// occupies both. When HBM or DDR5 is booked too far ahead, ports wait: write-through makes DDR5 the limit of writes.
//
// The data itself lies outside: the media interface reads and writes whole lines, one of each a port and cycle.

module pf_mem
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned HbmBanks = 16,
  parameter int unsigned HbmSets = 4096,
  parameter int unsigned HbmWays = 8,
  parameter int unsigned HbmSectorLines = 32,
  parameter int unsigned DdrChannels = 8,
  parameter int unsigned DdrBanks = 32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  /// Which module of the mesh this is.
  input  logic [3:0]       id_i,
  input  mem_straps_t      straps_i,
  // Lightpaths, receive
  input  logic [Ports-1:0] rx_valid_i,
  output logic [Ports-1:0] rx_ready_o,
  input  req_hdr_t         rx_hdr_i     [Ports],
  input  wline_t           rx_line_i    [Ports],
  input  time_ns_t         rx_since_ns_i[Ports],
  // Lightpaths, transmit
  output logic [Ports-1:0] tx_valid_o,
  output logic [Ports-1:0] tx_has_data_o,
  input  logic [Ports-1:0] tx_ready_i,
  output rsp_hdr_t         tx_hdr_o     [Ports],
  output data_t            tx_data_o    [Ports],
  // Media: data of a read comes one cycle after its request; writes of a cycle go before its reads
  output logic [Ports-1:0] media_rd_valid_o,
  output req_hdr_t         media_rd_hdr_o [Ports],
  input  data_t            media_rd_data_i[Ports],
  output logic [Ports-1:0] media_wr_valid_o,
  output req_hdr_t         media_wr_hdr_o [Ports],
  output wline_t           media_wr_line_o[Ports],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t         wake_ns_o
);

  // Bookings ahead of time stand for the queues of the memory controllers.
  localparam int unsigned HbmAheadNs = 64;
  localparam int unsigned DdrAheadNs = 128;
  localparam int unsigned HbmRowLines = 16;   // 1 KiB row of a pseudo channel
  localparam int unsigned DdrRowLines = 128;  // 8 KiB row of a DDR5 channel

  localparam int unsigned HbmBits = HbmChannels > 1 ? $clog2(HbmChannels) : 1;
  localparam int unsigned DdrBits = DdrChannels > 1 ? $clog2(DdrChannels) : 1;

  logic [Ports-1:0]   head, is_write, is_part, hit, hazard, hbm_room, ddr_room, commit_room;
  logic [Ports-1:0]   candidate, needs_ddr, grant, commit;
  logic [Ports-1:0]   read_room, write_room;
  nic_tag_t           read_tag   [Ports];
  nic_tag_t           write_tag  [Ports];
  time_ns_t           read_due_ns[Ports];
  logic [HbmBits-1:0] hbm_channel[Ports];
  logic [DdrBits-1:0] ddr_channel[Ports];
  dpa_line_t          line       [Ports];
  time_ns_t           hbm_done_ns[Ports];
  time_ns_t           ddr_done_ns[Ports];
  time_ns_t           fill_ns    [Ports];
  time_ns_t           commit_wake_ns, return_wake_ns;
  time_ns_t           read_done_ns[Ports];  // of reads that start in this cycle

  always_comb begin
    head = '0;
    is_write = '0;
    is_part = '0;
    if (|rx_valid_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        head[p] = rx_valid_i[p] && now_i >= rx_since_ns_i[p] + time_ns_t'(straps_i.port_ns);
        is_write[p] = rx_hdr_i[p].op != ReqRead;
        is_part[p] = rx_hdr_i[p].op == ReqWritePart;
      end
    end
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_line
    assign line[p] = rx_hdr_i[p].line;
  end

  assign needs_ddr = is_write | ~hit;
  assign candidate = head & hbm_room & (ddr_room | ~needs_ddr)
      & ((is_write & commit_room) | (~is_write & read_room & ~hazard));
  assign rx_ready_o = grant;

  mem_hbm_tags #(
    .Ports      (Ports),
    .Sets       (HbmSets),
    .Ways       (HbmWays),
    .SectorLines(HbmSectorLines)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .look_i       (head),
    .line_i       (line),
    .hit_o        (hit),
    .fill_ns_o    (fill_ns),
    .fire_i       (grant),
    .no_allocate_i(is_part),
    .is_fill_i    (~is_write),
    .fill_ns_i    (ddr_done_ns)
  );

  mem_dram #(
    .Ports   (Ports),
    .Channels(HbmChannels),
    .Banks   (HbmBanks),
    .RowLines(HbmRowLines),
    .AheadNs (HbmAheadNs),
    .BankRefresh(1'b1)
  ) u_hbm (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i (straps_i.hbm),
    .look_i   (head),
    .line_i   (line),
    .channel_o(hbm_channel),
    .room_o   (hbm_room),
    .fire_i   (grant),
    .done_ns_o(hbm_done_ns)
  );

  mem_dram #(
    .Ports   (Ports),
    .Channels(DdrChannels),
    .Banks   (DdrBanks),
    .RowLines(DdrRowLines),
    .AheadNs (DdrAheadNs)
  ) u_ddr (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i (straps_i.ddr),
    .look_i   (head),
    .line_i   (line),
    .channel_o(ddr_channel),
    .room_o   (ddr_room),
    .fire_i   (grant & needs_ddr),
    .done_ns_o(ddr_done_ns)
  );

  mem_schedule #(
    .Ports      (Ports),
    .HbmChannels(HbmChannels),
    .DdrChannels(DdrChannels)
  ) u_schedule (
    .clk_i,
    .rst_ni,
    .candidate_i  (candidate),
    .needs_ddr_i  (needs_ddr),
    .hbm_channel_i(hbm_channel),
    .ddr_channel_i(ddr_channel),
    .grant_o      (grant)
  );

  mem_commit #(
    .Ports(Ports)
  ) u_commit (
    .clk_i,
    .rst_ni,
    .now_i,
    .commit_ns_i  (straps_i.commit_ns),
    .look_i       (head),
    .hdr_i        (rx_hdr_i),
    .line_i       (rx_line_i),
    .room_o       (commit_room),
    .hazard_o     (hazard),
    .push_i       (grant & is_write),
    .ready_i      (write_room),
    .commit_o     (commit),
    .commit_hdr_o (media_wr_hdr_o),
    .commit_line_o(media_wr_line_o),
    .wake_ns_o    (commit_wake_ns)
  );

  always_comb begin
    wake_ns_o = earlier(commit_wake_ns, return_wake_ns);
    if (|rx_valid_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (rx_valid_i[p]) wake_ns_o = earlier(wake_ns_o, rx_since_ns_i[p] + time_ns_t'(straps_i.port_ns));
      end
    end
  end

  assign media_wr_valid_o = commit;
  assign media_rd_valid_o = grant & ~is_write;
  assign media_rd_hdr_o = rx_hdr_i;

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      read_done_ns[p] = !hit[p] ? ddr_done_ns[p] : hbm_done_ns[p] > fill_ns[p] ? hbm_done_ns[p] : fill_ns[p];
      read_due_ns[p] = read_done_ns[p] + time_ns_t'(straps_i.return_ns);
      read_tag[p] = rx_hdr_i[p].tag;
      write_tag[p] = media_wr_hdr_o[p].tag;
    end
  end

  mem_return #(
    .Ports(Ports)
  ) u_return (
    .clk_i,
    .rst_ni,
    .now_i,
    .read_room_o   (read_room),
    .read_push_i   (grant & ~is_write),
    .read_tag_i    (read_tag),
    .read_due_ns_i (read_due_ns),
    .data_i        (media_rd_data_i),
    .write_room_o  (write_room),
    .write_push_i  (commit),
    .write_tag_i   (write_tag),
    .write_due_ns_i(now_i + time_ns_t'(straps_i.return_ns)),
    .tx_valid_o,
    .tx_has_data_o,
    .tx_ready_i,
    .tx_hdr_o,
    .tx_data_o,
    .wake_ns_o     (return_wake_ns)
  );

  initial begin
    if (Ports < 1 || Ports > 16) $fatal(1, "%m: Ports %0d is outside 1..16", Ports);
  end

endmodule
