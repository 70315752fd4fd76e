// Faults that the bench itself commits for the tests of the checkers; check_pkg lists all names of `+inject=NAME`.

module tb_faults
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 2
) (
  input  time_ns_t         now_i,
  /// The port sends one read twice.
  output logic [Hosts-1:0] double_o,
  /// The port takes no more responses.
  output logic [Hosts-1:0] deaf_o
);

  string    inject;
  time_ns_t inject_ns;
  bit       double_on, deaf_on;

  assign double_o = Hosts'(double_on && now_i >= inject_ns);
  assign deaf_o = Hosts'(deaf_on && now_i >= inject_ns);

  initial begin
    inject = check_pkg::injected();
    inject_ns = check_pkg::injected_ns();
    double_on = inject == "double";
    deaf_on = inject == "deaf";
    if (!(inject inside {"", "double", "deaf", "credit", "overflow", "ring", "tag", "order"}))
      $fatal(1, "%m: +inject=%s is unknown; the faults are double, deaf, credit, overflow, ring, tag, order", inject);
  end

endmodule
