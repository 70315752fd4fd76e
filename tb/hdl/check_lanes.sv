// Rules of a message class that crosses an interface: lane 1 goes with lane 0 only, and what is not taken stays as it is.
//
// A message that waited in lane 1 while lane 0 was taken moves to lane 0. `+inject=unstable` shows the checker a message
// that changes while it waits, `+inject=lane` a lane 1 without lane 0.

module check_lanes
  import pf_pkg::*;
#(
  parameter int unsigned Width = 32,
  parameter bit Injects = 1'b0  // whether the fault can be planted here
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input time_ns_t              now_i,
  input logic [3:0]            id_i,
  input logic [1:0]            valid_i,
  input logic [1:0]            ready_i,
  input logic [1:0][Width-1:0] message_i
);

  longint unsigned  inject_ns;
  bit               inject_unstable, inject_lane;
  logic             waits_q;
  logic [Width-1:0] waiting_q;
  logic [1:0]       taken, valid;

  assign taken = valid_i & ready_i;
  assign valid = inject_lane && now_i >= inject_ns && valid_i != '0 ? 2'b10 : valid_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q <= 1'b0;
    end else begin
      if (valid == 2'b10) $fatal(1, "%m: t=%0d ns: host %0d: lane 1 is valid without lane 0", now_i, id_i);
      if (taken == 2'b10) $fatal(1, "%m: t=%0d ns: host %0d: lane 1 is taken without lane 0", now_i, id_i);
      if (waits_q && (!valid_i[0] || message_i[0] != waiting_q))
        $fatal(1, "%m: t=%0d ns: host %0d: a message that was not taken went away or changed", now_i, id_i);
      waits_q <= (valid_i & ~taken) != '0;
      if ((valid_i & ~taken) != '0) begin
        waiting_q <= (taken[0] ? message_i[1] : message_i[0]) ^ Width'(inject_unstable && now_i >= inject_ns);
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject_unstable = Injects && check_pkg::injected() == "unstable";
    inject_lane = Injects && check_pkg::injected() == "lane";
  end

endmodule
