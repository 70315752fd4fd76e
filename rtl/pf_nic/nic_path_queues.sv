// One queue for each lightpath, as linked lists through one table indexed by the NIC's tag.
//
// Every queue may grow up to `QueueDepth` entries, so a blocked path holds back only requests for its own module until it has
// that many waiting (or all tags are taken). Order within a queue is the order of arrival, which keeps same-address order.
// A line to be written is stored once, under its tag. The head of a queue is read into an output register in the cycle before
// it is due, so entries come at least 2 ns ahead. The queue of a dead path is dropped.

module nic_path_queues
  import pf_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048,
  parameter int unsigned QueueDepth = 2048
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  time_ns_t              now_i,
  /// Queues that can take an entry of every slot; their entries.
  output logic [Modules-1:0]    room_o,
  output logic [$clog2(Tags):0] count_o  [Modules],
  /// Entries by slot, in order; slots 0 and 1 carry a line.
  input  logic [Slots-1:0]      push_i,
  input  logic [3:0]            module_i [Slots],
  input  req_hdr_t              hdr_i    [Slots],
  input  wline_t                line_i   [2],
  input  time_ns_t              due_i,
  input  logic [Modules-1:0]    drop_i,
  /// Due heads, to the lightpaths.
  output logic [Modules-1:0]    tx_valid_o,
  output logic [Modules-1:0]    tx_has_data_o,
  input  logic [Modules-1:0]    tx_ready_i,
  output req_hdr_t              tx_hdr_o [Modules],
  output wline_t                tx_line_o[Modules],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t              wake_ns_o
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

  logic [Modules-1:0] waiting_q;  // queues with entries
  logic [Modules-1:0] leave;      // queues whose head goes to the output register

  always_comb begin
    for (int unsigned m = 0; m < Modules; m++) begin
      count_o[m] = count_q[m];
      room_o[m] = count_q[m] <= count_t'(QueueDepth - Slots);
    end
  end

  always_comb begin
    leave = '0;
    if (|waiting_q) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        if (waiting_q[m] && (!tx_valid_o[m] || tx_ready_i[m])) leave[m] = due_q[head_q[m]] <= now_i + 1;
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    if (|tx_valid_o) begin
      wake_ns_o = now_i;
    end else if (|waiting_q) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        if (waiting_q[m]) wake_ns_o = earlier(wake_ns_o, due_q[head_q[m]] - 1);
      end
    end
  end

  // Memories: a place is never read by another process in the cycle in which it is written. A tag that is pushed behind the last
  // entry of a queue that leaves in the same cycle becomes its head.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        head_q[m] <= '0;
        tail_q[m] <= '0;
        count_q[m] <= '0;
      end
      waiting_q <= '0;
      tx_valid_o <= '0;
    end else if (|push_i || |leave || |tx_valid_o || |(drop_i & waiting_q)) begin
      automatic logic [Modules-1:0] waiting = waiting_q;
      automatic logic [Modules-1:0] has_data = tx_has_data_o;
      automatic logic [Modules-1:0] used = leave | (waiting_q & drop_i);
      tx_valid_o <= (leave | (tx_valid_o & ~tx_ready_i)) & ~drop_i;
      if (|push_i) begin
        for (int unsigned i = 0; i < Slots; i++) begin
          if (push_i[i]) begin
            automatic index_t tag = index_t'(hdr_i[i].tag);
            // verilator lint_off BLKSEQ
            hdr_q[tag] = hdr_i[i];
            due_q[tag] = due_i;
            if (i < 2) line_q[tag] = line_i[i[0]];
            // verilator lint_on BLKSEQ
            used[module_i[i][ModuleBits-1:0]] = 1'b1;
          end
        end
      end
      if (|used) begin
        for (int unsigned m = 0; m < Modules; m++) begin
          if (used[m]) begin
            automatic index_t head = head_q[m];
            automatic index_t tail = tail_q[m];
            automatic count_t count = count_q[m];
            if (leave[m]) begin
              tx_hdr_o[m] <= hdr_q[head];
              has_data[m] = hdr_q[head].op != ReqRead;
              if (has_data[m]) tx_line_o[m] <= line_q[head];
              head = next_q[head];
              count -= 1'b1;
            end
            for (int unsigned i = 0; i < Slots; i++) begin
              if (push_i[i] && module_i[i][ModuleBits-1:0] == ModuleBits'(m)) begin
                // verilator lint_off BLKSEQ
                if (count != '0) next_q[tail] = index_t'(hdr_i[i].tag);
                // verilator lint_on BLKSEQ
                else head = index_t'(hdr_i[i].tag);
                tail = index_t'(hdr_i[i].tag);
                count += 1'b1;
              end
            end
            if (drop_i[m]) count = '0;
            head_q[m] <= head;
            tail_q[m] <= tail;
            count_q[m] <= count;
            waiting[m] = count != '0;
          end
        end
      end
      tx_has_data_o <= has_data;
      waiting_q <= waiting;
    end
  end

  initial begin
    if (QueueDepth < Slots || QueueDepth > Tags)
      $fatal(1, "%m: PathQueueDepth %0d is outside %0d..NicTags (%0d)", QueueDepth, Slots, Tags);
  end

endmodule
