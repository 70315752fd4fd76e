// What befalls the flits of the CXL link's bench, both directions. Plusargs:
//
//   ber_e10                          bit error rate, in 1e-10
//   drop_permille, drop_direction    flits that get lost: 0 to the NIC, 1 to the host, 2 both
//   sweep_direction                  inverts bit 0, 1, 2, ... 2047 of every 16th flit of that direction
//   down_ns, down_for_ns             the line takes nothing from then on, for so long

module cxl_link_faults
  import pf_pkg::*;
  import cxl_flit_pkg::*;
  import cxl_link_bench_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  time_ns_t    now_i,
  input  logic [1:0]  start_i,
  output link_fault_t fault_o[2]
);

  localparam longint unsigned FlitBits = 8 * FlitBytes;

  int unsigned     ber_e10, drop_permille, drop_direction, sweep_direction;
  longint unsigned down_ns, down_for_ns;
  longint unsigned rng_q;
  longint unsigned next_error_q[2];  // next bit that is hit, counted in bits of flits that start
  longint unsigned flits_q[2];       // flits that have started
  longint unsigned hits_q[2];        // of them with a bit error
  longint unsigned swept_q;
  bit [1:0]        chosen_q;

  function automatic int unsigned random(int unsigned below);
    rng_q = rng_q + 64'h9E37_79B9_7F4A_7C15;
    return 32'((mix(rng_q) >> 20) % 64'(below));
  endfunction

  // Bits from one error to the next: geometric.
  function automatic longint unsigned error_gap();
    real rate = real'(ber_e10) * 1.0e-10;
    real u = (real'(random(32'hFFFF_FFFF)) + 1.0) / 4294967296.0;
    return ber_e10 == 0 ? 64'd1 << 60 : 64'($rtoi($floor($ln(u) / $ln(1.0 - rate)))) + 1;
  endfunction

  // The fault of the next flit is chosen when a flit has started, and at the beginning.
  function automatic link_fault_t choose(int unsigned d);
    longint unsigned from = flits_q[d] * FlitBits;
    link_fault_t f = '0;
    while (next_error_q[d] < from) next_error_q[d] += error_gap();
    if (next_error_q[d] < from + FlitBits) begin
      f.at = 16'(next_error_q[d] - from);
      for (int unsigned b = 0; b < 32; b++) begin
        if (next_error_q[d] - from == 64'(f.at) + 64'(b)) begin
          f.flip[b] = 1'b1;
          next_error_q[d] += error_gap();
        end
      end
      hits_q[d]++;
    end
    f.drop = drop_permille != 0 && (drop_direction == 2 || drop_direction == d) && random(1000) < drop_permille;
    if (sweep_direction == d && flits_q[d] % 16 == 15 && swept_q < FlitBits) begin
      f.at = 16'(swept_q);
      f.flip = 32'd1;
      swept_q++;
    end
    return f;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned d = 0; d < 2; d++) begin
        automatic logic down = now_i + 1 >= down_ns && now_i + 1 < down_ns + down_for_ns;
        if (start_i[d]) flits_q[d]++;
        if (start_i[d] || !chosen_q[d]) begin
          automatic link_fault_t f = choose(d);
          chosen_q[d] = 1'b1;
          f.down = down;
          fault_o[d] <= f;
        end else begin
          fault_o[d].down <= down;
        end
      end
    end
  end

  initial begin
    ber_e10 = 32'(plusarg("ber_e10", 0));
    drop_permille = 32'(plusarg("drop_permille", 0));
    drop_direction = 32'(plusarg("drop_direction", 2));
    sweep_direction = 32'(plusarg("sweep_direction", 2));
    down_ns = plusarg("down_ns", 64'd1 << 62);
    down_for_ns = plusarg("down_for_ns", 64'd1 << 61);
    rng_q = mix(64'hFA17 + plusarg("seed", 1));
    swept_q = '0;
    chosen_q = '0;
    for (int unsigned d = 0; d < 2; d++) begin
      flits_q[d] = '0;
      hits_q[d] = '0;
      next_error_q[d] = error_gap() - 1;
      fault_o[d] = '0;
    end
  end

endmodule
