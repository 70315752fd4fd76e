// Delay rings: nothing is pushed into a full ring or popped before it is due.

module check_ring
  import pf_pkg::*;
(
  input logic     clk_i,
  input logic     rst_ni,
  input time_ns_t now_i,
  input logic     push_i,
  input logic     room_i,
  input logic     pop_i,
  input logic     valid_i
);

  longint unsigned inject_ns;
  bit inject;

  always_ff @(posedge clk_i) begin
    if (rst_ni && (push_i || pop_i)) begin
      if (push_i && !(room_i && !(inject && now_i >= inject_ns)))
        $fatal(1, "%m: t=%0d ns: push into a full ring", now_i);
      if (pop_i && !valid_i) $fatal(1, "%m: t=%0d ns: pop of an entry that is not due", now_i);
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected() == "ring";
  end

endmodule

bind pf_due_ring check_ring u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .push_i,
  .room_i (room_o),
  .pop_i,
  .valid_i(valid_o)
);
