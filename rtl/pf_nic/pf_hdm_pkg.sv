// Settings of an HDM decoder, by the fields of the CXL component registers (interleave ways IW, interleave granularity IG).

package pf_hdm_pkg;

  import pf_pkg::*;

  localparam int unsigned Decoders = 4;
  localparam int unsigned TargetsMax = 16;

  typedef struct packed {
    logic                           enable;
    hpa_line_t                      base;       // first line
    hpa_line_t                      size;       // lines
    logic [2:0]                     ways_log2;  // 0..4: 1, 2, 4, 8, 16 ways
    logic [3:0]                     gran_log2;  // 8..14: 256 B .. 16 KiB
    dpa_line_t                      dpa_base;   // first line on each target
    logic [TargetsMax-1:0][3:0]     targets;    // module of each way
  } hdm_decoder_t;

endpackage
