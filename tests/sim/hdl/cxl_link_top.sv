// Bench of the CXL link: a generator of all four classes at the host's end, an echo at the NIC's end, faults on the line.
//
// The host issues reads, writes and partial writes with a serial number in the address; the NIC's end checks that they come
// once, in order and whole, and answers them; the host checks the answers. Everything random comes from `+seed`. Plusargs, and
// those of cxl_link_faults:
//
//   ops, read_permille, partial_permille    what is issued; outstanding: at most so many at once
//   gap_permille                            how often the host pauses for 100 ns instead of issuing
//   stall_permille                          how often either end refuses to take
//   viral_ns                                the device is in viral state from then on
//   linger_ns, bound_ns                     the run does not end before; it fails when it has not ended by then

module cxl_link_top
  import pf_pkg::*;
  import cxl_pkg::*;
  import cxl_link_bench_pkg::*;
(
  input  logic clk_i,
  input  logic rst_ni,
  output logic done_o
);

  localparam int unsigned Tags = 4096;

  int unsigned ops, read_permille, partial_permille, outstanding_max, gap_permille, stall_permille, seed;
  int unsigned every_cycle;
  longint unsigned viral_ns, linger_ns, bound_ns;

  cxl_straps_t straps;

  task automatic read_plusargs();
    ops = 32'(plusarg("ops", 2000));
    read_permille = 32'(plusarg("read_permille", 500));
    partial_permille = 32'(plusarg("partial_permille", 300));
    outstanding_max = 32'(plusarg("outstanding", 1024));
    gap_permille = 32'(plusarg("gap_permille", 0));
    stall_permille = 32'(plusarg("stall_permille", 0));
    viral_ns = plusarg("viral_ns", 64'd1 << 62);
    linger_ns = plusarg("linger_ns", 0);
    bound_ns = plusarg("bound_ns", 64'd200_000);
    every_cycle = 32'(plusarg("every_cycle", 0));
    seed = 32'(plusarg("seed", 1));
    straps.req_ns = 16'(plusarg("cxl_req_ns", 22));
    straps.rsp_ns = 16'(plusarg("cxl_rsp_ns", 45));
    straps.rate_b16 = 16'(plusarg("cxl_rate_b16", 2048));
    straps.ack_ns = 16'(plusarg("cxl_ack_ns", 16));
    straps.replay_ns = 16'(plusarg("cxl_replay_ns", 150));
    straps.replay_limit = 16'(plusarg("cxl_replay_limit", 255));
  endtask

  // Random numbers: splitmix64.
  longint unsigned rng_q;
  function automatic int unsigned random(int unsigned below);
    rng_q = rng_q + 64'h9E37_79B9_7F4A_7C15;
    return 32'((mix(rng_q) >> 20) % 64'(below));
  endfunction
  function automatic data_t pattern(longint unsigned serial);
    data_t line;
    for (int unsigned w = 0; w < 8; w++) line[64*w+:64] = mix(serial * 8 + 64'(w) + {seed, 32'd0});
    return line;
  endfunction

  // Time, with idle stretches left out.
  time_ns_t now, wake_ns, gap_until_ns;
  logic     issuing, echo_busy, skip;
  assign issuing = now >= gap_until_ns;
  assign skip = every_cycle == 0 && !issuing && !echo_busy && wake_ns > now + 1;

  // The link
  logic [1:0]       req_valid, req_ready, rwd_valid, rwd_ready, ndr_valid, ndr_ready, drs_valid, drs_ready;
  m2s_req_t         req[Lanes];
  m2s_rwd_t         rwd[Lanes];
  wline_t           rwd_line[Lanes];
  s2m_ndr_t         ndr[Lanes];
  s2m_drs_t         drs[Lanes];
  data_t            drs_data[Lanes];
  logic [1:0]       nic_req_valid, nic_req_ready, nic_rwd_valid, nic_rwd_ready;
  logic [1:0]       nic_ndr_valid, nic_ndr_ready, nic_drs_valid, nic_drs_ready;
  m2s_req_t         nic_req[Lanes];
  m2s_rwd_t         nic_rwd[Lanes];
  wline_t           nic_rwd_line[Lanes];
  s2m_ndr_t         nic_ndr[Lanes];
  s2m_drs_t         nic_drs[Lanes];
  data_t            nic_drs_data[Lanes];
  link_fault_t      fault[2];
  logic [1:0]       start;
  cxl_status_t      status;

  cxl_channel u_link (
    .clk_i,
    .rst_ni,
    .id_i            (4'd0),
    .now_i           (now),
    .straps_i        (straps),
    .fault_i         (fault),
    .start_o         (start),
    .viral_i         (now >= viral_ns),
    .status_o        (status),
    .host_req_valid_i(req_valid),
    .host_req_ready_o(req_ready),
    .host_req_i      (req),
    .host_rwd_valid_i(rwd_valid),
    .host_rwd_ready_o(rwd_ready),
    .host_rwd_i      (rwd),
    .host_rwd_line_i (rwd_line),
    .host_ndr_valid_o(ndr_valid),
    .host_ndr_ready_i(ndr_ready),
    .host_ndr_o      (ndr),
    .host_drs_valid_o(drs_valid),
    .host_drs_ready_i(drs_ready),
    .host_drs_o      (drs),
    .host_drs_data_o (drs_data),
    .nic_req_valid_o (nic_req_valid),
    .nic_req_ready_i (nic_req_ready),
    .nic_req_o       (nic_req),
    .nic_rwd_valid_o (nic_rwd_valid),
    .nic_rwd_ready_i (nic_rwd_ready),
    .nic_rwd_o       (nic_rwd),
    .nic_rwd_line_o  (nic_rwd_line),
    .nic_ndr_valid_i (nic_ndr_valid),
    .nic_ndr_ready_o (nic_ndr_ready),
    .nic_ndr_i       (nic_ndr),
    .nic_drs_valid_i (nic_drs_valid),
    .nic_drs_ready_o (nic_drs_ready),
    .nic_drs_i       (nic_drs),
    .nic_drs_data_i  (nic_drs_data),
    .wake_ns_o       (wake_ns)
  );

  // What each tag is about: its serial number, which the address carries, and where it is.
  typedef enum logic [1:0] {
    Free   = 2'd0,
    Issued = 2'd1,  // on its way to the NIC
    Echoed = 2'd2   // on its way back
  } place_e;
  longint unsigned serial_of[Tags];
  place_e          place_of [Tags];
  bit              read_of  [Tags];
  bit              part_of  [Tags];
  longint unsigned since_of [Tags];
  shortint unsigned free_tag[$];
  shortint unsigned echo_req[$], echo_rwd[$];  // tags that the NIC's end has still to answer

  longint unsigned issued, read_lines, write_lines, failed_lines, nic_serial[2], late_ns_max, digest;
  longint unsigned window_lines, window_from_ns, window_to_ns;
  int unsigned     wanted[2];  // reads and writes drawn and not yet issued
  longint unsigned drawn, offered[2];  // messages on offer that the link has not taken: lanes 0 and 1 in order

  assign echo_busy = echo_req.size() != 0 || echo_rwd.size() != 0 || nic_req_valid != 0 || nic_rwd_valid != 0
      || ndr_valid != 0 || drs_valid != 0 || req_valid != 0 || rwd_valid != 0;

  function automatic void check(bit good, string what, int unsigned tag);
    if (!good) $fatal(1, "%m: t=%0d ns: %s, tag %0d, serial %0d", now, what, tag, serial_of[tag]);
  endfunction

  // Offers of the host: what was not taken stays, in order, and the lanes are filled up.
  task automatic offer();
    for (int unsigned c = 0; c < 2; c++) begin
      automatic logic [1:0] valid = c == 0 ? req_valid : rwd_valid;
      automatic logic [1:0] ready = c == 0 ? req_ready : rwd_ready;
      if (valid[0] && ready[0]) begin
        if (valid[1] && ready[1]) valid = 2'b00;
        else begin
          valid = {1'b0, valid[1]};
          if (c == 0) req[0] <= req[1];
          else begin
            rwd[0] <= rwd[1];
            rwd_line[0] <= rwd_line[1];
          end
        end
      end
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (!valid[l] && wanted[c] != 0 && free_tag.size() > int'(Tags - outstanding_max) && issuing) begin
          automatic int unsigned tag = 32'(free_tag.pop_front());
          automatic bit part = c == 1 && random(1000) < partial_permille;
          wanted[c]--;
          valid[l] = 1'b1;
          serial_of[tag] = offered[c];
          place_of[tag] = Issued;
          read_of[tag] = c == 0;
          part_of[tag] = part;
          since_of[tag] = now;
          if (c == 0) begin
            req[l] <= '{opcode: M2sMemRd, snp_type: SnpNone, meta_field: MetaNone, meta_value: 2'd0, tc: 2'd1,
                        ld_id: 4'(tag), tag: 16'(tag), address: 46'(offered[c])};
          end else begin
            rwd[l] <= '{opcode: part ? M2sMemWrPtl : M2sMemWr, snp_type: SnpNone, meta_field: MetaNone,
                        meta_value: 2'd0, poison: tag[0], tc: 2'd2, ld_id: 4'(tag), tag: 16'(tag),
                        address: 46'(offered[c])};
            rwd_line[l] <= '{be: part ? mix(offered[c]) : '1, data: pattern(offered[c])};
          end
          offered[c]++;
          issued++;
        end
      end
      if (c == 0) req_valid <= valid;
      else rwd_valid <= valid;
    end
  endtask

  task automatic receive();
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (nic_req_valid[l] && nic_req_ready[l] && !status.down) begin
        automatic int unsigned tag = 32'(nic_req[l].tag);
        check(tag < Tags && place_of[tag] == Issued && read_of[tag], "request that was not issued", tag);
        check(nic_req[l] == '{opcode: M2sMemRd, snp_type: SnpNone, meta_field: MetaNone, meta_value: 2'd0, tc: 2'd1,
              ld_id: 4'(tag), tag: 16'(tag), address: 46'(serial_of[tag])}, "request differs", tag);
        check(serial_of[tag] == nic_serial[0], "request out of order", tag);
        nic_serial[0]++;
        place_of[tag] = Echoed;
        echo_req.push_back(16'(tag));
      end
      if (nic_rwd_valid[l] && nic_rwd_ready[l] && !status.down) begin
        automatic int unsigned tag = 32'(nic_rwd[l].tag);
        check(tag < Tags && place_of[tag] == Issued && !read_of[tag], "write that was not issued", tag);
        check(nic_rwd[l] == '{opcode: part_of[tag] ? M2sMemWrPtl : M2sMemWr, snp_type: SnpNone, meta_field: MetaNone,
              meta_value: 2'd0, poison: tag[0], tc: 2'd2, ld_id: 4'(tag), tag: 16'(tag),
              address: 46'(serial_of[tag])}, "write differs", tag);
        check(nic_rwd_line[l].be == (part_of[tag] ? mix(serial_of[tag]) : '1), "byte enables differ", tag);
        check(nic_rwd_line[l].data == pattern(serial_of[tag]), "data of a write differ", tag);
        check(serial_of[tag] == nic_serial[1], "write out of order", tag);
        nic_serial[1]++;
        place_of[tag] = Echoed;
        echo_rwd.push_back(16'(tag));
      end
    end
  endtask

  function automatic s2m_drs_t answer_drs(int unsigned tag);
    return '{opcode: S2mMemData, meta_field: MetaNone, meta_value: 2'd0, poison: tag[1],
             dev_load: dev_load_e'(2'(serial_of[tag])), ld_id: 4'(tag), tag: 16'(tag)};
  endfunction

  function automatic s2m_ndr_t answer_ndr(int unsigned tag);
    return '{opcode: S2mCmp, meta_field: MetaNone, meta_value: 2'd0, dev_load: dev_load_e'(2'(serial_of[tag])),
             ld_id: 4'(tag), err: tag[2] && 2'(serial_of[tag]) != 0, tag: 16'(tag)};
  endfunction

  // The NIC's end offers answers in the order of the requests; those not taken stay.
  task automatic echo();
    automatic logic [1:0] valid;
    if (nic_drs_valid[0] && nic_drs_ready[0]) begin
      void'(echo_req.pop_front());
      if (nic_drs_valid[1] && nic_drs_ready[1]) void'(echo_req.pop_front());
    end
    if (nic_ndr_valid[0] && nic_ndr_ready[0]) begin
      void'(echo_rwd.pop_front());
      if (nic_ndr_valid[1] && nic_ndr_ready[1]) void'(echo_rwd.pop_front());
    end
    valid = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (echo_req.size() > int'(l)) begin
        automatic int unsigned tag = 32'(echo_req[l]);
        valid[l] = 1'b1;
        nic_drs[l] <= answer_drs(tag);
        nic_drs_data[l] <= pattern(~serial_of[tag]);
      end
    end
    nic_drs_valid <= valid;
    valid = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (echo_rwd.size() > int'(l)) begin
        valid[l] = 1'b1;
        nic_ndr[l] <= answer_ndr(32'(echo_rwd[l]));
      end
    end
    nic_ndr_valid <= valid;
  endtask

  function automatic void finish_tag(int unsigned tag);
    if (now - since_of[tag] > late_ns_max) late_ns_max = now - since_of[tag];
    place_of[tag] = Free;
    free_tag.push_back(16'(tag));
    digest = mix(digest ^ (now << 16) ^ 64'(tag));
    if (now >= window_from_ns && now < window_to_ns) window_lines++;
  endfunction

  task automatic complete();
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (drs_valid[l] && drs_ready[l]) begin
        automatic int unsigned tag = 32'(drs[l].tag);
        if (status.down && place_of[tag] != Free && (drs[l] != answer_drs(tag) || place_of[tag] == Issued
            || drs_data[l] != pattern(~serial_of[tag]))) begin
          check(read_of[tag] && drs[l].poison && drs[l].ld_id == 4'(tag), "read not poisoned", tag);
          failed_lines++;
        end else begin
          check(place_of[tag] == Echoed && read_of[tag] && drs[l] == answer_drs(tag), "read answered wrongly", tag);
          check(drs_data[l] == pattern(~serial_of[tag]), "data of a read differ", tag);
          read_lines++;
        end
        finish_tag(tag);
      end
      if (ndr_valid[l] && ndr_ready[l]) begin
        automatic int unsigned tag = 32'(ndr[l].tag);
        if (status.down && place_of[tag] != Free && (ndr[l] != answer_ndr(tag) || place_of[tag] == Issued)) begin
          check(!read_of[tag] && ndr[l].err && ndr[l].ld_id == 4'(tag), "write without error", tag);
          failed_lines++;
        end else begin
          check(place_of[tag] == Echoed && !read_of[tag] && ndr[l] == answer_ndr(tag), "write answered wrongly", tag);
          write_lines++;
        end
        finish_tag(tag);
      end
    end
  endtask

  cxl_link_faults u_faults (
    .clk_i,
    .rst_ni,
    .now_i  (now),
    .start_i(start),
    .fault_o(fault)
  );

  always_ff @(posedge clk_i) begin
    if (rst_ni && !done_o) begin
      automatic bit ended = issued == 64'(ops) && free_tag.size() == int'(Tags) && now >= linger_ns;
      receive();
      complete();
      if (start != 0) digest = mix(digest ^ (now << 16) ^ 64'(start) << 14);
      echo();
      if (issuing && gap_permille != 0 && random(1000) < gap_permille) gap_until_ns <= now + 100;
      while (drawn < 64'(ops) && wanted[0] < 8 && wanted[1] < 8) begin
        if (random(1000) < read_permille) wanted[0]++;
        else wanted[1]++;
        drawn++;
      end
      offer();
      ndr_ready <= stall_permille == 0 || random(1000) >= stall_permille ? '1 : '0;
      drs_ready <= stall_permille == 0 || random(1000) >= stall_permille ? '1 : '0;
      nic_req_ready <= stall_permille == 0 || random(1000) >= stall_permille ? '1 : '0;
      nic_rwd_ready <= stall_permille == 0 || random(1000) >= stall_permille ? '1 : '0;
      now <= skip && stall_permille == 0 ? earlier(wake_ns, gap_until_ns) : now + 1;
      if (ended || now > bound_ns) begin
        done_o <= 1'b1;
        if (!ended) $fatal(1, "%m: t=%0d ns: not done: %0d issued, %0d tags free", now, issued, free_tag.size());
        $display("cxl_link: now_ns=%0d reads=%0d writes=%0d failed=%0d late_ns_max=%0d digest=%0d", now, read_lines,
                 write_lines, failed_lines, late_ns_max, digest);
        $display("cxl_link: window_lines=%0d hits_m2s=%0d hits_s2m=%0d swept=%0d", window_lines, u_faults.hits_q[0],
                 u_faults.hits_q[1], u_faults.swept_q);
        for (int unsigned d = 0; d < 2; d++) begin
          $display("cxl_link: flits_%0d=%0d slots_%0d=%0d crc_errors_%0d=%0d naks_%0d=%0d replays_%0d=%0d", d,
                   u_link.u_probe.flits_q[d], d, u_link.u_probe.slots_q[d], d, u_link.u_probe.crc_errors_q[d], d,
                   u_link.u_probe.naks_q[d], d, u_link.u_probe.replays_q[d]);
          $display("cxl_link: timeouts_%0d=%0d twice_%0d=%0d credit_stalls_%0d=%0d replay_stalls_%0d=%0d", d,
                   u_link.u_probe.timeouts_q[d], d, u_link.u_probe.twice_q[d], d,
                   u_link.u_probe.head_stalls_q[d] + u_link.u_probe.data_stalls_q[d], d,
                   u_link.u_probe.replay_stalls_q[d]);
        end
        $display("cxl_link: down=%0d viral=%0d failed_count=%0d", status.down, status.viral, status.failed_count);
      end
    end
  end

  initial begin
    read_plusargs();
    done_o = 1'b0;
    now = 64'd1;
    gap_until_ns = '0;
    rng_q = mix(64'(seed));
    for (int unsigned t = 0; t < Tags; t++) free_tag.push_back(16'(t));
    window_from_ns = plusarg("window_from_ns", 0);
    window_to_ns = plusarg("window_to_ns", 0);
    req_valid = '0;
    rwd_valid = '0;
    nic_ndr_valid = '0;
    nic_drs_valid = '0;
    {ndr_ready, drs_ready, nic_req_ready, nic_rwd_ready} = '1;
  end

endmodule
