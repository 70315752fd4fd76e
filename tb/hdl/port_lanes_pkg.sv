// The two registers in which a host's messages of one class wait for the link.

package port_lanes_pkg;

  import cxl_pkg::Lanes;

  /// Messages that stay when those of `taken` leave.
  function automatic logic [Lanes-1:0] left(logic [Lanes-1:0] valid, logic [Lanes-1:0] taken);
    return {1'b0, ^(valid & ~taken)} | {2{&(valid & ~taken)}};
  endfunction

  /// The message of lane 1 becomes that of lane 0.
  function automatic logic moves(logic [Lanes-1:0] valid, logic [Lanes-1:0] taken);
    return valid[1] && taken[0] && !taken[1];
  endfunction

endpackage
