// Delay line as a ring of due times: an entry becomes visible at its head when `now_i` has reached its due time.
//
// Entries leave in order. A shift register as long as the delay would toggle its whole width every cycle; here an idle ring
// costs two pointer compares.

module pf_due_ring
  import pf_pkg::*;
#(
  parameter int unsigned Width = 64,
  parameter int unsigned Depth = 64  // power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  /// Push: refused silently never; the producer obeys `room_o`.
  input  logic             push_i,
  input  time_ns_t         due_i,
  input  logic [Width-1:0] data_i,
  output logic             room_o,
  /// Head whose due time has come.
  output logic             valid_o,
  output logic [Width-1:0] data_o,
  input  logic             pop_i,
  output logic             empty_o
);

  localparam int unsigned PtrBits = $clog2(Depth);

  logic [PtrBits:0] wr_q, rd_q, used;
  time_ns_t         due_q [Depth];
  logic [Width-1:0] data_q[Depth];

  assign used = wr_q - rd_q;
  assign empty_o = used == '0;
  assign room_o = used != (PtrBits + 1)'(Depth);
  assign valid_o = !empty_o && now_i >= due_q[rd_q[PtrBits-1:0]];
  assign data_o = valid_o ? data_q[rd_q[PtrBits-1:0]] : '0;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
    end else begin
      if (push_i) wr_q <= wr_q + 1'b1;
      if (pop_i) rd_q <= rd_q + 1'b1;
    end
  end

  always_ff @(posedge clk_i) begin
    if (push_i) begin
      due_q[wr_q[PtrBits-1:0]]  <= due_i;
      data_q[wr_q[PtrBits-1:0]] <= data_i;
    end
  end

  initial begin
    if (Depth < 2 || (Depth & (Depth - 1)) != 0)
      $fatal(1, "%m: Depth %0d is not a power of two of at least 2", Depth);
  end

endmodule
