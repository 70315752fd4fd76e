// Receivers of one direction of all lightpaths, control part: which frames are accepted, and what the far end must know.
//
// A frame with a good CRC and the number that is expected is accepted whole. Another number is an old frame, whose Ack was
// lost: it is acknowledged again at once; or a gap, which like a bad CRC asks once for a replay. What is owed to the far end,
// acknowledgements and freed places, rides on the frames of the other direction, or is due to be sent alone after `ack_ns`, or
// at once when it is much or urgent.

module link_rx
  import pf_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Reach = 0
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  time_ns_t                 now_i,
  input  delay_ns_t                ack_ns_i,
  /// Frames that arrive in this cycle.
  input  logic [Near-1:0][Far-1:0] arrive_i,
  input  logic [Near-1:0][Far-1:0] good_i,    // CRC
  input  frame_head_t              head_i     [Near][Far],
  output logic [Near-1:0][Far-1:0] accept_o,
  /// Items that leave the receive buffer in this cycle.
  input  logic [Near-1:0][Far-1:0] taken_i,
  input  logic [Near-1:0][Far-1:0] taken_line_i,
  /// For the other direction's transmitter.
  output link_note_t               note_o     [Far][Near],
  output logic [Near-1:0][Far-1:0] note_due_o,
  input  logic [Near-1:0][Far-1:0] note_sent_i,
  output logic [Near-1:0][Far-1:0] heard_valid_o,
  output link_note_t               heard_o    [Far][Near],
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t                 wake_ns_o
);

  localparam int unsigned Links = Near * Far;
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned OwedMax = 32;
  typedef logic [LinkBits-1:0] link_t;

  rx_state_t state_q [Links];
  time_ns_t  owe_ns_q[Links];  // since when something is owed
  logic [Near-1:0][Far-1:0] owed_q, urgent_q, nak_q;

  function automatic logic has_items(frame_head_t head);
    return head.count != '0 && head.count <= count_t'(ItemsMax);
  endfunction

  /// `a` is up to a window behind `b`.
  function automatic logic behind(seq_t a, seq_t b);
    seq_t distance = counted(Reach, b - a);
    return distance != '0 && distance <= seq_t'(window(Reach));
  endfunction

  always_comb begin
    accept_o = '0;
    for (int unsigned i = 0; i < Near; i++) begin
      if ((arrive_i[i] & good_i[i]) != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          accept_o[i][j] = arrive_i[i][j] && good_i[i][j]
              && has_items(head_i[i][j]) && head_i[i][j].seq == counted(Reach, state_q[l].expected);
        end
      end
    end
  end

  always_comb begin
    note_due_o = urgent_q;
    wake_ns_o = |urgent_q ? now_i : '1;
    for (int unsigned i = 0; i < Near; i++) begin
      if (owed_q[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (owed_q[i][j]) begin
            if (now_i >= owe_ns_q[l] + time_ns_t'(ack_ns_i)) note_due_o[i][j] = 1'b1;
            wake_ns_o = earlier(wake_ns_o, owe_ns_q[l] + time_ns_t'(ack_ns_i));
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Near; i++) begin
        for (int unsigned j = 0; j < Far; j++) begin
          state_q[i*Far+j] <= '0;
          note_o[j][i] <= '{ack: '1, default: '0};
        end
      end
      owed_q <= '0;
      urgent_q <= '0;
      nak_q <= '0;
      heard_valid_o <= '0;
    end else begin
      automatic logic [Near-1:0][Far-1:0] owed = owed_q;
      automatic logic [Near-1:0][Far-1:0] urgent = urgent_q;
      automatic logic [Near-1:0][Far-1:0] nak = nak_q;
      heard_valid_o <= arrive_i & good_i;
      for (int unsigned i = 0; i < Near; i++) begin
        if ((arrive_i[i] | taken_i[i] | note_sent_i[i]) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            if (arrive_i[i][j] || taken_i[i][j] || note_sent_i[i][j]) begin
              automatic link_t l = link_t'(i * Far + j);
              automatic rx_state_t s = state_q[l];
              automatic frame_head_t head = head_i[i][j];
              automatic logic lost = 1'b0;
              if (note_sent_i[i][j]) begin
                s.owed = '0;
                owed[i][j] = 1'b0;
                urgent[i][j] = 1'b0;
                if (nak[i][j]) s.nak_sent = 1'b1;
                nak[i][j] = 1'b0;
              end
              if (arrive_i[i][j] && !good_i[i][j]) begin
                lost = 1'b1;
              end else if (arrive_i[i][j]) begin
                heard_o[j][i] <= head.note;
                if (accept_o[i][j]) begin
                  s.expected += 1'b1;
                  s.nak_sent = 1'b0;
                end else if (has_items(head) ? behind(head.seq, s.expected) : head.count == Poll) begin
                  urgent[i][j] = 1'b1;
                end
                // A frame without items tells the number of the next one that has some: frames before it are lost.
                lost = !accept_o[i][j] && behind(s.expected, head.seq);
              end
              if (lost && !s.nak_sent) begin
                nak[i][j] = 1'b1;
                urgent[i][j] = 1'b1;
              end
              if (taken_i[i][j]) s.freed[taken_line_i[i][j]] += 1'b1;
              if (accept_o[i][j] || taken_i[i][j]) begin
                if (!owed[i][j]) owe_ns_q[l] <= now_i;
                owed[i][j] = 1'b1;
                if (s.owed < 6'(OwedMax)) s.owed += 6'(accept_o[i][j]) + 6'(taken_i[i][j]);
                else urgent[i][j] = 1'b1;
              end
              state_q[l] <= s;
              note_o[j][i] <= '{ack: s.expected - 1'b1, nak: nak[i][j], freed: s.freed};
            end
          end
        end
      end
      owed_q <= owed;
      urgent_q <= urgent;
      nak_q <= nak;
    end
  end

endmodule
