// Which ports start their head request in this cycle: at most one access an HBM channel and one a DDR5 channel.
//
// Of the ports that meet in a channel the one whose request came first starts, so none waits for ever and ports that load a
// channel alike share it alike; among requests of the same nanosecond priority goes round. A request that needs two channels
// starts when it is the oldest at both: the oldest of all always is.

module mem_schedule
  import pf_pkg::*;
#(
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
  input  time_ns_t           since_ns_i   [Ports],
  output logic [Ports-1:0]   grant_o
);

  localparam int unsigned PortBits = Ports > 1 ? $clog2(Ports) : 1;
  typedef logic [PortBits-1:0] port_t;

  port_t first_q;

  function automatic logic [Ports-1:0] oldest(logic [Ports-1:0] candidates);
    // Oldest port at each channel; counts only where a bit of the masks says so.
    port_t                  hbm_oldest[HbmChannels];
    port_t                  ddr_oldest[DdrChannels];
    logic [HbmChannels-1:0] hbm_taken = '0;
    logic [DdrChannels-1:0] ddr_taken = '0;
    logic [Ports-1:0]       granted = '0;
    port_t                  p = first_q;
    for (int unsigned i = 0; i < Ports; i++) begin
      if (candidates[p] && needs_hbm_i[p]) begin
        if (!hbm_taken[hbm_channel_i[p]] || since_ns_i[p] < since_ns_i[hbm_oldest[hbm_channel_i[p]]])
          hbm_oldest[hbm_channel_i[p]] = p;
        hbm_taken[hbm_channel_i[p]] = 1'b1;
      end
      if (candidates[p] && needs_ddr_i[p]) begin
        if (!ddr_taken[ddr_channel_i[p]] || since_ns_i[p] < since_ns_i[ddr_oldest[ddr_channel_i[p]]])
          ddr_oldest[ddr_channel_i[p]] = p;
        ddr_taken[ddr_channel_i[p]] = 1'b1;
      end
      p = p == port_t'(Ports - 1) ? '0 : p + 1'b1;
    end
    for (int unsigned i = 0; i < Ports; i++) begin
      if (candidates[i])
        granted[i] = (!needs_hbm_i[i] || hbm_oldest[hbm_channel_i[i]] == port_t'(i))
            && (!needs_ddr_i[i] || ddr_oldest[ddr_channel_i[i]] == port_t'(i));
    end
    return granted;
  endfunction

  always_comb begin
    grant_o = '0;
    if (|candidate_i) grant_o = oldest(candidate_i);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) first_q <= '0;
    else if (|candidate_i) first_q <= first_q == port_t'(Ports - 1) ? '0 : first_q + 1'b1;
  end

endmodule
