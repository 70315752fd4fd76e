// Transmitting end of one direction, the link layer: when a flit leaves, and which.
//
// Go-back-N: a flit stays in the replay buffer until it is acknowledged; after a Nak, or when nothing was acknowledged for the
// time of the replay timer, all unacknowledged flits are sent again in order. After `limit_i` replays without an
// acknowledgement in between the link is given up. Acknowledgements and credits of the other direction ride in every flit; a
// flit that carries nothing else leaves when they are due. An idle line sends at once what there is.

module cxl_link_tx
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import cxl_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned HeadBits = 30,      // message without data
  parameter int unsigned DataHeadBits = 30,  // header of a message with data
  parameter int unsigned SlotFields = 3,     // headers in a G slot: 1 or 3
  parameter bit          Enables = 1'b0,     // messages with data may carry byte enables
  parameter int unsigned RxDepth = 256       // messages of a class that the other end can hold
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  time_ns_t                now_i,
  /// From the end of a flit to its messages at the other end, at least 2.
  input  delay_ns_t               delay_ns_i,
  input  rate_b16_t               rate_b16_i,
  /// Replay timer, and replays in a row after which the link is given up.
  input  time_ns_t                timeout_ns_i,
  input  logic [15:0]             limit_i,
  input  link_fault_t             fault_i,
  /// A flit starts in this cycle.
  output logic                    start_o,
  /// The link is down, given up by either end; this end gives it up.
  input  logic                    down_i,
  output logic                    dead_o,
  input  logic                    viral_i,
  // Messages
  input  logic [Lanes-1:0]        head_valid_i,
  output logic [Lanes-1:0]        head_ready_o,
  input  logic [HeadBits-1:0]     head_i[Lanes],
  input  logic [Lanes-1:0]        data_valid_i,
  output logic [Lanes-1:0]        data_ready_o,
  input  logic [DataHeadBits-1:0] data_head_i[Lanes],
  input  data_t                   data_line_i[Lanes],
  input  logic [63:0]             data_be_i[Lanes],
  // What the receiver of this end has to say: last flit in order, Nak, a flit is wanted for it; credits, a flit is wanted
  input  seq_t                    ack_i,
  input  logic                    nak_i,
  input  logic                    ack_due_i,
  input  flit_credits_t           give_i,
  input  logic                    give_due_i,
  /// The credits leave in this cycle (acknowledgements leave with each start).
  output logic                    given_o,
  // What it heard from the other end's receiver
  input  logic                    got_i,
  input  seq_t                    got_ack_i,
  input  logic                    got_nak_i,
  input  flit_credits_t           got_credits_i,
  // Far end of the line: a flit arrives in this cycle
  output logic                    valid_o,
  output word_t                   flit_o[Words],
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t                wake_ns_o
);

  seq_t        next_q;   // next new flit
  seq_t        send_q;   // next flit to be sent, behind next_q during a replay
  seq_t        acked_q;  // oldest flit without acknowledgement
  time_ns_t    free_ns_q;
  spent_b16_t  spent_q;
  logic        timing_q;
  time_ns_t    timer_ns_q;
  logic [15:0] tries_q;
  logic        dead_q, viral_q;

  logic         waiting, room, full, replaying, want_new, want, blocked, timing, expired;
  slot_t        slot;
  flit_header_t header;
  time_ns_t     line_wake_ns;

  assign replaying = send_q != next_q;
  assign full = waiting && seq_t'(next_q - acked_q) >= Window;
  assign want_new = !replaying && seq_t'(next_q - acked_q) < Window && (waiting || give_due_i);
  assign want = !down_i && (replaying || want_new || ack_due_i || viral_i != viral_q);
  assign blocked = want && fault_i.down;
  assign start_o = want && !fault_i.down && room && now_i >= free_ns_q;
  assign given_o = start_o && want_new;
  assign slot = start_o ? serialize(bytes_t'(FlitBytes), now_i == free_ns_q ? spent_q : '0, rate_b16_i) : '0;
  assign header = '{ack: ack_i, seq: send_q, zero: 1'b0, viral: viral_i, nak: nak_i,
                    sequenced: replaying || want_new};

  // The timer runs while a flit is unacknowledged, and while the line takes none.
  assign timing = !down_i && (next_q != acked_q || blocked);
  assign expired = timing && timing_q && now_i >= timer_ns_q;
  assign dead_o = dead_q;

  always_comb begin
    wake_ns_o = line_wake_ns;
    if (timing) wake_ns_o = earlier(wake_ns_o, timing_q ? timer_ns_q : now_i);
    if (want) wake_ns_o = earlier(wake_ns_o, blocked ? now_i : later(now_i, free_ns_q));
  end

  cxl_flit_pack #(
    .HeadBits    (HeadBits),
    .DataHeadBits(DataHeadBits),
    .SlotFields  (SlotFields),
    .Enables     (Enables),
    .RxDepth     (RxDepth)
  ) u_pack (
    .clk_i,
    .rst_ni,
    .now_i,
    .flush_i  (down_i),
    .head_valid_i,
    .head_ready_o,
    .head_i,
    .data_valid_i,
    .data_ready_o,
    .data_head_i,
    .data_line_i,
    .data_be_i,
    .waiting_o(waiting),
    .send_i   (start_o),
    .build_i  (given_o),
    .header_i (header),
    .give_i,
    .credits_i(got_credits_i),
    // One cycle is the messages' way into the queue, one the way out at the other end.
    .due_i    (now_i + time_ns_t'(slot.last_ns) + time_ns_t'(delay_ns_i) - 2),
    .fault_i,
    .room_o   (room),
    .valid_o,
    .flit_o,
    .wake_ns_o(line_wake_ns)
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_ns_q <= '0;
      spent_q <= '0;
      viral_q <= 1'b0;
    end else if (start_o) begin
      free_ns_q <= now_i + time_ns_t'(slot.whole_ns);
      spent_q <= slot.spent;
      viral_q <= viral_i;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      next_q <= '0;
      send_q <= '0;
      acked_q <= '0;
      timing_q <= 1'b0;
      timer_ns_q <= '0;
      tries_q <= '0;
      dead_q <= 1'b0;
    end else if (start_o || got_i || timing || timing_q) begin
      automatic seq_t next = next_q + seq_t'(given_o);
      automatic seq_t send = send_q + seq_t'(start_o && header.sequenced);
      automatic seq_t acked = got_ack_i + 1'b1;
      automatic seq_t progress = got_i ? acked - acked_q : '0;
      automatic logic again = expired;
      if (progress == 0 || progress > seq_t'(next_q - acked_q)) begin
        acked = acked_q;
        progress = '0;
      end
      // What was acknowledged during a replay need not be sent again.
      if (seq_t'(send - acked_q) < progress) send = acked;
      if (got_i && got_nak_i && acked != next) again = 1'b1;
      if (again) send = acked;
      next_q <= next;
      send_q <= send;
      acked_q <= acked;
      timing_q <= timing;
      if (progress != 0) tries_q <= 16'(again);
      else if (again) tries_q <= tries_q + 1'b1;
      if (again && progress == 0 && tries_q >= limit_i) dead_q <= 1'b1;
      if (progress != 0 || again || !timing_q) timer_ns_q <= now_i + timeout_ns_i;
    end
  end

endmodule
