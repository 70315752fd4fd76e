// Crossbar of a switch: which message of which input starts towards which output in this cycle.
//
// Each output goes round robin over the inputs that have something for it, so none starves; an input starts one message at a
// time, and the output that chooses first moves on by one with each cycle that grants, so no output starves at an input.

module switch_crossbar #(
  parameter int unsigned Inputs = 4,
  parameter int unsigned Outputs = 4
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic [Inputs-1:0][Outputs-1:0] request_i,
  /// Inputs and outputs that can start a message.
  input  logic [Inputs-1:0]              in_free_i,
  input  logic [Outputs-1:0]             out_free_i,
  /// At most one message an input and one an output.
  output logic [Inputs-1:0][Outputs-1:0] grant_o
);

  localparam int unsigned InBits = Inputs > 1 ? $clog2(Inputs) : 1;
  localparam int unsigned OutBits = Outputs > 1 ? $clog2(Outputs) : 1;

  logic [InBits-1:0]  last_q[Outputs];  // input that the output served last
  logic [OutBits-1:0] first_q;          // output that chooses first
  logic [Outputs-1:0] granted;
  logic [InBits-1:0]  index[Outputs];

  always_comb begin
    automatic logic [Inputs-1:0] in_free = in_free_i;
    automatic logic [OutBits-1:0] j = first_q;
    grant_o = '0;
    granted = '0;
    for (int unsigned n = 0; n < Outputs; n++) index[n] = '0;
    if (request_i != '0) begin
      for (int unsigned n = 0; n < Outputs; n++) begin
        if (out_free_i[j]) begin
          automatic logic [InBits-1:0] i = last_q[j];
          for (int unsigned m = 0; m < Inputs; m++) begin
            i = i == InBits'(Inputs - 1) ? '0 : i + 1'b1;
            if (!granted[j] && request_i[i][j] && in_free[i]) begin
              granted[j] = 1'b1;
              index[j] = i;
            end
          end
          if (granted[j]) begin
            grant_o[index[j]][j] = 1'b1;
            in_free[index[j]] = 1'b0;
          end
        end
        j = j == OutBits'(Outputs - 1) ? '0 : j + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      first_q <= '0;
      for (int unsigned j = 0; j < Outputs; j++) last_q[j] <= '0;
    end else if (granted != '0) begin
      first_q <= first_q == OutBits'(Outputs - 1) ? '0 : first_q + 1'b1;
      for (int unsigned j = 0; j < Outputs; j++) begin
        if (granted[j]) last_q[j] <= index[j];
      end
    end
  end

endmodule
