// Memory module of the photonic fabric: ports, HBM and DDR5 channels.
//
// A request that has come through its port waits in the receive buffer of its lightpath (the port queue), starts in order of
// arrival at the port, and is answered when it is done. Starting is the point at which reads take their data from the media;
// a write is applied whole its commit time later and completes then, so what has completed is what every later read sees.
// (`posted` completes a write when it starts, for tests of memory models that forbid it.)
//
// Timing comes from the models of HBM and DDR5. With HBM as a write-through cache a hit takes HBM's, a miss DDR5's and fills
// the cache on the side, a write occupies both. DDR5 always has the same data, so a hit whose HBM bank is refreshed or booked
// is read from DDR5 when that is sooner. With HBM as memory the lines from `hbm_base` on are HBM's and the others DDR5's. When
// HBM or DDR5 is booked too far ahead, ports wait: write-through makes DDR5 the limit of writes.
//
// The data itself lies outside: the media interface reads and writes whole lines, one of each a port and cycle.

module pf_mem
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned HbmBanks = 32,
  parameter int unsigned HbmSets = 4096,
  parameter int unsigned HbmWays = 8,
  parameter int unsigned HbmSectorLines = 32,
  parameter int unsigned DdrChannels = 8,
  parameter int unsigned DdrBanks = 64,
  parameter int unsigned PoisonEntries = 16
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
  localparam int unsigned HbmHorizonNs = 256;
  localparam int unsigned DdrAheadNs = 160;
  localparam int unsigned DdrHorizonNs = 512;
  localparam int unsigned HbmRowLines = 16;      // 1 KiB row of a pseudo channel
  localparam int unsigned SubChannels = 2;       // of a DDR5 channel, 32 bit wide
  localparam int unsigned SubChannelLog2 = $clog2(SubChannels);
  localparam int unsigned DdrRowLines = 64;      // 4 KiB row of a sub-channel

  localparam int unsigned HbmBits = HbmChannels > 1 ? $clog2(HbmChannels) : 1;
  localparam int unsigned DdrBits = $clog2(SubChannels * DdrChannels);

  logic [Ports-1:0]   head, is_write, is_part, beyond, in_hbm, hit;
  logic [Ports-1:0]   look_hbm, writes_hbm, slow, redirect, look_ddr, must_ddr, needs_hbm, needs_ddr;
  logic [Ports-1:0]   hbm_room, ddr_room, commit_room, read_room, write_room, hazard, media_room;
  logic [Ports-1:0]   candidate, grant, apply, commit, poisoned, refused, starts;
  rsp_hdr_t           read_hdr   [Ports];
  rsp_hdr_t           write_hdr  [Ports];
  time_ns_t           read_due_ns[Ports];
  logic [HbmBits-1:0] hbm_channel[Ports];
  logic [DdrBits-1:0] ddr_channel[Ports];
  dpa_line_t          line       [Ports];
  time_ns_t           hbm_done_ns[Ports];
  time_ns_t           ddr_done_ns[Ports];
  time_ns_t           hit_done_ns[Ports];  // of a line that HBM has
  time_ns_t           fill_ns    [Ports];
  time_ns_t           commit_wake_ns, return_wake_ns;
  time_ns_t           read_done_ns[Ports];  // of reads that start in this cycle
  logic [1:0]         load       [Ports];
  logic [1:0]         commit_load[Ports];
  logic [31:0]        refused_count;

  // Constants of the straps.
  logic     cached, is_memory;
  time_ns_t port_ns, return_ns, hbm_idle_ns, ddr_idle_ns;
  assign cached = straps_i.hbm_mode == HbmCache;
  assign is_memory = straps_i.hbm_mode == HbmMemory;
  assign port_ns = time_ns_t'(straps_i.port_ns);
  assign return_ns = time_ns_t'(straps_i.return_ns);
  assign hbm_idle_ns = idle_ns(straps_i.hbm, 0);
  assign ddr_idle_ns = idle_ns(straps_i.ddr, SubChannelLog2);

  /// Access to a precharged bank of an idle channel.
  function automatic time_ns_t idle_ns(dram_straps_t dram, int unsigned rate_shift);
    logic [31:0] rate = {16'b0, dram.rate_b16};
    logic [31:0] move_ns = (((LineBytes * 16) << rate_shift) + rate - 1) / rate;
    return time_ns_t'(dram.rcd_ns) + time_ns_t'(dram.cas_ns) + time_ns_t'(move_ns);
  endfunction

  /// DevLoad from the time that an access waited for its port, its channel and its bank: light, optimal, moderate overload,
  /// severe overload.
  function automatic logic [1:0] load_of(time_ns_t wait_ns);
    if (wait_ns < 16) return 2'd0;
    if (wait_ns < 64) return 2'd1;
    return wait_ns < 128 ? 2'd2 : 2'd3;
  endfunction

  always_comb begin
    head = '0;
    is_write = '0;
    is_part = '0;
    beyond = '0;
    in_hbm = '0;
    if (|rx_valid_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (rx_valid_i[p]) begin
          head[p] = now_i >= rx_since_ns_i[p] + port_ns;
          is_write[p] = rx_hdr_i[p].op != ReqRead;
          is_part[p] = rx_hdr_i[p].op == ReqWritePart;
          beyond[p] = dpa_count_t'(rx_hdr_i[p].line) >= straps_i.capacity;
          in_hbm[p] = is_memory && dpa_count_t'(rx_hdr_i[p].line) >= straps_i.hbm_base;
        end
      end
    end
  end

  for (genvar p = 0; p < Ports; p++) begin : gen_line
    assign line[p] = rx_hdr_i[p].line;
  end

  mem_hbm_tags #(
    .Ports      (Ports),
    .Sets       (HbmSets),
    .Ways       (HbmWays),
    .SectorLines(HbmSectorLines)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .now_i,
    .look_i       (cached ? head & ~beyond : '0),
    .line_i       (line),
    .hit_o        (hit),
    .fill_ns_o    (fill_ns),
    .fire_i       (cached ? starts : '0),
    .no_allocate_i(is_part),
    .is_fill_i    (~is_write),
    .fill_ns_i    (ddr_done_ns)
  );

  // A line that misses and is written in part goes to DDR5 alone.
  assign look_hbm = head & ~beyond & (cached ? hit | ~is_part : in_hbm);
  assign writes_hbm = is_write | (cached ? ~hit : '0);

  mem_dram #(
    .Ports    (Ports),
    .Channels (HbmChannels),
    .Banks    (HbmBanks),
    .RowLines (HbmRowLines),
    .AheadNs  (HbmAheadNs),
    .HorizonNs(HbmHorizonNs)
  ) u_hbm (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i  (straps_i.hbm),
    .look_i    (look_hbm),
    .is_write_i(writes_hbm),
    .line_i    (line),
    .channel_o (hbm_channel),
    .room_o    (hbm_room),
    .done_ns_o (hbm_done_ns),
    .fire_i    (starts & needs_hbm)
  );

  // Hits that HBM would serve later than an idle DDR5.
  always_comb begin
    slow = '0;
    for (int unsigned p = 0; p < Ports; p++) hit_done_ns[p] = '0;
    if (|look_hbm) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_hbm[p]) begin
          hit_done_ns[p] = hbm_done_ns[p] > fill_ns[p] ? hbm_done_ns[p] : fill_ns[p];
          slow[p] = cached && hit[p] && !is_write[p] && (!hbm_room[p] || hit_done_ns[p] > now_i + ddr_idle_ns);
        end
      end
    end
  end

  assign must_ddr = head & ~beyond & (cached ? is_write | ~hit : ~in_hbm);
  assign look_ddr = must_ddr | slow;

  mem_dram #(
    .Ports    (Ports),
    .Channels (SubChannels * DdrChannels),
    .Banks    (DdrBanks / SubChannels),
    .RowLines (DdrRowLines),
    .AheadNs  (DdrAheadNs),
    .HorizonNs(DdrHorizonNs),
    .RateShift(SubChannelLog2)
  ) u_ddr (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i  (straps_i.ddr),
    .look_i    (look_ddr),
    .is_write_i(is_write),
    .line_i    (line),
    .channel_o (ddr_channel),
    .room_o    (ddr_room),
    .done_ns_o (ddr_done_ns),
    .fire_i    (starts & needs_ddr)
  );

  always_comb begin
    redirect = '0;
    if (|slow) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        redirect[p] = slow[p] && ddr_room[p] && (!hbm_room[p] || ddr_done_ns[p] < hit_done_ns[p]);
      end
    end
  end

  assign needs_hbm = look_hbm & ~redirect;
  assign needs_ddr = must_ddr | redirect;
  assign media_room = (hbm_room | ~needs_hbm) & (ddr_room | ~needs_ddr);
  // What completes without the media must not meet a commit at the way back.
  assign candidate = head & media_room
      & ((is_write & commit_room & write_room & (~beyond | ~commit)) | (~is_write & read_room & ~hazard));
  assign rx_ready_o = grant;
  assign starts = grant & ~beyond;

  mem_schedule #(
    .Ports      (Ports),
    .HbmChannels(HbmChannels),
    .DdrChannels(SubChannels * DdrChannels)
  ) u_schedule (
    .clk_i,
    .rst_ni,
    .candidate_i  (candidate),
    .needs_hbm_i  (needs_hbm),
    .needs_ddr_i  (needs_ddr),
    .hbm_channel_i(hbm_channel),
    .ddr_channel_i(ddr_channel),
    .since_ns_i   (rx_since_ns_i),
    .grant_o      (grant)
  );

  // Posted writes drain in half of the time where the number of the module is odd: one may overtake an older one of its
  // host to another module, as where devices are not equally busy.
  delay_ns_t posted_ns;
  assign posted_ns = straps_i.posted ? (id_i[0] ? straps_i.posted_ns >> 1 : straps_i.posted_ns) : '0;

  mem_commit #(
    .Ports(Ports)
  ) u_commit (
    .clk_i,
    .rst_ni,
    .now_i,
    .commit_ns_i  (straps_i.commit_ns + posted_ns),
    .halves_i     (straps_i.halves),
    .half_ns_i    (straps_i.half_ns),
    .look_i       (head),
    .hdr_i        (rx_hdr_i),
    .line_i       (rx_line_i),
    .room_o       (commit_room),
    .hazard_o     (hazard),
    .load_i       (load),
    .push_i       (starts & is_write),
    .ready_i      (straps_i.posted ? '1 : write_room),
    .apply_o      (apply),
    .commit_o     (commit),
    .commit_hdr_o (media_wr_hdr_o),
    .commit_line_o(media_wr_line_o),
    .commit_load_o(commit_load),
    .wake_ns_o    (commit_wake_ns)
  );

  mem_poison #(
    .Ports  (Ports),
    .Entries(PoisonEntries)
  ) u_poison (
    .clk_i,
    .rst_ni,
    .read_i         (starts & ~is_write),
    .read_line_i    (line),
    .poisoned_o     (poisoned),
    .write_i        (commit),
    .write_hdr_i    (media_wr_hdr_o),
    .refused_o      (refused),
    .refused_count_o(refused_count)
  );

  always_comb begin
    wake_ns_o = earlier(commit_wake_ns, return_wake_ns);
    if (|rx_valid_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (rx_valid_i[p]) wake_ns_o = earlier(wake_ns_o, rx_since_ns_i[p] + port_ns);
      end
    end
  end

  assign media_wr_valid_o = apply & ~refused;
  assign media_rd_valid_o = starts & ~is_write;
  assign media_rd_hdr_o = rx_hdr_i;

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      read_done_ns[p] = '0;
      read_due_ns[p] = '0;
      load[p] = '0;
      read_hdr[p] = '0;
    end
    if (|grant) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (grant[p]) begin
          automatic time_ns_t media_ns = cached ? hit_done_ns[p] : hbm_done_ns[p];
          automatic time_ns_t since_ns = rx_since_ns_i[p] + port_ns;
          automatic time_ns_t start_ns = needs_ddr[p] ? ddr_done_ns[p] - ddr_idle_ns : hbm_done_ns[p] - hbm_idle_ns;
          if (needs_ddr[p]) media_ns = ddr_done_ns[p];
          // An answer without media goes as soon as the way back takes it.
          if (beyond[p]) media_ns = now_i + 2;
          read_done_ns[p] = media_ns;
          read_due_ns[p] = media_ns + return_ns;
          load[p] = load_of(beyond[p] || start_ns < since_ns ? '0 : start_ns - since_ns);
          read_hdr[p].load = load[p];
          read_hdr[p].status = beyond[p] ? RspError : poisoned[p] ? RspPoison : RspOk;
          read_hdr[p].tag = rx_hdr_i[p].tag;
        end
      end
    end
  end

  // Completions of writes: when they are visible, or when they start (posted, or beyond the module's capacity).
  logic [Ports-1:0] at_start, write_done;
  assign at_start = grant & is_write & (beyond | {Ports{straps_i.posted}});
  assign write_done = at_start | (commit & {Ports{!straps_i.posted}});

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) write_hdr[p] = '0;
    if (|{commit, at_start}) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (at_start[p])
          write_hdr[p] = '{load: load[p], status: beyond[p] ? RspError : RspOk, tag: rx_hdr_i[p].tag};
        else
          write_hdr[p] = '{load: commit_load[p], status: refused[p] ? RspError : RspOk, tag: media_wr_hdr_o[p].tag};
      end
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
    .read_hdr_i    (read_hdr),
    .read_due_ns_i (read_due_ns),
    .data_i        (media_rd_data_i),
    .write_room_o  (write_room),
    .write_push_i  (write_done),
    .write_hdr_i   (write_hdr),
    .write_due_ns_i(now_i + return_ns),
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
