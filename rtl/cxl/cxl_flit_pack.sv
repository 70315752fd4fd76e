// Transmitting end of one direction, the data path: messages that wait, packed into flits, flits kept for replay, and the line.
//
// The link layer (cxl_link_tx) says in which cycle a flit leaves and which: a new one, packed in this cycle from what waits
// and has credits, one of the replay buffer, or one that only acknowledges. Headers leave in the order in which messages were
// accepted, with data first in a cycle; lines follow their headers slot by slot. A line is stored once, when it is accepted,
// and copied when its slot is filled. With each flit the replay buffer holds the CRC of slots 14 to 1, since only header and
// acknowledgement change when it is sent again.
//
// The line is a ring of flits with their due times; a fault inverts bits there, or lets a flit get lost.

module cxl_flit_pack
  import pf_pkg::*;
  import cxl_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned HeadBits = 30,      // message without data
  parameter int unsigned DataHeadBits = 30,  // header of a message with data
  parameter int unsigned SlotFields = 3,     // headers in a G slot: 1 or 3
  parameter bit          Enables = 1'b0,     // messages with data may carry byte enables
  parameter int unsigned QueueDepth = 16,    // messages of a class that wait, power of two
  parameter int unsigned RxDepth = 256,      // messages of a class that the other end can hold
  parameter int unsigned FlightDepth = 64    // flits on the line, power of two
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  time_ns_t                now_i,
  /// The link is down: what comes is taken and forgotten.
  input  logic                    flush_i,
  // Messages
  input  logic [Lanes-1:0]        head_valid_i,
  output logic [Lanes-1:0]        head_ready_o,
  input  logic [HeadBits-1:0]     head_i[Lanes],
  input  logic [Lanes-1:0]        data_valid_i,
  output logic [Lanes-1:0]        data_ready_o,
  input  logic [DataHeadBits-1:0] data_head_i[Lanes],
  input  data_t                   data_line_i[Lanes],
  input  logic [63:0]             data_be_i[Lanes],
  // Link layer
  /// Something waits that could be packed, credits considered.
  output logic                    waiting_o,
  /// A flit leaves in this cycle; it is a new one.
  input  logic                    send_i,
  input  logic                    build_i,
  input  flit_header_t            header_i,
  /// Credits that a new flit gives back to the other end.
  input  flit_credits_t           give_i,
  /// Credits that the other end gave back.
  input  flit_credits_t           credits_i,
  /// When this flit has arrived.
  input  time_ns_t                due_i,
  input  link_fault_t             fault_i,
  // Far end of the line: a flit arrives in this cycle
  output logic                    room_o,
  output logic                    valid_o,
  output word_t                   flit_o[Words],
  /// Time of the next arrival; all ones when the line is empty.
  output time_ns_t                wake_ns_o
);

  localparam int unsigned PtrBits = $clog2(QueueDepth);
  localparam int unsigned FlightBits = $clog2(FlightDepth);
  localparam int unsigned FirstFields = SlotFields == 1 ? 1 : 2;
  localparam int unsigned OpBits = 4;  // opcode of a request with data, its top field
  typedef logic [PtrBits-1:0] place_t;
  typedef logic [PtrBits:0] ptr_t;
  typedef logic [15:0] stamp_t;
  typedef logic [$clog2(RxDepth):0] count_t;
  typedef logic [FlightBits:0] flight_ptr_t;

  logic [HeadBits-1:0]     head_q     [QueueDepth];
  stamp_t                  head_age_q [QueueDepth];
  logic [DataHeadBits-1:0] data_head_q[QueueDepth];
  stamp_t                  data_age_q [QueueDepth];
  data_t                   line_q     [QueueDepth];
  logic [63:0]             be_q       [QueueDepth];
  word_t                   replay_q   [64*Words];
  word_t                   flight_q   [FlightDepth*Words];
  time_ns_t                due_q      [FlightDepth];

  ptr_t        head_wr_q, head_rd_q, data_wr_q, data_rd_q;
  ptr_t        line_rd_q;    // message whose line is being packed; data_rd_q when all have left
  logic [2:0]  line_slot_q;
  stamp_t      age_q;
  count_t      head_credits_q, data_credits_q;
  logic [3:0]  slots_q;      // slots of the last new flit that hold something
  flight_ptr_t flight_wr_q, flight_rd_q;

  ptr_t head_held, data_held, line_held;
  logic head_fire, data_fire;
  logic head_starved, data_starved;  // messages wait for credits

  assign head_held = head_wr_q - head_rd_q;
  assign data_held = data_wr_q - data_rd_q;
  assign line_held = data_wr_q - line_rd_q;
  assign head_ready_o = {flush_i || head_held < ptr_t'(QueueDepth - 1), flush_i || head_held < ptr_t'(QueueDepth)};
  assign data_ready_o = {flush_i || line_held < ptr_t'(QueueDepth - 1), flush_i || line_held < ptr_t'(QueueDepth)};
  assign head_fire = head_valid_i[0] && !flush_i && head_ready_o[0];
  assign data_fire = data_valid_i[0] && !flush_i && data_ready_o[0];
  assign head_starved = head_held != 0 && head_credits_q == 0;
  assign data_starved = data_held != 0 && data_credits_q == 0;
  assign waiting_o = line_rd_q != data_rd_q || (head_held != 0 && !head_starved) || (data_held != 0 && !data_starved);

  assign room_o = flight_wr_q - flight_rd_q != flight_ptr_t'(FlightDepth);
  assign wake_ns_o = flight_wr_q != flight_rd_q ? due_q[flight_rd_q[FlightBits-1:0]] : '1;
  assign valid_o = wake_ns_o <= now_i;

  always_comb begin
    flit_o = '{default: '0};
    if (valid_o) begin
      for (int unsigned w = 0; w < Words; w++) flit_o[w] = flight_q[{flight_rd_q[FlightBits-1:0], 5'(w)}];
    end
  end

  // Messages in.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_wr_q <= '0;
      data_wr_q <= '0;
      age_q <= '0;
    end else if (head_fire || data_fire) begin
      age_q <= age_q + 1'b1;
      if (head_fire) head_wr_q <= head_wr_q + ptr_t'(head_valid_i[1] && head_ready_o[1]) + 1'b1;
      if (data_fire) data_wr_q <= data_wr_q + ptr_t'(data_valid_i[1] && data_ready_o[1]) + 1'b1;
    end
  end

  // Memory: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    if (head_fire) begin
      // verilator lint_off BLKSEQ
      head_q[head_wr_q[PtrBits-1:0]] = head_i[0];
      head_age_q[head_wr_q[PtrBits-1:0]] = age_q;
      if (head_valid_i[1] && head_ready_o[1]) begin
        head_q[place_t'(head_wr_q + 1'b1)] = head_i[1];
        head_age_q[place_t'(head_wr_q + 1'b1)] = age_q;
      end
    end
    if (data_fire) begin
      data_head_q[data_wr_q[PtrBits-1:0]] = data_head_i[0];
      data_age_q[data_wr_q[PtrBits-1:0]] = age_q;
      line_q[data_wr_q[PtrBits-1:0]] = data_line_i[0];
      be_q[data_wr_q[PtrBits-1:0]] = data_be_i[0];
      if (data_valid_i[1] && data_ready_o[1]) begin
        data_head_q[place_t'(data_wr_q + 1'b1)] = data_head_i[1];
        data_age_q[place_t'(data_wr_q + 1'b1)] = age_q;
        line_q[place_t'(data_wr_q + 1'b1)] = data_line_i[1];
        be_q[place_t'(data_wr_q + 1'b1)] = data_be_i[1];
      // verilator lint_on BLKSEQ
      end
    end
  end

  // A new flit is packed into the replay buffer, a slot a step; a flit that leaves is copied from there onto the line.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_rd_q <= '0;
      data_rd_q <= '0;
      line_rd_q <= '0;
      line_slot_q <= '0;
      slots_q <= '0;
      head_credits_q <= count_t'(RxDepth);
      data_credits_q <= count_t'(RxDepth);
      flight_wr_q <= '0;
      flight_rd_q <= '0;
    end else begin
      automatic ptr_t   head_rd = head_rd_q;
      automatic ptr_t   data_rd = data_rd_q;
      automatic count_t head_credits = head_credits_q;
      automatic count_t data_credits = data_credits_q;
      if (build_i) begin
        automatic ptr_t       line_rd = line_rd_q;
        automatic logic [2:0] line_slot = line_slot_q;
        automatic logic       ended = 1'b0;
        automatic logic [3:0] slots = '0;
        automatic word_t      crc = '0;
        for (int unsigned s = 0; s < Slots; s++) begin
          automatic word_t lo = '0;
          automatic word_t hi = '0;
          if (s != 0 && line_rd != data_rd) begin
            automatic place_t place = line_rd[PtrBits-1:0];
            automatic logic   partial = Enables
                && data_head_q[place][DataHeadBits-1-:OpBits] == OpBits'(M2sMemWrPtl);
            slots = slots + 1'b1;
            case (line_slot)
              3'd0:    {hi, lo} = line_q[place][127:0];
              3'd1:    {hi, lo} = line_q[place][255:128];
              3'd2:    {hi, lo} = line_q[place][383:256];
              3'd3:    {hi, lo} = line_q[place][511:384];
              default: lo = be_q[place];
            endcase
            line_slot = line_slot + 1'b1;
            if (line_slot == (partial ? 3'(DataSlots + 1) : 3'(DataSlots))) begin
              line_slot = '0;
              line_rd = line_rd + 1'b1;
            end
          end else if (!ended) begin
            for (int unsigned f = 0; f < (s == 0 ? FirstFields : SlotFields); f++) begin
              automatic logic   more_head = head_rd != head_wr_q && head_credits != 0;
              automatic logic   more_data = data_rd != data_wr_q && data_credits != 0;
              automatic stamp_t older = data_age_q[data_rd[PtrBits-1:0]] - head_age_q[head_rd[PtrBits-1:0]];
              automatic logic   with_data = more_data && (!more_head || older == 0 || older[15]);
              if (more_head || more_data) begin
                if (SlotFields == 1) begin
                  automatic logic [102:0] field = with_data ? 103'(data_head_q[data_rd[PtrBits-1:0]])
                      : 103'(head_q[head_rd[PtrBits-1:0]]);
                  lo[63:16] = field[47:0];
                  hi[55:0] = {with_data, field[102:48]};
                end else begin
                  automatic logic [39:0] field = {with_data, with_data ? 39'(data_head_q[data_rd[PtrBits-1:0]])
                      : 39'(head_q[head_rd[PtrBits-1:0]])};
                  case (f)
                    0:       lo[55:16] = field;
                    1:       hi[39:0] = field;
                    default: {hi[55:40], lo[63:56], lo[15:0]} = field;
                  endcase
                end
                hi[63:60] = hi[63:60] + 1'b1;
                if (with_data) begin
                  data_rd = data_rd + 1'b1;
                  data_credits = data_credits - 1'b1;
                end else begin
                  head_rd = head_rd + 1'b1;
                  head_credits = head_credits - 1'b1;
                end
              end
            end
            slots = slots + 4'(hi[63:60] != 0);
            ended = s != 0 && hi[63:60] == 0;
          end
          // verilator lint_off BLKSEQ
          replay_q[{header_i.seq, 5'(2*s)}] = lo;
          replay_q[{header_i.seq, 5'(2*s+1)}] = hi;
          // verilator lint_on BLKSEQ
        end
        for (int unsigned w = SlotWords - 1; w >= 2; w--) begin
          automatic word_t word = replay_q[{header_i.seq, 5'(w)}];
          if ((crc | word) != 0) crc = crc_step(crc, word);
        end
        // verilator lint_off BLKSEQ
        replay_q[{header_i.seq, 5'(CreditWord)}] = word_t'(give_i);
        replay_q[{header_i.seq, 5'(CrcWord)}] = crc;
        // verilator lint_on BLKSEQ
        line_rd_q <= line_rd;
        line_slot_q <= line_slot;
        slots_q <= slots;
      end
      if (send_i && !fault_i.drop) begin
        automatic word_t crc = '0;
        automatic word_t first = word_t'(header_i);
        automatic word_t credits = '0;
        automatic logic [FlightBits-1:0] place = flight_wr_q[FlightBits-1:0];
        // verilator lint_off BLKSEQ
        if (header_i.sequenced) begin
          for (int unsigned w = 1; w < SlotWords; w++)
            flight_q[{place, 5'(w)}] = replay_q[{header_i.seq, 5'(w)}];
          first = first | replay_q[{header_i.seq, 5'd0}];
          credits = replay_q[{header_i.seq, 5'(CreditWord)}];
          crc = crc_step(replay_q[{header_i.seq, 5'(CrcWord)}], replay_q[{header_i.seq, 5'd1}]);
        end else begin
          for (int unsigned w = 1; w < SlotWords; w++) flight_q[{place, 5'(w)}] = '0;
        end
        crc = crc_step(crc_step(crc, first), credits) ^ CrcFinal;
        flight_q[{place, 5'd0}] = first;
        flight_q[{place, 5'(CreditWord)}] = {crc[47:0], credits[15:0]};
        flight_q[{place, 5'(CrcWord)}] = {48'b0, crc[63:48]};
        due_q[place] = due_i;
        if (fault_i.flip != 0 && fault_i.at < 16'(8 * FlitBytes)) begin
          automatic logic [127:0] flips = {96'b0, fault_i.flip} << fault_i.at[5:0];
          automatic logic [4:0]   at = fault_i.at[10:6];
          flight_q[{place, at}] = flight_q[{place, at}] ^ flips[63:0];
          if (at != '1) flight_q[{place, at + 5'd1}] = flight_q[{place, at + 5'd1}] ^ flips[127:64];
        end
        // verilator lint_on BLKSEQ
        flight_wr_q <= flight_wr_q + 1'b1;
      end
      if (valid_o) flight_rd_q <= flight_rd_q + 1'b1;
      if (flush_i) begin
        head_rd_q <= head_wr_q;
        data_rd_q <= data_wr_q;
        line_rd_q <= data_wr_q;
      end else if (build_i || credits_i != '0) begin
        head_rd_q <= head_rd;
        data_rd_q <= data_rd;
        head_credits_q <= head_credits + count_t'(credits_i.head);
        data_credits_q <= data_credits + count_t'(credits_i.data);
      end
    end
  end

  initial begin
    if (!(SlotFields inside {1, 3})) $fatal(1, "%m: SlotFields %0d is neither 1 nor 3", SlotFields);
    if (HeadBits > (SlotFields == 1 ? 103 : 39) || DataHeadBits > (SlotFields == 1 ? 103 : 39))
      $fatal(1, "%m: HeadBits %0d or DataHeadBits %0d do not fit a slot with %0d headers", HeadBits, DataHeadBits,
             SlotFields);
    if (QueueDepth < 8 || (QueueDepth & (QueueDepth - 1)) != 0)
      $fatal(1, "%m: QueueDepth %0d is not a power of two of at least 8", QueueDepth);
    if (FlightDepth < 2 || (FlightDepth & (FlightDepth - 1)) != 0)
      $fatal(1, "%m: FlightDepth %0d is not a power of two of at least 2", FlightDepth);
  end

endmodule
