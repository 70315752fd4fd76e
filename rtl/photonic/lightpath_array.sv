// One direction of every lightpath of the mesh: transmitters, fibres with their shuffle, and receivers.
//
// All links live in this module as arrays with loops over them: hundreds of small instances compile far too slowly. Near ends
// are NICs or modules, in their order; far ends are in the order of the other side, because the shuffle lies between. Link
// (i, j) runs from port j of near end i to port i of far end j. link_tx and link_rx decide what is sent and accepted; here are
// the bits: items and their lines in the replay buffer, frames with their CRC on the fibre, items in the receive buffer.
//
// A frame is serialized at the lightpath's rate and flies for `delay_ns_i`. It is checked as a whole in the cycle before it
// is due; its items leave from then on, one a cycle. Credits by class bound what may be in the receive buffer. The two
// directions carry each other's acknowledgements and credits: `note` leaves a receiver for the transmitter at the same end,
// `heard` is what the far end has sent that way.

module lightpath_array
  import pf_pkg::*;
  import pf_link_pkg::*;
  import pf_crc_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter bit Requests = 1'b1,  // direction NIC to module
  parameter int unsigned Reach = 0,
  parameter type head_t = req_hdr_t,
  parameter type line_t = wline_t
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  time_ns_t                 now_i,
  input  path_straps_t             straps_i,
  // Near end: items, faults of the transmitter, links that are given up
  input  logic [Near-1:0][Far-1:0] tx_valid_i,
  input  logic [Near-1:0][Far-1:0] tx_has_data_i,
  output logic [Near-1:0][Far-1:0] tx_ready_o,
  input  head_t                    tx_head_i    [Near][Far],
  input  line_t                    tx_line_i    [Near][Far],
  input  link_fault_t              fault_i      [Near][Far],
  input  logic [Near-1:0][Far-1:0] kill_i,
  output logic [Near-1:0][Far-1:0] dead_o,
  /// A frame starts in this cycle; its bits.
  output logic [Near-1:0][Far-1:0] start_o,
  output logic [15:0]              start_bits_o [Near][Far],
  // Near end: notes of the other direction
  input  link_note_t               note_i       [Near][Far],
  input  logic [Near-1:0][Far-1:0] note_due_i,
  input  logic [Near-1:0][Far-1:0] heard_valid_i,
  input  link_note_t               heard_i      [Near][Far],
  // Far end
  output logic [Far-1:0][Near-1:0] rx_valid_o,
  output logic [Far-1:0][Near-1:0] rx_has_data_o,
  input  logic [Far-1:0][Near-1:0] rx_ready_i,
  output head_t                    rx_head_o    [Far][Near],
  output line_t                    rx_line_o    [Far][Near],
  output time_ns_t                 rx_since_ns_o[Far][Near],  // arrival of the frame's last byte
  // Far end: notes for the other direction
  output link_note_t               note_o       [Far][Near],
  output logic [Far-1:0][Near-1:0] note_due_o,
  input  logic [Far-1:0][Near-1:0] note_sent_i,
  output logic [Far-1:0][Near-1:0] heard_valid_o,
  output link_note_t               heard_o      [Far][Near],
  /// Time of the next action of its own; all ones when there is none. What waits at the far end is the receiver's business.
  output time_ns_t                 wake_ns_o
);

  localparam int unsigned Links = Near * Far;
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned ReplayItems = replay_items(Reach);
  localparam int unsigned FlightDepth = 64 << Reach;    // frames, and lines, on a fibre
  localparam int unsigned ReceiveItems = 256 << Reach;  // at least the credits of both classes
  localparam int unsigned ReceiveLines = 128 << Reach;
  localparam int unsigned HeaderWords = header_words(Reach);
  localparam int unsigned LineBits = 8 * LineBytes;
  typedef logic [LinkBits-1:0] link_t;
  typedef logic [$clog2(ReplayItems)-1:0] item_t;
  typedef logic [$clog2(FlightDepth)-1:0] flight_t;
  typedef logic [$clog2(ReceiveItems)-1:0] held_t;
  typedef logic [$clog2(ReceiveLines)-1:0] held_line_t;

  typedef struct packed {
    flight_t place;
    flight_t line;
  } arrival_t;

  // Replay buffer, index {link, item}.
  head_t     head_q   [2**LinkBits * ReplayItems];
  line_t     line_q   [2**LinkBits * ReplayItems];
  shape_t    shape_q  [2**LinkBits * ReplayItems];
  item_ptr_t push_q   [Links];
  dpa_line_t next_q   [Links];  // line after the last write
  // Fibre, index {link, frame} and {link, line}.
  heads_t    heads_q  [2**LinkBits * FlightDepth];
  word_ptr_t words_q  [2**LinkBits * FlightDepth];
  count_t    lines_q  [2**LinkBits * FlightDepth];
  crc_t      crc_q    [2**LinkBits * FlightDepth];
  time_ns_t  due_ns_q [2**LinkBits * FlightDepth];
  data_t     flying_q [2**LinkBits * FlightDepth];
  flight_state_t flight_q[Links];
  // Receive buffer, index {link, item} and {link, line}.
  head_t     held_head_q [2**LinkBits * ReceiveItems];
  logic      held_data_q [2**LinkBits * ReceiveItems];
  time_ns_t  held_since_q[2**LinkBits * ReceiveItems];
  line_t     held_line_q [2**LinkBits * ReceiveLines];
  held_state_t held_q    [Links];

  logic [Near-1:0][Far-1:0] down, room_q, on_fibre_q, waiting_q, arrive, good, accept;
  logic [Near-1:0][Far-1:0] out_valid_q, out_has_data_q, out_ready, taken, push, note_due, note_sent, heard_valid;
  shape_t      push_shape[Near][Far];
  tx_frame_t   frame     [Near][Far];
  time_ns_t    last_ns   [Near][Far];
  frame_head_t head      [Near][Far];
  arrival_t    arrival   [Near][Far];  // where on the fibre the arriving frame is
  credit_t [1:0] credits;
  delay_ns_t   delay_ns;
  time_ns_t    tx_wake_ns, rx_wake_ns;

  assign delay_ns = straps_i.phy_ns + straps_i.flight_ns;
  assign credits = Requests ? {straps_i.write_credits, straps_i.request_credits}
                            : {straps_i.read_credits, straps_i.completion_credits};
  assign push = tx_valid_i & tx_ready_o & ~dead_o;
  assign taken = out_valid_q & out_ready;

  fiber_shuffle #(.Near(Near), .Far(Far)) u_valid (.near_i(out_valid_q), .far_o(rx_valid_o));
  fiber_shuffle #(.Near(Near), .Far(Far)) u_has_data (.near_i(out_has_data_q), .far_o(rx_has_data_o));
  fiber_shuffle #(.Near(Near), .Far(Far)) u_note_due (.near_i(note_due), .far_o(note_due_o));
  fiber_shuffle #(.Near(Near), .Far(Far)) u_heard (.near_i(heard_valid), .far_o(heard_valid_o));
  fiber_shuffle #(.Near(Far), .Far(Near)) u_ready (.near_i(rx_ready_i), .far_o(out_ready));
  fiber_shuffle #(.Near(Far), .Far(Near)) u_note_sent (.near_i(note_sent_i), .far_o(note_sent));

  link_tx #(
    .Near    (Near),
    .Far     (Far),
    .Requests(Requests),
    .Reach   (Reach)
  ) u_tx (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i,
    .delay_ns_i   (delay_ns),
    .credits_i    (credits),
    .down_i       (down),
    .kill_i,
    .push_valid_i (tx_valid_i),
    .push_shape_i (push_shape),
    .push_ready_o (tx_ready_o),
    .room_i       (room_q),
    .start_o,
    .frame_o      (frame),
    .last_ns_o    (last_ns),
    .note_due_i,
    .heard_valid_i,
    .heard_i,
    .dead_o,
    .wake_ns_o    (tx_wake_ns)
  );

  link_rx #(.Near(Near), .Far(Far), .Reach(Reach)) u_rx (
    .clk_i,
    .rst_ni,
    .now_i,
    .ack_ns_i     (straps_i.ack_ns),
    .arrive_i     (arrive),
    .good_i       (good),
    .head_i       (head),
    .accept_o     (accept),
    .taken_i      (taken),
    .taken_line_i (out_has_data_q),
    .note_o,
    .note_due_o   (note_due),
    .note_sent_i  (note_sent),
    .heard_valid_o(heard_valid),
    .heard_o,
    .wake_ns_o    (rx_wake_ns)
  );

  always_comb begin
    push_shape = '{default: '{default: '0}};
    for (int unsigned i = 0; i < Near; i++) begin
      for (int unsigned j = 0; j < Far; j++) down[i][j] = fault_i[i][j].down;
      if (tx_valid_i[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          if (tx_valid_i[i][j])
            push_shape[i][j] = shape_of(Requests, req_hdr_t'(tx_head_i[i][j]), tx_has_data_i[i][j], next_q[i*Far+j]);
        end
      end
    end
  end

  // Apart from the shapes, on which what starts depends: one block would be a loop for the simulator.
  always_comb begin
    start_bits_o = '{default: '{default: '0}};
    for (int unsigned i = 0; i < Near; i++) begin
      if (start_o[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) if (start_o[i][j]) start_bits_o[i][j] = {1'b0, frame[i][j].bytes, 3'b0};
      end
    end
  end

  // Frames that will have arrived in the next cycle; the CRC is calculated over what the fibre delivers.
  always_comb begin
    arrive = '0;
    good = '0;
    head = '{default: '{default: '0}};
    arrival = '{default: '{default: '0}};
    wake_ns_o = earlier(tx_wake_ns, rx_wake_ns);
    for (int unsigned i = 0; i < Near; i++) begin
      if (on_fibre_q[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (on_fibre_q[i][j]) begin
            wake_ns_o = earlier(wake_ns_o, flight_q[l].due_ns - 1);
            if (flight_q[l].due_ns <= now_i + 1) begin
              automatic flight_state_t s = flight_q[l];
              automatic heads_t heads = heads_q[{l, flight_t'(s.rd)}];
              automatic crc_t c = crc_heads(heads, words_q[{l, flight_t'(s.rd)}]);
              for (int unsigned k = 0; k < 32'(lines_q[{l, flight_t'(s.rd)}]); k++)
                c = crc_line(c, flying_q[{l, flight_t'(s.line_rd + flight_ptr_t'(k))}]);
              arrive[i][j] = 1'b1;
              good[i][j] = crc_q[{l, flight_t'(s.rd)}] == ~c;
              head[i][j] = decode_header(Reach, heads[47:0]);
              arrival[i][j] = '{place: flight_t'(s.rd), line: flight_t'(s.line_rd)};
            end
          end
        end
      end
    end
  end

  // Transmit: items into the replay buffer, a frame onto the fibre. Memories: a place is never read by another process in the
  // cycle in which it is written.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned l = 0; l < Links; l++) begin
        push_q[l] <= '0;
        next_q[l] <= '0;
        flight_q[l] <= '0;
      end
      room_q <= '1;
      on_fibre_q <= '0;
    end else begin
      automatic logic [Near-1:0][Far-1:0] room = room_q;
      automatic logic [Near-1:0][Far-1:0] on_fibre = on_fibre_q;
      for (int unsigned i = 0; i < Near; i++) begin
        if ((push[i] | start_o[i] | arrive[i]) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            automatic link_t l = link_t'(i * Far + j);
            if (push[i][j]) begin
              automatic req_hdr_t request = req_hdr_t'(tx_head_i[i][j]);
              // verilator lint_off BLKSEQ
              head_q[{l, item_t'(push_q[l])}] = tx_head_i[i][j];
              shape_q[{l, item_t'(push_q[l])}] = push_shape[i][j];
              if (tx_has_data_i[i][j]) line_q[{l, item_t'(push_q[l])}] = tx_line_i[i][j];
              // verilator lint_on BLKSEQ
              if (Requests) next_q[l] <= tx_has_data_i[i][j] ? request.line + 1'b1 : '1;
              push_q[l] <= push_q[l] + 1'b1;
            end
            if (start_o[i][j] || arrive[i][j]) begin
              automatic flight_state_t s = flight_q[l];
              if (start_o[i][j] && !fault_i[i][j].drop) begin
                s.line_wr += flight_ptr_t'(send(l, s, frame[i][j], note_i[i][j], fault_i[i][j], last_ns[i][j]));
                s.wr += 1'b1;
              end
              if (arrive[i][j]) begin
                s.line_rd += flight_ptr_t'(lines_q[{l, flight_t'(s.rd)}]);
                s.rd += 1'b1;
              end
              on_fibre[i][j] = s.wr != s.rd;
              room[i][j] = s.wr - s.rd != flight_ptr_t'(FlightDepth)
                  && s.line_wr - s.line_rd <= flight_ptr_t'(FlightDepth - ItemsMax);
              s.due_ns = due_ns_q[{l, flight_t'(s.rd)}];
              flight_q[l] <= s;
            end
          end
        end
      end
      room_q <= room;
      on_fibre_q <= on_fibre;
    end
  end

  /// Put a frame on the fibre; returns its lines.
  function automatic count_t send(link_t l, flight_state_t s, tx_frame_t f, link_note_t note, link_fault_t fault,
                                  time_ns_t last);
    heads_t heads = '0;
    word_ptr_t words = word_ptr_t'(HeaderWords);
    crc_t crc = '0;
    count_t lines = '0;
    heads[47:0] = encode_header(Reach, '{note: note, seq: f.seq, count: f.count});
    for (int unsigned k = 0; k < ItemsMax; k++) begin
      automatic item_t at = item_t'(f.first) + item_t'(k);
      automatic shape_t shape = shape_q[{l, at}];
      if (k >= 32'(f.count) || f.count == Poll) break;
      if (Requests) begin
        automatic code_t code = encode_request(req_hdr_t'(head_q[{l, at}]),
            shape.enables ? enables_of(wline_t'(line_q[{l, at}])) : '0, shape.follows && k != 0);
        heads[16*32'(words)+:128] = code.bits;
        words += word_ptr_t'(code.words);
      end else begin
        heads[16*32'(words)+:16] = 16'(encode_response(rsp_hdr_t'(head_q[{l, at}]), shape.line));
        words += 1'b1;
      end
      if (shape.line) begin
        flying_q[{l, flight_t'(s.line_wr + flight_ptr_t'(lines))}] = line_q[{l, at}][LineBits-1:0];
        lines += 1'b1;
      end
    end
    crc = crc_heads(heads, words);
    for (int unsigned k = 0; k < 32'(lines); k++)
      crc = crc_line(crc, flying_q[{l, flight_t'(s.line_wr + flight_ptr_t'(k))}]);
    crc = ~crc;
    if (fault.flip != '0) begin
      for (int unsigned b = 0; b < 32; b++) begin
        automatic int unsigned at = 32'(fault.at) + b;
        automatic int unsigned line_at = at - 16 * 32'(words);
        automatic int unsigned crc_at = line_at - LineBits * 32'(lines);
        if (!fault.flip[b]) continue;
        if (at < 16 * 32'(words)) heads[at] = ~heads[at];
        else if (line_at < LineBits * 32'(lines))
          flying_q[{l, flight_t'(s.line_wr + flight_ptr_t'(line_at / LineBits))}][line_at%LineBits] ^= 1'b1;
        else if (crc_at < $bits(crc_t)) crc[crc_at] = ~crc[crc_at];
      end
    end
    heads_q[{l, flight_t'(s.wr)}] = heads;
    words_q[{l, flight_t'(s.wr)}] = words;
    lines_q[{l, flight_t'(s.wr)}] = lines;
    crc_q[{l, flight_t'(s.wr)}] = crc;
    due_ns_q[{l, flight_t'(s.wr)}] = last + time_ns_t'(delay_ns);
    return lines;
  endfunction

  // Receive: items of an accepted frame into the receive buffer, the oldest one to the output.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned l = 0; l < Links; l++) held_q[l] <= '0;
      out_valid_q <= '0;
      waiting_q <= '0;
    end else begin
      automatic logic [Near-1:0][Far-1:0] out_valid = out_valid_q & ~taken;
      automatic logic [Near-1:0][Far-1:0] has_data = out_has_data_q;
      automatic logic [Near-1:0][Far-1:0] waiting = waiting_q;
      for (int unsigned i = 0; i < Near; i++) begin
        if ((accept[i] | (waiting[i] & ~out_valid[i])) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            automatic link_t l = link_t'(i * Far + j);
            automatic held_state_t s = held_q[l];
            if (accept[i][j]) receive(l, head[i][j].count, arrival[i][j], s);
            if ((accept[i][j] || waiting[i][j]) && !out_valid[i][j]) begin
              out_valid[i][j] = 1'b1;
              has_data[i][j] = held_data_q[{l, held_t'(s.rd)}];
              rx_head_o[j][i] <= held_head_q[{l, held_t'(s.rd)}];
              rx_since_ns_o[j][i] <= held_since_q[{l, held_t'(s.rd)}];
              if (held_data_q[{l, held_t'(s.rd)}]) begin
                rx_line_o[j][i] <= held_line_q[{l, held_line_t'(s.line_rd)}];
                s.line_rd += 1'b1;
              end
              s.rd += 1'b1;
            end
            if (accept[i][j] || waiting[i][j]) begin
              waiting[i][j] = s.wr != s.rd;
              held_q[l] <= s;
            end
          end
        end
      end
      out_valid_q <= out_valid;
      out_has_data_q <= has_data;
      waiting_q <= waiting;
    end
  end

  /// Take the items of a frame that is accepted.
  task automatic receive(link_t l, count_t count, arrival_t from, inout held_state_t s);
    heads_t heads = heads_q[{l, from.place}];
    word_ptr_t words = word_ptr_t'(HeaderWords);
    dpa_line_t next_line = '0;
    for (int unsigned k = 0; k < ItemsMax; k++) begin
      automatic request_t r = '0;
      if (k >= 32'(count)) break;
      if (Requests) begin
        r = decode_request(heads[16*32'(words)+:128], next_line);
        next_line = r.hdr.line + 1'b1;
        words += word_ptr_t'(r.words);
        held_head_q[{l, held_t'(s.wr)}] = head_t'(r.hdr);
      end else begin
        r.line = heads[16*32'(words)+15];
        held_head_q[{l, held_t'(s.wr)}] = head_t'(decode_response(heads[16*32'(words)+:16]));
        words += 1'b1;
      end
      held_data_q[{l, held_t'(s.wr)}] = r.line;
      held_since_q[{l, held_t'(s.wr)}] = due_ns_q[{l, from.place}];
      if (r.line) begin
        held_line_q[{l, held_line_t'(s.line_wr)}] = line_t'({r.be, flying_q[{l, from.line}]});
        from.line += 1'b1;
        s.line_wr += 1'b1;
      end
      s.wr += 1'b1;
    end
  endtask

endmodule
