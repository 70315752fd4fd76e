// Responses of a memory module on their way to its ports.
//
// Two rings a port: write completions, which become due in order, and reads, which do not. The ring of reads is kept sorted by
// due time: a new read moves in front of those that are due later, so hits overtake misses and a bank in refresh delays no
// other bank's data. Of the two heads the one that is due first leaves first, through an output register that it enters in the
// cycle before it is due; responses come at least 2 ns ahead, reads 4.
//
// Read data arrives from the media one cycle after its request and stays in its slot; the sorted ring moves slot numbers only.
// They are a permutation of all slots: a new read takes the number that it finds at the ring's end.

module mem_return
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned Depth = 128  // responses a ring; power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  /// Reads: room, and those that start in this cycle with the time at which they are due at the transmitter.
  output logic [Ports-1:0] read_room_o,
  input  logic [Ports-1:0] read_push_i,
  input  rsp_hdr_t         read_hdr_i   [Ports],
  input  time_ns_t         read_due_ns_i[Ports],
  /// Data of the read pushed in the cycle before.
  input  data_t            data_i       [Ports],
  /// Write completions.
  output logic [Ports-1:0] write_room_o,
  input  logic [Ports-1:0] write_push_i,
  input  rsp_hdr_t         write_hdr_i  [Ports],
  input  time_ns_t         write_due_ns_i,
  /// To the lightpaths.
  output logic [Ports-1:0] tx_valid_o,
  output logic [Ports-1:0] tx_has_data_o,
  input  logic [Ports-1:0] tx_ready_i,
  output rsp_hdr_t         tx_hdr_o     [Ports],
  output data_t            tx_data_o    [Ports],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t         wake_ns_o
);

  localparam int unsigned PtrBits = $clog2(Depth);
  typedef logic [PtrBits:0] ptr_t;
  typedef logic [PtrBits-1:0] slot_t;

  // Index {port, position or slot}.
  ptr_t     read_wr_q     [Ports];
  ptr_t     read_rd_q     [Ports];
  time_ns_t read_due_ns_q [Ports*Depth];
  rsp_hdr_t read_hdr_q    [Ports*Depth];
  slot_t    read_slot_q   [Ports*Depth];
  data_t    data_q        [Ports*Depth];
  ptr_t     write_wr_q    [Ports];
  ptr_t     write_rd_q    [Ports];
  time_ns_t write_due_ns_q[Ports*Depth];
  rsp_hdr_t write_hdr_q   [Ports*Depth];

  logic [Ports-1:0] read_some_q, write_some_q;  // rings with entries
  logic [Ports-1:0] read_load, write_load;      // to the output register
  logic [Ports-1:0] arrive_q;                   // data of a read is on the media bus
  logic [Ports-1:0] arrive_error_q;             // or there is none: all ones
  slot_t            arrive_slot_q[Ports];

  function automatic int unsigned at(int unsigned port, ptr_t ptr);
    return port * Depth + 32'(PtrBits'(ptr));
  endfunction

  always_comb begin
    read_room_o = '1;
    write_room_o = '1;
    read_load = '0;
    write_load = '0;
    if (|{read_some_q, write_some_q}) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        automatic time_ns_t read_ns = '1;
        automatic time_ns_t write_ns = '1;
        if (read_some_q[p]) begin
          read_room_o[p] = read_wr_q[p] - read_rd_q[p] != ptr_t'(Depth);
          read_ns = read_due_ns_q[at(p, read_rd_q[p])];
        end
        if (write_some_q[p]) begin
          write_room_o[p] = write_wr_q[p] - write_rd_q[p] != ptr_t'(Depth);
          write_ns = write_due_ns_q[at(p, write_rd_q[p])];
        end
        if (!tx_valid_o[p] || tx_ready_i[p]) begin
          read_load[p] = read_ns <= now_i + 1 && read_ns <= write_ns;
          write_load[p] = write_ns <= now_i + 1 && write_ns < read_ns;
        end
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    if (|{tx_valid_o, arrive_q}) begin
      wake_ns_o = now_i;
    end else if (|{read_some_q, write_some_q}) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (read_some_q[p]) wake_ns_o = earlier(wake_ns_o, read_due_ns_q[at(p, read_rd_q[p])] - 1);
        if (write_some_q[p]) wake_ns_o = earlier(wake_ns_o, write_due_ns_q[at(p, write_rd_q[p])] - 1);
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        read_wr_q[p] <= '0;
        read_rd_q[p] <= '0;
        write_wr_q[p] <= '0;
        write_rd_q[p] <= '0;
      end
      read_some_q <= '0;
      write_some_q <= '0;
      arrive_q <= '0;
      tx_valid_o <= '0;
    end else begin
      arrive_q <= read_push_i;
      tx_valid_o <= read_load | write_load | (tx_valid_o & ~tx_ready_i);
      if (|{read_push_i, write_push_i, read_load, write_load}) begin
        automatic logic [Ports-1:0] read_some = read_some_q;
        automatic logic [Ports-1:0] write_some = write_some_q;
        for (int unsigned p = 0; p < Ports; p++) begin
          if (read_push_i[p]) read_wr_q[p] <= read_wr_q[p] + 1'b1;
          if (read_load[p]) read_rd_q[p] <= read_rd_q[p] + 1'b1;
          if (read_push_i[p] || read_load[p])
            read_some[p] = read_push_i[p] || read_wr_q[p] != read_rd_q[p] + 1'b1;
          if (write_push_i[p]) write_wr_q[p] <= write_wr_q[p] + 1'b1;
          if (write_load[p]) write_rd_q[p] <= write_rd_q[p] + 1'b1;
          if (write_push_i[p] || write_load[p])
            write_some[p] = write_push_i[p] || write_wr_q[p] != write_rd_q[p] + 1'b1;
        end
        read_some_q <= read_some;
        write_some_q <= write_some;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (|{read_load, write_load}) begin
      tx_has_data_o <= (tx_has_data_o & ~write_load) | read_load;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (read_load[p]) begin
          tx_hdr_o[p] <= read_hdr_q[at(p, read_rd_q[p])];
          tx_data_o[p] <= data_q[at(p, ptr_t'(read_slot_q[at(p, read_rd_q[p])]))];
        end
        if (write_load[p]) tx_hdr_o[p] <= write_hdr_q[at(p, write_rd_q[p])];
      end
    end
  end

  // Memories: a place is never read in the cycle in which it is written. A new read is due later than the next cycle, so it
  // never moves in front of a head that leaves the ring in this cycle.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      // verilator lint_off BLKSEQ
      for (int unsigned i = 0; i < Ports * Depth; i++) read_slot_q[i] = slot_t'(i);
      // verilator lint_on BLKSEQ
    end else if (|read_push_i) begin
      automatic logic [Ports-1:0] error = '0;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (read_push_i[p]) begin
          automatic ptr_t place = read_wr_q[p];
          automatic slot_t slot = read_slot_q[at(p, read_wr_q[p])];
          for (int unsigned i = 0; i < Depth; i++) begin
            if (place == read_rd_q[p] || read_due_ns_q[at(p, place - 1'b1)] <= read_due_ns_i[p]) break;
            // verilator lint_off BLKSEQ
            read_due_ns_q[at(p, place)] = read_due_ns_q[at(p, place - 1'b1)];
            read_hdr_q[at(p, place)] = read_hdr_q[at(p, place - 1'b1)];
            read_slot_q[at(p, place)] = read_slot_q[at(p, place - 1'b1)];
            place -= 1'b1;
            // verilator lint_on BLKSEQ
          end
          // verilator lint_off BLKSEQ
          read_due_ns_q[at(p, place)] = read_due_ns_i[p];
          read_hdr_q[at(p, place)] = read_hdr_i[p];
          read_slot_q[at(p, place)] = slot;
          // verilator lint_on BLKSEQ
          arrive_slot_q[p] <= slot;
          error[p] = read_hdr_i[p].status == RspError;
        end
      end
      arrive_error_q <= error;
    end
  end

  always_ff @(posedge clk_i) begin
    if (|{write_push_i, arrive_q}) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        // verilator lint_off BLKSEQ
        if (write_push_i[p]) begin
          write_hdr_q[at(p, write_wr_q[p])] = write_hdr_i[p];
          write_due_ns_q[at(p, write_wr_q[p])] = write_due_ns_i;
        end
        if (arrive_q[p]) data_q[at(p, ptr_t'(arrive_slot_q[p]))] = arrive_error_q[p] ? '1 : data_i[p];
        // verilator lint_on BLKSEQ
      end
    end
  end

endmodule
