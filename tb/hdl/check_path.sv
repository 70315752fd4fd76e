// Lightpaths: credits are conserved (in use = in the ring + on their way back), never more than granted, and no ring overflows.

module check_path
  import pf_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Depth = 128
) (
  input logic                          clk_i,
  input logic                          rst_ni,
  input time_ns_t                      now_i,
  input frame_ptr_t                    credits_i,
  input logic [Near-1:0][Far-1:0]      tx_fire_i,
  input logic [Near-1:0][Far-1:0]      taken_i,
  input link_state_t                   state_i[Near*Far],
  input logic [Near-1:0][Far-1:0]      out_valid_i
);

  longint unsigned inject_ns;
  bit inject_credit, inject_overflow;

  function automatic void check(int unsigned i, int unsigned j, frame_ptr_t ring, frame_ptr_t returning,
                                      frame_ptr_t held);
    if (32'(ring) > Depth)
      $fatal(1, "%m: t=%0d ns: link %0d to %0d: %0d frames in a ring of %0d", now_i, i, j, ring, Depth);
    if (held != ring + returning || held > credits_i)
      $fatal(1, "%m: t=%0d: link %0d to %0d: %0d credits in use, not %0d frames + %0d returning, or over %0d",
             now_i, i, j, held, ring, returning, credits_i);
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned i = 0; i < Near; i++) begin
        if ((tx_fire_i[i] | taken_i[i]) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            automatic int unsigned l = i * Far + j;
            if (tx_fire_i[i][j] || taken_i[i][j]) begin
              automatic link_state_t s = state_i[l];
              if (inject_overflow && now_i >= inject_ns) s.wr += frame_ptr_t'(Depth + 1);
              if (inject_credit && now_i >= inject_ns) s.held += 1'b1;
              check(i, j, s.wr - s.rd + frame_ptr_t'(out_valid_i[i][j]), s.credit_wr - s.credit_rd, s.held);
            end
          end
        end
      end
      if (check_pkg::stuck) begin
        for (int unsigned l = 0; l < Near * Far; l++) begin
          if (state_i[l].held != 0) begin
            $display("%m: link %0d to %0d: %0d of %0d credits in use, %0d frames in flight or waiting",
                     l / Far, l % Far, state_i[l].held, credits_i, state_i[l].wr - state_i[l].rd);
          end
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject_credit = check_pkg::injected() == "credit";
    inject_overflow = check_pkg::injected() == "overflow";
  end

endmodule

bind lightpath_array check_path #(
  .Near (Near),
  .Far  (Far),
  .Depth(Depth)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .credits_i,
  .tx_fire_i  (tx_fire),
  .taken_i  (taken),
  .state_i    (state_q),
  .out_valid_i(out_valid_q)
);
