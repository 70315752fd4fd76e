// Frames of the lightpaths: their header, their items, and how items are written on the wire.
//
// A frame is a header, 0 to 4 items, and a CRC-32. On the wire the items' heads come first, then their lines:
//
//   request     read 6 B; write 6 B + line; partial write 6 B + 8 B enables + line. The 6 B are op, tag and line address.
//               A write to the line after its predecessor's in the same frame leaves the address out: 2 B. A poisoned write
//               takes 2 B more.
//   response    read data 2 B + line; completion 2 B.
//
// The header carries the sequence number of a frame with items, and a note to the other direction: which frame was received
// last in order, whether a replay is wanted, and how many places of the receive buffer have become free since reset, by
// class. The counts are cumulative, so a note that is lost is made good by the next one.
//
// How much may be under way on a path is a matter of its length: full rate needs credits, a window of frames and a replay buffer
// for rate x round trip (models/frame.py derives them). `Reach` is the binary logarithm of all depths over their least. At 0
// the header counts with 7 bits and takes 4 B; beyond, it counts with 11 bits and takes 6 B. Ends count with 11 bits always and
// compare as many as the header has.

package pf_link_pkg;

  import pf_pkg::*;
  import pf_rate_pkg::*;
  import pf_crc_pkg::*;

  localparam int unsigned ItemsMax = 4;      // of a frame
  localparam int unsigned ReachMax = 4;

  typedef logic [10:0] seq_t;
  typedef logic [10:0] credit_t;
  /// Items of a link, modulo at least twice the depth of its buffer, so that full and empty differ.
  typedef logic [11:0] item_ptr_t;
  typedef logic [2:0] count_t;

  /// Frames sent and not acknowledged, at most: half of the sequence numbers.
  function automatic int unsigned window(int unsigned reach);
    return 64 << reach;
  endfunction

  /// Items of a link that wait or may have to be sent again.
  function automatic int unsigned replay_items(int unsigned reach);
    return 128 << reach;
  endfunction

  /// Credits of a class, at most: what a header counts.
  function automatic int unsigned credits_max(int unsigned reach);
    return (128 << reach) - 1;
  endfunction

  /// 16-bit words of a frame header.
  function automatic int unsigned header_words(int unsigned reach);
    return reach == 0 ? 2 : 3;
  endfunction

  /// Bits of a sequence number or count that a header carries.
  function automatic seq_t counted(int unsigned reach, seq_t value);
    return reach == 0 ? value & seq_t'(7'h7f) : value;
  endfunction

  /// Classes with credits of their own: 0 without a line (reads, completions), 1 with a line (writes, read data).
  typedef struct packed {
    seq_t          ack;    // last frame received in order
    logic          nak;    // send again from the one after it
    credit_t [1:0] freed;  // places freed since reset
  } link_note_t;

  /// `count`: items, 0 for a note alone, `Poll` for a request for a note. A frame without items has no number of its own:
  /// `seq` is then that of the next frame with items.
  typedef struct packed {
    link_note_t note;
    seq_t       seq;
    count_t     count;
  } frame_head_t;

  localparam count_t Poll = 3'd5;

  /// A frame that starts.
  typedef struct packed {
    logic      fresh;  // has items that are sent for the first time
    count_t    count;
    count_t    lines;
    seq_t      seq;
    item_ptr_t first;  // its first item
    bytes_t    bytes;
  } tx_frame_t;

  /// State of a transmitter.
  typedef struct packed {
    item_ptr_t     wr;          // next item to come
    item_ptr_t     pend;        // first item that was never sent
    item_ptr_t     rd;          // first item that is not acknowledged
    item_ptr_t     send_item;   // replay: first item of the frame to be sent
    seq_t          next_seq;    // of the next frame with items that were never sent
    seq_t          oldest_seq;  // first frame that is not acknowledged
    seq_t          send_seq;    // frame to be sent; behind next_seq in a replay
    credit_t [1:0] sent;        // items sent since reset, by class
    credit_t [1:0] freed;       // places that the far end has freed since reset, by class
    logic [7:0]    attempts;    // replays and polls without progress
    spent_b16_t    spent;       // of the nanosecond in which the wire is free
  } tx_state_t;

  /// What is on a fibre: pointers into the rings of frames and lines; when the next frame is due.
  typedef logic [10:0] flight_ptr_t;
  typedef struct packed {
    flight_ptr_t wr;
    flight_ptr_t rd;
    flight_ptr_t line_wr;
    flight_ptr_t line_rd;
    time_ns_t    due_ns;
  } flight_state_t;

  /// What is in a receive buffer: pointers into the rings of items and lines.
  typedef struct packed {
    logic [12:0] wr;
    logic [12:0] rd;
    logic [11:0] line_wr;
    logic [11:0] line_rd;
  } held_state_t;

  /// State of a receiver.
  typedef struct packed {
    seq_t          expected;  // frame that comes next
    credit_t [1:0] freed;     // places freed since reset, by class
    logic [5:0]    owed;      // frames and places that the far end does not know of
    logic          nak_sent;  // and the replay has not come yet
  } rx_state_t;

  /// What decides an item's size on the wire.
  typedef struct packed {
    logic line;
    logic enables;  // partial write
    logic poison;   // poisoned write
    logic follows;  // write to the line after its predecessor's
  } shape_t;

  /// Heads of a frame, from bit 0 on: frame header, then items, in units of 16 bits; room for one head more than it can have.
  localparam int unsigned HeadWords = 3 + (ItemsMax + 1) * 8;
  typedef logic [HeadWords*16-1:0] heads_t;
  typedef logic [5:0] word_ptr_t;

  /// Head of an item on the wire, from bit 0 on.
  typedef struct packed {
    logic [3:0]   words;
    logic [127:0] bits;
  } code_t;

  typedef logic [47:0] header_bits_t;

  function automatic header_bits_t encode_header(int unsigned reach, frame_head_t h);
    if (reach != 0) return header_bits_t'(h);
    return {16'b0, h.note.ack[6:0], h.note.nak, h.note.freed[1][6:0], h.note.freed[0][6:0], h.seq[6:0], h.count};
  endfunction

  function automatic frame_head_t decode_header(int unsigned reach, header_bits_t bits);
    if (reach != 0) return frame_head_t'(bits);
    return '{note: '{ack: seq_t'(bits[31:25]), nak: bits[24], freed: {credit_t'(bits[23:17]), credit_t'(bits[16:10])}},
             seq: seq_t'(bits[9:3]), count: bits[2:0]};
  endfunction

  localparam logic [1:0] OpExtended = 2'd3;  // bits above the tag say what follows: {address, enables, poison}

  /// Shape of an item; `next_line`: line after the last write.
  function automatic shape_t shape_of(logic requests, req_hdr_t request, logic line, dpa_line_t next_line);
    return '{line: line, enables: requests && request.op == ReqWritePart, poison: requests && request.poison,
             follows: requests && line && request.line == next_line};
  endfunction

  function automatic bytes_t item_bytes(logic requests, shape_t shape, logic first, path_straps_t straps);
    logic follows = shape.follows && !first;
    bytes_t bytes = shape.line ? bytes_t'(LineBytes) : '0;
    if (!requests || follows || shape.poison) bytes += straps.tag_b;
    if (requests && !follows) bytes += straps.address_b;
    if (requests && shape.enables) bytes += straps.enables_b;
    return bytes;
  endfunction

  function automatic logic [63:0] enables_of(wline_t line);
    return line.be;
  endfunction

  function automatic code_t encode_request(req_hdr_t hdr, logic [63:0] be, logic follows);
    code_t c = '0;
    if (!follows && !hdr.poison) begin
      c.bits[47:0] = {hdr.line, hdr.tag[10:0], hdr.op};
      c.words = 4'd3;
    end else begin
      c.bits[15:0] = {!follows, hdr.op == ReqWritePart, hdr.poison, hdr.tag[10:0], OpExtended};
      c.bits[50:16] = follows ? '0 : hdr.line;
      c.words = follows ? 4'd1 : 4'd4;
    end
    if (hdr.op == ReqWritePart) begin
      c.bits |= {64'b0, be} << {c.words, 4'b0};
      c.words += 4'd4;
    end
    return c;
  endfunction

  function automatic code_t encode_response(rsp_hdr_t hdr, logic line);
    return '{words: 4'd1, bits: {112'b0, line, hdr.status, hdr.load, hdr.tag[10:0]}};
  endfunction

  typedef struct packed {
    logic [3:0]  words;
    logic        line;
    logic [63:0] be;
    req_hdr_t    hdr;
  } request_t;

  /// `next_line`: what a write without address goes to.
  function automatic request_t decode_request(logic [127:0] bits, dpa_line_t next_line);
    request_t r = '0;
    logic enables = bits[1:0] == ReqWritePart || (bits[1:0] == OpExtended && bits[14]);
    r.be = '1;
    r.hdr.tag = nic_tag_t'(bits[12:2]);
    r.line = bits[1:0] != ReqRead;
    if (bits[1:0] == OpExtended) begin
      r.hdr.op = enables ? ReqWritePart : ReqWrite;
      r.hdr.poison = bits[13];
      r.hdr.line = bits[15] ? bits[50:16] : next_line;
      r.words = bits[15] ? 4'd4 : 4'd1;
    end else begin
      r.hdr.op = req_op_e'(bits[1:0]);
      r.hdr.line = bits[47:13];
      r.words = 4'd3;
    end
    if (enables) begin
      r.be = 64'(bits >> {r.words, 4'b0});
      r.words += 4'd4;
    end
    return r;
  endfunction

  function automatic rsp_hdr_t decode_response(logic [15:0] bits);
    return '{load: bits[12:11], status: rsp_status_e'(bits[14:13]), tag: nic_tag_t'(bits[10:0])};
  endfunction

  /// CRC of a frame's heads, to which those of its lines are added.
  function automatic crc_t crc_heads(heads_t heads, word_ptr_t words);
    crc_t c = Start;
    for (int unsigned w = 0; w + 4 <= 32'(words); w += 4) c = crc_64(c, heads[16*w+:64]);
    for (int unsigned w = 32'(words) & ~32'd3; w < 32'(words); w++) c = crc_16(c, heads[16*w+:16]);
    return c;
  endfunction

endpackage
