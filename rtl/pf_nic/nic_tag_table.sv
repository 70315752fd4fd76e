// Tag table: what the NIC must remember of each transaction in flight, and the list of free tags.
//
// Up to four tags may be taken in a cycle (two a request channel) and four returned (two a response channel). Tags are offered
// only while four are free, so that each slot may take one without looking at the others. Free tags go round in FIFO order:
// the time between two uses of a tag is as long as it can be, which makes a late duplicate response visible.

module nic_tag_table
  import pf_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048  // power of two
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  /// Free tags, by slot.
  output logic                     ready_o,
  output nic_tag_t                 tag_o    [Slots],
  input  logic [Slots-1:0]         take_i,
  input  tag_info_t                info_i   [Slots],
  /// Look-up of the tag of the response at the head of each path; known: its transaction is out on that path.
  input  logic [Modules-1:0]       look_i,
  input  rsp_hdr_t                 look_hdr_i[Modules],
  output logic [Modules-1:0]       known_o,
  output tag_info_t                info_o   [Modules],
  /// Look-up of one tag.
  input  nic_tag_t                 scan_i,
  output logic                     scan_busy_o,
  output tag_info_t                scan_info_o,
  /// Tags that are returned.
  input  logic [Slots-1:0]         give_i,
  input  nic_tag_t                 give_tag_i[Slots],
  output logic [$clog2(Tags):0]    used_o
);

  localparam int unsigned TagBits = $clog2(Tags);
  typedef logic [TagBits-1:0] index_t;

  index_t    free_q[Tags];
  tag_info_t info_q[Tags];
  logic      busy_q[Tags];
  index_t    rd_q, wr_q;
  logic [TagBits:0] used_q;

  assign used_o = used_q;
  assign ready_o = used_q <= (TagBits + 1)'(Tags - Slots);
  assign scan_busy_o = busy_q[index_t'(scan_i)];
  assign scan_info_o = info_q[index_t'(scan_i)];

  // Each slot gets the first free tag that no slot before it takes.
  always_comb begin
    automatic index_t at = rd_q;
    for (int unsigned i = 0; i < Slots; i++) begin
      tag_o[i] = nic_tag_t'(free_q[at]);
      if (take_i[i]) at += 1'b1;
    end
  end

  always_comb begin
    known_o = '0;
    for (int unsigned m = 0; m < Modules; m++) begin
      info_o[m] = '0;
      if (look_i[m]) begin
        info_o[m] = info_q[index_t'(look_hdr_i[m].tag)];
        known_o[m] = busy_q[index_t'(look_hdr_i[m].tag)] && info_o[m].target == 4'(m);
      end
    end
  end

  // Memories: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      rd_q <= '0;
      wr_q <= '0;
      used_q <= '0;
      for (int unsigned i = 0; i < Tags; i++) begin
        // verilator lint_off BLKSEQ
        free_q[i] = index_t'(i);
        // verilator lint_on BLKSEQ
        busy_q[i] <= 1'b0;
      end
    end else if ((take_i | give_i) != '0) begin
      automatic index_t rd = rd_q;
      automatic index_t wr = wr_q;
      for (int unsigned i = 0; i < Slots; i++) begin
        if (take_i[i]) begin
          // verilator lint_off BLKSEQ
          info_q[index_t'(tag_o[i])] = info_i[i];
          // verilator lint_on BLKSEQ
          busy_q[index_t'(tag_o[i])] <= 1'b1;
          rd += 1'b1;
        end
      end
      for (int unsigned i = 0; i < Slots; i++) begin
        if (give_i[i]) begin
          // verilator lint_off BLKSEQ
          free_q[wr] = index_t'(give_tag_i[i]);
          // verilator lint_on BLKSEQ
          busy_q[index_t'(give_tag_i[i])] <= 1'b0;
          wr += 1'b1;
        end
      end
      rd_q <= rd;
      wr_q <= wr;
      used_q <= used_q + (TagBits + 1)'($countones(take_i)) - (TagBits + 1)'($countones(give_i));
    end
  end

  initial begin
    if (Tags < 8 || (Tags & (Tags - 1)) != 0 || TagBits > 11)
      $fatal(1, "%m: NicTags %0d is not a power of two in 8..2048", Tags);
  end

endmodule
