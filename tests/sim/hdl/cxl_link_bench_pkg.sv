// What the modules of the CXL link's bench share: plusargs and random numbers.

package cxl_link_bench_pkg;

  function automatic longint unsigned plusarg(string name, longint unsigned otherwise);
    longint unsigned value = otherwise;
    void'($value$plusargs({name, "=%d"}, value));
    return value;
  endfunction

  /// Finalizer of splitmix64: neighbouring numbers give unrelated ones.
  function automatic longint unsigned mix(longint unsigned x);
    longint unsigned z = x;
    z = (z ^ (z >> 30)) * 64'hBF58_476D_1CE4_E5B9;
    z = (z ^ (z >> 27)) * 64'h94D0_49BB_1331_11EB;
    return z ^ (z >> 31);
  endfunction

endpackage
