// Serialization onto a line whose rate is not a whole number of bytes per ns.
//
// The state of a line is the first nanosecond in which it still has capacity and how much of that nanosecond is spent, in
// 1/16 byte. This is a token bucket that holds at most one nanosecond of tokens: idle time earns nothing, a busy line loses
// nothing to rounding, and time may jump forward while the line is idle.

package pf_rate_pkg;

  import pf_pkg::*;

  typedef logic [15:0] spent_b16_t;

  typedef struct packed {
    delay_ns_t  whole_ns;  // from the start to the nanosecond in which the line is free again
    spent_b16_t spent;     // spent of that nanosecond
    delay_ns_t  last_ns;   // from the start to the end of the nanosecond that carries the last byte
  } slot_t;

  /// Slot that `bytes` take on a line of `rate` when `spent` of the starting nanosecond is already used.
  /// Rate and sizes are straps, constant after reset; a synthesis flow multiplies by the reciprocal here.
  function automatic slot_t serialize(bytes_t bytes, spent_b16_t spent, rate_b16_t rate);
    logic [31:0] work = '0;
    logic [31:0] whole = '0;
    logic [31:0] rest = '0;
    slot_t slot = '0;
    if (bytes != 0) begin
      work = {16'b0, bytes, 4'b0} + {16'b0, spent};
      whole = work / {16'b0, rate};
      rest = work - whole * {16'b0, rate};
      slot.whole_ns = whole[15:0];
      slot.spent = rest[15:0];
      slot.last_ns = whole[15:0] + {15'b0, rest != 0};
    end
    return slot;
  endfunction

  function automatic time_ns_t later(time_ns_t a, time_ns_t b);
    return a > b ? a : b;
  endfunction

endpackage
