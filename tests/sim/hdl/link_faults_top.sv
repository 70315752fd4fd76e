// Bench of the fault injector: transmitters that start a frame of fixed length every other cycle, and count what they were
// dealt, in words of their own: bits sent, frames hit and lost, sum of hit positions, a hash of all faults.
module link_faults_top
  import pf_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic [63:0] frames_o[2],
  output logic [63:0] hits_o[2],
  output logic [63:0] drops_o[2],
  output logic [63:0] downs_o[2],
  output logic [63:0] position_sum_o[2],
  output logic [63:0] hash_o[2],
  output logic [2047:0] positions_o[2]
);

  localparam logic [15:0] Bits[2] = '{16'd2048, 16'd112};

  time_ns_t    now;
  logic [1:0]  start;
  logic [15:0] bits[2];
  link_fault_t fault[2];

  assign bits = Bits;
  assign start = now[0] ? {!fault[1].down, !fault[0].down} : 2'b00;

  link_faults #(
    .Links(2),
    .Group("req")
  ) u_faults (
    .clk_i,
    .rst_ni,
    .now_i       (now),
    .dark_i      (2'b00),
    .start_i     (start),
    .start_bits_i(bits),
    .fault_o     (fault)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      now <= '0;
      for (int unsigned l = 0; l < 2; l++) begin
        frames_o[l] <= '0;
        hits_o[l] <= '0;
        drops_o[l] <= '0;
        downs_o[l] <= '0;
        position_sum_o[l] <= '0;
        hash_o[l] <= '0;
        positions_o[l] <= '0;
      end
    end else begin
      now <= now + 1;
      for (int unsigned l = 0; l < 2; l++) begin
        if (fault[l].down) downs_o[l] <= downs_o[l] + 1;
        if (start[l]) begin
          frames_o[l] <= frames_o[l] + 1;
          hash_o[l] <= hash_o[l] * 64'd6364136223846793005 + 64'({fault[l]});
          if (fault[l].drop) drops_o[l] <= drops_o[l] + 1;
          if (fault[l].flip[0] && fault[l].at < bits[l]) begin
            hits_o[l] <= hits_o[l] + 1;
            position_sum_o[l] <= position_sum_o[l] + 64'(fault[l].at);
            positions_o[l] <= positions_o[l] | (2048'(1) << fault[l].at);
          end
        end
      end
    end
  end

endmodule
