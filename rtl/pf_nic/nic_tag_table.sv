// Tag table: what the NIC must remember of each transaction in flight, and the list of free tags.
//
// Two tags may be taken in a cycle (one a request channel) and two returned (one a response channel). Tags are offered only
// while two are free, so that either channel may take one without looking at the other. Free tags go round in FIFO order:
// the time between two uses of a tag is as long as it can be, which makes a late duplicate response visible.

module nic_tag_table
  import pf_pkg::*;
#(
  parameter int unsigned Tags = 2048,  // power of two
  parameter int unsigned InfoBits = 20
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// Two free tags: index 0 for requests with data, index 1 for those without.
  output logic                     ready_o,
  output nic_tag_t                 tag_o    [2],
  input  logic [1:0]               take_i,
  input  logic [InfoBits-1:0]      info_i   [2],
  /// Two look-ups; a tag is returned in the cycle of its look-up.
  input  nic_tag_t                 look_i   [2],
  output logic [InfoBits-1:0]      info_o   [2],
  input  logic [1:0]               give_i,
  output logic [$clog2(Tags):0]    used_o
);

  localparam int unsigned TagBits = $clog2(Tags);

  logic [TagBits-1:0]  free_q [Tags];
  logic [InfoBits-1:0] info_q [Tags];
  logic [TagBits-1:0]  rd_q, wr_q, rd_next, wr_next;
  logic [TagBits:0]    used_q;

  assign rd_next = rd_q + 1'b1;
  assign wr_next = wr_q + 1'b1;
  assign used_o = used_q;
  assign ready_o = used_q <= (TagBits + 1)'(Tags - 2);
  assign tag_o[0] = nic_tag_t'(free_q[rd_q]);
  // The second tag is the first one when the other channel takes none.
  assign tag_o[1] = nic_tag_t'(free_q[take_i[0] ? rd_next : rd_q]);
  assign info_o[0] = info_q[look_i[0][TagBits-1:0]];
  assign info_o[1] = info_q[look_i[1][TagBits-1:0]];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rd_q <= '0;
      wr_q <= '0;
      used_q <= '0;
      for (int unsigned i = 0; i < Tags; i++) free_q[i] <= TagBits'(i);
    end else if ((|take_i) || (|give_i)) begin
      rd_q <= rd_q + TagBits'(take_i[0]) + TagBits'(take_i[1]);
      wr_q <= wr_q + TagBits'(give_i[0]) + TagBits'(give_i[1]);
      used_q <= used_q + (TagBits + 1)'(take_i[0]) + (TagBits + 1)'(take_i[1])
          - (TagBits + 1)'(give_i[0]) - (TagBits + 1)'(give_i[1]);
      if (give_i[0]) free_q[wr_q] <= look_i[0][TagBits-1:0];
      if (give_i[1]) free_q[give_i[0] ? wr_next : wr_q] <= look_i[1][TagBits-1:0];
    end
  end

  // Memory: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    if (take_i[0]) info_q[tag_o[0][TagBits-1:0]] = info_i[0];
    if (take_i[1]) info_q[tag_o[1][TagBits-1:0]] = info_i[1];
  end

  initial begin
    if (Tags < 4 || (Tags & (Tags - 1)) != 0 || TagBits > $bits(nic_tag_t))
      $fatal(1, "%m: NicTags %0d is not a power of two in 4..65536", Tags);
  end

endmodule
