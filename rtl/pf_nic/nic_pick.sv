// Round robin over sources, two a cycle: the sources after the last one served come first.

module nic_pick #(
  parameter  int unsigned Sources = 4,
  localparam int unsigned IndexBits = Sources > 1 ? $clog2(Sources) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [Sources-1:0]   request_i,
  /// Picks, 1 only beside 0; and those that are served in this cycle.
  output logic [1:0]           valid_o,
  output logic [IndexBits-1:0] index_o[2],
  input  logic [1:0]           accept_i
);

  logic [IndexBits-1:0] last_q;

  always_comb begin
    automatic logic [IndexBits-1:0] at = last_q;
    valid_o = '0;
    index_o[0] = '0;
    index_o[1] = '0;
    if (|request_i) begin
      for (int unsigned k = 0; k < Sources; k++) begin
        at = at == IndexBits'(Sources - 1) ? '0 : at + 1'b1;
        if (request_i[at]) begin
          if (valid_o[0]) begin
            index_o[1] = at;
            valid_o[1] = 1'b1;
            break;
          end
          index_o[0] = at;
          valid_o[0] = 1'b1;
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) last_q <= '0;
    else if (accept_i[1]) last_q <= index_o[1];
    else if (accept_i[0]) last_q <= index_o[0];
  end

endmodule
