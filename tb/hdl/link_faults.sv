// What befalls the frames or flits of a group of links, seeded and by plusargs; nothing, at no cost, unless asked for.
//
// The fault of each link stands at `fault_o` for the frame that starts next and is planned anew when that frame starts. Bit
// errors have geometric gaps in bits that run on from frame to frame, so the rate holds for frames of any length; one in four
// is a burst (random bits out of 32), the rest flip one bit. Each link has a generator of its own, so what befalls one link
// does not depend on the traffic of others. `Group` names the plusargs, all decimal:
//
//   +fault_<group>_ber_e12=N   bit errors in 10^12 bits
//   +fault_<group>_drop_e6=N   frames lost in 10^6
//   +fault_<group>_every=N     every Nth frame gets a flipped bit: bit +fault_<group>_bit=B first (default 0), then the next,
//                              over +fault_<group>_span=S positions (default 1: always the same)
//   +fault_<group>_only=L      all this on link L alone (near end x far ends + far end)
//   +fault_<group>_down_ns=T   nothing is transmitted from T on, for +fault_<group>_down_for_ns=D (default: for ever), by
//                              all links or by +fault_<group>_down_only=L
//   +fault_seed=N              seed of all generators (default 1)

module link_faults
  import pf_pkg::*;
#(
  parameter int unsigned Links = 4,
  parameter string       Group = "req",
  parameter int unsigned GroupId = 0  // part of the seed
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  /// Links that are dark for another reason.
  input  logic [Links-1:0] dark_i,
  /// A frame starts in this cycle; its length.
  input  logic [Links-1:0] start_i,
  input  logic [15:0]      start_bits_i[Links],
  output link_fault_t      fault_o     [Links]
);

  localparam longint unsigned Never = 64'd1 << 62;
  localparam longint unsigned E12 = 64'd1_000_000_000_000;

  longint unsigned ber_e12, drop_e6, every, bit_first, span, down_ns, down_for_ns, down_only, only, seed;
  real             log_no_error, log_no_drop;
  bit              planned;  // frames are hit at all
  logic [Links-1:0] chosen, down_chosen;

  // Of each link: what the next frame gets, and what comes after that.
  link_fault_t     next_q    [Links];
  longint unsigned rng_q     [Links];
  longint unsigned gap_q     [Links];  // bits from the start of the next frame to the next bit error
  longint unsigned drop_gap_q[Links];  // frames before the next one that is lost
  longint unsigned frames_q  [Links];
  longint unsigned sweep_q   [Links];
  // Frames hit, and frames lost.
  longint          hits_q    [Links];
  longint          drops_q   [Links];

  logic down;
  assign down = now_i >= down_ns && now_i - down_ns < down_for_ns;

  always_comb begin
    fault_o = next_q;
    if (down || dark_i != '0) begin
      for (int unsigned l = 0; l < Links; l++) fault_o[l].down = (down && down_chosen[l]) || dark_i[l];
    end
  end

  function automatic longint unsigned mix(longint unsigned x);
    longint unsigned z = x + 64'h9E37_79B9_7F4A_7C15;
    z = (z ^ (z >> 30)) * 64'hBF58_476D_1CE4_E5B9;
    z = (z ^ (z >> 27)) * 64'h94D0_49BB_1331_11EB;
    return z ^ (z >> 31);
  endfunction

  function automatic longint unsigned draw(int unsigned l);
    rng_q[l] = mix(rng_q[l]);
    return rng_q[l];
  endfunction

  /// Trials before the next event when the logarithm of "no event" is given: geometric.
  function automatic longint unsigned geometric(int unsigned l, real log_none);
    // In (0, 1], 53 bits.
    real u = (real'(draw(l) >> 11) + 1.0) / 9007199254740992.0;
    real trials = 0.0;
    if (log_none == 0.0) return Never;
    trials = $floor($ln(u) / log_none);
    return trials < 4.0e18 ? longint'(trials) : Never;
  endfunction

  /// What the next frame of link `l` gets.
  function automatic link_fault_t plan(int unsigned l);
    link_fault_t f = '0;
    if (chosen[l]) begin
      f.drop = drop_gap_q[l] == 0;
      if (gap_q[l] < 64'd65536) begin
        f.at = 16'(gap_q[l]);
        f.flip = draw(l) % 4 == 0 ? 32'(draw(l)) | 32'd1 : 32'd1;
      end
      if (every != 0 && (frames_q[l] + 1) % every == 0) begin
        f.at = 16'(bit_first + sweep_q[l]);
        f.flip = 32'd1;
      end
    end
    return f;
  endfunction

  /// A frame of `bits` starts on link `l`: account for what it was dealt.
  function automatic void start(int unsigned l, logic [15:0] bits);
    bit hit = next_q[l].flip != 0 && next_q[l].at < bits;
    if (next_q[l].drop) drops_q[l] = drops_q[l] + 1;
    else if (hit) hits_q[l] = hits_q[l] + 1;
    // After an error the gap starts anew at the next frame: bit errors have no memory.
    if (gap_q[l] < 64'(bits)) gap_q[l] = geometric(l, log_no_error);
    else if (gap_q[l] != Never) gap_q[l] = gap_q[l] - 64'(bits);
    if (drop_gap_q[l] == 0) drop_gap_q[l] = geometric(l, log_no_drop);
    else if (drop_gap_q[l] != Never) drop_gap_q[l] = drop_gap_q[l] - 1;
    frames_q[l] = frames_q[l] + 1;
    if (every != 0 && frames_q[l] % every == 0) sweep_q[l] = sweep_q[l] + 1 == span ? 0 : sweep_q[l] + 1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (planned && rst_ni && start_i != '0) begin
      for (int unsigned l = 0; l < Links; l++) begin
        if (start_i[l]) begin
          start(l, start_bits_i[l]);
          next_q[l] <= plan(l);
        end
      end
    end
  end

  function automatic longint unsigned strap(string name, longint unsigned otherwise, longint unsigned high);
    longint unsigned value = otherwise;
    void'($value$plusargs({"fault_", name, "=%d"}, value));
    if (value > high) $fatal(1, "%m: strap fault_%s = %0d is outside 0..%0d", name, value, high);
    return value;
  endfunction

  function automatic longint unsigned strap_link(string name);
    longint unsigned link = strap(name, Never, Never);
    if (link != Never && link >= 64'(Links))
      $fatal(1, "%m: strap fault_%s = %0d is outside 0..%0d", name, link, Links - 1);
    return link;
  endfunction

  initial begin
    ber_e12 = strap({Group, "_ber_e12"}, 0, E12 / 10);
    drop_e6 = strap({Group, "_drop_e6"}, 0, 64'd500_000);
    every = strap({Group, "_every"}, 0, Never);
    bit_first = strap({Group, "_bit"}, 0, 64'd65535);
    span = strap({Group, "_span"}, 1, 64'd65536 - bit_first);
    down_ns = strap({Group, "_down_ns"}, Never, Never);
    down_for_ns = strap({Group, "_down_for_ns"}, Never, Never);
    only = strap_link({Group, "_only"});
    down_only = strap_link({Group, "_down_only"});
    seed = strap("seed", 1, ~64'd0);
    if (span == 0) $fatal(1, "%m: strap fault_%s_span = 0 is outside 1..%0d", Group, 64'd65536 - bit_first);
    planned = ber_e12 != 0 || drop_e6 != 0 || every != 0;
    log_no_error = ber_e12 == 0 ? 0.0 : $ln(1.0 - real'(ber_e12) / real'(E12));
    log_no_drop = drop_e6 == 0 ? 0.0 : $ln(1.0 - real'(drop_e6) / 1.0e6);
    for (int unsigned l = 0; l < Links; l++) begin
      chosen[l] = only == Never || only == 64'(l);
      down_chosen[l] = down_only == Never || down_only == 64'(l);
      rng_q[l] = mix(mix(seed) ^ (64'(GroupId) << 32) ^ 64'(l));
      gap_q[l] = geometric(l, log_no_error);
      drop_gap_q[l] = geometric(l, log_no_drop);
      frames_q[l] = '0;
      sweep_q[l] = '0;
      hits_q[l] = '0;
      drops_q[l] = '0;
      next_q[l] = plan(l);
    end
  end

endmodule
