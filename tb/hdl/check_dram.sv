// DRAM: no access is sooner than the device allows. Rows, refresh and the data bus are followed here from the accesses alone.
//
// - a row is activated tRC after the last activate and tRP after the earliest precharge, and no column command comes before
//   tRCD after it, nor before tCCD after the bank's last one;
// - an access without activate finds its row open, and no refresh has closed it;
// - every bank is refreshed in each interval while it is used: no activate lies inside the refresh that is due before it,
//   which starts when it is due or, if an access was under way, when that has been closed;
// - a channel's bus carries no more than its rate in any window of its calendar.

module check_dram
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import mem_dram_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned Channels = 64,
  parameter int unsigned Banks = 16,
  parameter int unsigned RateShift = 0,
  parameter int unsigned ChannelBits = 6,
  parameter int unsigned IndexBits = 10
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input time_ns_t               now_i,
  input dram_straps_t           straps_i,
  input logic [Ports-1:0]       fire_i,
  input logic [Ports-1:0]       is_write_i,
  input logic [ChannelBits-1:0] channel_i    [Ports],
  input logic [IndexBits-1:0]   bank_i       [Ports],
  input time_ns_t               row_i        [Ports],
  input access_t                access_i   [Ports],
  input time_ns_t               column_ns_i  [Ports],
  input time_ns_t               last_ns_i    [Ports]
);

  localparam int unsigned WindowLog2 = 10;
  localparam int unsigned Windows = 4;  // of a channel, so that no two that are alive share a place

  // By bank; times are 0 before the first access.
  time_ns_t row_q       [Channels*Banks];
  time_ns_t activate_q  [Channels*Banks];
  time_ns_t command_q   [Channels*Banks];  // first command of the last access
  time_ns_t column_q    [Channels*Banks];
  time_ns_t closable_q  [Channels*Banks];  // earliest precharge
  // By channel and window of the bus.
  time_ns_t window_q    [Channels*Windows];
  int       lines_q     [Channels*Windows];

  longint unsigned inject_ns;
  string           inject;

  /// Last nominal refresh of a bank at or before `at_ns`; 0 when none was due yet.
  function automatic time_ns_t refresh_due(int unsigned bank, time_ns_t at_ns, time_ns_t refi_ns);
    longint unsigned groups = 64'd1 << straps_i.ref_groups_log2;
    longint unsigned of_channel = longint'(32'(bank % Banks));
    time_ns_t phase_ns = (refi_ns * (of_channel % groups)) / groups
        + time_ns_t'(straps_i.ref_step_ns) * (of_channel / groups) + time_ns_t'(straps_i.ref_offset_ns);
    if (refi_ns == 0 || at_ns < phase_ns) return 0;
    return phase_ns + ((at_ns - phase_ns) / refi_ns) * refi_ns;
  endfunction

  function automatic void check(int unsigned p, bit injecting);
    int unsigned b = 32'(bank_i[p]);
    time_ns_t refi_ns = time_ns_t'(straps_i.refi_ns);
    time_ns_t rcd_ns = time_ns_t'(straps_i.rcd_ns) + (injecting && inject == "row" ? 1 : 0);
    time_ns_t rfc_ns = time_ns_t'(straps_i.rfc_ns) * (injecting && inject == "refresh" ? 2 : 1);
    time_ns_t closed_ns = column_q[b] == 0 ? 0 : closable_q[b] + time_ns_t'(straps_i.rp_ns);
    time_ns_t due_ns = refresh_due(b, access_i[p].command_ns, refi_ns);
    if (access_i[p].activate) begin
      if (column_q[b] != 0 && access_i[p].command_ns < later(closed_ns, activate_q[b] + time_ns_t'(straps_i.ras_ns)
                                                       + time_ns_t'(straps_i.rp_ns)))
        $fatal(1, "%m: t=%0d ns: bank %0d is activated at %0d ns, before it is precharged at %0d ns", now_i, b,
               access_i[p].command_ns, closed_ns);
      if (column_ns_i[p] < access_i[p].command_ns + rcd_ns)
        $fatal(1, "%m: t=%0d ns: bank %0d has a column command at %0d ns, less than %0d ns after its activate, %0d ns",
               now_i, b, column_ns_i[p], rcd_ns, access_i[p].command_ns);
      if (due_ns != 0 && due_ns > command_q[b] && access_i[p].command_ns < later(due_ns, closed_ns) + rfc_ns)
        $fatal(1, "%m: t=%0d ns: bank %0d is activated at %0d ns inside the refresh that is due at %0d ns", now_i, b,
               access_i[p].command_ns, due_ns);
    end else begin
      if (column_q[b] == 0 || row_q[b] != row_i[p])
        $fatal(1, "%m: t=%0d ns: bank %0d has a column command without its row open", now_i, b);
      if (due_ns > command_q[b])
        $fatal(1, "%m: t=%0d ns: bank %0d has its row open after the refresh that is due at %0d ns", now_i, b, due_ns);
    end
    if (column_q[b] != 0 && column_ns_i[p] < column_q[b] + time_ns_t'(straps_i.ccd_ns))
      $fatal(1, "%m: t=%0d ns: bank %0d has column commands at %0d and %0d ns", now_i, b, column_q[b], column_ns_i[p]);
  endfunction

  function automatic void follow(int unsigned p);
    int unsigned b = 32'(bank_i[p]);
    time_ns_t used_ns = column_ns_i[p] + (is_write_i[p] ? time_ns_t'(straps_i.wr_ns) : time_ns_t'(straps_i.rtp_ns));
    if (access_i[p].activate) begin
      activate_q[b] = access_i[p].command_ns;
      closable_q[b] = access_i[p].command_ns + time_ns_t'(straps_i.ras_ns);
    end
    closable_q[b] = later(closable_q[b], used_ns);
    row_q[b] = row_i[p];
    command_q[b] = access_i[p].command_ns;
    column_q[b] = column_ns_i[p];
  endfunction

  /// After a reset the banks are as new.
  function automatic void forget();
    for (int unsigned b = 0; b < Channels * Banks; b++) begin
      activate_q[b] = '0;
      command_q[b] = '0;
      column_q[b] = '0;
      closable_q[b] = '0;
    end
  endfunction

  // A line counts in the window in which it ends. Some more than the rate allows may have begun before: lines share the bus.
  function automatic void check_bus(int unsigned p, bit injecting);
    time_ns_t window = last_ns_i[p] >> WindowLog2;
    int unsigned w = 32'(channel_i[p]) * Windows + 32'(window % Windows);
    longint unsigned room = ((longint'(straps_i.rate_b16) << WindowLog2) >> RateShift) / (longint'(LineBytes) * 16) + 8;
    if (injecting && inject == "bus") room /= 2;
    if (window_q[w] != window) begin
      window_q[w] = window;
      lines_q[w] = 0;
    end
    lines_q[w] += 1;
    if (longint'(lines_q[w]) > room)
      $fatal(1, "%m: t=%0d ns: channel %0d moves %0d lines in the %0d ns before %0d ns, and its rate allows %0d", now_i,
             channel_i[p], lines_q[w], 1 << WindowLog2, (window + 1) << WindowLog2, room);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      forget();
    end else if (fire_i != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (fire_i[p]) begin
          check(p, inject != "" && now_i >= inject_ns);
          check_bus(p, inject != "" && now_i >= inject_ns);
          follow(p);
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected();
  end

endmodule

bind mem_dram check_dram #(
  .Ports      (Ports),
  .Channels   (Channels),
  .Banks      (Banks),
  .RateShift  (RateShift),
  .ChannelBits(ChannelBits),
  .IndexBits  ($bits(bank_index_t))
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .straps_i,
  .fire_i,
  .is_write_i,
  .channel_i  (channel_o),
  .bank_i     (bank),
  .row_i      (row),
  .access_i   (access),
  .column_ns_i(column_ns),
  .last_ns_i  (last_ns)
);
