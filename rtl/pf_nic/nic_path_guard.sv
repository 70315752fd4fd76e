// Watches the paths of a NIC: a path whose link has given up, or whose module does not answer, is dead until reset.
//
// A module does not answer when requests are out and nothing has come back for `timeout_ns`. The transactions of a dead path
// are found by a scan of the tag table, one tag a cycle, and answered one by one (flush). Another path that dies meanwhile
// starts the scan again.

module nic_path_guard
  import pf_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  time_ns_t           now_i,
  input  delay_ns_t          timeout_ns_i,
  /// Links that have come to their replay limit.
  input  logic [Modules-1:0] link_dead_i,
  /// Transactions that go out, by slot; responses that wait at the NIC; transactions that end, by response lane.
  input  logic [Slots-1:0]   push_i,
  input  logic [3:0]         push_module_i[Slots],
  input  logic [Modules-1:0] waiting_i,
  input  logic [Modules-1:0] taken_i,
  output logic [Modules-1:0] dead_o,
  /// Scan of the tag table, and the transaction to be answered.
  output nic_tag_t           scan_o,
  input  logic               scan_busy_i,
  input  tag_info_t          scan_info_i,
  output logic               flush_valid_o,
  input  logic               flush_ready_i,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t           wake_ns_o
);

  localparam int unsigned TagBits = $clog2(Tags);
  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;

  typedef logic [TagBits:0] count_t;

  count_t             out_q        [Modules];  // transactions that are out
  time_ns_t           progress_ns_q[Modules];
  logic [Modules-1:0] busy_q, dead_q, flush_q, expired;
  logic [TagBits-1:0] scan_q;
  logic [TagBits:0]   left_q;  // tags still to be looked at

  assign dead_o = dead_q;
  assign scan_o = nic_tag_t'(scan_q);
  assign flush_valid_o = left_q != '0 && scan_busy_i && flush_q[scan_info_i.target[ModuleBits-1:0]];

  always_comb begin
    expired = '0;
    wake_ns_o = left_q != '0 ? now_i : '1;
    if (|busy_q) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        if (busy_q[m]) begin
          automatic time_ns_t due_ns = progress_ns_q[m] + time_ns_t'(timeout_ns_i);
          expired[m] = !waiting_i[m] && now_i >= due_ns;
          wake_ns_o = earlier(wake_ns_o, due_ns);
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        out_q[m] <= '0;
        progress_ns_q[m] <= '0;
      end
      busy_q <= '0;
      dead_q <= '0;
      flush_q <= '0;
      scan_q <= '0;
      left_q <= '0;
    end else begin
      automatic logic [Modules-1:0] died = (link_dead_i | expired) & ~dead_q;
      automatic logic [Modules-1:0] busy = busy_q;
      if (|taken_i || |push_i) begin
        automatic count_t out[Modules] = out_q;
        for (int unsigned m = 0; m < Modules; m++) begin
          if (taken_i[m]) begin
            out[m] -= 1'b1;
            progress_ns_q[m] <= now_i;
          end
        end
        for (int unsigned i = 0; i < Slots; i++) begin
          if (push_i[i]) begin
            if (!busy[push_module_i[i][ModuleBits-1:0]]) progress_ns_q[push_module_i[i][ModuleBits-1:0]] <= now_i;
            busy[push_module_i[i][ModuleBits-1:0]] = 1'b1;
            out[push_module_i[i][ModuleBits-1:0]] += 1'b1;
          end
        end
        for (int unsigned m = 0; m < Modules; m++) busy[m] = out[m] != '0;
        out_q <= out;
      end
      busy_q <= busy & ~dead_q & ~died;
      if (|died) begin
        dead_q <= dead_q | died;
        flush_q <= flush_q | died;
        left_q <= (TagBits + 1)'(Tags);
      end else if (left_q != '0 && (!flush_valid_o || flush_ready_i)) begin
        scan_q <= scan_q + 1'b1;
        left_q <= left_q - 1'b1;
        if (left_q == 1) flush_q <= '0;
      end
    end
  end

endmodule
