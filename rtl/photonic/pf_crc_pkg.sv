// CRC-32 of lightpath frames: the IEEE 802.3 polynomial, bit 0 first, all ones before and inverted after.
//
// Table driven: eight tables of 256 entries take 64 bits a step (slicing by eight), so that the register needs one level of
// exclusive ors for each step and the simulator eight look-ups.

package pf_crc_pkg;

  typedef logic [31:0] crc_t;

  localparam crc_t Polynomial = 32'hEDB88320;  // bit-reversed 04C11DB7
  localparam crc_t Start = '1;

  typedef crc_t tables_t[2048];

  /// Table k, index {k, byte}: what a byte that is followed by k bytes of zeros does to the register.
  function automatic tables_t make_tables();
    tables_t t;
    for (int unsigned i = 0; i < 256; i++) begin
      automatic crc_t r = crc_t'(i);
      for (int unsigned b = 0; b < 8; b++) r = r[0] ? (r >> 1) ^ Polynomial : r >> 1;
      t[i] = r;
    end
    for (int unsigned i = 256; i < 2048; i++) t[i] = (t[i-256] >> 8) ^ t[32'(t[i-256][7:0])];
    return t;
  endfunction

  // A read-only memory.
  tables_t tables = make_tables();

  function automatic crc_t crc_16(crc_t crc, logic [15:0] bits);
    logic [15:0] x = crc[15:0] ^ bits;
    return tables[{3'd1, x[7:0]}] ^ tables[{3'd0, x[15:8]}] ^ (crc >> 16);
  endfunction

  function automatic crc_t crc_64(crc_t crc, logic [63:0] bits);
    logic [31:0] x = crc ^ bits[31:0];
    logic [31:0] y = bits[63:32];
    return tables[{3'd7, x[7:0]}] ^ tables[{3'd6, x[15:8]}] ^ tables[{3'd5, x[23:16]}] ^ tables[{3'd4, x[31:24]}]
        ^ tables[{3'd3, y[7:0]}] ^ tables[{3'd2, y[15:8]}] ^ tables[{3'd1, y[23:16]}] ^ tables[{3'd0, y[31:24]}];
  endfunction

  function automatic crc_t crc_line(crc_t crc, logic [511:0] line);
    crc_t c = crc;
    c = crc_64(c, line[63:0]);
    c = crc_64(c, line[127:64]);
    c = crc_64(c, line[191:128]);
    c = crc_64(c, line[255:192]);
    c = crc_64(c, line[319:256]);
    c = crc_64(c, line[383:320]);
    c = crc_64(c, line[447:384]);
    return crc_64(c, line[511:448]);
  endfunction

endpackage
