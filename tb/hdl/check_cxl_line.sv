// One direction of a CXL link: credits are conserved, no receive buffer overflows, flits keep their order, and what is
// delivered is bit for bit what was sent.
//
// In the cycle after something moved, for each class: credits at the sender + messages under way + messages in the receive
// buffer + credits owed + credits under way = size of the buffer. A flit that the receiver takes must be the one that the
// sender's replay buffer holds, whatever the line did to it.

module check_cxl_line
  import pf_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned RxDepth = 256
) (
  input logic          clk_i,
  input logic          rst_ni,
  input time_ns_t      now_i,
  input logic          down_i,
  // By class: 0 without data, 1 with
  input int unsigned   credits_i[2],     // at the sender
  input int unsigned   packed_i[2],      // pointers that count messages, modulo 32 and 512
  input int unsigned   unpacked_i[2],
  input int unsigned   taken_i[2],
  input int unsigned   owed_i[2],
  input logic          moved_i,          // a message or a credit moves in this cycle
  input logic          given_i,          // credits leave
  input flit_credits_t give_i,
  input flit_credits_t got_i,            // credits arrive
  // Sender
  input seq_t          next_i,
  input seq_t          send_i,
  input seq_t          acked_i,
  input word_t         replay_i[64*Words],
  // Receiver
  input seq_t          expected_i,
  input logic          take_i,
  input word_t         flit_i[Words]
);

  logic        moved_q;
  int unsigned packed_q[2], unpacked_q[2];
  int          messages_q[2], credits_q[2];  // under way
  longint unsigned inject_ns;
  bit inject_credit, inject_overflow, inject_seq, inject_crc;

  function automatic void check_class(int unsigned c, int messages);
    int held = int'(9'(unpacked_i[c] - taken_i[c])) + (inject_overflow && now_i >= inject_ns ? int'(RxDepth) : 0);
    int sum = int'(credits_i[c]) + messages + held + int'(owed_i[c]) + credits_q[c]
        + int'(inject_credit && now_i >= inject_ns);
    if (held > int'(RxDepth))
      $fatal(1, "%m: t=%0d ns: class %0d: %0d messages in a receive buffer of %0d", now_i, c, held, RxDepth);
    if (sum != int'(RxDepth))
      $fatal(1, "%m: t=%0d ns: class %0d: %0d credits + %0d messages under way + %0d held + %0d owed + %0d coming: %0d",
             now_i, c, credits_i[c], messages, held, owed_i[c], credits_q[c], RxDepth);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      moved_q <= 1'b0;
      for (int unsigned c = 0; c < 2; c++) begin
        packed_q[c] <= '0;
        unpacked_q[c] <= '0;
        messages_q[c] <= '0;
        credits_q[c] <= '0;
      end
    end else if (!down_i && (moved_i || moved_q)) begin
      moved_q <= moved_i;
      for (int unsigned c = 0; c < 2; c++) begin
        automatic int messages = messages_q[c] + int'(5'(packed_i[c] - packed_q[c]))
            - int'(9'(unpacked_i[c] - unpacked_q[c]));
        automatic int gone = given_i ? (c == 0 ? int'(give_i.head) : int'(give_i.data)) : 0;
        automatic int came = c == 0 ? int'(got_i.head) : int'(got_i.data);
        check_class(c, messages);
        messages_q[c] <= messages;
        packed_q[c] <= packed_i[c];
        unpacked_q[c] <= unpacked_i[c];
        credits_q[c] <= credits_q[c] + gone - came;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (rst_ni && !down_i && moved_q) begin
      automatic seq_t used = seq_t'(next_i - acked_i) + seq_t'(inject_seq && now_i >= inject_ns ? Window : '0);
      if (used > Window || seq_t'(send_i - acked_i) > used || seq_t'(expected_i - acked_i) > used)
        $fatal(1, "%m: t=%0d ns: flits out of order: acknowledged %0d, expected %0d, sending %0d, next %0d", now_i,
               acked_i, expected_i, send_i, next_i);
    end
    if (rst_ni && take_i) begin
      automatic word_t difference = word_t'(inject_crc && now_i >= inject_ns);
      automatic seq_t  seq = expected_i;
      difference |= (flit_i[0] ^ replay_i[{seq, 5'd0}]) >> $bits(flit_header_t);
      for (int unsigned w = 1; w < SlotWords; w++) difference |= flit_i[w] ^ replay_i[{seq, 5'(w)}];
      difference |= word_t'(16'(flit_i[CreditWord] ^ replay_i[{seq, 5'(CreditWord)}]));
      if (difference != 0)
        $fatal(1, "%m: t=%0d ns: flit %0d is delivered, and differs from what was sent", now_i, seq);
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject_credit = check_pkg::injected() == "cxl_credit";
    inject_overflow = check_pkg::injected() == "cxl_overflow";
    inject_seq = check_pkg::injected() == "cxl_seq";
    inject_crc = check_pkg::injected() == "cxl_crc";
  end

endmodule
