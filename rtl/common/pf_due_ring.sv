// Delay line as a ring of due times: an entry stands at the output when `now_i` has reached its due time.
//
// Entries leave in order. In the cycle before it is due an entry is read from the ring into the output register, so it has to
// be pushed at least 2 ns ahead. A shift register as long as the delay would toggle its whole width every cycle; here an idle
// ring costs a compare.

module pf_due_ring
  import pf_pkg::*;
#(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64  // power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  /// Push, only while there is room.
  input  logic             push_i,
  input  time_ns_t         due_i,
  input  logic [Width-1:0] data_i,
  output logic             room_o,
  /// Oldest entry, once it is due.
  output logic             valid_o,
  output logic [Width-1:0] data_o,
  input  logic             pop_i,
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t         wake_ns_o
);

  localparam int unsigned PtrBits = $clog2(Depth);

  logic [PtrBits:0] wr_q, rd_q;
  time_ns_t         due_q [Depth];
  logic [Width-1:0] data_q[Depth];
  logic             valid_q;
  logic [Width-1:0] out_q;
  logic             load;

  assign room_o = wr_q - rd_q != (PtrBits + 1)'(Depth);
  assign valid_o = valid_q;
  assign data_o = out_q;
  assign wake_ns_o = valid_q ? now_i : wr_q != rd_q ? due_q[rd_q[PtrBits-1:0]] - 1 : '1;
  assign load = wr_q != rd_q && (!valid_q || pop_i) && due_q[rd_q[PtrBits-1:0]] <= now_i + 1;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
      valid_q <= 1'b0;
    end else begin
      if (push_i) wr_q <= wr_q + 1'b1;
      if (load) rd_q <= rd_q + 1'b1;
      if (load || pop_i) valid_q <= load;
    end
  end

  always_ff @(posedge clk_i) begin
    if (load) out_q <= data_q[rd_q[PtrBits-1:0]];
  end

  // Memory: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    if (push_i) begin
      // verilator lint_off BLKSEQ
      due_q[wr_q[PtrBits-1:0]] = due_i;
      data_q[wr_q[PtrBits-1:0]] = data_i;
      // verilator lint_on BLKSEQ
    end
  end

  initial begin
    if (Depth < 2 || (Depth & (Depth - 1)) != 0)
      $fatal(1, "%m: Depth %0d is not a power of two of at least 2", Depth);
  end

endmodule
