// Both directions of one lightpath with a source and a sink at each end, and faults of every kind on the way.
//
// Item k of a direction follows from the seed and k alone: operation, tag, line, byte enables, data, status. So a sink that
// has taken k items knows what the next one has to be; whatever the links do, nothing may be lost, doubled, changed or out of
// turn. What an end must not look at is left out of the comparison: the address of a response, the data of a read.
//
// Plusargs: +items=N of each direction, +seed=N, +stall_permille=N (sinks refuse), +gap_permille=N (sources wait),
// +flip_every=N (every Nth frame of a direction loses one bit, position after position, so that in the end each position of a
// frame was hit), +flip_permille=N (one bit at random), +drop_permille=N, +drop_notes=1 (every frame without items is lost), +longest=1,
// +dark_ns=T +dark_for_ns=N (frames that start meanwhile are lost), +dark_side=1|2|3 (requests, responses, both).
//
// Results leave as lines `RESULT name direction value`.

module path_bench_top
  import pf_pkg::*;
  import pf_hdm_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Reach = 0
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        done_o,
  output logic [63:0] now_o
);

  localparam int unsigned Positions = 8 * 328;  // the longest frame: four poisoned partial writes

  typedef struct packed {
    logic     has_data;
    req_hdr_t request;
    rsp_hdr_t response;
    wline_t   line;
  } content_t;

  pf_straps_t straps;
  logic [63:0] unused_module_lines;
  hdm_decoder_t [Decoders-1:0] unused_decoders;
  tb_straps #(.Modules(1), .PathReach(Reach)) u_straps (
    .straps_o(straps), .decoders_o(unused_decoders), .module_lines_o(unused_module_lines)
  );

  longint unsigned items, seed, stall_permille, gap_permille, flip_every, flip_permille, drop_permille, drop_notes, longest;
  longint unsigned dark_ns, dark_for_ns, dark_side;

  time_ns_t now_q;
  time_ns_t unused_wake_ns;
  time_ns_t unused_since_ns[1][1];
  logic [0:0][0:0] req_tx_valid, req_tx_ready, rsp_rx_valid, rsp_rx_has_data, rsp_rx_ready;
  logic [0:0][0:0] req_rx_valid, req_rx_ready, rsp_tx_valid, rsp_tx_ready, req_start, rsp_start, dead;
  rsp_hdr_t    rsp_rx_hdr [1][1];
  data_t       rsp_rx_data[1][1];
  req_hdr_t    req_rx_hdr [1][1];
  wline_t      req_rx_line[1][1];
  link_fault_t fault      [2][1][1];
  logic [15:0] start_bits [2][1][1];
  req_hdr_t    req_tx_hdr [1][1];
  wline_t      req_tx_line[1][1];
  rsp_hdr_t    rsp_tx_hdr [1][1];
  data_t       rsp_tx_data[1][1];
  content_t    next       [2];  // next item of each source

  // Books by direction: 0 requests, 1 responses.
  longint unsigned sent_q[2], taken_q[2], frames_q[2], flips_q[2], drops_q[2], end_ns_q[2], wrong_q[2];
  longint unsigned at_q[2];       // position that is flipped next
  logic            hit_q[2];      // the frame that starts next is hit
  logic [15:0]     hit_at_q[2];
  logic [1:0]      offer_q, refuse_q, drop_q;
  logic [63:0]     random_q;
  logic            done_q, told_q;

  function automatic logic [63:0] mix(logic [63:0] x);
    logic [63:0] z = x * 64'h9E37_79B9_7F4A_7C15;
    z = (z ^ (z >> 30)) * 64'hBF58_476D_1CE4_E5B9;
    z = (z ^ (z >> 27)) * 64'h94D0_49BB_1331_11EB;
    return z ^ (z >> 31);
  endfunction

  /// Item k of a direction. Lines come in runs of four, so that writes follow each other. `longest`: partial writes and read
  /// data alone, anywhere, so that full frames are as long as they can be.
  function automatic content_t content(int unsigned direction, longint unsigned k);
    content_t c = '0;
    logic [63:0] h = mix(seed * 2 + 64'(direction) + 64'h1_0000_0000 * k);
    logic [63:0] g = mix(seed * 2 + 64'h1_0000_0000 * (k >> 2));
    c.has_data = h[0] || longest != 0;
    c.request.op = !c.has_data ? ReqRead : h[2:1] == 2'd3 || longest != 0 ? ReqWritePart : ReqWrite;
    c.request.poison = c.has_data && (h[6:3] == 4'd0 || longest != 0);
    c.request.tag = nic_tag_t'(k[10:0]);
    c.request.line = longest != 0 ? h[34:0] : {g[32:0], k[1:0]};
    c.response.tag = nic_tag_t'(k[10:0]);
    c.response.status = rsp_status_e'(h[8:7] % 3);
    c.response.load = h[10:9];
    c.line.be = c.request.op == ReqWritePart ? mix(h) : '1;
    if (c.has_data) for (int unsigned i = 0; i < 8; i++) c.line.data[64*i+:64] = mix(h + 64'(i));
    return c;
  endfunction

  function automatic bit chance(int unsigned which, longint unsigned permille);
    return mix(random_q + 64'(which)) % 1000 < permille;
  endfunction

  always_comb begin
    for (int unsigned d = 0; d < 2; d++) begin
      next[d] = content(d, sent_q[d]);
      fault[d][0][0] = '0;
      fault[d][0][0].flip = 32'(hit_q[d]);
      fault[d][0][0].at = hit_at_q[d];
      fault[d][0][0].drop = drop_q[d] || (drop_notes != 0 && start_bits[d][0][0] == 16'd64)
          || (now_q >= dark_ns && now_q < dark_ns + dark_for_ns && dark_side[d]);
    end
  end

  assign req_tx_hdr[0][0] = next[0].request;
  assign req_tx_line[0][0] = next[0].line;
  assign rsp_tx_hdr[0][0] = next[1].response;
  assign rsp_tx_data[0][0] = next[1].line.data;
  assign req_tx_valid = offer_q[0] && sent_q[0] < items;
  assign rsp_tx_valid = offer_q[1] && sent_q[1] < items;
  assign req_rx_ready = !refuse_q[0];
  assign rsp_rx_ready = !refuse_q[1];
  assign now_o = now_q;
  assign done_o = done_q;

  lightpaths #(
    .Hosts(1), .Modules(1), .Reach(Reach)
  ) u_dut (
    .clk_i, .rst_ni, .now_i(now_q), .straps_i(straps.path),
    .req_tx_valid_i(req_tx_valid), .req_tx_has_data_i(next[0].has_data), .req_tx_ready_o(req_tx_ready),
    .req_tx_hdr_i(req_tx_hdr), .req_tx_line_i(req_tx_line),
    .rsp_rx_valid_o(rsp_rx_valid), .rsp_rx_has_data_o(rsp_rx_has_data), .rsp_rx_ready_i(rsp_rx_ready),
    .rsp_rx_hdr_o(rsp_rx_hdr), .rsp_rx_data_o(rsp_rx_data),
    .req_rx_valid_o(req_rx_valid), .req_rx_ready_i(req_rx_ready), .req_rx_hdr_o(req_rx_hdr), .req_rx_line_o(req_rx_line),
    .req_rx_since_ns_o(unused_since_ns),
    .rsp_tx_valid_i(rsp_tx_valid), .rsp_tx_has_data_i(next[1].has_data), .rsp_tx_ready_o(rsp_tx_ready),
    .rsp_tx_hdr_i(rsp_tx_hdr), .rsp_tx_data_i(rsp_tx_data),
    .req_fault_i(fault[0]), .rsp_fault_i(fault[1]),
    .req_start_o(req_start), .req_start_bits_o(start_bits[0]), .rsp_start_o(rsp_start), .rsp_start_bits_o(start_bits[1]),
    .kill_i('0), .dead_o(dead), .wake_ns_o(unused_wake_ns)
  );

  task automatic took(int unsigned direction, bit right);
    if (!right) begin
      wrong_q[direction] += 1;
      $display("%m: t=%0d ns: direction %0d: item %0d is not what was sent", now_q, direction, taken_q[direction]);
    end
    taken_q[direction] += 1;
    end_ns_q[direction] = now_q;
  endtask

  function automatic bit right_request();
    content_t c = content(0, taken_q[0]);
    return req_rx_hdr[0][0] == c.request && (!c.has_data || req_rx_line[0][0] == c.line);
  endfunction

  function automatic bit right_response();
    content_t c = content(1, taken_q[1]);
    return rsp_rx_hdr[0][0] == c.response && rsp_rx_has_data[0][0] == c.has_data
        && (!c.has_data || rsp_rx_data[0][0] == c.line.data);
  endfunction

  // Which frame is hit next: decided when one starts, for the one after it. A position moves on when the frame had it.
  task automatic started(int unsigned d);
    frames_q[d] += 1;
    if (fault[d][0][0].drop) drops_q[d] += 1;
    if (hit_q[d]) begin
      flips_q[d] += 1;
      if (flip_every != 0 && 64'(start_bits[d][0][0]) > at_q[d]) at_q[d] += 1;
    end
    drop_q[d] <= chance(4 + d, drop_permille);
    hit_q[d] <= flip_every != 0 ? frames_q[d] % flip_every == 0 && at_q[d] < Positions : chance(6 + d, flip_permille);
    hit_at_q[d] <= flip_every != 0 ? 16'(at_q[d]) : 16'(mix(random_q + 8 + 64'(d)) % (64'(start_bits[d][0][0]) + 1));
  endtask

  // What the hardware sees is queued; the books are read by nobody else.
  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      if (req_start) started(0);
      if (rsp_start) started(1);
      if (req_rx_valid && req_rx_ready) took(0, right_request());
      if (rsp_rx_valid && rsp_rx_ready) took(1, right_response());
      if (req_tx_valid && req_tx_ready) sent_q[0] <= sent_q[0] + 1;
      if (rsp_tx_valid && rsp_tx_ready) sent_q[1] <= sent_q[1] + 1;
      random_q <= mix(random_q + 1);
      // A valid item stays until it is taken.
      offer_q <= {(rsp_tx_valid && !rsp_tx_ready) || !chance(1, gap_permille),
                  (req_tx_valid && !req_tx_ready) || !chance(0, gap_permille)};
      refuse_q <= {chance(3, stall_permille), chance(2, stall_permille)};
      now_q <= now_q + 1;
      done_q <= (taken_q[0] == items && taken_q[1] == items) || dead != '0;
      if (done_q && !told_q) begin
        told_q <= 1'b1;
        for (int unsigned d = 0; d < 2; d++) begin
          $display("RESULT taken %0d %0d", d, taken_q[d]);
          $display("RESULT wrong %0d %0d", d, wrong_q[d]);
          $display("RESULT frames %0d %0d", d, frames_q[d]);
          $display("RESULT flips %0d %0d", d, flips_q[d]);
          $display("RESULT positions %0d %0d", d, at_q[d]);
          $display("RESULT drops %0d %0d", d, drops_q[d]);
          $display("RESULT end_ns %0d %0d", d, end_ns_q[d]);
        end
        $display("RESULT dead 0 %0d", dead);
        $display("RESULT done_ns 0 %0d", now_q);
      end
    end
  end

  initial begin
    items = 1000;
    seed = 1;
    dark_side = 3;
    void'($value$plusargs("items=%d", items));
    void'($value$plusargs("seed=%d", seed));
    void'($value$plusargs("stall_permille=%d", stall_permille));
    void'($value$plusargs("gap_permille=%d", gap_permille));
    void'($value$plusargs("flip_every=%d", flip_every));
    void'($value$plusargs("flip_permille=%d", flip_permille));
    void'($value$plusargs("drop_permille=%d", drop_permille));
    void'($value$plusargs("drop_notes=%d", drop_notes));
    void'($value$plusargs("longest=%d", longest));
    void'($value$plusargs("dark_ns=%d", dark_ns));
    void'($value$plusargs("dark_for_ns=%d", dark_for_ns));
    void'($value$plusargs("dark_side=%d", dark_side));
    random_q = seed;
    now_q = 64'd1;
  end

endmodule
