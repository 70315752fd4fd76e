// Receiving end of one direction, the link layer: CRC, order, and what the other end is told about it.
//
// Store and forward: nothing of a flit is delivered before its CRC is good. Flits are taken in order; one that is broken or
// comes too early brings a Nak, once, and again when the replay should have come; one that comes twice is acknowledged again.
// Acknowledgements are gathered: one goes out after eight flits, or after `ack_ns_i`, or with whatever leaves before.

module cxl_link_rx
  import pf_pkg::*;
  import cxl_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned HeadBits = 30,      // message without data
  parameter int unsigned DataHeadBits = 30,  // header of a message with data
  parameter int unsigned SlotFields = 3,     // headers in a G slot: 1 or 3
  parameter bit          Enables = 1'b0,     // messages with data may carry byte enables
  parameter int unsigned RxDepth = 256       // messages of a class, power of two
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  time_ns_t                now_i,
  /// For how long an acknowledgement may wait.
  input  delay_ns_t               ack_ns_i,
  /// Time after a Nak in which the replay begins to arrive.
  input  time_ns_t                replay_ns_i,
  /// The link is down: what arrives is forgotten.
  input  logic                    down_i,
  // A flit arrives in this cycle
  input  logic                    valid_i,
  input  word_t                   flit_i[Words],
  // Messages
  output logic [Lanes-1:0]        head_valid_o,
  input  logic [Lanes-1:0]        head_ready_i,
  output logic [HeadBits-1:0]     head_o[Lanes],
  output logic [Lanes-1:0]        data_valid_o,
  input  logic [Lanes-1:0]        data_ready_i,
  output logic [DataHeadBits-1:0] data_head_o[Lanes],
  output data_t                   data_line_o[Lanes],
  output logic [63:0]             data_be_o[Lanes],
  // To the transmitter of this end: what to tell, and that it tells it in this cycle
  output seq_t                    ack_o,
  output logic                    nak_o,
  output logic                    ack_due_o,
  output flit_credits_t           give_o,
  output logic                    give_due_o,
  input  logic                    told_i,
  input  logic                    given_i,
  // To the transmitter of this end: what the other end tells
  output logic                    got_o,
  output seq_t                    got_ack_o,
  output logic                    got_nak_o,
  output flit_credits_t           got_credits_o,
  /// The other end's device is in viral state, or was since reset.
  output logic                    viral_o,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t                wake_ns_o
);

  localparam logic [3:0] AckEvery = 4'd8;

  seq_t         expected_q;
  logic         nak_q, naked_q, again_q, viral_q;
  time_ns_t     nak_ns_q;  // a Nak before this time would be for the same loss
  logic [3:0]   untold_q;  // flits taken since the other end was told
  time_ns_t     ack_ns_q;

  logic         good, take, early, twice, lost;
  flit_header_t header;
  seq_t         ahead;  // of what is expected; negative when the flit was there before

  assign header = flit_header_t'(flit_i[0][15:0]);

  always_comb begin
    automatic word_t crc = '0;
    good = 1'b0;
    if (valid_i) begin
      for (int unsigned w = SlotWords; w != 0; w--) begin
        automatic word_t word = flit_i[5'(w-1)];
        if ((crc | word) != 0) crc = crc_step(crc, word);
      end
      crc = crc_step(crc, word_t'(flit_i[CreditWord][15:0])) ^ CrcFinal;
      good = crc == {flit_i[CrcWord][15:0], flit_i[CreditWord][63:16]} && !down_i;
    end
  end

  assign take = good && header.sequenced && header.seq == expected_q;
  assign ahead = header.seq - expected_q;
  assign early = good && header.sequenced && ahead != 0 && !ahead[5];
  assign twice = good && header.sequenced && ahead[5];
  assign lost = (valid_i && !good && !down_i) || early;

  assign ack_o = expected_q - 1'b1;
  assign nak_o = nak_q;
  assign ack_due_o = nak_q || again_q || untold_q >= AckEvery || (untold_q != 0 && now_i >= ack_ns_q);
  assign got_o = good;
  assign got_ack_o = header.ack;
  assign got_nak_o = header.nak;
  assign got_credits_o = take ? flit_credits_t'(flit_i[CreditWord][15:0]) : '0;
  assign viral_o = viral_q;

  always_comb begin
    wake_ns_o = untold_q != 0 && !down_i ? ack_ns_q : '1;
    if (head_valid_o[0] || data_valid_o[0]) wake_ns_o = now_i;
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      expected_q <= '0;
      nak_q <= 1'b0;
      naked_q <= 1'b0;
      nak_ns_q <= '0;
      again_q <= 1'b0;
      untold_q <= '0;
      ack_ns_q <= '0;
      viral_q <= 1'b0;
    end else if (valid_i || told_i) begin
      if (take) expected_q <= expected_q + 1'b1;
      // A Nak answers the first loss; another is due when that loss is mended, or when its replay is lost, too.
      if (take) naked_q <= 1'b0;
      else if (lost) naked_q <= 1'b1;
      if (lost && (!naked_q || now_i >= nak_ns_q)) begin
        nak_q <= 1'b1;
        nak_ns_q <= now_i + replay_ns_i;
      end else if (told_i || take) begin
        nak_q <= 1'b0;
      end
      again_q <= twice || (again_q && !told_i);
      untold_q <= (told_i ? '0 : untold_q) + 4'(take && (told_i || untold_q != '1));
      if (take && (told_i || untold_q == 0)) ack_ns_q <= now_i + time_ns_t'(ack_ns_i);
      if (good && header.viral) viral_q <= 1'b1;
    end
  end

  cxl_flit_unpack #(
    .HeadBits    (HeadBits),
    .DataHeadBits(DataHeadBits),
    .SlotFields  (SlotFields),
    .Enables     (Enables),
    .RxDepth     (RxDepth)
  ) u_unpack (
    .clk_i,
    .rst_ni,
    .take_i(take),
    .flit_i,
    .head_valid_o,
    .head_ready_i,
    .head_o,
    .data_valid_o,
    .data_ready_i,
    .data_head_o,
    .data_line_o,
    .data_be_o,
    .give_o,
    .give_due_o,
    .given_i
  );

endmodule
