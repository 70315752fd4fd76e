// One memory module with all its ports, and a generator on each: bandwidth, latency and memory order without the mesh.
//
// A generator is the host, its NIC and its lightpath in one: requests and responses take the time of their frames on a line of
// the profile's rate, and credits bound what is out. Each port works on lines of its own, so that every read has one right
// value: same-address order of a port makes it that of the latest write issued before it. `+share=1` plays another game: port 0
// writes one line again and again, all other ports read it, and stale and torn values are counted.
//
// Results leave as lines `RESULT name port value`, the counters of the hardware (count_mem) among them.

module mem_bench_top
  import pf_pkg::*;
  import pf_rate_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Ports = 16,
  parameter int unsigned HbmChannels = 64,
  parameter int unsigned HbmBanks = 32,
  parameter int unsigned HbmSets = 4096,
  parameter int unsigned HbmWays = 8,
  parameter int unsigned HbmSectorLines = 32,
  parameter int unsigned DdrChannels = 8,
  parameter int unsigned DdrBanks = 64,
  parameter int unsigned PoisonEntries = 16
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  output logic        done_o,
  output logic [63:0] now_o
);

  localparam int unsigned Tags = 256;        // a port
  localparam int unsigned Slots = 65536;     // lines of all ports together
  localparam int unsigned Queue = 256;       // receive buffer
  localparam int unsigned LatencyMax = 4096;

  // What is asked for.
  longint unsigned first_line, lines, requests, warm, interval_4096, outstanding, read_permille, burst, part_permille;
  longint unsigned settle, poison_permille, ports_used, share, stride;
  bit random;

  pf_straps_t straps;
  logic [63:0] module_lines;
  hdm_decoder_t [Decoders-1:0] unused_decoders;
  tb_straps #(.Modules(1)) u_straps (.straps_o(straps), .decoders_o(unused_decoders), .module_lines_o(module_lines));

  // Header and CRC of a frame; each of its four items takes a quarter of it.
  longint unsigned frame_bytes;
  assign frame_bytes = longint'(straps.path.head_b) + longint'(straps.path.crc_b);

  time_ns_t now_q, wake_ns;
  logic [Ports-1:0] rx_valid, rx_ready, tx_valid, tx_has_data, tx_ready, rd_valid, wr_valid;
  req_hdr_t rx_hdr[Ports];
  wline_t   rx_line[Ports];
  time_ns_t rx_since_ns[Ports];
  rsp_hdr_t tx_hdr[Ports];
  data_t    tx_data[Ports];
  req_hdr_t rd_hdr[Ports];
  req_hdr_t wr_hdr[Ports];
  data_t    rd_data[Ports];
  wline_t   wr_line[Ports];

  pf_mem #(
    .Ports(Ports), .HbmChannels(HbmChannels), .HbmBanks(HbmBanks), .HbmSets(HbmSets), .HbmWays(HbmWays),
    .HbmSectorLines(HbmSectorLines), .DdrChannels(DdrChannels), .DdrBanks(DdrBanks), .PoisonEntries(PoisonEntries)
  ) u_mem (
    .clk_i, .rst_ni, .now_i(now_q), .id_i('0), .straps_i(straps.mem),
    .rx_valid_i(rx_valid), .rx_ready_o(rx_ready), .rx_hdr_i(rx_hdr), .rx_line_i(rx_line), .rx_since_ns_i(rx_since_ns),
    .tx_valid_o(tx_valid), .tx_has_data_o(tx_has_data), .tx_ready_i(tx_ready), .tx_hdr_o(tx_hdr), .tx_data_o(tx_data),
    .media_rd_valid_o(rd_valid), .media_rd_hdr_o(rd_hdr), .media_rd_data_i(rd_data),
    .media_wr_valid_o(wr_valid), .media_wr_hdr_o(wr_hdr), .media_wr_line_o(wr_line),
    .wake_ns_o(wake_ns)
  );

  assign now_o = now_q;

  // Media. Writes of a cycle go before its reads.
  data_t store_q[Slots];
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < Ports; p++) begin
      if (wr_valid[p]) begin
        automatic data_t data = store_q[16'(wr_hdr[p].line)];
        if (wr_line[p].be == '1) data = wr_line[p].data;
        else for (int unsigned b = 0; b < LineBytes; b++) if (wr_line[p].be[b]) data[b*8+:8] = wr_line[p].data[b*8+:8];
        store_q[16'(wr_hdr[p].line)] = data;
        if (64'(wr_hdr[p].line) >= module_lines) $fatal(1, "%m: a line beyond the module's capacity is written");
      end
    end
    for (int unsigned p = 0; p < Ports; p++) begin
      if (rd_valid[p]) rd_data[p] <= store_q[16'(rd_hdr[p].line)];
    end
  end

  // Generators.
  typedef struct packed {
    logic        busy;
    logic        is_read;
    logic        poison;   // a read of a line that is known to be bad
    logic [63:0] expected;
    dpa_line_t   line;
    time_ns_t    since_ns;
  } entry_t;

  entry_t      entry_q[Ports*Tags];
  int unsigned free_q[Ports*Tags];   // tags that are free, a stack
  int unsigned free_count_q[Ports];
  req_hdr_t    queue_hdr_q[Ports*Queue];
  wline_t      queue_line_q[Ports*Queue];
  time_ns_t    queue_since_q[Ports*Queue];
  int unsigned queue_wr_q[Ports];
  int unsigned queue_rd_q[Ports];
  longint unsigned due_at_q[Ports];      // next request, 1/4096 ns
  longint unsigned tx_at_q[Ports];       // request line is free
  longint unsigned rsp_at_q[Ports];      // response line is free
  longint unsigned issued_q[Ports];
  longint unsigned done_q[Ports];
  longint unsigned first_ns_q[Ports];
  longint unsigned last_ns_q[Ports];
  longint unsigned sum_ns_q[Ports];
  logic [63:0] value_q[Slots];            // latest write issued to a line
  bit          bad_q[Slots];
  logic [63:0] rng_q;
  int unsigned latency_q[2*LatencyMax];   // reads, writes
  longint unsigned wrong_q, errors_q, poisoned_q, stale_q, torn_q, completed_value_q, loads_q[4];

  // xorshift64
  function automatic longint unsigned below(longint unsigned limit);
    rng_q ^= rng_q << 13;
    rng_q ^= rng_q >> 7;
    rng_q ^= rng_q << 17;
    return (rng_q >> 16) % limit;
  endfunction

  function automatic dpa_line_t line_of(int unsigned p, longint unsigned n);
    longint unsigned place = n % lines;
    if (share != 0) return dpa_line_t'(first_line);
    if (n >= warm && random) place = burst * below(lines / burst) + n % burst;
    return dpa_line_t'(first_line + longint'(p) * stride + place);
  endfunction

  task automatic issue(int unsigned p);
    longint unsigned n = issued_q[p];
    dpa_line_t line = (random && n >= warm && n % burst != 0) ? entry_q[p*Tags].line : line_of(p, n);
    bit reads = share != 0 ? p != 0 : n >= warm && below(1000) < read_permille;
    bit part = !reads && n >= warm && below(1000) < part_permille;
    bit poison = !reads && n >= warm && below(1000) < poison_permille;
    int unsigned tag = free_q[p*Tags+free_count_q[p]-1];
    int unsigned at = p * Queue + queue_wr_q[p] % Queue;
    longint unsigned bytes = 4 * longint'(straps.path.address_b) + (reads ? 0 : 256) + frame_bytes;
    longint unsigned start_at = tx_at_q[p] > now_q * 4096 ? tx_at_q[p] : now_q * 4096;
    logic [63:0] value = value_q[16'(line)];
    bit bad = bad_q[16'(line)];
    free_count_q[p] -= 1;
    if (burst > 1) entry_q[p*Tags].line = line + 1;
    tx_at_q[p] = start_at + bytes * 16384 / longint'(straps.path.rate_b16);
    queue_since_q[at] = (tx_at_q[p] + 4095) / 4096;
    queue_hdr_q[at] = '{op: reads ? ReqRead : part ? ReqWritePart : ReqWrite, poison: poison, tag: nic_tag_t'(tag), line: line};
    if (!reads) begin
      automatic logic [63:0] fresh = {16'(p), 48'(n + 1)};
      if (share != 0) fresh = n + 1;
      queue_line_q[at] = '{be: part ? 64'h00ff_ffff_ffff_ffff : '1, data: {8{fresh}}};
      value_q[16'(line)] = fresh;
      bad_q[16'(line)] = poison || (part && bad);
    end
    entry_q[p*Tags+tag] = '{busy: 1'b1, is_read: reads, poison: bad, line: line, since_ns: queue_since_q[at],
                            expected: share != 0 ? completed_value_q : value};
    queue_wr_q[p] += 1;
    issued_q[p] = n + 1;
  endtask

  task automatic complete(int unsigned p);
    int unsigned tag = 32'(tx_hdr[p].tag);
    entry_t e = entry_q[p*Tags+tag];
    longint unsigned took_ns = now_q - e.since_ns;
    longint unsigned bytes = 4 * longint'(straps.path.tag_b) + (tx_has_data[p] ? 256 : 0) + frame_bytes;
    longint unsigned start_at = rsp_at_q[p] > now_q * 4096 ? rsp_at_q[p] : now_q * 4096;
    rsp_at_q[p] = start_at + bytes * 16384 / longint'(straps.path.rate_b16);
    if (!e.busy || e.is_read != tx_has_data[p]) $fatal(1, "%m: port %0d: response to tag %0d, which waits for none", p, tag);
    if (tx_hdr[p].status == RspError) begin
      errors_q += 1;
      if (e.is_read && tx_data[p] != '1) wrong_q += 1;
    end else if (share != 0) begin
      if (!e.is_read) completed_value_q = tx_data_value(e);
      else if (tx_data[p][511:448] != tx_data[p][63:0]) torn_q += 1;
      else if (tx_data[p][63:0] < e.expected) stale_q += 1;
    end else if (e.is_read) begin
      if (tx_hdr[p].status == RspPoison) poisoned_q += 1;
      if ((tx_hdr[p].status == RspPoison) != e.poison) wrong_q += 1;
      if (tx_data[p][447:384] != e.expected || (part_permille == 0 && tx_data[p] != {8{e.expected}})) wrong_q += 1;
    end
    loads_q[tx_hdr[p].load] += 1;
    entry_q[p*Tags+tag].busy = 1'b0;
    free_q[p*Tags+free_count_q[p]] = tag;
    free_count_q[p] += 1;
    done_q[p] += 1;
    if (done_q[p] > warm + settle) begin
      if (first_ns_q[p] == 0) first_ns_q[p] = now_q;
      else last_ns_q[p] = now_q;
      sum_ns_q[p] += took_ns;
      latency_q[(e.is_read ? 0 : LatencyMax) + 32'(took_ns < LatencyMax ? took_ns : LatencyMax - 1)] += 1;
    end
  endtask

  // In the shared game a write's value is its number at port 0.
  function automatic logic [63:0] tx_data_value(entry_t e);
    return done_q[0] + 1;
  endfunction

  assign rx_valid = valid_of();
  function automatic logic [Ports-1:0] valid_of();
    logic [Ports-1:0] valid = '0;
    for (int unsigned p = 0; p < Ports; p++) valid[p] = rx_valid_q[p];
    return valid;
  endfunction
  logic [Ports-1:0] rx_valid_q, tx_ready_q;
  assign tx_ready = tx_ready_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      now_q <= 64'd1;
      rx_valid_q <= '0;
      tx_ready_q <= '0;
      done_o <= 1'b0;
      for (int unsigned p = 0; p < Ports; p++) begin
        free_count_q[p] = Tags - 1;
        for (int unsigned t = 0; t < Tags; t++) free_q[p*Tags+t] = t + 1;
      end
    end else begin
      automatic logic [Ports-1:0] valid = rx_valid_q;
      automatic logic [Ports-1:0] ready = '0;
      automatic int unsigned finished = 0;
      for (int unsigned p = 0; p < Ports; p++) begin
        if (tx_valid[p] && tx_ready_q[p]) complete(p);
        ready[p] = rsp_at_q[p] < (now_q + 5) * 4096;  // a few frames wait at the transmitter
        // A pause after the warm-up lets everything settle.
        if (p < 32'(ports_used) && issued_q[p] < requests && Tags - 1 - longint'(free_count_q[p]) < outstanding
            && !(issued_q[p] == warm && done_q[p] != warm) && now_q * 4096 >= due_at_q[p] && tx_at_q[p] < (now_q + 4) * 4096) begin
          issue(p);
          if (issued_q[p] > warm && interval_4096 != 0) begin
            // Uniform between none and twice the mean: arrivals are not in step.
            due_at_q[p] += below(2 * interval_4096 + 1);
            if (due_at_q[p] + 4096 * 256 < now_q * 4096) due_at_q[p] = now_q * 4096;
          end
        end
        if (!valid[p] || rx_ready[p]) begin
          valid[p] = queue_rd_q[p] != queue_wr_q[p] && queue_since_q[p*Queue+queue_rd_q[p]%Queue] <= now_q + 1;
          if (valid[p]) begin
            rx_hdr[p] <= queue_hdr_q[p*Queue+queue_rd_q[p]%Queue];
            rx_line[p] <= queue_line_q[p*Queue+queue_rd_q[p]%Queue];
            rx_since_ns[p] <= queue_since_q[p*Queue+queue_rd_q[p]%Queue];
            queue_rd_q[p] += 1;
          end
        end
        if (p >= 32'(ports_used) || done_q[p] == requests) finished += 1;
      end
      rx_valid_q <= valid;
      tx_ready_q <= ready;
      now_q <= now_q + 1;
      done_o <= finished == Ports;
      check_pkg::reporting <= finished == Ports && !done_o;
    end
  end

  function automatic longint unsigned argument(string name, longint unsigned otherwise);
    longint unsigned value = otherwise;
    void'($value$plusargs({name, "=%d"}, value));
    return value;
  endfunction

  initial begin
    first_line = argument("first_line", 0);
    lines = argument("lines", 2048);
    stride = argument("stride", lines);
    requests = argument("requests", 20_000);
    warm = argument("warm", 0);
    settle = argument("settle", 500);
    interval_4096 = argument("interval_4096", 0);
    outstanding = argument("outstanding", 128);
    read_permille = argument("read_permille", 1000);
    part_permille = argument("part_permille", 0);
    poison_permille = argument("poison_permille", 0);
    ports_used = argument("ports_used", longint'(Ports));
    share = argument("share", 0);
    burst = argument("burst", 1);
    random = argument("random", 0) != 0;
    if ((ports_used - 1) * stride + lines > longint'(Slots)) $fatal(1, "%m: more than %0d lines", Slots);
    rng_q = argument("seed", 1) * 64'h9e3779b97f4a7c15 + 1;
  end

  task automatic report(string kind, int unsigned from);
    longint unsigned count = 0, seen = 0;
    longint unsigned ranks[4] = '{500, 990, 999, 1000};
    int unsigned next = 0;
    for (int unsigned i = 0; i < LatencyMax; i++) count += longint'(latency_q[from+i]);
    $display("RESULT %s_count 0 %0d", kind, count);
    for (int unsigned i = 0; i < LatencyMax; i++) begin
      seen += longint'(latency_q[from+i]);
      while (next < 4 && count != 0 && seen * 1000 >= count * ranks[next]) begin
        $display("RESULT %s_p%0d 0 %0d", kind, ranks[next], i);
        next += 1;
      end
    end
  endtask

  final begin
    report("read", 0);
    report("write", LatencyMax);
    for (int unsigned p = 0; p < Ports; p++) begin
      $display("RESULT lines %0d %0d", p, done_q[p]);
      $display("RESULT span_ns %0d %0d", p, last_ns_q[p] - first_ns_q[p]);
      $display("RESULT first_ns %0d %0d", p, first_ns_q[p]);
      $display("RESULT measured %0d %0d", p, done_q[p] > warm + settle ? done_q[p] - warm - settle : 0);
      $display("RESULT sum_ns %0d %0d", p, sum_ns_q[p]);
    end
    for (int unsigned l = 0; l < 4; l++) $display("RESULT load %0d %0d", l, loads_q[l]);
    $display("RESULT wrong 0 %0d", wrong_q);
    $display("RESULT errors 0 %0d", errors_q);
    $display("RESULT poisoned 0 %0d", poisoned_q);
    $display("RESULT stale 0 %0d", stale_q);
    $display("RESULT torn 0 %0d", torn_q);
    $display("RESULT end_ns 0 %0d", now_q);
  end

endmodule
