// First-order timing of a group of DRAM channels (HBM pseudo channels or DDR5 channels).
//
// An access books its channel's data bus at the strapped rate and its bank by row state: open row (column access only), closed
// (activate first) or another row open (precharge first). A row that idles is closed; a refresh stops its banks and closes
// their rows. A bank that waits does not hold up the bus for others. Data does not pass here: the answer is a time.
//
// At most one access a channel and cycle (the caller arbitrates by `channel_o`). `room_o` falls when the channel or the bank is
// booked further ahead than its queue would hold.

module mem_dram
  import pf_pkg::*;
  import pf_rate_pkg::*;
#(
  parameter  int unsigned Ports = 4,
  parameter  int unsigned Channels = 64,  // power of two
  parameter  int unsigned Banks = 16,     // a channel; power of two
  parameter  int unsigned RowLines = 16,  // lines of one row; power of two
  parameter  int unsigned AheadNs = 64,   // how far ahead a channel may be booked
  parameter  bit          BankRefresh = 1'b0,  // banks are refreshed one after the other, not all of a channel at once
  localparam int unsigned ChannelBits = Channels > 1 ? $clog2(Channels) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  time_ns_t               now_i,
  input  dram_straps_t           straps_i,
  /// Ports that look: channel and room are given for their line.
  input  logic [Ports-1:0]       look_i,
  input  dpa_line_t              line_i   [Ports],
  output logic [ChannelBits-1:0] channel_o[Ports],
  output logic [Ports-1:0]       room_o,
  /// Ports whose access starts now; the time at which the line has been moved.
  input  logic [Ports-1:0]       fire_i,
  output time_ns_t               done_ns_o[Ports]
);

  localparam int unsigned BankBits = Banks > 1 ? $clog2(Banks) : 1;
  localparam int unsigned ColumnBits = $clog2(RowLines);
  localparam int unsigned ChannelLog2 = $clog2(Channels);
  localparam int unsigned BankLog2 = $clog2(Banks);
  localparam int unsigned RowShift = ChannelLog2 + ColumnBits;
  typedef logic [ChannelBits+BankBits-1:0] bank_index_t;

  // A channel: when its bus is free.
  time_ns_t   free_ns_q   [Channels];
  spent_b16_t spent_q     [Channels];
  // A bank: its last refresh that counts (0: none yet), when it takes the next column command, its row and the row's last use
  // (0: never).
  time_ns_t   refresh_ns_q[Channels*Banks];
  time_ns_t   ready_ns_q  [Channels*Banks];
  time_ns_t   used_ns_q   [Channels*Banks];
  dpa_line_t  row_q       [Channels*Banks];

  typedef struct packed {
    time_ns_t   free_ns;
    spent_b16_t spent;
    time_ns_t   refresh_ns;
    time_ns_t   column_ns;
    dpa_line_t  row;
  } booking_t;

  bank_index_t bank[Ports];
  booking_t    booking[Ports];

  // Channels and banks are spread by folding higher address bits onto them, so that strides do not meet in one channel.
  function automatic logic [ChannelBits-1:0] channel_of(dpa_line_t addr);
    dpa_line_t fold = addr ^ (addr >> ChannelLog2) ^ (addr >> (2 * ChannelLog2 + 3));
    return ChannelBits'(fold & ~(~dpa_line_t'(0) << ChannelLog2));
  endfunction

  function automatic bank_index_t bank_of(dpa_line_t addr);
    dpa_line_t row = addr >> RowShift;
    row = (row ^ (row >> BankLog2)) & ~(~dpa_line_t'(0) << BankLog2);
    return bank_index_t'({channel_of(addr), BankBits'(row)});
  endfunction

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      channel_o[p] = '0;
      bank[p] = '0;
    end
    room_o = '0;
    if (|look_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_i[p]) begin
          channel_o[p] = channel_of(line_i[p]);
          bank[p] = bank_of(line_i[p]);
          room_o[p] = free_ns_q[channel_o[p]] <= now_i + time_ns_t'(AheadNs)
              && ready_ns_q[bank[p]] <= now_i + time_ns_t'(2 * AheadNs);
        end
      end
    end
  end

  function automatic booking_t book(logic [ChannelBits-1:0] c, bank_index_t b, dpa_line_t addr);
    booking_t k = '0;
    time_ns_t start_ns = later(now_i, free_ns_q[c]);
    time_ns_t refi_ns = time_ns_t'(straps_i.refi_ns);
    slot_t slot = serialize(bytes_t'(LineBytes), start_ns == free_ns_q[c] ? spent_q[c] : '0,
                            straps_i.rate_b16);
    logic open = 1'b0;
    k.free_ns = start_ns + time_ns_t'(slot.whole_ns);
    k.spent = slot.spent;
    // The command goes out when bus and bank are free and no refresh is under way.
    k.column_ns = later(start_ns, ready_ns_q[b]);
    if (refresh_ns_q[b] != 0) k.refresh_ns = refresh_ns_q[b];
    else if (BankRefresh) k.refresh_ns = (refi_ns * time_ns_t'(b)) >> (ChannelLog2 + BankLog2);
    else k.refresh_ns = (refi_ns * time_ns_t'(c)) >> ChannelLog2;
    if (straps_i.refi_ns != 0 && k.column_ns >= k.refresh_ns + refi_ns) begin
      k.refresh_ns += ((k.column_ns - k.refresh_ns) / refi_ns) * refi_ns;
    end
    if (straps_i.refi_ns != 0 && k.refresh_ns >= refi_ns && k.column_ns >= k.refresh_ns) begin
      k.column_ns = later(k.column_ns, k.refresh_ns + time_ns_t'(straps_i.rfc_ns));
    end
    open = used_ns_q[b] != 0 && (straps_i.refi_ns == 0 || used_ns_q[b] >= k.refresh_ns || k.refresh_ns < refi_ns)
        && (straps_i.idle_close_ns == 0 || k.column_ns <= used_ns_q[b] + time_ns_t'(straps_i.idle_close_ns));
    k.row = addr >> RowShift;
    if (!open) k.column_ns += time_ns_t'(straps_i.rcd_ns);
    else if (row_q[b] != k.row) k.column_ns += time_ns_t'(straps_i.rp_ns) + time_ns_t'(straps_i.rcd_ns);
    return k;
  endfunction

  // Time of moving one line.
  slot_t move;
  assign move = serialize(bytes_t'(LineBytes), '0, straps_i.rate_b16);

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      done_ns_o[p] = '0;
      if (fire_i[p]) begin
        booking[p] = book(channel_o[p], bank[p], line_i[p]);
        done_ns_o[p] = booking[p].column_ns + time_ns_t'(straps_i.cas_ns) + time_ns_t'(move.last_ns);
      end else begin
        booking[p] = '0;
      end
    end
  end

  // Refreshes are spread over the interval; the first comes after one interval.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        free_ns_q[c] <= '0;
        spent_q[c] <= '0;
      end
      for (int unsigned b = 0; b < Channels * Banks; b++) begin
        refresh_ns_q[b] <= '0;
        ready_ns_q[b] <= '0;
        used_ns_q[b] <= '0;
      end
    end else if (|fire_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (fire_i[p]) begin
          free_ns_q[channel_o[p]] <= booking[p].free_ns;
          spent_q[channel_o[p]] <= booking[p].spent;
          refresh_ns_q[bank[p]] <= booking[p].refresh_ns;
          ready_ns_q[bank[p]] <= booking[p].column_ns + 1;
          used_ns_q[bank[p]] <= booking[p].column_ns;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (|fire_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (fire_i[p]) row_q[bank[p]] <= booking[p].row;
      end
    end
  end

  initial begin
    if ((Channels & (Channels - 1)) != 0 || (Banks & (Banks - 1)) != 0 || (RowLines & (RowLines - 1)) != 0)
      $fatal(1, "%m: Channels %0d, Banks %0d and RowLines %0d must be powers of two", Channels, Banks, RowLines);
  end

endmodule
