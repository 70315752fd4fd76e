// Counters of a memory module, for reports that name the limiting resource; `a` is the module, `b` the index:
//
//   mem_hits, mem_misses     0: reads, 1: writes
//   mem_redirects            reads that DDR5 served because their HBM bank was refreshed or booked
//   mem_blocked_cycles       port cycles in which a request could not start for lack of
//                            0: HBM, 1: DDR5, 2: room for writes, 3: room for responses, 4: an older write to the line, or
//                            because another port had the channel of 5: HBM, 6: DDR5
//   mem_late_reads           reads whose data comes more than `LateNs` later than an idle DDR5 would have it, by what they waited
//                            for most: 0: a refresh, 1: their bank, which another access holds, 2: the data bus, 3: their start;
//                            and 4: of the first three, those that DDR5 served
//   mem_refused              poisoned writes that found the poison list full
//   hbm_busy_ns, ddr_busy_ns 0: data bus time of all channels together, 1: of the busiest channel
//   hbm_rows, ddr_rows       accesses that found 0: the row open, 1: the bank closed, 2: another row open, 3: a refresh
//   hbm_ahead_ns_max, ddr_ahead_ns_max   furthest booking, the queue's length in time

module count_mem
  import pf_pkg::*;
  import mem_dram_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned DdrChannels = 16,
  parameter int unsigned HbmBits = 6,
  parameter int unsigned DdrBits = 4,
  parameter int unsigned LateNs = 16
) (
  input logic               clk_i,
  input logic               rst_ni,
  input time_ns_t           now_i,
  input logic [3:0]         id_i,
  input mem_straps_t        straps_i,
  input logic [Ports-1:0]   head_i,
  input logic [Ports-1:0]   grant_i,
  input logic [Ports-1:0]   is_write_i,
  input logic [Ports-1:0]   starts_i,
  input logic [Ports-1:0]   hit_i,
  input logic [Ports-1:0]   redirect_i,
  input logic [Ports-1:0]   needs_ddr_i,
  input logic [Ports-1:0]   no_hbm_i,
  input logic [Ports-1:0]   no_ddr_i,
  input logic [Ports-1:0]   no_commit_i,
  input logic [Ports-1:0]   no_return_i,
  input logic [Ports-1:0]   hazard_i,
  input logic [Ports-1:0]   hbm_fire_i,
  input logic [Ports-1:0]   ddr_fire_i,
  input logic [HbmBits-1:0] hbm_channel_i[Ports],
  input logic [DdrBits-1:0] ddr_channel_i[Ports],
  input access_t            hbm_access_i[Ports],
  input access_t            ddr_access_i[Ports],
  input time_ns_t           hbm_done_ns_i[Ports],
  input time_ns_t           ddr_done_ns_i[Ports],
  input time_ns_t           hbm_column_ns_i[Ports],
  input time_ns_t           ddr_column_ns_i[Ports],
  input time_ns_t           since_ns_i     [Ports],  // arrival at the port
  input time_ns_t           read_done_ns_i [Ports],
  input time_ns_t           ddr_idle_ns_i,
  input logic [31:0]        refused_count_i
);

  longint hits_q[2];
  longint misses_q[2];
  longint redirects_q;
  longint blocked_q[7];
  longint late_q[5];
  longint hbm_rows_q[4];
  longint ddr_rows_q[4];
  longint hbm_lines_q[HbmChannels];
  longint ddr_lines_q[DdrChannels];
  longint hbm_ahead_q, ddr_ahead_q;

  function automatic int kind_of(access_t a);
    return a.refreshing ? 3 : a.conflict ? 2 : a.activate ? 1 : 0;
  endfunction

  function automatic void count_blocked(logic [Ports-1:0] waits);
    logic [Ports-1:0] taken;
    blocked_q[0] += longint'($countones(waits & no_hbm_i));
    blocked_q[1] += longint'($countones(waits & no_ddr_i));
    blocked_q[2] += longint'($countones(waits & no_commit_i));
    blocked_q[3] += longint'($countones(waits & no_return_i));
    blocked_q[4] += longint'($countones(waits & hazard_i));
    taken = waits & ~(no_hbm_i | no_ddr_i | no_commit_i | no_return_i | hazard_i);
    blocked_q[5] += longint'($countones(taken & ~needs_ddr_i));
    blocked_q[6] += longint'($countones(taken & needs_ddr_i));
  endfunction

  // Line time on a channel of this rate: the sub-channels of DDR5 have half of the strapped rate each.
  function automatic longint busy_ns(longint lines, rate_b16_t rate, longint sub_channels);
    return (lines * longint'(LineBytes) * 16 * sub_channels) / longint'(rate);
  endfunction

  function automatic void report();
    longint sum = 0, most = 0;
    for (int i = 0; i < 2; i++) begin
      emu_counter("mem_hits", 32'(id_i), i, hits_q[i]);
      emu_counter("mem_misses", 32'(id_i), i, misses_q[i]);
    end
    emu_counter("mem_redirects", 32'(id_i), 0, redirects_q);
    for (int i = 0; i < 7; i++) emu_counter("mem_blocked_cycles", 32'(id_i), i, blocked_q[i]);
    for (int i = 0; i < 5; i++) emu_counter("mem_late_reads", 32'(id_i), i, late_q[i]);
    emu_counter("mem_refused", 32'(id_i), 0, longint'(refused_count_i));
    for (int i = 0; i < 4; i++) begin
      emu_counter("hbm_rows", 32'(id_i), i, hbm_rows_q[i]);
      emu_counter("ddr_rows", 32'(id_i), i, ddr_rows_q[i]);
    end
    for (int unsigned c = 0; c < HbmChannels; c++) begin
      sum += hbm_lines_q[c];
      if (hbm_lines_q[c] > most) most = hbm_lines_q[c];
    end
    emu_counter("hbm_busy_ns", 32'(id_i), 0, busy_ns(sum, straps_i.hbm.rate_b16, 1));
    emu_counter("hbm_busy_ns", 32'(id_i), 1, busy_ns(most, straps_i.hbm.rate_b16, 1));
    sum = 0;
    most = 0;
    for (int unsigned c = 0; c < DdrChannels; c++) begin
      sum += ddr_lines_q[c];
      if (ddr_lines_q[c] > most) most = ddr_lines_q[c];
    end
    emu_counter("ddr_busy_ns", 32'(id_i), 0, busy_ns(sum, straps_i.ddr.rate_b16, 2));
    emu_counter("ddr_busy_ns", 32'(id_i), 1, busy_ns(most, straps_i.ddr.rate_b16, 2));
    emu_counter("hbm_ahead_ns_max", 32'(id_i), 0, hbm_ahead_q);
    emu_counter("ddr_ahead_ns_max", 32'(id_i), 0, ddr_ahead_q);
  endfunction

  function automatic void count_start(int unsigned p);
    if (hit_i[p]) hits_q[32'(is_write_i[p])] += 1;
    else misses_q[32'(is_write_i[p])] += 1;
    if (redirect_i[p]) redirects_q += 1;
    if (hbm_fire_i[p]) begin
      hbm_rows_q[kind_of(hbm_access_i[p])] += 1;
      hbm_lines_q[hbm_channel_i[p]] += 1;
      if (longint'(hbm_done_ns_i[p] - now_i) > hbm_ahead_q) hbm_ahead_q = longint'(hbm_done_ns_i[p] - now_i);
    end
    if (ddr_fire_i[p]) begin
      ddr_rows_q[kind_of(ddr_access_i[p])] += 1;
      ddr_lines_q[ddr_channel_i[p]] += 1;
      if (longint'(ddr_done_ns_i[p] - now_i) > ddr_ahead_q) ddr_ahead_q = longint'(ddr_done_ns_i[p] - now_i);
    end
  endfunction

  function automatic void count_late(int unsigned p);
    access_t  a = needs_ddr_i[p] ? ddr_access_i[p] : hbm_access_i[p];
    time_ns_t column_ns = needs_ddr_i[p] ? ddr_column_ns_i[p] : hbm_column_ns_i[p];
    time_ns_t bank_ns = a.command_ns - now_i;
    time_ns_t bus_ns = column_ns - a.column_ns;
    time_ns_t due_ns = since_ns_i[p] + time_ns_t'(straps_i.port_ns);  // it could have started
    time_ns_t start_ns = now_i - due_ns;
    int       cause = a.refreshing ? 0 : 1;
    if (read_done_ns_i[p] <= due_ns + ddr_idle_ns_i + time_ns_t'(LateNs)) return;
    if (bus_ns > bank_ns) cause = 2;
    if (start_ns > bank_ns && start_ns > bus_ns) cause = 3;
    late_q[cause] += 1;
    if (cause != 3 && needs_ddr_i[p]) late_q[4] += 1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && head_i != '0) begin
      if ((head_i & ~grant_i) != '0) count_blocked(head_i & ~grant_i);
      if (starts_i != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (starts_i[p]) count_start(p);
          if (starts_i[p] && !is_write_i[p]) count_late(p);
        end
      end
    end
    if (check_pkg::reporting) report();
  end

endmodule

bind pf_mem count_mem #(
  .Ports      (Ports),
  .HbmChannels(HbmChannels),
  .DdrChannels(SubChannels * DdrChannels),
  .HbmBits    (HbmBits),
  .DdrBits    (DdrBits)
) u_count (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .straps_i,
  .head_i         (head),
  .grant_i        (grant),
  .is_write_i     (is_write),
  .starts_i       (starts),
  .hit_i          (hit),
  .redirect_i     (redirect),
  .needs_ddr_i    (needs_ddr),
  .no_hbm_i       (needs_hbm & ~hbm_room),
  .no_ddr_i       (needs_ddr & ~ddr_room),
  .no_commit_i    (is_write & ~commit_room),
  .no_return_i    ((is_write & ~write_room) | (~is_write & ~read_room)),
  .hazard_i       (~is_write & hazard),
  .hbm_fire_i     (starts & needs_hbm),
  .ddr_fire_i     (starts & needs_ddr),
  .hbm_channel_i  (hbm_channel),
  .ddr_channel_i  (ddr_channel),
  .hbm_access_i   (u_hbm.access),
  .ddr_access_i   (u_ddr.access),
  .hbm_done_ns_i  (hbm_done_ns),
  .ddr_done_ns_i  (ddr_done_ns),
  .hbm_column_ns_i(u_hbm.column_ns),
  .ddr_column_ns_i(u_ddr.column_ns),
  .since_ns_i     (rx_since_ns_i),
  .read_done_ns_i (read_done_ns),
  .ddr_idle_ns_i  (ddr_idle_ns),
  .refused_count_i(refused_count)
);
