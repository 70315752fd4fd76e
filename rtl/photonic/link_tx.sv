// Transmitters of one direction of all lightpaths, control part: which frame starts when, and what may be forgotten.
//
// Items wait in a ring until they are acknowledged; the ring is the queue and the replay buffer in one. When the wire is free a
// frame takes up to four items that are there, so an idle link sends a single one at once and a busy link fills its frames.
// A frame without items carries the other direction's acknowledgements and credits when nothing else has for too long.
//
// Go-back-N: a Nak, or no progress for the round trip and `replay_ns` more, sends everything again from the oldest frame that
// is not acknowledged, in the same frames. When nothing is to be acknowledged but credits are missing, the far end is asked
// for a note (poll). A poll also goes before every second attempt without progress: errors at a fixed distance would else hit
// the same frame of every attempt. After `replay_limit` attempts without progress the link is dead until reset: it takes items
// and drops them.

module link_tx
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter bit Requests = 1'b1,
  parameter int unsigned Reach = 0
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  time_ns_t                 now_i,
  input  path_straps_t             straps_i,
  input  delay_ns_t                delay_ns_i,
  input  credit_t [1:0]            credits_i,
  /// Links that transmit nothing for now; links that are given up.
  input  logic [Near-1:0][Far-1:0] down_i,
  input  logic [Near-1:0][Far-1:0] kill_i,
  // Items
  input  logic [Near-1:0][Far-1:0] push_valid_i,
  input  shape_t                   push_shape_i[Near][Far],
  output logic [Near-1:0][Far-1:0] push_ready_o,
  // Frames: those that start in this cycle
  input  logic [Near-1:0][Far-1:0] room_i,  // the fibre's model can take one
  output logic [Near-1:0][Far-1:0] start_o,
  output tx_frame_t                frame_o     [Near][Far],
  output time_ns_t                 last_ns_o   [Near][Far],  // end of the nanosecond that carries the last byte
  // Notes: of the other direction's receiver, due to be sent; heard from the far end
  input  logic [Near-1:0][Far-1:0] note_due_i,
  input  logic [Near-1:0][Far-1:0] heard_valid_i,
  input  link_note_t               heard_i     [Near][Far],
  output logic [Near-1:0][Far-1:0] dead_o,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t                 wake_ns_o
);

  localparam int unsigned Links = Near * Far;
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned Window = window(Reach);
  localparam int unsigned ReplayItems = replay_items(Reach);
  localparam int unsigned ItemBits = $clog2(ReplayItems);
  localparam int unsigned FrameBits = $clog2(Window);
  typedef logic [LinkBits-1:0] link_t;
  typedef logic [ItemBits-1:0] item_t;
  typedef logic [FrameBits-1:0] frame_t;

  // Memories, index {link, item} and {link, frame}: a place is never read in the cycle in which it is written. State of each
  // link.
  shape_t    shape_q   [2**(LinkBits+ItemBits)];
  item_ptr_t end_q     [2**(LinkBits+FrameBits)];  // item after the frame's last one
  tx_state_t state_q   [Links];
  slot_t     slot      [Near][Far];
  time_ns_t  free_ns_q [Links];
  time_ns_t  timer_ns_q[Links];
  // Links with: items not yet sent; a replay going on; a poll to be sent; anything that needs an answer.
  logic [Near-1:0][Far-1:0] pending_q, resend_q, poll_q, watch_q, dead_q;
  logic [Near-1:0][Far-1:0] push, work, candidate, expired;
  // Links whose next item waits, with a free wire, for a credit or for an acknowledgement.
  logic [Near-1:0][Far-1:0] no_credit, no_window;
  time_ns_t wait_ns;

  assign dead_o = dead_q;
  assign wait_ns = {47'b0, delay_ns_i, 1'b0} + time_ns_t'(straps_i.replay_ns);
  assign push = push_valid_i & push_ready_o & ~dead_q;
  assign work = (pending_q | resend_q | poll_q | note_due_i) & ~dead_q;
  assign candidate = (work | push) & ~down_i & room_i;

  always_comb begin
    push_ready_o = '0;
    for (int unsigned i = 0; i < Near; i++) begin
      if (push_valid_i[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          push_ready_o[i][j] = state_q[l].wr - state_q[l].rd != item_ptr_t'(ReplayItems) || dead_q[i][j];
        end
      end
    end
  end

  always_comb begin
    start_o = '0;
    no_credit = '0;
    no_window = '0;
    frame_o = '{default: '{default: '0}};
    last_ns_o = '{default: '{default: '0}};
    slot = '{default: '{default: '0}};
    for (int unsigned i = 0; i < Near; i++) begin
      if (candidate[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (candidate[i][j] && now_i >= free_ns_q[l]) begin
            automatic tx_state_t s = state_q[l];
            automatic tx_frame_t f = '0;
            automatic credit_t [1:0] used = '0;
            automatic item_ptr_t left = '0;
            f.seq = s.send_seq;
            f.bytes = straps_i.head_b + straps_i.crc_b;
            used[0] = s.sent[0] - s.freed[0];
            used[1] = s.sent[1] - s.freed[1];
            if (resend_q[i][j] && poll_q[i][j]) begin
              left = '0;
            end else if (resend_q[i][j]) begin
              f.first = s.send_item;
              left = end_q[{l, frame_t'(s.send_seq)}] - s.send_item;
            end else begin
              f.first = s.pend;
              f.fresh = 1'b1;
              left = s.wr - s.pend + item_ptr_t'(push[i][j]);
              no_window[i][j] = left != '0 && s.next_seq - s.oldest_seq == seq_t'(Window);
              if (no_window[i][j]) left = '0;
            end
            for (int unsigned k = 0; k < ItemsMax; k++) begin
              automatic item_ptr_t at = f.first + item_ptr_t'(k);
              automatic shape_t shape = at == s.wr ? push_shape_i[i][j] : shape_q[{l, item_t'(at)}];
              if (item_ptr_t'(k) >= left) break;
              if (f.fresh) begin
                no_credit[i][j] = used[shape.line] == credits_i[shape.line] && k == 0;
                if (used[shape.line] == credits_i[shape.line]) break;
                used[shape.line] += 1'b1;
              end
              f.count += 1'b1;
              f.lines += count_t'(shape.line);
              f.bytes += item_bytes(Requests, shape, k == 0, straps_i);
            end
            if (f.count == '0) begin
              f.fresh = 1'b0;
              if (poll_q[i][j]) f.count = Poll;
            end
            start_o[i][j] = f.count != '0 || note_due_i[i][j];
            frame_o[i][j] = f;
            if (start_o[i][j]) begin
              slot[i][j] = serialize(f.bytes, now_i == free_ns_q[l] ? s.spent : '0, straps_i.rate_b16);
              last_ns_o[i][j] = now_i + time_ns_t'(slot[i][j].last_ns);
            end
          end
        end
      end
    end
  end

  always_comb begin
    expired = '0;
    wake_ns_o = |work || |heard_valid_i ? now_i : '1;  // what is heard may start a replay in the next cycle
    for (int unsigned i = 0; i < Near; i++) begin
      if (watch_q[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (watch_q[i][j]) begin
            expired[i][j] = now_i >= timer_ns_q[l];
            wake_ns_o = earlier(wake_ns_o, timer_ns_q[l]);
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned l = 0; l < Links; l++) begin
        state_q[l] <= '0;
        free_ns_q[l] <= '0;
        timer_ns_q[l] <= '0;
      end
      pending_q <= '0;
      resend_q <= '0;
      poll_q <= '0;
      watch_q <= '0;
      dead_q <= '0;
    end else begin
      automatic logic [Near-1:0][Far-1:0] pending = pending_q;
      automatic logic [Near-1:0][Far-1:0] resend = resend_q;
      automatic logic [Near-1:0][Far-1:0] poll = poll_q;
      automatic logic [Near-1:0][Far-1:0] watch = watch_q;
      automatic logic [Near-1:0][Far-1:0] dead = dead_q;
      for (int unsigned i = 0; i < Near; i++) begin
        if ((push[i] | start_o[i] | heard_valid_i[i] | expired[i] | (kill_i[i] & ~dead_q[i])) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            if ((push[i][j] || start_o[i][j] || heard_valid_i[i][j] || expired[i][j] || kill_i[i][j])
                && !dead_q[i][j]) begin
              automatic link_t l = link_t'(i * Far + j);
              automatic tx_state_t s = state_q[l];
              automatic time_ns_t timer_ns = timer_ns_q[l];
              automatic logic progress = 1'b0;
              automatic logic again = 1'b0;
              if (push[i][j]) begin
                // verilator lint_off BLKSEQ
                shape_q[{l, item_t'(s.wr)}] = push_shape_i[i][j];
                // verilator lint_on BLKSEQ
                s.wr += 1'b1;
              end
              if (start_o[i][j]) begin
                automatic tx_frame_t f = frame_o[i][j];
                free_ns_q[l] <= now_i + time_ns_t'(slot[i][j].whole_ns);
                s.spent = slot[i][j].spent;
                if (f.count == Poll) poll[i][j] = 1'b0;
                if (f.count != '0 && f.count != Poll) begin
                  if (f.seq == s.oldest_seq) timer_ns = last_ns_o[i][j] + wait_ns;
                  if (f.fresh) begin
                    s.pend += item_ptr_t'(f.count);
                    s.sent[0] += credit_t'(f.count) - credit_t'(f.lines);
                    s.sent[1] += credit_t'(f.lines);
                    // verilator lint_off BLKSEQ
                    end_q[{l, frame_t'(f.seq)}] = s.pend;
                    // verilator lint_on BLKSEQ
                    s.next_seq += 1'b1;
                  end
                  s.send_item += item_ptr_t'(f.count);
                  s.send_seq += 1'b1;
                end
              end
              if (heard_valid_i[i][j]) begin
                automatic seq_t acked = counted(Reach, heard_i[i][j].ack + 1'b1 - s.oldest_seq);
                if (acked != '0 && acked <= s.next_seq - s.oldest_seq) begin
                  // A replay that has not come so far goes on behind what is acknowledged.
                  automatic logic skip = s.send_seq - s.oldest_seq < acked;
                  s.rd = end_q[{l, frame_t'(heard_i[i][j].ack)}];
                  s.oldest_seq += acked;
                  if (skip) s.send_seq = s.oldest_seq;
                  if (skip) s.send_item = s.rd;
                  progress = 1'b1;
                end
                for (int unsigned c = 0; c < 2; c++) begin
                  automatic credit_t freed = counted(Reach, heard_i[i][j].freed[c] - s.freed[c]);
                  if (freed != '0 && freed <= s.sent[c] - s.freed[c]) begin
                    s.freed[c] += freed;
                    progress = 1'b1;
                  end
                end
                if (progress || s.oldest_seq == s.next_seq) s.attempts = '0;
                again = heard_i[i][j].nak && s.oldest_seq != s.next_seq;
              end
              if (expired[i][j] && !progress) again = 1'b1;
              if (again) begin
                s.attempts += 1'b1;
                s.send_seq = s.oldest_seq;
                s.send_item = s.rd;
                poll[i][j] = s.oldest_seq == s.next_seq || !s.attempts[0];
              end
              pending[i][j] = s.wr != s.pend;
              resend[i][j] = s.send_seq != s.next_seq;
              watch[i][j] = s.oldest_seq != s.next_seq || pending[i][j];
              if (progress || again || (watch[i][j] && !watch_q[i][j] && !start_o[i][j])) timer_ns = now_i + wait_ns;
              if (kill_i[i][j] || (again && s.attempts >= straps_i.replay_limit)) begin
                dead[i][j] = 1'b1;
                pending[i][j] = 1'b0;
                resend[i][j] = 1'b0;
                poll[i][j] = 1'b0;
                watch[i][j] = 1'b0;
              end
              state_q[l] <= s;
              timer_ns_q[l] <= timer_ns;
            end
          end
        end
      end
      pending_q <= pending;
      resend_q <= resend;
      poll_q <= poll;
      watch_q <= watch;
      dead_q <= dead;
    end
  end

endmodule
