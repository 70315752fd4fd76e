// Switched fabric: no queue holds more than its credits, messages of an output leave as they entered (none lost, doubled,
// changed or overtaken), and no input that waits for an output is passed over for ever.

module check_switch
  import pf_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Hops = 1,
  parameter int unsigned Depth = 256,
  parameter int unsigned HeadBits = 64,
  parameter int unsigned PtrBits = 9,
  parameter int unsigned NearBits = 1
) (
  input logic                           clk_i,
  input logic                           rst_ni,
  input time_ns_t                       now_i,
  input delay_ns_t                      credits_i,
  input logic [PtrBits:0]               passed_i[Hops+1][Far],
  input logic [Near-1:0][Far-1:0]       request_i,
  input logic [Near-1:0]                in_free_i,
  input logic [Near-1:0][Far-1:0]       fire_i,
  input logic [HeadBits-1:0]            head_i  [Near][Far],
  input logic [Far-1:0][Near-1:0]       valid_i,
  input logic [Far-1:0][Near-1:0]       ready_i,
  input logic [HeadBits-1:0]            head_o_i[Far][Near]
);

  // An input that could have started and was not chosen; its turn comes after each other input once, and anew when it starts
  // elsewhere just then.
  localparam int unsigned PassedOverMax = 64 * Near;

  logic [HeadBits-1:0] sent_q       [Far*Depth];
  logic [NearBits-1:0] source_q     [Far*Depth];
  int unsigned         sent_count_q [Far];
  int unsigned         taken_count_q[Far];
  int unsigned         passed_over_q[Near*Far];
  longint unsigned     inject_ns;
  bit                  inject_credit, inject_order, inject_starve;

  function automatic void check_credits(int unsigned hop, int unsigned j, logic [PtrBits:0] held);
    if (32'(held) > 32'(credits_i))
      $fatal(1, "%m: t=%0d ns: output %0d hop %0d: %0d messages with %0d credits", now_i, j, hop + 1, held, credits_i);
  endfunction

  function automatic void check_message(int unsigned j, int unsigned i, logic [HeadBits-1:0] head);
    int unsigned s = j * Depth + taken_count_q[j] % Depth;
    if (taken_count_q[j] == sent_count_q[j])
      $fatal(1, "%m: t=%0d ns: output %0d delivers more messages than entered", now_i, j);
    if (32'(source_q[s]) != i || sent_q[s] != head)
      $fatal(1, "%m: t=%0d ns: output %0d: message %0d left as 0x%0h of input %0d, not as 0x%0h of input %0d", now_i, j,
             taken_count_q[j], head, i, sent_q[s], source_q[s]);
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned j = 0; j < Far; j++) begin
        sent_count_q[j] <= '0;
        taken_count_q[j] <= '0;
      end
      for (int unsigned w = 0; w < Near * Far; w++) passed_over_q[w] <= '0;
    end else begin
      if (fire_i != '0) begin
        for (int unsigned i = 0; i < Near; i++) begin
          for (int unsigned j = 0; j < Far; j++) begin
            if (fire_i[i][j]) begin
              sent_q[j*Depth+sent_count_q[j]%Depth] <= head_i[i][j];
              source_q[j*Depth+sent_count_q[j]%Depth] <= NearBits'(i);
              sent_count_q[j] <= sent_count_q[j] + 1;
            end
          end
        end
        for (int unsigned j = 0; j < Far; j++) begin
          automatic bit granted = 1'b0;
          for (int unsigned i = 0; i < Near; i++) granted |= fire_i[i][j];
          for (int unsigned i = 0; i < Near; i++) begin
            automatic int unsigned w = i * Far + j;
            if (granted && fire_i[i][j] && !(inject_starve && now_i >= inject_ns)) passed_over_q[w] <= 0;
            else if (granted && request_i[i][j] && in_free_i[i]) passed_over_q[w] <= passed_over_q[w] + 1;
            if (passed_over_q[w] > PassedOverMax)
              $fatal(1, "%m: t=%0d ns: input %0d was passed over %0d times for output %0d", now_i, i, passed_over_q[w],
                     j);
          end
        end
      end
      for (int unsigned j = 0; j < Far; j++) begin
        if (passed_i[0][j] != passed_i[Hops][j]) begin
          for (int unsigned k = 0; k < Hops; k++) begin
            check_credits(k, j, passed_i[k][j] - passed_i[k+1][j]
                + (PtrBits + 1)'(inject_credit && now_i >= inject_ns ? 32'(credits_i) : 32'd0));
          end
        end
        if ((valid_i[j] & ready_i[j]) != '0) begin
          for (int unsigned i = 0; i < Near; i++) begin
            if (valid_i[j][i]) check_message(j, i, head_o_i[j][i] ^ HeadBits'(inject_order && now_i >= inject_ns));
          end
          taken_count_q[j] <= taken_count_q[j] + 1;
        end
      end
      if (check_pkg::stuck) begin
        for (int unsigned j = 0; j < Far; j++) begin
          for (int unsigned k = 0; k < Hops; k++) begin
            if (passed_i[k][j] != passed_i[k+1][j])
              $display("%m: output %0d hop %0d: %0d of %0d credits in use", j, k + 1,
                       passed_i[k][j] - passed_i[k+1][j], credits_i);
          end
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject_credit = check_pkg::injected() == "hop_credit";
    inject_order = check_pkg::injected() == "hop_order";
    inject_starve = check_pkg::injected() == "starve";
  end

endmodule

bind switch_network check_switch #(
  .Near    (Near),
  .Far     (Far),
  .Hops    (Hops),
  .Depth   (Depth),
  .HeadBits($bits(head_t)),
  .PtrBits (PtrBits),
  .NearBits(NearBits)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .credits_i(straps_i.credits),
  .passed_i (passed_q),
  .request_i(tx_valid_i),
  .in_free_i(in_free),
  .fire_i   (tx_fire),
  .head_i   (tx_head_i),
  .valid_i  (rx_valid_o),
  .ready_i  (rx_ready_i),
  .head_o_i (rx_head_o)
);
