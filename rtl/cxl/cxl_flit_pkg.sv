// 256-byte flit of the CXL link: where everything lies, and its CRC.
//
//   bytes     bits         what
//   0..1      15:0         header: own sequence number, acknowledgement, viral
//   2..15     127:16       slot 0 (H slot): message headers only
//   16..239   1919:128     slots 1 to 14 (G slots): message headers, or 16 bytes of data
//   240..241  1935:1920    credits given back to the other end
//   242..249  1999:1936    CRC
//   250..255  2047:2000    FEC field, zero: correction is not modelled
//
// Headers that share a slot lie one behind the other, their number in the four top bits of the slot. The data of a message
// takes the next G slots that are free (four, then one with the byte enables of a partial write), in the next flit if need be.
// The first G slot that should hold headers and holds none ends the flit.
//
//   G slot, 40-bit headers (S2M)   0: 55:16   1: 103:64   2: 119:104, 63:56, 15:0
//   G slot, 104-bit header (M2S)   0: 119:16
//
// Slot 0 has the same places without the low 16 bits, which are the flit's header. The top bit of a message header tells the
// class with data from the one without.
//
// A flit is handled as 32 words of 64 bits. The CRC is a CRC-64 (polynomial of ECMA-182) over slots 14 to 0, header and
// credits, in this order: what is empty at the end of a flit costs nothing.

package cxl_flit_pkg;

  import pf_pkg::*;

  localparam int unsigned FlitBytes = 256;
  localparam int unsigned Words = FlitBytes / 8;
  localparam int unsigned Slots = 15;
  localparam int unsigned SlotWords = 2 * Slots;  // words of the slots, the flit's header included
  localparam int unsigned CreditWord = 30;        // {48 bits of CRC, credits}
  localparam int unsigned CrcWord = 31;           // {FEC, 16 bits of CRC}
  localparam int unsigned DataSlots = 4;          // slots that the line of a message takes

  typedef logic [63:0] word_t;

  /// Sequence number of a flit. At most `Window` flits wait for their acknowledgement, one less than there are numbers, so
  /// that a flit that comes again is never taken for a new one.
  typedef logic [5:0] seq_t;
  localparam seq_t Window = 6'd62;

  typedef struct packed {
    seq_t ack;        // last flit that arrived whole and in order
    seq_t seq;        // this flit
    logic zero;
    logic viral;      // the sender's device is in viral state
    logic nak;        // send again what follows `ack`
    logic sequenced;  // carries messages or credits; without, it only acknowledges and is never sent again
  } flit_header_t;

  /// Credits for the two classes that come the other way: without and with data.
  typedef struct packed {
    logic [7:0] data;
    logic [7:0] head;
  } flit_credits_t;

  localparam word_t CrcPoly = 64'h42F0_E1EB_A9EA_3693;
  /// Added to the remainder, so that a line that is stuck never looks like a flit.
  localparam word_t CrcFinal = '1;

  typedef word_t crc_table_t[2048];

  /// Remainder of b * x^(64 + 8 i), at index 256 i + b.
  function automatic crc_table_t crc_table();
    crc_table_t remainder;
    for (int unsigned i = 0; i < 8; i++) begin
      for (int unsigned b = 0; b < 256; b++) begin
        word_t r = word_t'(b) << (8 * i);
        for (int unsigned k = 0; k < 64; k++) r = r[63] ? (r << 1) ^ CrcPoly : r << 1;
        remainder[i*256+b] = r;
      end
    end
    return remainder;
  endfunction

  localparam crc_table_t CrcTable = crc_table();

  /// Remainder after one more word, all 64 bits at once: eight tables side by side.
  function automatic word_t crc_step(word_t crc, word_t word);
    word_t x = crc ^ word;
    return CrcTable[{3'd0, x[7:0]}] ^ CrcTable[{3'd1, x[15:8]}] ^ CrcTable[{3'd2, x[23:16]}]
        ^ CrcTable[{3'd3, x[31:24]}] ^ CrcTable[{3'd4, x[39:32]}] ^ CrcTable[{3'd5, x[47:40]}]
        ^ CrcTable[{3'd6, x[55:48]}] ^ CrcTable[{3'd7, x[63:56]}];
  endfunction

endpackage
