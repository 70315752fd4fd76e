// Receiving end of one direction, the data path: good flits unpacked into a buffer for each class, and their credits.
//
// A message with data shows when its last slot has come. A place in a buffer is a credit of the sender: when a message has
// been taken, its credit goes back with one of the next flits of the other direction.

module cxl_flit_unpack
  import pf_pkg::*;
  import cxl_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned HeadBits = 30,      // message without data
  parameter int unsigned DataHeadBits = 30,  // header of a message with data
  parameter int unsigned SlotFields = 3,     // headers in a G slot: 1 or 3
  parameter bit          Enables = 1'b0,     // messages with data may carry byte enables
  parameter int unsigned RxDepth = 256       // messages of a class, power of two
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  /// A flit, whole and in order.
  input  logic                    take_i,
  input  word_t                   flit_i[Words],
  // Messages
  output logic [Lanes-1:0]        head_valid_o,
  input  logic [Lanes-1:0]        head_ready_i,
  output logic [HeadBits-1:0]     head_o[Lanes],
  output logic [Lanes-1:0]        data_valid_o,
  input  logic [Lanes-1:0]        data_ready_i,
  output logic [DataHeadBits-1:0] data_head_o[Lanes],
  output data_t                   data_line_o[Lanes],
  output logic [63:0]             data_be_o[Lanes],
  /// Credits to be given back; they are many; they leave in this cycle.
  output flit_credits_t           give_o,
  output logic                    give_due_o,
  input  logic                    given_i
);

  localparam int unsigned PtrBits = $clog2(RxDepth);
  localparam int unsigned OpBits = 4;  // opcode of a request with data, its top field
  typedef logic [PtrBits-1:0] place_t;
  typedef logic [PtrBits:0] ptr_t;

  logic [HeadBits-1:0]     head_q     [RxDepth];
  logic [DataHeadBits-1:0] data_head_q[RxDepth];
  data_t                   line_q     [RxDepth];
  logic [63:0]             be_q       [RxDepth];

  ptr_t       head_wr_q, head_rd_q;
  ptr_t       data_wr_q;  // next header with data
  ptr_t       line_wr_q;  // message whose data comes next; data_wr_q when all has come
  ptr_t       data_rd_q;
  logic [2:0] line_slot_q;
  ptr_t       head_owed_q, data_owed_q;

  ptr_t       head_held, data_held, head_taken, data_taken;

  assign head_held = head_wr_q - head_rd_q;
  assign data_held = line_wr_q - data_rd_q;
  assign head_valid_o = {head_held > ptr_t'(1), head_held != 0};
  assign data_valid_o = {data_held > ptr_t'(1), data_held != 0};
  assign head_taken = ptr_t'(head_valid_o[0] && head_ready_i[0]) + ptr_t'(head_valid_o[1] && head_ready_i[1]);
  assign data_taken = ptr_t'(data_valid_o[0] && data_ready_i[0]) + ptr_t'(data_valid_o[1] && data_ready_i[1]);

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign head_o[l] = head_q[place_t'(head_rd_q + ptr_t'(l))];
    assign data_head_o[l] = data_head_q[place_t'(data_rd_q + ptr_t'(l))];
    assign data_line_o[l] = line_q[place_t'(data_rd_q + ptr_t'(l))];
    assign data_be_o[l] = Enables ? be_q[place_t'(data_rd_q + ptr_t'(l))] : '1;
  end

  assign give_o = '{head: head_owed_q > ptr_t'(255) ? 8'd255 : head_owed_q[7:0],
                    data: data_owed_q > ptr_t'(255) ? 8'd255 : data_owed_q[7:0]};
  assign give_due_o = head_owed_q >= ptr_t'(RxDepth / 4) || data_owed_q >= ptr_t'(RxDepth / 4);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_rd_q <= '0;
      data_rd_q <= '0;
      head_owed_q <= '0;
      data_owed_q <= '0;
    end else if (head_taken != 0 || data_taken != 0 || given_i) begin
      head_rd_q <= head_rd_q + head_taken;
      data_rd_q <= data_rd_q + data_taken;
      head_owed_q <= head_owed_q + head_taken - (given_i ? ptr_t'(give_o.head) : '0);
      data_owed_q <= data_owed_q + data_taken - (given_i ? ptr_t'(give_o.data) : '0);
    end
  end

  // Slot by slot, as they were packed.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      head_wr_q <= '0;
      data_wr_q <= '0;
      line_wr_q <= '0;
      line_slot_q <= '0;
    end else if (take_i) begin
      automatic ptr_t       head_wr = head_wr_q;
      automatic ptr_t       data_wr = data_wr_q;
      automatic ptr_t       line_wr = line_wr_q;
      automatic logic [2:0] line_slot = line_slot_q;
      automatic logic       ended = 1'b0;
      for (int unsigned s = 0; s < Slots; s++) begin
        if (!ended) begin
          automatic word_t lo = flit_i[5'(2*s)];
          automatic word_t hi = flit_i[5'(2*s+1)];
          if (s != 0 && line_wr != data_wr) begin
            automatic place_t place = line_wr[PtrBits-1:0];
            automatic logic   partial = Enables
                && data_head_q[place][DataHeadBits-1-:OpBits] == OpBits'(M2sMemWrPtl);
            // verilator lint_off BLKSEQ
            case (line_slot)
              3'd0:    line_q[place][127:0] = {hi, lo};
              3'd1:    line_q[place][255:128] = {hi, lo};
              3'd2:    line_q[place][383:256] = {hi, lo};
              3'd3:    line_q[place][511:384] = {hi, lo};
              default: ;
            endcase
            if (Enables && line_slot >= 3'(DataSlots - 1)) be_q[place] = partial ? lo : '1;
            // verilator lint_on BLKSEQ
            line_slot = line_slot + 1'b1;
            if (line_slot == (partial ? 3'(DataSlots + 1) : 3'(DataSlots))) begin
              line_slot = '0;
              line_wr = line_wr + 1'b1;
            end
          end else begin
            for (int unsigned f = 0; f < SlotFields; f++) begin
              if (4'(f) < hi[63:60]) begin
                automatic logic [103:0] field = SlotFields == 1 ? {hi[55:0], lo[63:16]}
                    : f == 0 ? {64'b0, lo[55:16]}
                    : f == 1 ? {64'b0, hi[39:0]} : {64'b0, hi[55:40], lo[63:56], lo[15:0]};
                if (field[SlotFields==1 ? 103 : 39]) begin
                  // verilator lint_off BLKSEQ
                  data_head_q[data_wr[PtrBits-1:0]] = field[DataHeadBits-1:0];
                  // verilator lint_on BLKSEQ
                  data_wr = data_wr + 1'b1;
                end else begin
                  // verilator lint_off BLKSEQ
                  head_q[head_wr[PtrBits-1:0]] = field[HeadBits-1:0];
                  // verilator lint_on BLKSEQ
                  head_wr = head_wr + 1'b1;
                end
              end
            end
            ended = s != 0 && hi[63:60] == 0;
          end
        end
      end
      head_wr_q <= head_wr;
      data_wr_q <= data_wr;
      line_wr_q <= line_wr;
      line_slot_q <= line_slot;
    end
  end

  initial begin
    if (RxDepth < 8 || RxDepth > 256 || (RxDepth & (RxDepth - 1)) != 0)
      $fatal(1, "%m: RxDepth %0d is not a power of two in 8..256", RxDepth);
  end

endmodule
