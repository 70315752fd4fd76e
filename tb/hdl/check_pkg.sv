// What the checkers share.
//
// Checkers are bound to the RTL and stop the simulation at the first violation. `+inject=NAME` makes one of them see what it
// must reject (or makes the bench do it: tb_faults), from simulated time `+inject_ns=N` on; the names:
//
//   double    the host port sends one read twice           -> check_nic, host tag in flight
//   deaf      a host takes no more responses                -> check_live, with queue depths and credits printed
//   down      the path from host 0 to module 0 is dark, for `+down_ns=N` or for ever -> check_live
//   credit    a receiver says it freed another number       -> check_path, conservation
//   overflow  more items than the receive buffer holds      -> check_path, overflow
//   sequence  a frame is accepted out of its turn           -> check_path, sequence
//   swap      an item leaves the link in place of another   -> check_path, exactly once and in order
//   crc       a frame with a wrong CRC is accepted          -> check_path, CRC
//   ring      a push into a full delay ring                 -> check_ring
//   tag       a NIC tag that is in use is handed out        -> check_nic, NIC tag in use
//   order     an older request reaches the media later      -> check_mem, order of one line
//   twice     a request reaches the media a second time     -> check_once
//   hop_credit, hop_order, starve  a hop's queue over its credits, a message changed, an input passed over -> check_switch
//   cxl_credit, cxl_overflow, cxl_seq, cxl_crc -> check_cxl_line: a credit too many, more messages than the buffer holds,
//             sequence numbers beyond the window, a flit delivered that is not what was sent
//   cxl_once  a message of the CXL link left out            -> check_cxl_order
//   cxl_tag   a host tag beyond what the link's table holds -> check_cxl_tags
//   lose      an answer to a traffic engine is lost         -> traffic_slots, lost lines
//   again     an answer is given to an engine twice         -> traffic_slots, unexpected answers
//   flip      the store turns a bit of what one read takes  -> traffic_slots, wrong bytes

package check_pkg;

  localparam int unsigned HostsMax = 16;
  localparam int unsigned TagsMax = 4096;

  /// Order of acceptance at the NIC, index {host, tag of the NIC}.
  int unsigned accepted[HostsMax*TagsMax];

  /// Nothing has moved for too long: every checker prints what it sees, then the run ends.
  bit stuck;

  /// Counters are read in this cycle: every probe gives its values to emu_counter. They count from reset on.
  bit reporting;

  /// Name of the fault to be injected, "" for none.
  function automatic string injected();
    string name = "";
    void'($value$plusargs("inject=%s", name));
    return name;
  endfunction

  /// Time from which on it is injected.
  function automatic longint unsigned injected_ns();
    longint unsigned time_ns = 1000;
    void'($value$plusargs("inject_ns=%d", time_ns));
    return time_ns;
  endfunction

endpackage
