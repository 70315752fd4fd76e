// What the traffic engines share: descriptor fields, the walk through a footprint, and the right value of every line.
//
// Data. A line that no engine has written holds a pattern that follows from its place (module, device address), so that a read
// checks the decoder as well; a written line one that follows from its host address, its writer and the number of the pass in
// which it was written. A pass of an engine visits every block of its footprint once, and whether a block is written in a pass
// follows from a hash. So the newest write of a line is found by looking at the passes before, without a memory.

package traffic_pkg;

  import pf_pkg::*;
  import pf_hdm_pkg::*;

  /// Requests that an engine can have in flight, in lines; a slot a line, its number is the tag.
  localparam int unsigned Slots = 4096;
  localparam int unsigned SlotBits = $clog2(Slots);
  typedef logic [SlotBits-1:0] slot_index_t;

  localparam int unsigned LinesMax = 16;  // lines of the largest request
  localparam int unsigned Bins = 4096;    // of 1 ns; the last one is all that is longer
  localparam int unsigned ModulesMax = 16;

  /// Order of the fields of `struct emu_engine` behind struct_bytes, host and phase.
  typedef enum int {
    FieldPattern = 0,
    FieldRequestBytes = 1,
    FieldReadPermille = 2,
    FieldOutstanding = 3,
    FieldPoisson = 4,
    FieldStrideLog2 = 5,
    FieldHotPermille = 6,
    FieldHotModule = 7,
    FieldHotOutstanding = 8,
    FieldLinesLog2 = 9,
    FieldIntervalQ16 = 10,
    FieldFirstLine = 11,
    FieldHotLine = 12,
    FieldStart = 13,
    FieldRequests = 14,
    FieldWarmup = 15,
    FieldCountNs = 16,
    FieldStopNs = 17,
    FieldSeed = 18
  } field_e;

  typedef enum logic [1:0] {
    PatternLinear  = 2'd0,
    PatternRandom  = 2'd1,
    PatternStrided = 2'd2
  } pattern_e;

  /// One completed line, for the statistics.
  typedef struct packed {
    logic        valid;
    logic        is_write;
    logic        last;        // the request is complete
    logic [3:0]  module_id;
    logic [31:0] line_ns;     // from issue
    logic [31:0] request_ns;  // from arrival, when last
  } done_line_t;

  /// Latencies of requests by the module of their last line, index {module, is_write, ns}.
  int unsigned module_hist[ModulesMax*2*Bins];

  /// -ln(u) x 2^16, mean over each of 256 parts of 0..1: its mean is exactly 1.
  longint unsigned exponential[256];

  function automatic logic [63:0] mix(logic [63:0] value);
    logic [63:0] x = value + 64'h9E37_79B9_7F4A_7C15;
    x = (x ^ (x >> 30)) * 64'hBF58_476D_1CE4_E5B9;
    x = (x ^ (x >> 27)) * 64'h94D0_49BB_1331_11EB;
    return x ^ (x >> 31);
  endfunction

  localparam data_t Weave = {
    64'h0000_0000_0000_0000, 64'h9E37_79B9_7F4A_7C15, 64'h3C6E_F372_FE94_F82A, 64'hDAA6_6D2C_7DDF_743F,
    64'h78DD_E6E5_FD29_F054, 64'h1715_609F_7C74_6C69, 64'hB54C_DA58_FBBE_E87E, 64'h5384_5412_7B09_6493};

  /// A line whose halves follow from two seeds; lower half first.
  function automatic data_t line_data(logic [63:0] low, logic [63:0] high);
    return {{4{high}}, {4{low}}} ^ Weave;
  endfunction

  function automatic logic [63:0] untouched_seed(logic [3:0] module_id, dpa_line_t line);
    return mix({25'h155_5555, module_id, line});
  endfunction

  /// `pass` counts from 1.
  function automatic logic [63:0] written_seed(logic [3:0] host, hpa_line_t line, logic [31:0] pass);
    return mix({14'h2AAA, host, line} ^ {pass, 32'b0});
  endfunction

  /// One to one onto `bits` bits.
  function automatic logic [63:0] permute(logic [63:0] value, logic [5:0] bits, logic [63:0] seed);
    logic [63:0] mask = ~(~64'd0 << bits);
    logic [5:0] half = (bits + 6'd1) >> 1;
    logic [63:0] x = (value ^ seed) & mask;
    x = (x * 64'hBF58_476D_1CE4_E5B9) & mask;
    x ^= x >> half;
    x = (x * 64'h94D0_49BB_1331_11EB) & mask;
    x ^= x >> half;
    x = (x * 64'hD6E8_FEB8_6659_FD93) & mask;
    return x ^ (x >> half);
  endfunction

  /// Step `index` of a walk that visits all 2^bits blocks: one after the other, scattered, or `stride` apart.
  function automatic logic [63:0] walk(pattern_e pattern, logic [63:0] index, logic [5:0] bits, logic [5:0] stride_log2,
                                       logic [63:0] seed);
    logic [63:0] mask = ~(~64'd0 << bits);
    logic [63:0] at = index & mask;
    case (pattern)
      PatternRandom: return permute(at, bits, seed);
      PatternStrided: return ((at << stride_log2) | (at >> (bits - stride_log2))) & mask;
      default: return at;
    endcase
  endfunction

  /// What a pass does with a block: bit 63 the half of a 32-byte write, bits 31..0 a draw against the share of writes.
  function automatic logic [63:0] draw(logic [63:0] seed, logic stream, logic [31:0] pass, logic [63:0] block);
    return mix(seed ^ block ^ {stream, pass, 31'b0});
  endfunction

  function automatic logic is_write(logic [63:0] drawn, logic [31:0] write_permille);
    return ((64'(drawn[31:0]) * 64'd1000) >> 32) < 64'(write_permille);
  endfunction

  /// A decoder, unpacked for speed.
  typedef struct {
    bit          enable;
    hpa_line_t   base;
    hpa_line_t   size;
    logic [2:0]  ways_log2;
    logic [3:0]  gran_log2;  // lines
    dpa_line_t   dpa_base;
    logic [63:0] targets;
  } map_t;

  /// Does the decoder claim the line; its module and address there.
  function automatic logic claims(map_t map, hpa_line_t line);
    return map.enable && line >= map.base && line - map.base < map.size;
  endfunction

  function automatic logic [3:0] module_of(map_t map, hpa_line_t line);
    logic [3:0] way = 4'((line - map.base) >> map.gran_log2) & ~(4'hF << map.ways_log2);
    return 4'(map.targets >> {way, 2'b00});
  endfunction

  function automatic dpa_line_t place_of(map_t map, hpa_line_t line);
    hpa_line_t offset = line - map.base;
    hpa_line_t low = offset & ~(~hpa_line_t'(0) << map.gran_log2);
    return map.dpa_base + dpa_line_t'(((offset >> map.gran_log2 >> map.ways_log2) << map.gran_log2) | low);
  endfunction

  /// Way of a module in the decoder, 16 when it has none.
  function automatic logic [4:0] way_of(map_t map, logic [3:0] module_id);
    for (int unsigned w = 0; w < TargetsMax; w++) begin
      if (map.enable && w < 32'd1 << map.ways_log2 && 4'(map.targets >> (4 * w)) == module_id) return 5'(w);
    end
    return 5'd16;
  endfunction

  /// Host address of a line of the module that is target `way`.
  function automatic hpa_line_t host_line(map_t map, logic [4:0] way, dpa_line_t line);
    dpa_line_t place = line - map.dpa_base;
    hpa_line_t offset = hpa_line_t'(place);
    hpa_line_t low = offset & ~(~hpa_line_t'(0) << map.gran_log2);
    return map.base + (((((offset >> map.gran_log2) << map.ways_log2) | hpa_line_t'(way)) << map.gran_log2) | low);
  endfunction

endpackage
