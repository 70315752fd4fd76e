// Faults that the bench itself commits for the tests of the checkers; check_pkg lists all names of `+inject=NAME`.

module tb_faults
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 2,
  parameter int unsigned Modules = 2
) (
  input  time_ns_t         now_i,
  /// The port sends one read twice.
  output logic [Hosts-1:0] double_o,
  /// The port takes no more responses.
  output logic [Hosts-1:0] deaf_o,
  /// The port loses an answer to its engine, or gives it twice.
  output logic [Hosts-1:0] lose_o,
  output logic [Hosts-1:0] again_o,
  /// The store turns a bit of what a read takes.
  output logic             flip_o,
  /// Lightpaths without light.
  output logic [Hosts-1:0][Modules-1:0] down_o
);

  string    inject;
  time_ns_t inject_ns;
  time_ns_t down_ns;
  bit       double_on, deaf_on, down_on, lose_on, again_on, flip_on;

  assign double_o = Hosts'(double_on && now_i >= inject_ns);
  assign deaf_o = Hosts'(deaf_on && now_i >= inject_ns);

  assign lose_o = Hosts'(lose_on && now_i >= inject_ns);
  assign again_o = Hosts'(again_on && now_i >= inject_ns);
  assign flip_o = flip_on && now_i >= inject_ns;

  always_comb begin
    down_o = '0;
    down_o[0][0] = down_on && now_i >= inject_ns && now_i < inject_ns + down_ns;
  end

  initial begin
    inject = check_pkg::injected();
    inject_ns = check_pkg::injected_ns();
    double_on = inject == "double";
    deaf_on = inject == "deaf";
    down_on = inject == "down";
    lose_on = inject == "lose";
    again_on = inject == "again";
    flip_on = inject == "flip";
    down_ns = '1;
    void'($value$plusargs("down_ns=%d", down_ns));
    if (down_ns == '1) down_ns = 64'd1 << 62;
    if (!(inject inside {"", "double", "deaf", "down", "credit", "overflow", "ring", "tag", "order", "twice",
                        "lose", "again", "flip",
                        "hop_credit", "hop_order", "starve", "cxl_credit", "cxl_overflow", "cxl_seq", "cxl_crc",
                        "sequence", "swap", "crc", "cxl_once", "cxl_tag"}))
      $fatal(1, "%m: +inject=%s is unknown; check_pkg lists the faults", inject);
  end

endmodule
