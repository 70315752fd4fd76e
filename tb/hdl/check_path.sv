// Lightpaths, one direction: items leave in the order in which they came, each once and with its head unchanged; frames are
// numbered without a gap and accepted only with a good CRC; credits are conserved (what a receiver says it has freed is what has
// left it) and the receive buffer never holds more than was granted. Kept beside the RTL's own counters, not from them.

module check_path
  import pf_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Reach = 0,
  parameter type head_t = req_hdr_t
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input time_ns_t                 now_i,
  input credit_t [1:0]            credits_i,
  input logic [Near-1:0][Far-1:0] push_i,
  input head_t                    push_head_i[Near][Far],
  input logic [Near-1:0][Far-1:0] start_i,
  input tx_frame_t                frame_i    [Near][Far],
  input logic [Near-1:0][Far-1:0] accept_i,
  input logic [Near-1:0][Far-1:0] good_i,
  input frame_head_t              head_i     [Near][Far],
  input logic [Near-1:0][Far-1:0] taken_i,
  input logic [Near-1:0][Far-1:0] taken_line_i,
  input head_t                    taken_head_i[Far][Near],
  input link_note_t               note_i      [Far][Near]
);

  localparam int unsigned Links = Near * Far;
  localparam int unsigned HeldMax = 512 << Reach;  // items under way on a link: replay and receive buffer together

  typedef struct {
    int unsigned sent[2];   // by class, first transmissions
    int unsigned taken[2];
    int unsigned pushed;
    int unsigned left;      // items that have left
    seq_t        fresh;     // number of the next frame that is sent for the first time
    seq_t        expected;  // number of the next frame to be accepted
  } seen_t;

  seen_t           seen_q[Links];
  head_t           head_q[Links*HeldMax];
  longint unsigned inject_ns;
  string           inject;

  function automatic bit injected(string name);
    return inject == name && now_i >= inject_ns;
  endfunction

  function automatic void sends(int unsigned i, int unsigned j, tx_frame_t f);
    int unsigned l = i * Far + j;
    seq_t behind = seen_q[l].fresh - f.seq;
    if (f.count == '0 || f.count == Poll) return;
    if (f.fresh ? behind != '0 : behind == '0 || behind > seq_t'(window(Reach)))
      $fatal(1, "%m: t=%0d ns: link %0d to %0d sends frame %0d, the next new one is %0d", now_i, i, j, f.seq,
             seen_q[l].fresh);
    if (!f.fresh) return;
    seen_q[l].fresh += 1'b1;
    seen_q[l].sent[1] += 32'(f.lines);
    seen_q[l].sent[0] += 32'(f.count) - 32'(f.lines);
    for (int unsigned c = 0; c < 2; c++) begin
      automatic int unsigned held = seen_q[l].sent[c] - seen_q[l].taken[c]
          + (injected("overflow") ? credits_max(Reach) + 1 : 0);
      if (held > 32'(credits_i[c]))
        $fatal(1, "%m: t=%0d ns: link %0d to %0d: %0d items of class %0d under way, over %0d credits", now_i, i, j,
               held, c, credits_i[c]);
    end
  endfunction

  function automatic void accepts(int unsigned i, int unsigned j);
    int unsigned l = i * Far + j;
    if (!good_i[i][j] || injected("crc"))
      $fatal(1, "%m: t=%0d ns: link %0d to %0d accepts a frame with a wrong CRC", now_i, i, j);
    if (head_i[i][j].seq != counted(Reach, seen_q[l].expected) || injected("sequence"))
      $fatal(1, "%m: t=%0d ns: link %0d to %0d accepts frame %0d, expected is %0d", now_i, i, j, head_i[i][j].seq,
             seen_q[l].expected);
    seen_q[l].expected += 1'b1;
  endfunction

  function automatic void takes(int unsigned i, int unsigned j);
    int unsigned l = i * Far + j;
    head_t sent = head_q[l*HeldMax+(seen_q[l].left+(injected("swap") ? 1 : 0))%HeldMax];
    if (seen_q[l].left == seen_q[l].pushed || taken_head_i[j][i] !== sent)
      $fatal(1, "%m: t=%0d ns: link %0d to %0d delivers item %0d as %h, it was sent as %h", now_i, i, j, seen_q[l].left,
             taken_head_i[j][i], sent);
    seen_q[l].left += 1;
    for (int unsigned c = 0; c < 2; c++) begin
      if (note_i[j][i].freed[c] != credit_t'(seen_q[l].taken[c]) || injected("credit"))
        $fatal(1, "%m: t=%0d ns: link %0d to %0d: %0d places of class %0d freed, %0d items have left", now_i, i, j,
               note_i[j][i].freed[c], c, seen_q[l].taken[c]);
    end
    seen_q[l].taken[32'(taken_line_i[i][j])] += 1;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      seen_q = '{default: '{default: '0}};
    end else begin
      for (int unsigned i = 0; i < Near; i++) begin
        if ((push_i[i] | start_i[i] | accept_i[i] | taken_i[i]) != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            automatic int unsigned l = i * Far + j;
            if (push_i[i][j]) begin
              head_q[l*HeldMax+seen_q[l].pushed%HeldMax] = push_head_i[i][j];
              seen_q[l].pushed += 1;
            end
            if (taken_i[i][j]) takes(i, j);
            if (start_i[i][j]) sends(i, j, frame_i[i][j]);
            if (accept_i[i][j]) accepts(i, j);
          end
        end
      end
      if (check_pkg::stuck) begin
        for (int unsigned l = 0; l < Links; l++) begin
          if (seen_q[l].left != seen_q[l].pushed)
            $display("%m: link %0d to %0d: %0d items wait or fly; %0d of %0d and %0d of %0d credits in use", l / Far,
                     l % Far, seen_q[l].pushed - seen_q[l].left, seen_q[l].sent[0] - seen_q[l].taken[0], credits_i[0],
                     seen_q[l].sent[1] - seen_q[l].taken[1], credits_i[1]);
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected();
  end

endmodule

bind lightpath_array check_path #(
  .Near  (Near),
  .Far   (Far),
  .Reach (Reach),
  .head_t(head_t)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .credits_i   (credits),
  .push_i      (push),
  .push_head_i (tx_head_i),
  .start_i     (start_o),
  .frame_i     (frame),
  .accept_i    (accept),
  .good_i      (good),
  .head_i      (head),
  .taken_i     (taken),
  .taken_line_i(out_has_data_q),
  .taken_head_i(rx_head_o),
  .note_i      (note_o)
);
