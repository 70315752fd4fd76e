// State of a lightpath, shared by the links and by what is bound to them.

package pf_link_pkg;

  import pf_rate_pkg::*;

  /// Frames that a link may hold, in flight and received; the most credits that a profile may grant.
  localparam int unsigned FramesMax = 128;

  /// Counts frames modulo twice their number, so that full and empty differ.
  typedef logic [7:0] frame_ptr_t;

  typedef struct packed {
    frame_ptr_t wr;         // ring of frames
    frame_ptr_t rd;
    frame_ptr_t credit_wr;  // ring of credits on their way back
    frame_ptr_t credit_rd;
    frame_ptr_t held;       // credits in use
    spent_b16_t spent;      // of the nanosecond in which the transmitter is free
  } link_state_t;

endpackage
