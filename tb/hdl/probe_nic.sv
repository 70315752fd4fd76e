// Stage probes and counters of the NIC: message received, request in its path queue, response back.
//
// Counters, by host and module: requests sent out, most that waited in the path's queue, answers given for a dead path, late
// responses dropped; by host: most tags in use, cycles in which a request waited for a tag.

module probe_nic
  import pf_pkg::*;
  import pf_nic_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input time_ns_t              now_i,
  input logic [3:0]            id_i,
  input delay_ns_t             decode_ns_i,
  /// By slot.
  input logic [Slots-1:0]      fire_i,
  input logic [Slots-1:0]      push_i,
  input tag_info_t             info_i       [Slots],
  input nic_tag_t              tag_i        [Slots],
  input logic [Slots-1:0]      local_i,
  input local_t                local_entry_i[Slots],
  /// By response lane.
  input logic [Slots-1:0]      give_i,
  input nic_tag_t              give_tag_i   [Slots],
  /// By module.
  input logic [Modules-1:0]    drop_i,
  input logic [Modules-1:0]    dead_i,
  input logic [$clog2(Tags):0] waiting_i    [Modules],
  input logic                  flushed_i,
  input tag_info_t             flushed_info_i,
  input logic [$clog2(Tags):0] used_i,
  input logic                  no_tag_i
);

  longint unsigned       out_q    [16];
  longint unsigned       flushed_q[16];
  longint unsigned       refused_q;
  longint unsigned       dropped_q[16];
  logic [$clog2(Tags):0] waiting_max_q[16];
  logic [$clog2(Tags):0] used_max_q;
  longint unsigned       no_tag_q;

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned i = 0; i < Slots; i++) begin
        if (fire_i[i]) begin
          automatic int host_tag = 32'(info_i[i].host_tag);
          emu_probe(now_i, StageNicRx, 32'(id_i), host_tag, 0);
          // The request is eligible in its queue when it has been decoded.
          if (push_i[i]) begin
            emu_probe(now_i + 64'(decode_ns_i), StageNicTag, 32'(id_i), host_tag, 32'(tag_i[i]));
            out_q[info_i[i].target] += 1;
          end
        end
        if (give_i[i]) emu_probe(now_i, StageNicRsp, 32'(id_i), 32'(give_tag_i[i]), 0);
        if (local_i[i]) begin
          emu_probe(now_i, StageNicRsp, 32'(id_i), 32'(local_entry_i[i].host_tag), 1);
          if (local_entry_i[i].kind == LocalDead) refused_q += 1;
        end
      end
      if (|push_i) begin
        for (int unsigned m = 0; m < Modules; m++) begin
          if (waiting_i[m] > waiting_max_q[m]) waiting_max_q[m] = waiting_i[m];
        end
      end
      if (|drop_i) begin
        for (int unsigned m = 0; m < Modules; m++) dropped_q[m] += 64'(drop_i[m]);
      end
      if (flushed_i) flushed_q[flushed_info_i.target] += 1;
      if (used_i > used_max_q) used_max_q = used_i;
      if (no_tag_i) no_tag_q += 1;
      if (check_pkg::reporting) begin
        for (int unsigned m = 0; m < Modules; m++) begin
          emu_counter("nic_out", 32'(id_i), m, longint'(out_q[m]));
          emu_counter("nic_queue_max", 32'(id_i), m, longint'(waiting_max_q[m]));
          emu_counter("nic_path_dead", 32'(id_i), m, longint'(dead_i[m]));
          emu_counter("nic_flushed", 32'(id_i), m, longint'(flushed_q[m]));
          emu_counter("nic_late", 32'(id_i), m, longint'(dropped_q[m]));
        end
        emu_counter("nic_refused", 32'(id_i), 0, longint'(refused_q));
        emu_counter("nic_tags_max", 32'(id_i), 0, longint'(used_max_q));
        emu_counter("nic_no_tag_cycles", 32'(id_i), 0, longint'(no_tag_q));
      end
    end
  end

endmodule

bind pf_nic probe_nic #(
  .Modules(Modules),
  .Tags   (Tags)
) u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .decode_ns_i   (straps_i.decode_ns),
  .fire_i        (fire),
  .push_i        (push),
  .info_i        (info),
  .tag_i         (tag),
  .local_i       (local_ready),
  .local_entry_i (local_out),
  .give_i        (give),
  .give_tag_i    (give_tag),
  .drop_i        (rx_drop),
  .dead_i        (dead_o),
  .waiting_i     (queue_count),
  .flushed_i     (flush_valid && flush_ready),
  .flushed_info_i(scan_info),
  .used_i        (tags_used_o),
  .no_tag_i      (|valid && !tags_ready)
);
