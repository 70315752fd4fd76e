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
  localparam logic [31:0] LineUnits = 32'(LineBytes) << (4 + RateShift);  // of 1/16 B
  localparam time_ns_t Ahead = time_ns_t'(AheadNs);
  localparam time_ns_t Horizon = time_ns_t'(HorizonNs);
  typedef logic [$clog2(WriteBatch):0] batch_t;
  localparam batch_t ReadsCame = batch_t'(WriteBatch);
  typedef logic [$clog2(Channels*Banks)-1:0] bank_index_t;
  typedef logic [$clog2(Channels*HorizonNs)-1:0] place_t;

  /// One nanosecond of a bus: which one, and what is spent of it.
  typedef struct packed {
    logic [15:0] epoch;
    spent_b16_t  spent;
  } tick_t;

  logic [31:0] rate, turn_units;

  bank_t                bank_q     [Channels*Banks];
  // The channels of a nanosecond lie side by side: bookings of all of them fall into the same few.
  tick_t                tick_q     [Channels*HorizonNs];
  // A stretch of the calendar that is known to be full, so that nobody has to look through it.
  time_ns_t             full_from_q[Channels];
  time_ns_t             full_to_q  [Channels];
  batch_t               batch_q    [Channels];  // writes of the batch so far; the top bit: reads came in between

  // The access of each port that looks.
  bank_index_t      bank     [Ports];
  time_ns_t         row      [Ports];
  access_t          access   [Ports];
  time_ns_t         column_ns[Ports];  // column command, its data following at a fixed distance
  time_ns_t         last_ns  [Ports];  // last nanosecond of the bus, less that distance
  logic [Ports-1:0] turn;              // the bus is turned round

  // Channels and banks are spread by folding higher address bits onto them, so that strides do not meet in one channel.
  function automatic logic [ChannelBits-1:0] channel_of(dpa_line_t addr);
    dpa_line_t fold = addr ^ (addr >> ChannelLog2) ^ (addr >> (2 * ChannelLog2 + 3));
    return ChannelBits'(fold & ~(~dpa_line_t'(0) << ChannelLog2));
  endfunction

  function automatic logic [31:0] bank_of(dpa_line_t addr);
    dpa_line_t number = addr >> RowShift;
    return 32'((number ^ (number >> BankLog2)) & ~(~dpa_line_t'(0) << BankLog2));
  endfunction

  function automatic time_ns_t row_of(dpa_line_t addr);
    dpa_line_t number = addr >> RowShift;
    return time_ns_t'(number);
  endfunction

  /// First refresh of a bank.
  function automatic time_ns_t phase_of(logic [31:0] b);
    logic [31:0] group = b & ~(~32'd0 << straps_i.ref_groups_log2);
    logic [31:0] member = b >> straps_i.ref_groups_log2;
    logic [31:0] start_ns = (32'(straps_i.refi_ns) * group) >> straps_i.ref_groups_log2;
    return time_ns_t'(start_ns)
        + time_ns_t'(32'(straps_i.ref_step_ns) * member) + time_ns_t'(straps_i.ref_offset_ns);
  endfunction

  function automatic place_t place_of(logic [ChannelBits-1:0] c, time_ns_t at_ns);
    return place_t'(32'(at_ns[TimeBits-1:0]) * Channels + 32'(c));
  endfunction

  function automatic logic [31:0] spent_at(logic [ChannelBits-1:0] c, time_ns_t at_ns);
    tick_t tick = tick_q[place_of(c, at_ns)];
    return tick.epoch == at_ns[TimeBits+:16] ? {16'b0, tick.spent} : '0;
  endfunction

  /// First nanosecond from `at_ns` on with capacity.
  function automatic time_ns_t start_of(logic [ChannelBits-1:0] c, time_ns_t at_ns);
    time_ns_t start_ns = at_ns;
    if (start_ns >= full_from_q[c] && start_ns < full_to_q[c]) start_ns = full_to_q[c];
    while (start_ns < now_i + Horizon && spent_at(c, start_ns) >= rate) start_ns += 1;
    return start_ns;
  endfunction

  /// Nanosecond in which `amount` units have been moved that start at `start_ns`.
  function automatic time_ns_t end_of(logic [ChannelBits-1:0] c, time_ns_t start_ns, logic [31:0] amount);
    time_ns_t    end_ns = start_ns;
    logic [31:0] left = amount;
    logic [31:0] free = 0;
    while (end_ns < now_i + Horizon) begin
      free = rate - spent_at(c, end_ns);
      if (left <= free) break;
      left -= free;
      end_ns += 1;
    end
    return end_ns;
  endfunction

  assign rate = {16'b0, straps_i.rate_b16};
  assign turn_units = {16'b0, straps_i.turn_ns} * rate;

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      channel_o[p] = '0;
      bank[p] = '0;
      row[p] = '0;
      access[p] = '0;
      column_ns[p] = '0;
      last_ns[p] = '0;
      done_ns_o[p] = '0;
    end
    turn = '0;
    room_o = '0;
    if (|look_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_i[p]) begin
          automatic logic [ChannelBits-1:0] c = channel_of(line_i[p]);
          channel_o[p] = c;
          bank[p] = bank_index_t'(32'(c) * Banks + bank_of(line_i[p]));
          row[p] = row_of(line_i[p]);
          access[p] = access_of(bank_q[bank[p]], row[p], now_i, phase_of(bank_of(line_i[p])), straps_i);
          turn[p] = is_write_i[p] && batch_q[c] == ReadsCame;
          column_ns[p] = start_of(c, access[p].column_ns);
          last_ns[p] = end_of(c, column_ns[p], LineUnits + (turn[p] ? turn_units : 0));
          done_ns_o[p] = last_ns[p] + time_ns_t'(straps_i.cas_ns) + 1;
          room_o[p] = last_ns[p] < now_i + Horizon && full_to_q[c] <= now_i + Ahead;
        end
      end
    end
  end

  /// A batch begins with the turn; writes after its end are free until reads come.
  function automatic batch_t batch_after(batch_t batch, logic writes, logic turns);
    if (!writes) return batch | ReadsCame;
    if (turns) return batch_t'(1);
    if ((batch & ~ReadsCame) == '0) return batch;
    return (batch & ReadsCame) | ((batch + 1'b1) & ~ReadsCame);
  endfunction

  function automatic bank_t after(bank_t bank_before, access_t how, time_ns_t new_row, time_ns_t at_ns, logic writes);
    bank_t    next = bank_before;
    time_ns_t used_ns = at_ns + (writes ? time_ns_t'(straps_i.wr_ns) : time_ns_t'(straps_i.rtp_ns));
    next.row = new_row;
    next.column_ns = at_ns;
    next.refresh_ns = how.refresh_ns;
    if (how.activate) next.precharge_ns = how.command_ns + time_ns_t'(straps_i.ras_ns);
    next.precharge_ns = later(next.precharge_ns, used_ns);
    return next;
  endfunction

  // Queued, also where memories are: what is booked in a cycle is read in the same cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        full_from_q[c] <= '0;
        full_to_q[c] <= '0;
        batch_q[c] <= '0;
      end
      for (int unsigned b = 0; b < Channels * Banks; b++) bank_q[b] <= '0;
      for (int unsigned t = 0; t < Channels * HorizonNs; t++) tick_q[t] <= '0;
    end else if (|fire_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (fire_i[p]) begin
          automatic logic [ChannelBits-1:0] c = channel_o[p];
          automatic logic [31:0] left = LineUnits + (turn[p] ? turn_units : 0);
          for (time_ns_t t = column_ns[p]; t <= last_ns[p]; t++) begin
            automatic logic [31:0] spent = spent_at(c, t);
            automatic logic [31:0] take = rate - spent;
            if (take > left) take = left;
            left -= take;
            tick_q[place_of(c, t)] <= '{epoch: t[TimeBits+:16], spent: spent_b16_t'(spent + take)};
          end
          if (access[p].column_ns >= full_from_q[c] && access[p].column_ns <= full_to_q[c]) begin
            full_to_q[c] <= last_ns[p];
          end else if (access[p].column_ns <= now_i + (Ahead >> 1)
                       && (full_to_q[c] <= now_i || access[p].column_ns < full_from_q[c])) begin
            full_from_q[c] <= access[p].column_ns;
            full_to_q[c] <= last_ns[p];
          end
          batch_q[c] <= batch_after(batch_q[c], is_write_i[p], turn[p]);
          bank_q[bank[p]] <= after(bank_q[bank[p]], access[p], row[p], column_ns[p], is_write_i[p]);
        end
      end
    end
  end

  initial begin
    if ((Channels & (Channels - 1)) != 0 || (Banks & (Banks - 1)) != 0 || (RowLines & (RowLines - 1)) != 0
        || (HorizonNs & (HorizonNs - 1)) != 0 || (WriteBatch & (WriteBatch - 1)) != 0 || WriteBatch < 2)
      $fatal(1, "%m: Channels %0d, Banks %0d, RowLines %0d, HorizonNs %0d, WriteBatch %0d must be powers of two",
             Channels, Banks, RowLines, HorizonNs, WriteBatch);
    if (AheadNs >= HorizonNs) $fatal(1, "%m: AheadNs %0d must be below HorizonNs %0d", AheadNs, HorizonNs);
  end

endmodule
