// One direction of every lightpath of the mesh: transmitters, fibres with their shuffle, and receive buffers.
//
// All links live in this module as arrays with loops over them: hundreds of small instances compile far too slowly. Near ends
// are NICs or modules, in their order; far ends are in the order of the other side, because the shuffle lies between. Link
// (i, j) runs from port j of near end i to port i of far end j.
//
// A frame is serialized at the lightpath's rate, flies for `delay_ns_i` and then waits in the receive buffer until it is taken.
// Credits bound what is in flight and in the buffer together, so both share one ring a link, written at the near end and read
// at the far end into an output register in the cycle before the frame is due. A credit goes back when the frame is taken and
// is `delay_ns_i` on its way. Requests and responses are two instances with credits of their own: responses never wait for
// requests.

module lightpath_array
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter type head_t = logic [63:0],
  parameter type line_t = data_t,
  parameter int unsigned Depth = FramesMax  // frames a link; power of two, at least the credits
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  time_ns_t                 now_i,
  input  rate_b16_t                rate_b16_i,
  input  delay_ns_t                delay_ns_i,
  input  bytes_t                   head_frame_b_i,  // frame without a line
  input  bytes_t                   line_frame_b_i,  // frame with a line
  input  frame_ptr_t               credits_i,
  /// Links that transmit nothing: light is off.
  input  logic [Near-1:0][Far-1:0] down_i,
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
  output time_ns_t                 rx_since_ns_o[Far][Near],  // arrival of the frame's last byte
  /// Time of the next action of its own; all ones when there is none. What waits at the far end is the receiver's business.
  output time_ns_t                 wake_ns_o
);

  localparam int unsigned Links = Near * Far;
  localparam int unsigned PtrBits = $clog2(Depth);
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned Slots = 2 ** (LinkBits + PtrBits);
  typedef logic [PtrBits-1:0] place_t;
  typedef logic [LinkBits-1:0] link_t;

  // Frames of all links, slot = {link, place}.
  head_t    head_q         [Slots];
  line_t    line_q         [Slots];
  logic     has_data_q     [Slots];
  time_ns_t due_ns_q       [Slots];
  time_ns_t credit_due_ns_q[Slots];

  // State of each link.
  link_state_t state_q  [Links];
  time_ns_t    free_ns_q[Links];       // transmitter
  logic [Near-1:0][Far-1:0] flying_q;  // links with frames in the ring
  logic [Near-1:0][Far-1:0] owed_q;    // links with credits on their way back

  logic [Near-1:0][Far-1:0] tx_fire, load, out_valid_q, out_has_data_q, out_ready, taken, credit_back;
  time_ns_t                 tx_last_ns[Near][Far];  // end of the nanosecond that carries the last byte
  slot_t                    tx_slot[Near][Far];

  fiber_shuffle #(.Near(Near), .Far(Far)) u_valid (.near_i(out_valid_q), .far_o(rx_valid_o));
  fiber_shuffle #(.Near(Near), .Far(Far)) u_has_data (.near_i(out_has_data_q), .far_o(rx_has_data_o));
  fiber_shuffle #(.Near(Far), .Far(Near)) u_ready (.near_i(rx_ready_i), .far_o(out_ready));

  assign taken = out_valid_q & out_ready;

  always_comb begin
    for (int unsigned i = 0; i < Near; i++) begin
      tx_ready_o[i] = '0;
      if (tx_valid_i[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          tx_ready_o[i][j] = tx_valid_i[i][j] && state_q[l].held < credits_i && now_i >= free_ns_q[l] && !down_i[i][j];
        end
      end
    end
  end

  assign tx_fire = tx_valid_i & tx_ready_o;

  always_comb begin
    for (int unsigned i = 0; i < Near; i++) begin
      for (int unsigned j = 0; j < Far; j++) begin
        automatic link_t l = link_t'(i * Far + j);
        if (tx_fire[i][j]) begin
          tx_slot[i][j] = serialize(tx_has_data_i[i][j] ? line_frame_b_i : head_frame_b_i,
                                    now_i == free_ns_q[l] ? state_q[l].spent : '0, rate_b16_i);
          tx_last_ns[i][j] = now_i + time_ns_t'(tx_slot[i][j].last_ns);
        end else begin
          tx_slot[i][j] = '0;
          tx_last_ns[i][j] = '0;
        end
      end
    end
  end

  // Frames that will have arrived in the next cycle, and credits that have come back.
  always_comb begin
    load = '0;
    credit_back = '0;
    for (int unsigned i = 0; i < Near; i++) begin
      if ((flying_q[i] | owed_q[i]) != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (flying_q[i][j] && (!out_valid_q[i][j] || taken[i][j]))
            load[i][j] = due_ns_q[{l, place_t'(state_q[l].rd)}] <= now_i + 1;
          if (owed_q[i][j]) credit_back[i][j] = credit_due_ns_q[{l, place_t'(state_q[l].credit_rd)}] <= now_i;
        end
      end
    end
  end

  always_comb begin
    wake_ns_o = '1;
    for (int unsigned i = 0; i < Near; i++) begin
      if ((flying_q[i] | owed_q[i]) != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (flying_q[i][j] && !out_valid_q[i][j])
            wake_ns_o = earlier(wake_ns_o, due_ns_q[{l, place_t'(state_q[l].rd)}] - 1);
          if (owed_q[i][j]) wake_ns_o = earlier(wake_ns_o, credit_due_ns_q[{l, place_t'(state_q[l].credit_rd)}]);
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned l = 0; l < Links; l++) begin
        state_q[l] <= '0;
        free_ns_q[l] <= '0;
      end
      flying_q <= '0;
      owed_q <= '0;
      out_valid_q <= '0;
    end else begin
      automatic logic [Near-1:0][Far-1:0] flying = flying_q;
      automatic logic [Near-1:0][Far-1:0] owed = owed_q;
      out_valid_q <= load | (out_valid_q & ~taken);
      for (int unsigned i = 0; i < Near; i++) begin
        if ((tx_fire[i] | load[i] | taken[i] | credit_back[i]) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            if (tx_fire[i][j] || load[i][j] || taken[i][j] || credit_back[i][j]) begin
              automatic link_t l = link_t'(i * Far + j);
              automatic link_state_t next = state_q[l];
              next.wr += frame_ptr_t'(tx_fire[i][j]);
              next.rd += frame_ptr_t'(load[i][j]);
              next.credit_wr += frame_ptr_t'(taken[i][j]);
              next.credit_rd += frame_ptr_t'(credit_back[i][j]);
              next.held += frame_ptr_t'(tx_fire[i][j]) - frame_ptr_t'(credit_back[i][j]);
              if (tx_fire[i][j]) begin
                next.spent = tx_slot[i][j].spent;
                free_ns_q[l] <= now_i + time_ns_t'(tx_slot[i][j].whole_ns);
              end
              state_q[l] <= next;
              flying[i][j] = next.wr != next.rd;
              owed[i][j] = next.credit_wr != next.credit_rd;
            end
          end
        end
      end
      flying_q <= flying;
      owed_q <= owed;
    end
  end

  // Memories: a place is never read in the cycle in which it is written.
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Near; i++) begin
      if ((tx_fire[i] | taken[i]) != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (tx_fire[i][j]) begin
            head_q[{l, place_t'(state_q[l].wr)}] = tx_head_i[i][j];
            has_data_q[{l, place_t'(state_q[l].wr)}] = tx_has_data_i[i][j];
            due_ns_q[{l, place_t'(state_q[l].wr)}] = tx_last_ns[i][j] + time_ns_t'(delay_ns_i);
            if (tx_has_data_i[i][j]) line_q[{l, place_t'(state_q[l].wr)}] = tx_line_i[i][j];
          end
          if (taken[i][j]) credit_due_ns_q[{l, place_t'(state_q[l].credit_wr)}] = now_i + time_ns_t'(delay_ns_i);
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    automatic logic [Near-1:0][Far-1:0] has_data = out_has_data_q;
    for (int unsigned i = 0; i < Near; i++) begin
      if (load[i] != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic link_t l = link_t'(i * Far + j);
          if (load[i][j]) begin
            has_data[i][j] = has_data_q[{l, place_t'(state_q[l].rd)}];
            rx_head_o[j][i] <= head_q[{l, place_t'(state_q[l].rd)}];
            rx_since_ns_o[j][i] <= due_ns_q[{l, place_t'(state_q[l].rd)}];
            if (has_data_q[{l, place_t'(state_q[l].rd)}]) rx_line_o[j][i] <= line_q[{l, place_t'(state_q[l].rd)}];
          end
        end
      end
    end
    out_has_data_q <= has_data;
  end

  initial begin
    if (Depth < 2 || Depth > FramesMax || (Depth & (Depth - 1)) != 0)
      $fatal(1, "%m: Depth %0d is not a power of two in 2..%0d", Depth, FramesMax);
  end

endmodule
