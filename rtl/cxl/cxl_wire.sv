// One direction of the message-level link: a class without data and a class with data share a wire.
//
// A message occupies the wire for its bytes at the strapped rate, then takes `delay_ns_i` to the other end. Each class keeps
// its order and waits at the far end without holding up the other class. Messages accepted in one cycle are sent data first.

module cxl_wire
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import cxl_pkg::*;
#(
  parameter int unsigned HeadBits = 32,     // message without data
  parameter int unsigned DataHeadBits = 32, // header of a message with data
  parameter int unsigned LineBits = 512     // its line, byte enables included
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  time_ns_t                now_i,
  input  delay_ns_t               delay_ns_i,
  input  rate_b16_t               rate_b16_i,
  // Near end, without data
  input  logic                    head_valid_i,
  output logic                    head_ready_o,
  input  logic [HeadBits-1:0]     head_i,
  // Near end, with data
  input  logic                    data_valid_i,
  output logic                    data_ready_o,
  input  logic [DataHeadBits-1:0] data_head_i,
  input  logic [LineBits-1:0]     data_line_i,
  // Far end, without data
  output logic                    head_valid_o,
  input  logic                    head_ready_i,
  output logic [HeadBits-1:0]     head_o,
  // Far end, with data
  output logic                    data_valid_o,
  input  logic                    data_ready_i,
  output logic [DataHeadBits-1:0] data_head_o,
  output logic [LineBits-1:0]     data_line_o,
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t                wake_ns_o
);

  time_ns_t   free_ns_q;
  spent_b16_t spent_q;
  spent_b16_t spent;
  logic       wire_free, head_room, data_room, head_fire, data_fire;
  slot_t      data_slot, all_slot;
  bytes_t     data_bytes, all_bytes;

  time_ns_t   head_wake_ns, data_wake_ns;

  assign wake_ns_o = earlier(head_wake_ns, data_wake_ns);
  assign wire_free = now_i >= free_ns_q;
  assign spent = now_i == free_ns_q ? spent_q : '0;
  assign head_ready_o = wire_free && head_room;
  assign data_ready_o = wire_free && data_room;
  assign head_fire = head_valid_i && head_ready_o;
  assign data_fire = data_valid_i && data_ready_o;
  assign data_bytes = data_fire ? DataMessageBytes : '0;
  assign all_bytes = data_bytes + (head_fire ? HeaderBytes : '0);
  assign data_slot = serialize(data_bytes, spent, rate_b16_i);
  assign all_slot = serialize(all_bytes, spent, rate_b16_i);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      free_ns_q <= '0;
      spent_q <= '0;
    end else if (head_fire || data_fire) begin
      free_ns_q <= now_i + time_ns_t'(all_slot.whole_ns);
      spent_q <= all_slot.spent;
    end
  end

  pf_due_ring #(
    .Width(HeadBits),
    .Depth(ChannelDepth)
  ) u_head (
    .clk_i,
    .rst_ni,
    .now_i,
    .push_i (head_fire),
    .due_i  (now_i + time_ns_t'(all_slot.last_ns) + time_ns_t'(delay_ns_i)),
    .data_i (head_i),
    .room_o (head_room),
    .valid_o(head_valid_o),
    .data_o (head_o),
    .pop_i  (head_valid_o && head_ready_i),
    .wake_ns_o(head_wake_ns)
  );

  // The line comes first, at bit 0, so that it is copied as whole words.
  pf_due_ring #(
    .Width(DataHeadBits + LineBits),
    .Depth(ChannelDepth)
  ) u_data (
    .clk_i,
    .rst_ni,
    .now_i,
    .push_i (data_fire),
    .due_i  (now_i + time_ns_t'(data_slot.last_ns) + time_ns_t'(delay_ns_i)),
    .data_i ({data_head_i, data_line_i}),
    .room_o (data_room),
    .valid_o(data_valid_o),
    .data_o ({data_head_o, data_line_o}),
    .pop_i  (data_valid_o && data_ready_i),
    .wake_ns_o(data_wake_ns)
  );

endmodule
