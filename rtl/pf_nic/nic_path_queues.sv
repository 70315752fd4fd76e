// One queue for each lightpath, as linked lists through one table indexed by the NIC's tag.
//
// Every queue may grow up to `QueueDepth` entries, so a blocked path holds back only requests for its own module until it has
// that many waiting (or all tags are taken). Order within a queue is the order of arrival, which keeps same-address order.
// A line to be written is stored once, under its tag. The head of a queue is read into an output register in the cycle before
// it is due, so entries come at least 2 ns ahead.

module nic_path_queues
  import pf_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048,
  parameter int unsigned QueueDepth = 2048
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  time_ns_t           now_i,
  /// Queues that can take two more entries.
  output logic [Modules-1:0] room_o,
  /// Entries: index 0 carries a line, index 1 does not; 0 comes first when both go to one queue.
  input  logic [1:0]         push_i,
  input  logic [3:0]         module_i[2],
  input  req_hdr_t           hdr_i   [2],
  input  time_ns_t           due_i,
  input  wline_t             line_i,
  /// Due heads, to the lightpaths.
  output logic [Modules-1:0] tx_valid_o,
  output logic [Modules-1:0] tx_has_data_o,
  input  logic [Modules-1:0] tx_ready_i,
  output req_hdr_t           tx_hdr_o [Modules],
  output wline_t             tx_line_o[Modules],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t           wake_ns_o
);

  localparam int unsigned TagBits = $clog2(Tags);
  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;
  typedef logic [TagBits-1:0] index_t;
  typedef logic [TagBits:0] count_t;

  req_hdr_t hdr_q  [Tags];
  wline_t   line_q [Tags];
  time_ns_t due_q  [Tags];
  index_t   next_q [Tags];
  index_t   head_q [Modules];
  index_t   tail_q [Modules];
  count_t   count_q[Modules];

  logic [Modules-1:0]    waiting;  // queues with entries
  logic [Modules-1:0]    leave;    // queues whose head goes to the output register
  index_t                tag   [2];
  logic [ModuleBits-1:0] target[2];
  logic                  together;  // both entries go to one queue

  for (genvar i = 0; i < 2; i++) begin : gen_entry
    assign tag[i] = hdr_i[i].tag[TagBits-1:0];
    assign target[i] = module_i[i][ModuleBits-1:0];
  end
  assign together = &push_i && target[0] == target[1];

  always_comb begin
    for (int unsigned m = 0; m < Modules; m++) begin
      waiting[m] = count_q[m] != '0;
      room_o[m] = count_q[m] <= count_t'(QueueDepth - 2);
    end
  end

  always_comb begin
    leave = '0;
    if (|waiting) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        if (waiting[m] && (!tx_valid_o[m] || tx_ready_i[m])) leave[m] = due_q[head_q[m]] <= now_i + 1;
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    if (|tx_valid_o) begin
      wake_ns_o = now_i;
    end else if (|waiting) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        if (waiting[m]) wake_ns_o = earlier(wake_ns_o, due_q[head_q[m]] - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        head_q[m] <= '0;
        tail_q[m] <= '0;
        count_q[m] <= '0;
      end
      tx_valid_o <= '0;
    end else if (|{push_i, leave, tx_valid_o}) begin
      tx_valid_o <= leave | (tx_valid_o & ~tx_ready_i);
      for (int unsigned m = 0; m < Modules; m++) begin
        automatic logic put0 = push_i[0] && target[0] == ModuleBits'(m);
        automatic logic put1 = push_i[1] && target[1] == ModuleBits'(m);
        if (put0 || put1 || leave[m]) begin
          count_q[m] <= count_q[m] + count_t'(put0) + count_t'(put1) - count_t'(leave[m]);
          if (put0 || put1) tail_q[m] <= put1 ? tag[1] : tag[0];
          // The new entry becomes the head when the queue was, or in this cycle becomes, empty.
          if ((put0 || put1) && (!waiting[m] || (leave[m] && count_q[m] == 1))) head_q[m] <= put0 ? tag[0] : tag[1];
          else if (leave[m]) head_q[m] <= next_q[head_q[m]];
        end
      end
    end
  end

  // Memories: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < 2; i++) begin
      if (push_i[i]) begin
        hdr_q[tag[i]] = hdr_i[i];
        due_q[tag[i]] = due_i;
        // Chain behind the tail of the queue, or behind the other entry of this cycle.
        if (i == 1 && together) next_q[tag[0]] = tag[1];
        else if (waiting[target[i]]) next_q[tail_q[target[i]]] = tag[i];
      end
    end
    if (push_i[0]) line_q[tag[0]] = line_i;
  end

  always_ff @(posedge clk_i) begin
    if (|leave) begin
      automatic logic [Modules-1:0] has_data = tx_has_data_o;
      for (int unsigned m = 0; m < Modules; m++) begin
        if (leave[m]) begin
          tx_hdr_o[m] <= hdr_q[head_q[m]];
          has_data[m] = hdr_q[head_q[m]].op != ReqRead;
          if (hdr_q[head_q[m]].op != ReqRead) tx_line_o[m] <= line_q[head_q[m]];
        end
      end
      tx_has_data_o <= has_data;
    end
  end

  initial begin
    if (QueueDepth < 2 || QueueDepth > Tags)
      $fatal(1, "%m: PathQueueDepth %0d is outside 2..NicTags (%0d)", QueueDepth, Tags);
  end

endmodule
