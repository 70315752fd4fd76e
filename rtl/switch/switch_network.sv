// One direction of an electrical switched fabric: a crossbar, then `Hops` switches in series on the way to each output.
//
// Near ends are hosts or devices, in their order; far ends are those of the other side, with a port for each near end, as
// behind the lightpaths, so that adapters and memory modules see no difference. A message occupies its input and its output
// port for its bytes at the port's rate, and is `hop_ns` later at the next switch, where it occupies the next port. All inputs
// share one queue for an output in each switch; a switch takes a message only with a credit of that queue, which comes back
// when the message leaves it. So a far end that takes nothing holds up, hop by hop, whoever sends to it, and nobody else.
//
// All messages of an output stay in order from the first switch to the last, so they lie in one ring: a message is stored
// once, and what moves on are the pointers that say how many have left each hop. Requests and responses are two instances.

module switch_network
  import pf_pkg::*;
  import pf_rate_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Hops = 1,
  parameter type head_t = logic [63:0],
  parameter type line_t = data_t,
  parameter int unsigned HopDepth = 256  // messages a hop and output; power of two, at least the credits
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  time_ns_t                 now_i,
  /// Which direction this is: 0 requests, 1 responses.
  input  logic                     id_i,
  input  switch_straps_t           straps_i,
  // Near end
  input  logic [Near-1:0][Far-1:0] tx_valid_i,
  input  logic [Near-1:0][Far-1:0] tx_has_data_i,
  output logic [Near-1:0][Far-1:0] tx_ready_o,
  input  head_t                    tx_head_i    [Near][Far],
  input  line_t                    tx_line_i    [Near][Far],
  // Far end
  output logic [Far-1:0][Near-1:0] rx_valid_o,
  output logic [Far-1:0][Near-1:0] rx_has_data_o,
  input  logic [Far-1:0][Near-1:0] rx_ready_i,
  output head_t                    rx_head_o    [Far][Near],
  output line_t                    rx_line_o    [Far][Near],
  output time_ns_t                 rx_since_ns_o[Far][Near],  // arrival of the message's last byte
  /// Time of the next action of its own; all ones when there is none. What waits at the far end is the receiver's business.
  output time_ns_t                 wake_ns_o
);

  localparam int unsigned NearBits = Near > 1 ? $clog2(Near) : 1;
  localparam int unsigned Depth = HopDepth * (Hops > 2 ? 4 : Hops);  // of the ring of an output
  localparam int unsigned PtrBits = $clog2(Depth);
  localparam int unsigned Last = Hops - 1;
  typedef logic [PtrBits:0] ptr_t;  // counts modulo twice the depth: full and empty differ
  typedef logic [NearBits-1:0] near_t;

  // Ring of each output, index slot(output, pointer); due times also by hop.
  head_t    head_q    [Far*Depth];
  line_t    line_q    [Far*Depth];
  logic     has_data_q[Far*Depth];
  near_t    source_q  [Far*Depth];
  time_ns_t due_ns_q  [Hops*Far*Depth];

  // State of each output: messages that have entered hop k are passed_q[k]; that have left the last, passed_q[Hops].
  ptr_t       passed_q[Hops+1][Far];
  time_ns_t   free_ns_q[Hops][Far];  // port of each hop
  spent_b16_t spent_q  [Hops][Far];
  time_ns_t   in_free_ns_q[Near];    // ports of the near ends
  spent_b16_t in_spent_q  [Near];

  logic [Far-1:0]           holds_q;  // outputs with messages in their ring
  logic [Near-1:0]          in_free;
  logic [Far-1:0]           out_free;
  logic [Near-1:0][Far-1:0] tx_fire;
  time_ns_t                 tx_last_ns[Near][Far];  // end of the nanosecond that carries the last byte
  logic [Far-1:0]           enter;                  // outputs whose first hop takes a message
  near_t                    enter_source[Far];
  slot_t                    enter_slot  [Far];
  logic [Hops-1:0][Far-1:0] leave;                  // outputs whose hop k passes its head on
  logic                     move_has_data[Hops][Far];
  slot_t                    move_slot    [Hops][Far];
  logic [Far-1:0]           out_valid_q, taken;
  near_t                    out_source_q[Far];
  logic                     out_has_data_q[Far];

  function automatic int unsigned slot(int unsigned output_i, ptr_t ptr);
    return output_i * Depth + 32'(PtrBits'(ptr));
  endfunction

  function automatic int unsigned due(int unsigned hop, int unsigned output_i, ptr_t ptr);
    return hop * Far * Depth + slot(output_i, ptr);
  endfunction

  function automatic bytes_t size_of(logic has_data);
    return has_data ? straps_i.line_b : straps_i.head_b;
  endfunction

  // Hop k of an output has room and its port is free.
  function automatic logic takes(int unsigned hop, int unsigned output_i);
    return passed_q[hop][output_i] - passed_q[hop+1][output_i] < ptr_t'(straps_i.credits)
        && now_i >= free_ns_q[hop][output_i];
  endfunction

  always_comb begin
    in_free = '0;
    out_free = '0;
    if (tx_valid_i != '0) begin
      for (int unsigned i = 0; i < Near; i++) in_free[i] = now_i >= in_free_ns_q[i];
      for (int unsigned j = 0; j < Far; j++) out_free[j] = takes(0, j);
    end
  end

  switch_crossbar #(
    .Inputs (Near),
    .Outputs(Far)
  ) u_crossbar (
    .clk_i,
    .rst_ni,
    .request_i (tx_valid_i),
    .in_free_i (in_free),
    .out_free_i(out_free),
    .grant_o   (tx_fire)
  );

  assign tx_ready_o = tx_fire;

  always_comb begin
    enter = '0;
    for (int unsigned j = 0; j < Far; j++) begin
      enter_source[j] = '0;
      enter_slot[j] = '0;
    end
    for (int unsigned i = 0; i < Near; i++) begin
      for (int unsigned j = 0; j < Far; j++) begin
        tx_last_ns[i][j] = '0;
        if (tx_fire[i][j]) begin
          enter[j] = 1'b1;
          enter_source[j] = near_t'(i);
          enter_slot[j] = serialize(size_of(tx_has_data_i[i][j]), now_i == free_ns_q[0][j] ? spent_q[0][j] : '0,
                                    straps_i.rate_b16);
          tx_last_ns[i][j] = now_i + time_ns_t'(enter_slot[j].last_ns);
        end
      end
    end
  end

  // The head of a hop goes on when it has come through and the next hop, or the far end, takes it. The far end's register is
  // loaded in the cycle before the message is due.
  always_comb begin
    leave = '0;
    for (int unsigned k = 0; k < Hops; k++) begin
      for (int unsigned j = 0; j < Far; j++) begin
        move_has_data[k][j] = 1'b0;
        move_slot[k][j] = '0;
      end
    end
    if (holds_q != '0) begin
      for (int unsigned j = 0; j < Far; j++) begin
        if (holds_q[j]) begin
          for (int unsigned k = 0; k < Hops; k++) begin
            if (passed_q[k][j] != passed_q[k+1][j]) begin
              if (k == Last) begin
                leave[k][j] = (!out_valid_q[j] || taken[j]) && due_ns_q[due(k, j, passed_q[k+1][j])] <= now_i + 1;
              end else if (due_ns_q[due(k, j, passed_q[k+1][j])] <= now_i && takes(k + 1, j)) begin
                leave[k][j] = 1'b1;
                move_has_data[k][j] = has_data_q[slot(j, passed_q[k+1][j])];
                move_slot[k][j] = serialize(size_of(move_has_data[k][j]),
                                            now_i == free_ns_q[k+1][j] ? spent_q[k+1][j] : '0, straps_i.rate_b16);
              end
            end
          end
        end
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    if (holds_q != '0) begin
      for (int unsigned j = 0; j < Far; j++) begin
        if (holds_q[j]) begin
          for (int unsigned k = 0; k < Hops; k++) begin
            if (passed_q[k][j] != passed_q[k+1][j] && !(k == Last && out_valid_q[j]))
              wake_ns_o = earlier(wake_ns_o, due_ns_q[due(k, j, passed_q[k+1][j])] - time_ns_t'(k == Last));
          end
        end
      end
    end
  end

  always_comb begin
    rx_valid_o = '0;
    rx_has_data_o = '0;
    taken = '0;
    for (int unsigned j = 0; j < Far; j++) begin
      if (out_valid_q[j]) begin
        rx_valid_o[j][out_source_q[j]] = 1'b1;
        rx_has_data_o[j][out_source_q[j]] = out_has_data_q[j];
        taken[j] = rx_ready_i[j][out_source_q[j]];
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned j = 0; j < Far; j++) begin
        for (int unsigned k = 0; k <= Hops; k++) passed_q[k][j] <= '0;
        for (int unsigned k = 0; k < Hops; k++) begin
          free_ns_q[k][j] <= '0;
          spent_q[k][j] <= '0;
        end
      end
      for (int unsigned i = 0; i < Near; i++) begin
        in_free_ns_q[i] <= '0;
        in_spent_q[i] <= '0;
      end
      holds_q <= '0;
      out_valid_q <= '0;
    end else begin
      automatic logic [Far-1:0] holds = holds_q;
      out_valid_q <= leave[Last] | (out_valid_q & ~taken);
      for (int unsigned j = 0; j < Far; j++) begin
        if (enter[j] || holds_q[j]) begin
          automatic ptr_t first = passed_q[0][j] + ptr_t'(enter[j]);
          if (enter[j]) begin
            passed_q[0][j] <= first;
            free_ns_q[0][j] <= now_i + time_ns_t'(enter_slot[j].whole_ns);
            spent_q[0][j] <= enter_slot[j].spent;
          end
          for (int unsigned k = 0; k < Hops; k++) begin
            if (leave[k][j]) begin
              passed_q[k+1][j] <= passed_q[k+1][j] + 1'b1;
              if (k != Last) begin
                free_ns_q[k+1][j] <= now_i + time_ns_t'(move_slot[k][j].whole_ns);
                spent_q[k+1][j] <= move_slot[k][j].spent;
              end
            end
          end
          holds[j] = first != passed_q[Hops][j] + ptr_t'(leave[Last][j]);
        end
      end
      holds_q <= holds;
      for (int unsigned i = 0; i < Near; i++) begin
        if (tx_fire[i] != '0) begin
          automatic slot_t in_slot = serialize(size_of((tx_fire[i] & tx_has_data_i[i]) != '0),
                                               now_i == in_free_ns_q[i] ? in_spent_q[i] : '0, straps_i.rate_b16);
          in_free_ns_q[i] <= now_i + time_ns_t'(in_slot.whole_ns);
          in_spent_q[i] <= in_slot.spent;
        end
      end
    end
  end

  // Memories: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    for (int unsigned j = 0; j < Far; j++) begin
      if (enter[j]) begin
        automatic near_t i = enter_source[j];
        // verilator lint_off BLKSEQ
        head_q[slot(j, passed_q[0][j])] = tx_head_i[i][j];
        has_data_q[slot(j, passed_q[0][j])] = tx_has_data_i[i][j];
        source_q[slot(j, passed_q[0][j])] = i;
        due_ns_q[due(0, j, passed_q[0][j])] = tx_last_ns[i][j] + time_ns_t'(straps_i.hop_ns[0]);
        if (tx_has_data_i[i][j]) line_q[slot(j, passed_q[0][j])] = tx_line_i[i][j];
        // verilator lint_on BLKSEQ
      end
      if (holds_q[j]) begin
        for (int unsigned k = 0; k + 1 < Hops; k++) begin
          if (leave[k][j])
            // verilator lint_off BLKSEQ
            due_ns_q[due(k + 1, j, passed_q[k+1][j])] = now_i + time_ns_t'(move_slot[k][j].last_ns)
                + time_ns_t'(straps_i.hop_ns[k+1]);
            // verilator lint_on BLKSEQ
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned j = 0; j < Far; j++) begin
      if (leave[Last][j]) begin
        automatic int unsigned s = slot(j, passed_q[Hops][j]);
        out_source_q[j] <= source_q[s];
        out_has_data_q[j] <= has_data_q[s];
        rx_head_o[j][source_q[s]] <= head_q[s];
        rx_since_ns_o[j][source_q[s]] <= due_ns_q[due(Last, j, passed_q[Hops][j])];
        if (has_data_q[s]) rx_line_o[j][source_q[s]] <= line_q[s];
      end
    end
  end

  initial begin
    if (Hops < 1 || Hops > HopsMax) $fatal(1, "%m: Hops %0d is outside 1..%0d", Hops, HopsMax);
    if (HopDepth < 2 || (HopDepth & (HopDepth - 1)) != 0)
      $fatal(1, "%m: HopDepth %0d is not a power of two of at least 2", HopDepth);
  end

endmodule
