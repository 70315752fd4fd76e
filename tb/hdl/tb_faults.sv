// Faults that the tests of the checkers switch on: `+inject=NAME` from simulated time `+inject_ns=N` (default 1000) on.
//
// double: host 0 sends one read twice; deaf: host 0 takes no more responses.

module tb_faults
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 2
) (
  input  time_ns_t         now_i,
  output logic [Hosts-1:0] double_o,
  output logic [Hosts-1:0] deaf_o
);

  string    inject;
  time_ns_t inject_ns;
  logic     double_on, deaf_on;

  assign double_o = Hosts'(double_on && now_i >= inject_ns);
  assign deaf_o = Hosts'(deaf_on && now_i >= inject_ns);

  initial begin
    inject = "";
    inject_ns = 64'd1000;
    void'($value$plusargs("inject_ns=%d", inject_ns));
    void'($value$plusargs("inject=%s", inject));
    double_on = inject == "double";
    deaf_on = inject == "deaf";
  end

endmodule
