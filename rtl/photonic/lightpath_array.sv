// One direction of every lightpath of the mesh: transmitters, fibres and receive buffers.
//
// All links live in this module as arrays with loops over them: hundreds of small instances compile far too slowly. A frame is
// serialized at the lightpath's rate, flies for `delay_ns_i` and then waits in the receive buffer until it is taken. Credits
// bound what is in flight and in the buffer together, so both share one ring a link, written at the near end and read at the
// far end, and a frame's line is stored once. A credit goes back when the frame is taken and is `delay_ns_i` on its way.
// Requests and responses are two instances with credits of their own: responses never wait for requests.

module lightpath_array
  import pf_pkg::*;
  import pf_rate_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4,
  parameter int unsigned HeadBits = 64,
  parameter int unsigned LineBits = 512,
  parameter int unsigned Depth = 128  // frames a link; power of two, at least the credits
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  rate_b16_t                     rate_b16_i,
  input  delay_ns_t                     delay_ns_i,
  input  bytes_t                        head_frame_b_i,  // frame without a line
  input  bytes_t                        line_frame_b_i,  // frame with a line
  input  logic [$clog2(Depth):0]        credits_i,
  // Near end
  input  logic [Hosts-1:0][Modules-1:0] tx_valid_i,
  input  logic [Hosts-1:0][Modules-1:0] tx_has_data_i,
  output logic [Hosts-1:0][Modules-1:0] tx_ready_o,
  input  logic [HeadBits-1:0]           tx_head_i [Hosts][Modules],
  input  logic [LineBits-1:0]           tx_line_i [Hosts][Modules],
  // Far end
  output logic [Hosts-1:0][Modules-1:0] rx_valid_o,
  output logic [Hosts-1:0][Modules-1:0] rx_has_data_o,
  input  logic [Hosts-1:0][Modules-1:0] rx_ready_i,
  output logic [HeadBits-1:0]           rx_head_o [Hosts][Modules],
  output logic [LineBits-1:0]           rx_line_o [Hosts][Modules],
  output time_ns_t                      rx_since_ns_o[Hosts][Modules]  // arrival of the head frame's last byte
);

  localparam int unsigned Links = Hosts * Modules;
  localparam int unsigned PtrBits = $clog2(Depth);
  localparam int unsigned LinkBits = Links > 1 ? $clog2(Links) : 1;
  localparam int unsigned Slots = 2 ** (LinkBits + PtrBits);
  typedef logic [PtrBits:0] ptr_t;
  typedef logic [LinkBits-1:0] link_t;
  typedef logic [LinkBits+PtrBits-1:0] slot_index_t;

  // Frames of all links, slot = {link, position}.
  logic [HeadBits-1:0] head_q[Slots];
  logic [LineBits-1:0] line_q[Slots];
  logic                has_data_q[Slots];
  time_ns_t            due_ns_q[Slots];
  time_ns_t            credit_due_ns_q[Slots];
  // State of each link.
  ptr_t                wr_q[Links];
  ptr_t                rd_q[Links];
  ptr_t                credit_wr_q[Links];
  ptr_t                credit_rd_q[Links];
  logic [PtrBits:0]    held_q[Links];  // credits in use
  time_ns_t            free_ns_q[Links];
  spent_b16_t          spent_q[Links];

  logic [Hosts-1:0][Modules-1:0] tx_fire, rx_fire, credit_back;
  time_ns_t                      tx_last_ns[Hosts][Modules];  // end of the nanosecond that carries the last byte
  slot_t                         tx_slot[Hosts][Modules];

  function automatic slot_index_t slot_of(link_t link, ptr_t ptr);
    return {link, PtrBits'(ptr)};
  endfunction

  always_comb begin
    for (int unsigned h = 0; h < Hosts; h++) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        automatic link_t l = link_t'(h * Modules + m);
        tx_ready_o[h][m] = held_q[l] < credits_i && now_i >= free_ns_q[l];
        credit_back[h][m] = credit_wr_q[l] != credit_rd_q[l] && now_i >= credit_due_ns_q[slot_of(l, credit_rd_q[l])];
      end
    end
  end

  assign tx_fire = tx_valid_i & tx_ready_o;

  always_comb begin
    for (int unsigned h = 0; h < Hosts; h++) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        tx_slot[h][m] = '0;
        tx_last_ns[h][m] = '0;
        if (tx_fire[h][m]) begin
          automatic link_t l = link_t'(h * Modules + m);
          tx_slot[h][m] = serialize(tx_has_data_i[h][m] ? line_frame_b_i : head_frame_b_i,
                                    now_i == free_ns_q[l] ? spent_q[l] : '0, rate_b16_i);
          tx_last_ns[h][m] = now_i + time_ns_t'(tx_slot[h][m].last_ns);
        end
      end
    end
  end

  always_comb begin
    for (int unsigned h = 0; h < Hosts; h++) begin
      for (int unsigned m = 0; m < Modules; m++) begin
        automatic link_t l = link_t'(h * Modules + m);
        automatic slot_index_t s = slot_of(l, rd_q[l]);
        rx_since_ns_o[h][m] = due_ns_q[s];
        rx_valid_o[h][m] = wr_q[l] != rd_q[l] && now_i >= due_ns_q[s];
        rx_has_data_o[h][m] = rx_valid_o[h][m] && has_data_q[s];
        rx_head_o[h][m] = head_q[s];
        rx_line_o[h][m] = rx_has_data_o[h][m] ? line_q[s] : '0;
      end
    end
  end

  assign rx_fire = rx_valid_o & rx_ready_i;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned l = 0; l < Links; l++) begin
        wr_q[l] <= '0;
        rd_q[l] <= '0;
        credit_wr_q[l] <= '0;
        credit_rd_q[l] <= '0;
        held_q[l] <= '0;
        free_ns_q[l] <= '0;
        spent_q[l] <= '0;
      end
    end else begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        if (|{tx_fire[h], rx_fire[h], credit_back[h]}) begin
          for (int unsigned m = 0; m < Modules; m++) begin
            automatic link_t l = link_t'(h * Modules + m);
            if (tx_fire[h][m]) begin
              wr_q[l] <= wr_q[l] + 1'b1;
              free_ns_q[l] <= now_i + time_ns_t'(tx_slot[h][m].whole_ns);
              spent_q[l] <= tx_slot[h][m].spent;
            end
            if (rx_fire[h][m]) begin
              rd_q[l] <= rd_q[l] + 1'b1;
              credit_wr_q[l] <= credit_wr_q[l] + 1'b1;
            end
            if (credit_back[h][m]) credit_rd_q[l] <= credit_rd_q[l] + 1'b1;
            if (tx_fire[h][m] != credit_back[h][m])
              held_q[l] <= tx_fire[h][m] ? held_q[l] + 1'b1 : held_q[l] - 1'b1;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    for (int unsigned h = 0; h < Hosts; h++) begin
      if (|{tx_fire[h], rx_fire[h]}) begin
        for (int unsigned m = 0; m < Modules; m++) begin
          automatic link_t l = link_t'(h * Modules + m);
          if (tx_fire[h][m]) begin
            head_q[slot_of(l, wr_q[l])] <= tx_head_i[h][m];
            has_data_q[slot_of(l, wr_q[l])] <= tx_has_data_i[h][m];
            due_ns_q[slot_of(l, wr_q[l])] <= tx_last_ns[h][m] + time_ns_t'(delay_ns_i);
            if (tx_has_data_i[h][m]) line_q[slot_of(l, wr_q[l])] <= tx_line_i[h][m];
          end
          if (rx_fire[h][m]) credit_due_ns_q[slot_of(l, credit_wr_q[l])] <= now_i + time_ns_t'(delay_ns_i);
        end
      end
    end
  end

  initial begin
    if (Depth < 2 || (Depth & (Depth - 1)) != 0)
      $fatal(1, "%m: Depth %0d is not a power of two of at least 2", Depth);
  end

endmodule
