// One queue for each lightpath, as linked lists through one table indexed by the NIC's tag.
//
// Every queue may grow up to `QueueDepth` entries, so a blocked path holds back only requests for its own module until it has
// that many waiting (or all tags are taken). Order within a queue is the order of arrival, which keeps same-address order.
// A line to be written is stored once, under its tag, until its frame leaves.

module nic_path_queues
  import pf_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048,
  parameter int unsigned QueueDepth = 2048
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  time_ns_t            now_i,
  /// Queues that can take two more entries.
  output logic [Modules-1:0]  room_o,
  /// Entries: index 0 carries a line, index 1 does not; 0 comes first when both go to one queue.
  input  logic [1:0]          push_i,
  input  logic [3:0]          module_i[2],
  input  req_hdr_t            hdr_i   [2],
  input  time_ns_t            due_i,
  input  wline_t              line_i,
  /// Heads whose due time has come, to the lightpaths.
  output logic [Modules-1:0]  tx_valid_o,
  output logic [Modules-1:0]  tx_has_data_o,
  input  logic [Modules-1:0]  tx_ready_i,
  output req_hdr_t            tx_hdr_o[Modules],
  output wline_t              tx_line_o[Modules],
  output logic                empty_o
);

  localparam int unsigned TagBits = $clog2(Tags);
  typedef logic [TagBits-1:0] index_t;
  typedef logic [TagBits:0] count_t;

  req_hdr_t hdr_q  [Tags];
  wline_t   line_q [Tags];
  time_ns_t due_q  [Tags];
  index_t   next_q [Tags];
  index_t   head_q [Modules];
  index_t   tail_q [Modules];
  count_t   count_q[Modules];
  index_t   tag0, tag1;

  assign tag0 = hdr_i[0].tag[TagBits-1:0];
  assign tag1 = hdr_i[1].tag[TagBits-1:0];

  logic [Modules-1:0] waiting;
  assign empty_o = waiting == '0;

  always_comb begin
    for (int unsigned m = 0; m < Modules; m++) begin
      waiting[m] = count_q[m] != '0;
      room_o[m] = count_q[m] + 2 <= count_t'(QueueDepth);
      tx_valid_o[m] = waiting[m] && now_i >= due_q[head_q[m]];
      tx_hdr_o[m] = hdr_q[head_q[m]];
      tx_has_data_o[m] = tx_valid_o[m] && tx_hdr_o[m].op != ReqRead;
      tx_line_o[m] = tx_has_data_o[m] ? line_q[head_q[m]] : '0;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        head_q[m] <= '0;
        tail_q[m] <= '0;
        count_q[m] <= '0;
      end
    end else begin
      for (int unsigned m = 0; m < Modules; m++) begin
        automatic logic put0 = push_i[0] && module_i[0] == 4'(m);
        automatic logic put1 = push_i[1] && module_i[1] == 4'(m);
        automatic logic leave = tx_valid_o[m] && tx_ready_i[m];
        if (put0 || put1 || leave) begin
          count_q[m] <= count_q[m] + count_t'(put0) + count_t'(put1) - count_t'(leave);
          if (put0 || put1) tail_q[m] <= put1 ? tag1 : tag0;
          // The new entry becomes the head when the queue was, or in this cycle becomes, empty.
          if ((put0 || put1) && (!waiting[m] || (leave && count_q[m] == 1))) head_q[m] <= put0 ? tag0 : tag1;
          else if (leave) head_q[m] <= next_q[head_q[m]];
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      if (push_i[i]) begin
        hdr_q[hdr_i[i].tag[TagBits-1:0]] <= hdr_i[i];
        due_q[hdr_i[i].tag[TagBits-1:0]] <= due_i;
      end
    end
    if (push_i[0]) line_q[tag0] <= line_i;
    // Chain behind the tail of the queue, or behind the other entry of this cycle.
    if (push_i[0] && waiting[module_i[0][ModuleBits-1:0]]) next_q[tail_q[module_i[0][ModuleBits-1:0]]] <= tag0;
    if (push_i[1]) begin
      if (push_i[0] && module_i[0] == module_i[1]) next_q[tag0] <= tag1;
      else if (waiting[module_i[1][ModuleBits-1:0]]) next_q[tail_q[module_i[1][ModuleBits-1:0]]] <= tag1;
    end
  end

  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;

  initial begin
    if (QueueDepth < 2 || QueueDepth > Tags)
      $fatal(1, "%m: PathQueueDepth %0d is outside 2..NicTags (%0d)", QueueDepth, Tags);
  end

endmodule
