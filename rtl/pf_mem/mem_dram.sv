// First-order timing of a group of DRAM channels (HBM pseudo channels or DDR5 sub-channels). Data does not pass here: the
// answer to an access is a time.
//
// A bank is booked by its row state and refresh (mem_dram_pkg), then the data bus of its channel at the first time with
// capacity from the column command on. The bus is a calendar with a count for each nanosecond of what is spent of its rate, so
// an access that waits for its bank leaves the time before it to others, and the bus never carries more than its rate. Writes
// go in batches: the first write of a batch that follows reads pays for turning the bus round.
//
// At most one access a channel and cycle (the caller arbitrates by `channel_o`). `room_o` falls when the bus is booked further
// ahead than the channel's queue would hold, or the access would lie behind the calendar's end.

module mem_dram
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import mem_dram_pkg::*;
#(
  parameter  int unsigned Ports = 4,
  parameter  int unsigned Channels = 64,     // power of two
  parameter  int unsigned Banks = 16,        // a channel; power of two
  parameter  int unsigned RowLines = 16,     // lines of one row; power of two
  parameter  int unsigned AheadNs = 64,      // how far ahead the bus may be booked
  parameter  int unsigned HorizonNs = 256,   // of the calendar; power of two
  parameter  int unsigned RateShift = 0,     // a channel has the strapped rate / 2^RateShift
  parameter  int unsigned WriteBatch = 32,   // writes that go together; power of two
  localparam int unsigned ChannelBits = Channels > 1 ? $clog2(Channels) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  time_ns_t               now_i,
  input  dram_straps_t           straps_i,
  /// Ports that look: all answers are for their line.
  input  logic [Ports-1:0]       look_i,
  input  logic [Ports-1:0]       is_write_i,
  input  dpa_line_t              line_i   [Ports],
  output logic [ChannelBits-1:0] channel_o[Ports],
  output logic [Ports-1:0]       room_o,
  /// Time at which the line has been moved when the access starts now.
  output time_ns_t               done_ns_o[Ports],
  /// Ports whose access starts now.
  input  logic [Ports-1:0]       fire_i
);

  localparam int unsigned ColumnBits = $clog2(RowLines);
  localparam int unsigned ChannelLog2 = $clog2(Channels);
  localparam int unsigned BankLog2 = $clog2(Banks);
  localparam int unsigned RowShift = ChannelLog2 + ColumnBits;
  localparam int unsigned TimeBits = $clog2(HorizonNs);
  localparam int unsigned BatchBits = $clog2(WriteBatch) + 1;
  localparam logic [31:0] LineUnits = 32'(LineBytes) << (4 + RateShift);  // of 1/16 B
  typedef logic [$clog2(Channels*Banks)-1:0] bank_index_t;
  typedef logic [$clog2(Channels*HorizonNs)-1:0] place_t;

  /// One nanosecond of a bus: which one, and what is spent of it.
  typedef struct packed {
    logic [15:0] epoch;
    spent_b16_t  spent;
  } tick_t;

  typedef struct packed {
    access_t  access;
    time_ns_t column_ns;  // column command, its data following at a fixed distance
    time_ns_t last_ns;    // last nanosecond of the bus, less that distance
    logic     turn;       // the bus is turned round
  } booking_t;

  bank_t                bank_q     [Channels*Banks];
  tick_t                tick_q     [Channels*HorizonNs];
  // A stretch of the calendar that is known to be full, so that nobody has to look through it.
  time_ns_t             full_from_q[Channels];
  time_ns_t             full_to_q  [Channels];
  logic [BatchBits-1:0] batch_q    [Channels];  // writes of the batch so far; the top bit: reads came in between

  bank_index_t bank[Ports];
  booking_t    booking[Ports];

  // Channels and banks are spread by folding higher address bits onto them, so that strides do not meet in one channel.
  function automatic logic [ChannelBits-1:0] channel_of(dpa_line_t addr);
    dpa_line_t fold = addr ^ (addr >> ChannelLog2) ^ (addr >> (2 * ChannelLog2 + 3));
    return ChannelBits'(fold & ~(~dpa_line_t'(0) << ChannelLog2));
  endfunction

  function automatic logic [31:0] bank_of(dpa_line_t addr);
    dpa_line_t row = addr >> RowShift;
    return 32'((row ^ (row >> BankLog2)) & ~(~dpa_line_t'(0) << BankLog2));
  endfunction

  /// First refresh of a bank.
  function automatic time_ns_t phase_of(logic [31:0] b);
    logic [31:0] group = b & ~(~32'd0 << straps_i.ref_groups_log2);
    return time_ns_t'((32'(straps_i.refi_ns) * group) >> straps_i.ref_groups_log2)
        + time_ns_t'(32'(straps_i.ref_step_ns) * (b >> straps_i.ref_groups_log2)) + time_ns_t'(straps_i.ref_offset_ns);
  endfunction

  function automatic place_t place_of(logic [ChannelBits-1:0] c, time_ns_t at_ns);
    return place_t'(32'(c) * HorizonNs + 32'(at_ns[TimeBits-1:0]));
  endfunction

  function automatic logic [31:0] spent_at(logic [ChannelBits-1:0] c, time_ns_t at_ns);
    tick_t tick = tick_q[place_of(c, at_ns)];
    return tick.epoch == at_ns[TimeBits+:16] ? {16'b0, tick.spent} : '0;
  endfunction

  function automatic booking_t book(logic [ChannelBits-1:0] c, bank_index_t b, dpa_line_t addr, logic writes);
    booking_t    k = '0;
    logic [31:0] rate = {16'b0, straps_i.rate_b16};
    logic [31:0] left = LineUnits;
    logic [31:0] free = 0;
    time_ns_t    end_ns = now_i + HorizonNs;
    time_ns_t    at_ns;
    k.access = access(bank_q[b], time_ns_t'(addr >> RowShift), now_i, phase_of(bank_of(addr)), straps_i);
    k.turn = writes && batch_q[c] == {1'b1, {BatchBits - 1{1'b0}}};
    if (k.turn) left += ({16'b0, straps_i.turn_ns} * rate);
    at_ns = k.access.column_ns;
    if (at_ns >= full_from_q[c] && at_ns < full_to_q[c]) at_ns = full_to_q[c];
    while (at_ns < end_ns && spent_at(c, at_ns) >= rate) at_ns += 1;
    k.column_ns = at_ns;
    while (at_ns < end_ns) begin
      free = rate - spent_at(c, at_ns);
      if (left <= free) break;
      left -= free;
      at_ns += 1;
    end
    k.last_ns = at_ns;
    return k;
  endfunction

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      channel_o[p] = '0;
      bank[p] = '0;
      booking[p] = '0;
      done_ns_o[p] = '0;
    end
    room_o = '0;
    if (|look_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_i[p]) begin
          channel_o[p] = channel_of(line_i[p]);
          bank[p] = bank_index_t'(32'(channel_o[p]) * Banks + bank_of(line_i[p]));
          booking[p] = book(channel_o[p], bank[p], line_i[p], is_write_i[p]);
          done_ns_o[p] = booking[p].last_ns + time_ns_t'(straps_i.cas_ns) + 1;
          room_o[p] = booking[p].last_ns < now_i + HorizonNs && full_to_q[channel_o[p]] <= now_i + AheadNs;
        end
      end
    end
  end

  function automatic bank_t after(booking_t k, bank_t bank_before, dpa_line_t addr, logic writes);
    bank_t    next = bank_before;
    time_ns_t used_ns = k.column_ns + time_ns_t'(writes ? straps_i.wr_ns : straps_i.rtp_ns);
    next.row = time_ns_t'(addr >> RowShift);
    next.column_ns = k.column_ns;
    next.refresh_ns = k.access.refresh_ns;
    if (k.access.activate) next.precharge_ns = k.access.activate_ns + time_ns_t'(straps_i.ras_ns);
    next.precharge_ns = later(next.precharge_ns, used_ns);
    return next;
  endfunction

  // Memories: what is booked in a cycle is seen from the next one on, since one channel has one access a cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        full_from_q[c] = '0;
        full_to_q[c] = '0;
        batch_q[c] = '0;
      end
      for (int unsigned b = 0; b < Channels * Banks; b++) bank_q[b] = '0;
      for (int unsigned t = 0; t < Channels * HorizonNs; t++) tick_q[t] = '0;
    end else if (|fire_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (fire_i[p]) begin
          automatic logic [ChannelBits-1:0] c = channel_o[p];
          automatic booking_t k = booking[p];
          automatic logic [31:0] left = LineUnits;
          if (k.turn) left += ({16'b0, straps_i.turn_ns} * {16'b0, straps_i.rate_b16});
          for (time_ns_t t = k.column_ns; t <= k.last_ns; t++) begin
            automatic logic [31:0] spent = spent_at(c, t);
            automatic logic [31:0] take = {16'b0, straps_i.rate_b16} - spent;
            if (take > left) take = left;
            left -= take;
            tick_q[place_of(c, t)] = '{epoch: t[TimeBits+:16], spent: spent_b16_t'(spent + take)};
          end
          if (k.access.column_ns >= full_from_q[c] && k.access.column_ns <= full_to_q[c]) begin
            full_to_q[c] = k.last_ns;
          end else if (k.access.column_ns <= now_i + AheadNs / 2
                       && (full_to_q[c] <= now_i || k.access.column_ns < full_from_q[c])) begin
            full_from_q[c] = k.access.column_ns;
            full_to_q[c] = k.last_ns;
          end
          if (!is_write_i[p]) batch_q[c][BatchBits-1] = 1'b1;
          else if (k.turn) batch_q[c] = BatchBits'(1);
          else if (batch_q[c][BatchBits-2:0] != '0) batch_q[c][BatchBits-2:0] = batch_q[c][BatchBits-2:0] + 1'b1;
          bank_q[bank[p]] = after(k, bank_q[bank[p]], line_i[p], is_write_i[p]);
        end
      end
    end
  end

  initial begin
    if ((Channels & (Channels - 1)) != 0 || (Banks & (Banks - 1)) != 0 || (RowLines & (RowLines - 1)) != 0
        || (HorizonNs & (HorizonNs - 1)) != 0 || (WriteBatch & (WriteBatch - 1)) != 0 || WriteBatch < 2)
      $fatal(1, "%m: Channels %0d, Banks %0d, RowLines %0d, HorizonNs %0d, WriteBatch %0d must be powers of two", Channels,
             Banks, RowLines, HorizonNs, WriteBatch);
    if (AheadNs >= HorizonNs) $fatal(1, "%m: AheadNs %0d must be below HorizonNs %0d", AheadNs, HorizonNs);
  end

endmodule
