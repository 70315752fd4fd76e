// Straps of a rack from plusargs (`+name=value`, decimal), read at time 0; defaults are those of the `pfma` profile, those of
// a switch from the `switch` profile.
//
// An impossible value ends the simulation with the name of the strap, the value and what is allowed.

module tb_straps
  import pf_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned PathReach = 0
) (
  output pf_straps_t                  straps_o,
  /// The same decoders serve every host.
  output hdm_decoder_t [Decoders-1:0] decoders_o,
  output logic [63:0]                 module_lines_o
);

  localparam longint unsigned LinesPerMib = 1 << 14;
  localparam longint unsigned DelayMax = 65535;
  localparam longint unsigned FrameMax = 4095;

  function automatic longint unsigned strap(string name, longint unsigned otherwise, longint unsigned low,
                                            longint unsigned high);
    longint unsigned value = otherwise;
    void'($value$plusargs({name, "=%d"}, value));
    if (value < low || value > high)
      $fatal(1, "%m: strap %s = %0d is outside %0d..%0d; give +%s=value in that range", name, value, low, high, name);
    return value;
  endfunction

  function automatic delay_ns_t delay(string name, longint unsigned otherwise, longint unsigned low);
    return delay_ns_t'(strap(name, otherwise, low, DelayMax));
  endfunction

  function automatic rate_b16_t rate(string name, longint unsigned otherwise);
    return rate_b16_t'(strap(name, otherwise, 1, DelayMax));
  endfunction

  function automatic pf_link_pkg::credit_t credits(string name, longint unsigned otherwise);
    return pf_link_pkg::credit_t'(strap(name, otherwise, 1, longint'(pf_link_pkg::credits_max(PathReach))));
  endfunction

  function automatic bytes_t part(string name, longint unsigned otherwise, longint unsigned low);
    return bytes_t'(strap(name, otherwise, low, 64));
  endfunction

  function automatic bytes_t frame(string name, longint unsigned otherwise, longint unsigned low);
    return bytes_t'(strap(name, otherwise, low, FrameMax));
  endfunction

  // The lower bounds are what the blocks need to be exact: a queue is read into its output register 1 ns ahead.
  task automatic read_delays();
    straps_o.cxl.req_ns = delay("cxl_req_ns", 22, 2);
    straps_o.cxl.rsp_ns = delay("cxl_rsp_ns", 45, 2);
    straps_o.cxl.rate_b16 = rate("cxl_rate_b16", 2048);
    straps_o.cxl.ack_ns = delay("cxl_ack_ns", 16, 1);
    straps_o.cxl.replay_ns = delay("cxl_replay_ns", 150, 1);
    straps_o.cxl.replay_limit = 16'(delay("cxl_replay_limit", 255, 1));
    straps_o.nic.decode_ns = delay("nic_decode_ns", 12, 2);
    straps_o.nic.timeout_ns = delay("nic_timeout_ns", 60000, 1);
    straps_o.path.rate_b16 = rate("path_rate_b16", 450);
    straps_o.path.phy_ns = delay("path_phy_ns", 28, 1);
    straps_o.path.flight_ns = delay("path_flight_ns", 25, 0);
    straps_o.path.ack_ns = delay("path_ack_ns", 100, 0);
    straps_o.path.replay_ns = delay("path_replay_ns", 200, 1);
    straps_o.path.replay_limit = 8'(strap("path_replay_limit", 160, 1, 255));
    straps_o.path.request_credits = credits("path_request_credits", 127);
    straps_o.path.write_credits = credits("path_write_credits", 127);
    straps_o.path.read_credits = credits("path_read_credits", 127);
    straps_o.path.completion_credits = credits("path_completion_credits", 127);
    straps_o.path.head_b = part("frame_head_b", 4, 64'(2 * pf_link_pkg::header_words(PathReach)));
    straps_o.path.crc_b = part("frame_crc_b", 4, 4);
    straps_o.path.address_b = part("frame_address_b", 6, 6);
    straps_o.path.tag_b = part("frame_tag_b", 2, 2);
    straps_o.path.enables_b = part("frame_enables_b", 8, 8);
    straps_o.sw.rate_b16 = rate("sw_rate_b16", 1024);
    straps_o.sw.credits = delay_ns_t'(strap("sw_credits", 256, 1, 256));
    straps_o.sw.head_b = frame("sw_head_b", 17, 1);
    straps_o.sw.line_b = frame("sw_line_b", 85, 64);
    straps_o.sw.hop_ns[0] = delay("sw_hop1_ns", 130, 1);
    straps_o.sw.hop_ns[1] = delay("sw_hop2_ns", 130, 1);
    straps_o.sw.hop_ns[2] = delay("sw_hop3_ns", 130, 1);
    straps_o.sw.hop_ns[3] = delay("sw_hop4_ns", 130, 1);
    straps_o.mem.port_ns = delay("mem_port_ns", 14, 0);
    straps_o.mem.return_ns = delay("mem_return_ns", 12, 2);
    straps_o.mem.commit_ns = delay("hbm_commit_ns", 5, 2);
    if (32'(straps_o.path.phy_ns) + 32'(straps_o.path.flight_ns) > 32'(DelayMax))
      $fatal(1, "%m: straps path_phy_ns %0d + path_flight_ns %0d are more than %0d; shorten the fibre",
             straps_o.path.phy_ns, straps_o.path.flight_ns, DelayMax);
  endtask

  task automatic read_module();
    longint unsigned unit_b = strap("mem_write_unit_b", 64, 32, 64);
    longint unsigned base_lines = strap("hbm_base_mib", 0, 0, 64'd1 << 21) * LinesPerMib;
    straps_o.mem.posted = 1'(strap("mem_posted", 0, 0, 1));
    straps_o.mem.posted_ns = delay("mem_posted_ns", 500, 0);
    straps_o.mem.halves = unit_b == 32;
    straps_o.mem.half_ns = delay("mem_half_ns", 20, 1);
    straps_o.mem.hbm_mode = hbm_mode_e'(strap("hbm_mode", 0, 0, 2));
    straps_o.mem.hbm_base = dpa_count_t'(base_lines);
    straps_o.mem.capacity = dpa_count_t'(module_lines_o);
    if (unit_b != 32 && unit_b != 64) $fatal(1, "%m: strap mem_write_unit_b = %0d is neither 32 nor 64", unit_b);
    if (straps_o.mem.hbm_mode == HbmMemory && base_lines >= module_lines_o)
      $fatal(1, "%m: strap hbm_base_mib = %0d is not below the %0d MiB of a module: no line would be HBM's",
             base_lines / LinesPerMib, module_lines_o / LinesPerMib);
    if (32'(straps_o.mem.commit_ns) + 32'(straps_o.mem.posted_ns) > 32'(DelayMax))
      $fatal(1, "%m: straps hbm_commit_ns %0d + mem_posted_ns %0d are more than %0d", straps_o.mem.commit_ns,
             straps_o.mem.posted_ns, DelayMax);
  endtask

  task automatic read_dram();
    straps_o.mem.hbm.cas_ns = delay("hbm_cas_ns", 46, 2);
    straps_o.mem.hbm.rcd_ns = delay("hbm_rcd_ns", 16, 0);
    straps_o.mem.hbm.rp_ns = delay("hbm_rp_ns", 16, 0);
    straps_o.mem.hbm.ras_ns = delay("hbm_ras_ns", 29, 0);
    straps_o.mem.hbm.rtp_ns = delay("hbm_rtp_ns", 5, 0);
    straps_o.mem.hbm.wr_ns = delay("hbm_wr_ns", 25, 0);
    straps_o.mem.hbm.ccd_ns = delay("hbm_ccd_ns", 2, 1);
    straps_o.mem.hbm.turn_ns = delay("hbm_turn_ns", 8, 0);
    straps_o.mem.hbm.rate_b16 = rate("hbm_rate_b16", 600);
    straps_o.mem.hbm.idle_close_ns = delay("hbm_idle_close_ns", 15, 0);
    straps_o.mem.hbm.refi_ns = delay("hbm_refi_ns", 3900, 0);
    straps_o.mem.hbm.rfc_ns = delay("hbm_rfc_ns", 130, 0);
    straps_o.mem.hbm.ref_groups_log2 = 4'($clog2(strap("hbm_ref_groups", 8, 1, 256)));
    straps_o.mem.hbm.ref_step_ns = delay("hbm_ref_step_ns", 72, 0);
    straps_o.mem.hbm.ref_offset_ns = delay("hbm_ref_offset_ns", 1105, 0);
    straps_o.mem.ddr.cas_ns = delay("ddr_cas_ns", 66, 2);
    straps_o.mem.ddr.rcd_ns = delay("ddr_rcd_ns", 16, 0);
    straps_o.mem.ddr.rp_ns = delay("ddr_rp_ns", 16, 0);
    straps_o.mem.ddr.ras_ns = delay("ddr_ras_ns", 32, 0);
    straps_o.mem.ddr.rtp_ns = delay("ddr_rtp_ns", 8, 0);
    straps_o.mem.ddr.wr_ns = delay("ddr_wr_ns", 45, 0);
    straps_o.mem.ddr.ccd_ns = delay("ddr_ccd_ns", 5, 1);
    straps_o.mem.ddr.turn_ns = delay("ddr_turn_ns", 18, 0);
    straps_o.mem.ddr.rate_b16 = rate("ddr_rate_b16", 819);
    straps_o.mem.ddr.idle_close_ns = delay("ddr_idle_close_ns", 200, 0);
    straps_o.mem.ddr.refi_ns = delay("ddr_refi_ns", 1950, 0);
    straps_o.mem.ddr.rfc_ns = delay("ddr_rfc_ns", 130, 0);
    straps_o.mem.ddr.ref_groups_log2 = 4'($clog2(strap("ddr_ref_groups", 4, 1, 256)));
    straps_o.mem.ddr.ref_step_ns = delay("ddr_ref_step_ns", 0, 0);
    straps_o.mem.ddr.ref_offset_ns = delay("ddr_ref_offset_ns", 0, 0);
    check_refresh("hbm", straps_o.mem.hbm);
    check_refresh("ddr", straps_o.mem.ddr);
  endtask

  function automatic void check_refresh(string kind, dram_straps_t dram);
    if (dram.refi_ns != 0 && dram.rfc_ns >= dram.refi_ns)
      $fatal(1, "%m: straps %s_rfc_ns %0d and %s_refi_ns %0d: refresh takes all the time; refi must be larger, or 0",
             kind, dram.rfc_ns, kind, dram.refi_ns);
  endfunction

  // Modules / ways decoders, one after the other in address; decoder k covers modules k * ways to k * ways + ways - 1.
  task automatic read_decoders();
    longint unsigned base = strap("hdm_base", 64'h10_0000_0000, 0, (64'd1 << 52) - 64);
    longint unsigned lines = strap("hdm_size_mib", longint'(1024 * Modules), 1, 64'd1 << 25) * LinesPerMib;
    longint unsigned ways = strap("hdm_ways", longint'(Modules) & -longint'(Modules), 1, 16);
    longint unsigned gran_b = strap("hdm_gran_b", 256, 256, 16384);
    longint unsigned module_lines = module_lines_o;
    longint unsigned count = longint'(Modules) / ways;
    longint unsigned each = 0;
    if ((ways & (ways - 1)) != 0 || count * ways != longint'(Modules) || count > longint'(Decoders))
      $fatal(1, "%m: strap hdm_ways = %0d must be 1, 2, 4, 8 or 16 and share %0d modules in at most %0d decoders", ways,
             Modules, Decoders);
    if ((gran_b & (gran_b - 1)) != 0)
      $fatal(1, "%m: strap hdm_gran_b = %0d is not a power of two in 256..16384", gran_b);
    each = lines / count;
    if (each * count != lines || (each / ways) * ways != each || ((each / ways) & (gran_b / 64 - 1)) != 0)
      $fatal(1, "%m: strap hdm_size_mib = %0d does not split evenly over %0d modules in chunks of %0d B",
             lines / LinesPerMib, Modules, gran_b);
    if (each / ways > module_lines)
      $fatal(1, "%m: straps hdm_size_mib and module_mib: %0d MiB fall on each module, which holds %0d MiB",
             each / ways / LinesPerMib, module_lines / LinesPerMib);
    if (base % 64 != 0) $fatal(1, "%m: strap hdm_base = %0d is not a multiple of 64", base);
    decoders_o = '0;
    for (longint unsigned k = 0; k < count; k++) begin
      decoders_o[k].enable = 1'b1;
      decoders_o[k].base = hpa_line_t'(base / 64 + k * each);
      decoders_o[k].size = hpa_line_t'(each);
      decoders_o[k].ways_log2 = 3'($clog2(32'(ways)));
      decoders_o[k].gran_log2 = 4'($clog2(32'(gran_b)));
      for (longint unsigned w = 0; w < ways; w++) decoders_o[k].targets[w] = 4'(k * ways + w);
    end
  endtask

  initial begin
    straps_o = '0;
    module_lines_o = strap("module_mib", 64'd1 << 21, 1, 64'd1 << 21) * LinesPerMib;
    read_delays();
    read_module();
    read_dram();
    read_decoders();
  end

endmodule
