// Traffic engine of one host: makes the requests that a descriptor asks for; u_slots checks the answers, u_stats counts.
//
// Descriptors come from Python (`emu_engine_add`), one a phase; `load_i` starts the next. Lines are issued in the order of the
// requests, up to four a cycle (two reads, two writes), closed loop up to a number in flight or at arrival times of its own.
// Tags are slots of a ring: a slot is used again when its line has been answered, and a footprint has at least as many lines as
// the ring, so a line is never in flight twice. What is right for each answer is known when its line is issued (traffic_pkg).
//
// State that no other process reads is written with blocking assignments, line after line of a cycle.

module traffic_engine
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
  import emu_dpi_pkg::*;
  import port_lanes_pkg::*;
  import traffic_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  logic [3:0]       id_i,
  input  hdm_decoder_t [Decoders-1:0] decoders_i,
  /// The descriptor of this phase is fetched in this cycle.
  input  logic             load_i,
  input  logic [31:0]      phase_i,
  /// Engines without a bound end: all else has ended.
  input  logic             stop_i,
  /// Work is left or in flight.
  output logic             busy_o,
  /// It acts in the next cycle whatever comes in; or at a time of its own.
  output logic             active_o,
  output time_ns_t         wake_ns_o,
  output logic [31:0]      outstanding_o,
  // CXL.mem
  output logic [Lanes-1:0] req_valid_o,
  input  logic [Lanes-1:0] req_taken_i,
  output m2s_req_t         req_o[Lanes],
  output logic [Lanes-1:0] rwd_valid_o,
  input  logic [Lanes-1:0] rwd_taken_i,
  output m2s_rwd_t         rwd_o[Lanes],
  output wline_t           rwd_line_o[Lanes],
  input  logic [Lanes-1:0] ndr_fire_i,
  input  s2m_ndr_t         ndr_i[Lanes],
  input  logic [Lanes-1:0] drs_fire_i,
  input  s2m_drs_t         drs_i[Lanes],
  input  data_t            drs_data_i[Lanes]
);

  localparam int unsigned IssuesMax = 2 * Lanes;

  // Descriptor
  pattern_e    pattern_q;
  logic [31:0] write_permille_q, outstanding_max_q, hot_permille_q, hot_outstanding_q;
  logic [5:0]  bits_q, lines_log2_q, stride_log2_q;  // blocks of the footprint, lines of a block
  logic        half_q, merged_q, poisson_q;          // 32 bytes a request: of a line each, or two merged to a line
  logic [63:0] interval_q16_q, first_line_q, hot_line_q, start_q, requests_q, warmup_q, seed_q;
  time_ns_t    count_ns_q, stop_ns_q;
  map_t        map_q[Decoders];
  map_t        hot_map_q;
  logic [4:0]  hot_way_q;
  slot_index_t slot_mask_q;

  // Progress; index: 0 the footprint, 1 the hot one
  logic        running_q;
  logic [63:0] index_q[2];
  logic [63:0] arrival_q16_q, random_q, issued_q;
  slot_index_t head_q;
  time_ns_t    progress_ns_q, lost_ns_max;

  // Request of which lines are left to be issued
  logic [4:0]  left_q;
  logic        is_write_q, stream_q, turn_q;
  logic [31:0] pass_q;
  logic [63:0] drawn_q, block_q, written_q;
  slot_index_t first_slot_q;

  logic        more, counting, counting_q;
  logic [31:0] in_flight_q;  // seen by the link

  assign more = running_q && (requests_q == 0 ? !stop_i || stop_ns_q != 0 : issued_q < requests_q)
      && (stop_ns_q == 0 || now_i < stop_ns_q);
  // Statistics count: warm, and requests still to come.
  assign counting = issued_q >= warmup_q && now_i >= count_ns_q && more;
  assign busy_o = running_q;
  assign active_o = running_q && (|{req_valid_o, rwd_valid_o} || left_q != 0 || counting_q != counting
      || (more && (hot_outstanding_q != 0 || (interval_q16_q == 0 ? outstanding_o < outstanding_max_q : due(now_i))))
      || (!more && outstanding_o == 0));

  always_comb begin
    wake_ns_o = '1;
    if (running_q) begin
      if (more && interval_q16_q != 0 && outstanding_o < outstanding_max_q)
        wake_ns_o = time_ns_t'(arrival_q16_q[63:16]);
      if (count_ns_q > now_i) wake_ns_o = earlier(wake_ns_o, count_ns_q);
      if (stop_ns_q > now_i) wake_ns_o = earlier(wake_ns_o, stop_ns_q);
      if (outstanding_o != 0) wake_ns_o = earlier(wake_ns_o, progress_ns_q + lost_ns_max);
    end
  end

  function automatic logic due(time_ns_t now);
    return interval_q16_q == 0 || time_ns_t'(arrival_q16_q[63:16]) <= now;
  endfunction

  traffic_slots u_slots (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .counting_i(counting_q)
  );

  traffic_stats u_stats (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .load_i,
    .counting_i       (counting_q),
    .in_flight_i      (in_flight_q),
    .useful_bytes_i   (half_q || merged_q ? 32'd32 : 32'd64 << lines_log2_q),
    .requests_a_line_i(merged_q ? 32'd2 : 32'd1),
    .some_i           (u_slots.some_q),
    .done_i           (u_slots.done_q)
  );

  function automatic longint unsigned field(field_e f);
    return emu_engine_field(phase_i, 32'(id_i), 32'(f));
  endfunction

  task automatic load_maps();
    for (int unsigned d = 0; d < Decoders; d++) begin
      map_t map;
      map.enable = decoders_i[d].enable;
      map.base = decoders_i[d].base;
      map.size = decoders_i[d].size;
      map.ways_log2 = decoders_i[d].ways_log2;
      map.gran_log2 = decoders_i[d].gran_log2 - 4'd6;
      map.dpa_base = decoders_i[d].dpa_base;
      map.targets = decoders_i[d].targets;
      map_q[d] = map;
      if (way_of(map, 4'(field(FieldHotModule))) != 16) begin
        hot_map_q = map;
        hot_way_q = way_of(map, 4'(field(FieldHotModule)));
      end
    end
  endtask

  task automatic load();
    logic [31:0] bytes = 32'(field(FieldRequestBytes));
    pattern_q = pattern_e'(field(FieldPattern));
    half_q = bytes == 32 && pattern_q != PatternLinear;
    merged_q = bytes == 32 && pattern_q == PatternLinear;
    lines_log2_q = bytes <= 64 ? '0 : 6'($clog2(bytes) - 6);
    bits_q = 6'(field(FieldLinesLog2)) - lines_log2_q;
    stride_log2_q = 6'(field(FieldStrideLog2));
    write_permille_q = 32'd1000 - 32'(field(FieldReadPermille));
    outstanding_max_q = 32'(field(FieldOutstanding));
    hot_outstanding_q = 32'(field(FieldHotOutstanding));
    slot_mask_q = slot_index_t'((32'd2 << $clog2(outstanding_max_q + hot_outstanding_q)) - 1);
    hot_permille_q = 32'(field(FieldHotPermille));
    poisson_q = field(FieldPoisson) != 0;
    interval_q16_q = field(FieldIntervalQ16);
    first_line_q = field(FieldFirstLine);
    hot_line_q = field(FieldHotLine);
    start_q = field(FieldStart);
    requests_q = field(FieldRequests);
    warmup_q = field(FieldWarmup);
    count_ns_q = now_i + field(FieldCountNs);
    stop_ns_q = field(FieldStopNs) == 0 ? '0 : now_i + field(FieldStopNs);
    seed_q = mix(field(FieldSeed) + 64'(id_i));
    random_q = mix(seed_q);
    arrival_q16_q = {now_i[47:0] + 48'd1, 16'd0};
    index_q[0] = '0;
    index_q[1] = '0;
    {issued_q, head_q, left_q, turn_q} = '0;
    progress_ns_q = now_i;
    load_maps();
    u_slots.clear();
    in_flight_q <= '0;
    counting_q <= 1'b0;
    running_q <= 1'b1;
  endtask

  // Number of the pass, from 1, in which each half of a block was last written before `pass`; 0: never. {high, low}
  function automatic logic [63:0] written(logic stream, logic [31:0] pass, logic [63:0] block);
    logic [31:0] low = '0;
    logic [31:0] high = '0;
    logic [31:0] p = pass;
    if (write_permille_q != 0) begin
      while (p != 0 && (low == 0 || high == 0)) begin
        logic [63:0] drawn = draw(seed_q, stream, p - 1, block);
        if (is_write(drawn, write_permille_q)) begin
          if (low == 0 && !(half_q && drawn[63])) low = p;
          if (high == 0 && !(half_q && !drawn[63])) high = p;
        end
        p -= 1;
      end
    end
    return {high, low};
  endfunction

  /// The hot footprint has a closed loop of its own, and that has room.
  function automatic logic hot_room();
    return hot_outstanding_q != 0 && u_slots.hot_lines_q + (32'd1 << lines_log2_q) <= hot_outstanding_q;
  endfunction

  /// The other requests have room in theirs, and one is due.
  function automatic logic main_room(logic [31:0] outstanding);
    logic [31:0] own = outstanding - (hot_outstanding_q != 0 ? u_slots.hot_lines_q : '0);
    return (requests_q == 0 || issued_q < requests_q) && due(now_i)
        && own + (32'd1 << lines_log2_q) <= outstanding_max_q;
  endfunction

  /// Draw the next request; the two loops take turns.
  task automatic start_request(logic main);
    left_q = 5'd1 << lines_log2_q;
    random_q = mix(random_q);
    stream_q = hot_outstanding_q != 0 ? hot_room() && !(main && turn_q)
        : hot_permille_q != 0 && ((64'(random_q[31:0]) * 64'd1000) >> 32) < 64'(hot_permille_q);
    turn_q = stream_q;
    pass_q = 32'(index_q[stream_q] >> bits_q);
    block_q = walk(pattern_q, index_q[stream_q] + start_q, bits_q, stride_log2_q, seed_q);
    index_q[stream_q] += 1;
    drawn_q = draw(seed_q, stream_q, pass_q, block_q);
    is_write_q = is_write(drawn_q, write_permille_q);
    written_q = is_write_q ? '0 : written(stream_q, pass_q, block_q);
    first_slot_q = head_q;
    if (!(stream_q && hot_outstanding_q != 0)) issued_q += 1;
    if (interval_q16_q == 0 || (stream_q && hot_outstanding_q != 0)) begin
      u_slots.open_request(head_q, left_q, now_i + 1);
    end else begin
      u_slots.open_request(head_q, left_q, time_ns_t'(arrival_q16_q[63:16]) + 1);
      arrival_q16_q += poisson_q ? (interval_q16_q * exponential[random_q[63:56]]) >> 16 : interval_q16_q;
    end
  endtask

  /// All slots of a request that would start here are free.
  function automatic logic slots_free();
    for (int unsigned i = 0; i < LinesMax; i++) begin
      if (i >= 32'd1 << lines_log2_q) break;
      if (u_slots.busy_q[(head_q + slot_index_t'(i)) & slot_mask_q]) return 1'b0;
    end
    return 1'b1;
  endfunction

  /// The next line of the request, into its slot; returns its address, and the seed of what is written.
  task automatic next_line(output hpa_line_t line, output logic [63:0] seed);
    logic [63:0] at = (block_q << lines_log2_q) + (64'd1 << lines_log2_q) - 64'(left_q);
    logic [63:0] clean = '0;
    logic [3:0] module_id = '0;
    line = stream_q ? host_line(hot_map_q, hot_way_q, dpa_line_t'(hot_line_q + at)) : hpa_line_t'(first_line_q + at);
    for (int unsigned d = 0; d < Decoders; d++) begin
      if (claims(map_q[d], line)) begin
        module_id = module_of(map_q[d], line);
        if (!is_write_q) clean = untouched_seed(module_id, place_of(map_q[d], line));
        break;
      end
    end
    seed = is_write_q ? written_seed(id_i, line, pass_q + 1) : '0;
    u_slots.open_line(head_q, first_slot_q, line, module_id, is_write_q, stream_q,
                      written_q[31:0] == 0 ? clean : written_seed(id_i, line, written_q[31:0]),
                      written_q[63:32] == 0 ? clean : written_seed(id_i, line, written_q[63:32]));
    left_q -= 1'b1;
  endtask

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      running_q <= 1'b0;
      req_valid_o <= '0;
      rwd_valid_o <= '0;
      outstanding_o <= '0;
    end else if (load_i) begin
      if (emu_engine_has(phase_i, 32'(id_i)) != 0) load();
    end else if (running_q) begin
      automatic logic [Lanes-1:0] req_valid = left(req_valid_o, req_taken_i);
      automatic logic [Lanes-1:0] rwd_valid = left(rwd_valid_o, rwd_taken_i);
      automatic logic [31:0] outstanding = outstanding_o;
      automatic logic [31:0] answered = 0;
      automatic logic stopped = !more;
      u_slots.take_answers(drs_fire_i, drs_i, drs_data_i, ndr_fire_i, ndr_i, answered);
      if (answered != 0) progress_ns_q = now_i;
      if (outstanding == 0) progress_ns_q = now_i;
      outstanding -= answered;
      in_flight_q <= outstanding;
      counting_q <= counting;
      if (moves(req_valid_o, req_taken_i)) req_o[0] <= req_o[1];
      if (moves(rwd_valid_o, rwd_taken_i)) begin
        rwd_o[0] <= rwd_o[1];
        rwd_line_o[0] <= rwd_line_o[1];
      end
      for (int unsigned i = 0; i < IssuesMax; i++) begin
        automatic hpa_line_t line;
        automatic logic [63:0] seed;
        if (left_q == 0) begin
          automatic logic main = main_room(outstanding);
          if (stopped || !(main || hot_room()) || !slots_free()) break;
          start_request(main);
        end
        if (is_write_q ? rwd_valid[1] : req_valid[1]) break;
        next_line(line, seed);
        outstanding += 1;
        if (is_write_q) begin
          rwd_o[rwd_valid[0]] <= '{opcode: half_q ? M2sMemWrPtl : M2sMemWr, snp_type: SnpNone, meta_field: MetaNone,
                                   tag: 16'(head_q), address: line, default: '0};
          rwd_line_o[rwd_valid[0]].data <= line_data(seed, seed);
          rwd_line_o[rwd_valid[0]].be <= half_q ? {{32{drawn_q[63]}}, {32{!drawn_q[63]}}} : '1;
          rwd_valid = {rwd_valid[0], 1'b1};
        end else begin
          req_o[req_valid[0]] <= '{opcode: M2sMemRd, snp_type: SnpNone, meta_field: MetaNone, tag: 16'(head_q),
                                   address: line, default: '0};
          req_valid = {req_valid[0], 1'b1};
        end
        head_q = (head_q + 1'b1) & slot_mask_q;
      end
      if (outstanding != 0 && now_i > progress_ns_q + lost_ns_max) begin
        // The slots of lost lines cannot be used again: the engine ends here.
        u_slots.lose(outstanding);
        outstanding = 0;
        running_q <= 1'b0;
      end
      if (stopped && left_q == 0 && outstanding == 0) running_q <= 1'b0;
      req_valid_o <= req_valid;
      rwd_valid_o <= rwd_valid;
      outstanding_o <= outstanding;
    end
  end

  initial begin
    lost_ns_max = 64'd50_000;
    void'($value$plusargs("lost_ns_max=%d", lost_ns_max));
  end

endmodule
