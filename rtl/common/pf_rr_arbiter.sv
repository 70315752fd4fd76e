// Round robin arbiter: the source after the last one served comes first.

module pf_rr_arbiter #(
  parameter  int unsigned Sources = 4,
  localparam int unsigned IndexBits = Sources > 1 ? $clog2(Sources) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Sources-1:0]   request_i,
  /// The granted source is served in this cycle.
  input  logic                 accept_i,
  output logic                 valid_o,
  output logic [IndexBits-1:0] index_o
);

  logic [IndexBits-1:0] last_q;

  assign valid_o = |request_i;

  // Two passes from high to low, so that the last assignment is the first in order: sources after the last one served win.
  always_comb begin
    index_o = '0;
    if (valid_o) begin
      for (int i = Sources - 1; i >= 0; i--) begin
        if (request_i[i]) index_o = IndexBits'(i);
      end
      for (int i = Sources - 1; i >= 0; i--) begin
        if (request_i[i] && IndexBits'(i) > last_q) index_o = IndexBits'(i);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) last_q <= '0;
    else if (valid_o && accept_i) last_q <= index_o;
  end

endmodule
