// Writes on their way to global visibility: each port's writes are applied in order, `commit_ns_i` after they start.
//
// A write is read from its port's ring into the output register in the cycle before it is due, so the commit time is at least
// 2 ns. A read may start only when no older write of its port to the same line waits here; the check counts waiting writes by
// a hash of the line, so now and then a read waits for another line's write, for at most the commit time.
//
// A write is applied whole. For tests of memory models `halves_i` breaks that: the line's low half becomes visible first, its
// high half `half_ns_i` later, and a read in between sees a torn line.

module mem_commit
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned Depth = 32  // writes a port; power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  delay_ns_t        commit_ns_i,
  input  logic             halves_i,
  input  delay_ns_t        half_ns_i,
  /// Head request of each port: room for it as a write, and whether it must wait as a read.
  input  logic [Ports-1:0] look_i,
  input  req_hdr_t         hdr_i  [Ports],
  input  wline_t           line_i [Ports],
  output logic [Ports-1:0] room_o,
  output logic [Ports-1:0] hazard_o,
  /// Load of the module that the completion will tell.
  input  logic [1:0]       load_i [Ports],
  /// The head starts as a write.
  input  logic [Ports-1:0] push_i,
  /// Completions can be taken.
  input  logic [Ports-1:0] ready_i,
  /// Lines, or halves of lines, that become visible in this cycle, and writes that are visible with it in whole.
  output logic [Ports-1:0] apply_o,
  output logic [Ports-1:0] commit_o,
  output req_hdr_t         commit_hdr_o [Ports],
  output wline_t           commit_line_o[Ports],
  output logic [1:0]       commit_load_o[Ports],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t         wake_ns_o
);

  localparam int unsigned PtrBits = $clog2(Depth);
  localparam int unsigned Buckets = 256;
  typedef logic [PtrBits:0] ptr_t;

  ptr_t     wr_q[Ports];
  ptr_t     rd_q[Ports];
  req_hdr_t hdr_q [Ports*Depth];
  wline_t   line_q[Ports*Depth];
  time_ns_t due_q [Ports*Depth];
  logic [1:0] load_q[Ports*Depth];
  ptr_t     waiting_q[Ports*Buckets];  // not yet visible, by hash
  logic [Ports-1:0] some_q;            // ports with writes in the ring
  logic [Ports-1:0] load, valid_q, high;
  wline_t           line_out_q[Ports];
  logic [Ports-1:0] low_done_q;        // the low half is visible
  time_ns_t         high_due_ns_q[Ports];

  function automatic int unsigned slot_of(int unsigned port, ptr_t ptr);
    return port * Depth + 32'(PtrBits'(ptr));
  endfunction

  function automatic int unsigned bucket_of(int unsigned port, dpa_line_t addr);
    return port * Buckets + 32'(8'(addr ^ (addr >> 8)));
  endfunction

  // The second half waits for its time.
  always_comb begin
    high = '0;
    if (halves_i && |valid_q) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        high[p] = valid_q[p] && low_done_q[p] && now_i >= high_due_ns_q[p];
      end
    end
  end

  assign commit_o = valid_q & ready_i & (halves_i ? high : '1);
  assign apply_o = commit_o | (halves_i ? valid_q & ~low_done_q : '0);

  always_comb begin
    commit_line_o = line_out_q;
    if (halves_i && |valid_q) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        commit_line_o[p].be = line_out_q[p].be & (low_done_q[p] ? 64'hffff_ffff_0000_0000 : 64'h0000_0000_ffff_ffff);
      end
    end
  end

  always_comb begin
    room_o = '1;
    load = '0;
    if (|some_q) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (some_q[p]) begin
          room_o[p] = wr_q[p] - rd_q[p] != ptr_t'(Depth);
          load[p] = (!valid_q[p] || commit_o[p]) && due_q[slot_of(p, rd_q[p])] <= now_i + 1;
        end
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    if (|valid_q) begin
      wake_ns_o = now_i;  // a half that waits counts every cycle: only tests do that
    end else if (|some_q) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (some_q[p]) wake_ns_o = earlier(wake_ns_o, due_q[slot_of(p, rd_q[p])] - 1);
      end
    end
  end

  always_comb begin
    hazard_o = '0;
    if (|look_i && |(some_q | valid_q)) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_i[p]) hazard_o[p] = waiting_q[bucket_of(p, hdr_i[p].line)] != '0;
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        wr_q[p] <= '0;
        rd_q[p] <= '0;
      end
      for (int unsigned b = 0; b < Ports * Buckets; b++) waiting_q[b] <= '0;
      some_q <= '0;
      valid_q <= '0;
      low_done_q <= '0;
    end else if (|{push_i, load, apply_o}) begin
      automatic logic [Ports-1:0] some = some_q;
      valid_q <= load | (valid_q & ~commit_o);
      low_done_q <= (low_done_q | apply_o) & ~commit_o;
      for (int unsigned p = 0; p < Ports; p++) begin
        automatic int unsigned in = bucket_of(p, hdr_i[p].line);
        automatic int unsigned out = bucket_of(p, commit_hdr_o[p].line);
        if (push_i[p]) wr_q[p] <= wr_q[p] + 1'b1;
        if (load[p]) rd_q[p] <= rd_q[p] + 1'b1;
        if (push_i[p] || load[p]) some[p] = push_i[p] || wr_q[p] != rd_q[p] + 1'b1;
        if (push_i[p] && !(commit_o[p] && in == out)) waiting_q[in] <= waiting_q[in] + 1'b1;
        if (commit_o[p] && !(push_i[p] && in == out)) waiting_q[out] <= waiting_q[out] - 1'b1;
      end
      some_q <= some;
    end
  end

  always_ff @(posedge clk_i) begin
    if (|load) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (load[p]) begin
          commit_hdr_o[p] <= hdr_q[slot_of(p, rd_q[p])];
          line_out_q[p] <= line_q[slot_of(p, rd_q[p])];
          commit_load_o[p] <= load_q[slot_of(p, rd_q[p])];
        end
      end
    end
    if (halves_i && |apply_o) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (apply_o[p]) high_due_ns_q[p] <= now_i + time_ns_t'(half_ns_i);
      end
    end
  end

  // Memories: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    if (|push_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (push_i[p]) begin
          // verilator lint_off BLKSEQ
          hdr_q[slot_of(p, wr_q[p])] = hdr_i[p];
          line_q[slot_of(p, wr_q[p])] = line_i[p];
          load_q[slot_of(p, wr_q[p])] = load_i[p];
          due_q[slot_of(p, wr_q[p])] = now_i + time_ns_t'(commit_ns_i);
          // verilator lint_on BLKSEQ
        end
      end
    end
  end

endmodule
