// Which ports start their head request in this cycle: at most one access an HBM channel and one a DDR5 channel.
//
// Priority moves on by one port a cycle, so ports that meet in one channel share it.

module mem_schedule #(
  parameter  int unsigned Ports = 4,
  parameter  int unsigned HbmChannels = 64,
  parameter  int unsigned DdrChannels = 8,
  localparam int unsigned HbmBits = HbmChannels > 1 ? $clog2(HbmChannels) : 1,
  localparam int unsigned DdrBits = DdrChannels > 1 ? $clog2(DdrChannels) : 1
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// Ports whose head could start now but for a meeting in a channel.
  input  logic [Ports-1:0]   candidate_i,
  input  logic [Ports-1:0]   needs_hbm_i,
  input  logic [Ports-1:0]   needs_ddr_i,
  input  logic [HbmBits-1:0] hbm_channel_i[Ports],
  input  logic [DdrBits-1:0] ddr_channel_i[Ports],
  output logic [Ports-1:0]   grant_o
);

  localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1;

  logic [PortBits-1:0] first_q;

  always_comb begin
    automatic logic [HbmChannels-1:0] hbm_taken = '0;
    automatic logic [DdrChannels-1:0] ddr_taken = '0;
    automatic logic [PortBits-1:0] p = first_q;
    grant_o = '0;
    if (|candidate_i) begin
      for (int unsigned i = 0; i < Ports; i++) begin
        if (candidate_i[p] && !(needs_hbm_i[p] && hbm_taken[hbm_channel_i[p]])
            && !(needs_ddr_i[p] && ddr_taken[ddr_channel_i[p]])) begin
          grant_o[p] = 1'b1;
          if (needs_hbm_i[p]) hbm_taken[hbm_channel_i[p]] = 1'b1;
          if (needs_ddr_i[p]) ddr_taken[ddr_channel_i[p]] = 1'b1;
        end
        p = p == PortBits'(Ports - 1) ? '0 : p + 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= '0;
    else if (|candidate_i) first_q <= first_q == PortBits'(Ports - 1) ? '0 : first_q + 1'b1;
  end

endmodule
