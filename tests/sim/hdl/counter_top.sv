// Smallest bench that exercises the runner: counts clocks, reads a strap, and fails an assertion when it is told to.
module counter_top #(
  parameter int unsigned Width = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  output logic [Width-1:0] count_o
);
  int unsigned fail_at;

  initial begin
    fail_at = 0;
    void'($value$plusargs("fail_at=%d", fail_at));
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) count_o <= '0;
    else count_o <= count_o + 1'b1;
  end

  CountBelow_A: assert property (@(posedge clk_i) disable iff (!rst_ni) fail_at == 0 || 32'(count_o) < fail_at)
    else $error("count is %0d, must stay below %0d", count_o, fail_at);
endmodule
