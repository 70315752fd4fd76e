// PF-NIC: ends CXL.mem, finds the module that holds the address and carries the transaction over the lightpath to it.
//
// Two requests with data and two without are decoded in a cycle, get a tag of the NIC and wait in the queue of their lightpath;
// responses come back in any order across modules and go to the host under its own tag. Requests with data go first when both
// channels deliver in one cycle. What cannot be carried is answered here: an address that no decoder claims, and everything
// for a path that is dead (nic_path_guard). Late responses of a dead path, and those that no transaction waits for, are dropped.

module pf_nic
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048,
  parameter int unsigned PathQueueDepth = 2048
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  time_ns_t                    now_i,
  /// Which host this NIC serves.
  input  logic [3:0]                  id_i,
  input  nic_straps_t                 straps_i,
  input  hdm_decoder_t [Decoders-1:0] decoders_i,
  // CXL.mem
  input  logic [Lanes-1:0] req_valid_i,
  output logic [Lanes-1:0] req_ready_o,
  input  m2s_req_t                    req_i[Lanes],
  input  logic [Lanes-1:0] rwd_valid_i,
  output logic [Lanes-1:0] rwd_ready_o,
  input  m2s_rwd_t                    rwd_i[Lanes],
  input  wline_t                      rwd_line_i[Lanes],
  output logic [Lanes-1:0] ndr_valid_o,
  input  logic [Lanes-1:0] ndr_ready_i,
  output s2m_ndr_t                    ndr_o[Lanes],
  output logic [Lanes-1:0] drs_valid_o,
  input  logic [Lanes-1:0] drs_ready_i,
  output s2m_drs_t                    drs_o[Lanes],
  output data_t                       drs_data_o[Lanes],
  // Lightpaths, transmit
  output logic [Modules-1:0]          tx_valid_o,
  output logic [Modules-1:0]          tx_has_data_o,
  input  logic [Modules-1:0]          tx_ready_i,
  output req_hdr_t                    tx_hdr_o [Modules],
  output wline_t                      tx_line_o[Modules],
  // Lightpaths, receive
  input  logic [Modules-1:0]          rx_valid_i,
  input  logic [Modules-1:0]          rx_has_data_i,
  output logic [Modules-1:0]          rx_ready_o,
  input  rsp_hdr_t                    rx_hdr_i [Modules],
  input  data_t                       rx_data_i[Modules],
  /// Paths whose link has come to its replay limit; paths that are given up, for good.
  input  logic [Modules-1:0]          link_dead_i,
  output logic [Modules-1:0]          dead_o,
  /// Transactions whose address no decoder claims, since reset.
  output logic [31:0]                 nxm_count_o,
  output logic [$clog2(Tags):0]       tags_used_o,
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t                    wake_ns_o
);

  localparam int unsigned LocalDepth = 16;
  localparam int unsigned TagBits = $clog2(Tags);
  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;

  // By slot.
  logic [Slots-1:0] valid, can, ready, hit, is_read, goes_out, fire, push;
  logic [Slots-1:0] local_push, local_room, local_valid, local_ready;
  hpa_line_t        address [Slots];
  logic [3:0]       target  [Slots];
  dpa_line_t        dpa_line[Slots];
  nic_tag_t         tag     [Slots];
  tag_info_t        info    [Slots];
  req_hdr_t         hdr     [Slots];
  local_t           local_in [Slots];
  local_t           local_out[Slots];
  time_ns_t         local_wake_ns[Slots];
  // By module.
  logic [Modules-1:0] queue_room, known, rx_live, rx_drop, rx_taken;
  logic [TagBits:0]   queue_count[Modules];
  tag_info_t          rx_info    [Modules];
  dev_load_e          path_load  [Modules];

  logic [Slots-1:0] give;
  nic_tag_t         give_tag[Slots];
  nic_tag_t         scan;
  tag_info_t        scan_info;
  logic             tags_ready, scan_busy, flush_valid, flush_ready;
  dev_load_e        own_load;
  time_ns_t         due_ns, queue_wake_ns, guard_wake_ns;

  assign due_ns = now_i + time_ns_t'(straps_i.decode_ns);
  assign valid = {req_valid_i, rwd_valid_i};
  assign rwd_ready_o = ready[1:0];
  assign req_ready_o = ready[3:2];

  always_comb begin
    for (int unsigned n = 0; n < 2; n++) begin
      address[n] = rwd_i[n].address;
      info[n] = '{is_read: 1'b0, target: target[n], ld_id: rwd_i[n].ld_id, host_tag: rwd_i[n].tag};
      hdr[n] = '{op: rwd_i[n].opcode == M2sMemWrPtl ? ReqWritePart : ReqWrite, poison: rwd_i[n].poison, tag: tag[n],
                 line: dpa_line[n]};
      is_read[n] = 1'b0;
      address[2+n] = req_i[n].address;
      info[2+n] = '{is_read: 1'b1, target: target[2+n], ld_id: req_i[n].ld_id, host_tag: req_i[n].tag};
      hdr[2+n] = '{op: ReqRead, poison: 1'b0, tag: tag[2+n], line: dpa_line[2+n]};
      // MemInv changes no data and no cache stands behind this device: it is answered here.
      is_read[2+n] = req_i[n].opcode == M2sMemRd;
    end
  end

  for (genvar i = 0; i < Slots; i++) begin : gen_slot
    nic_hdm_decode u_decode (
      .decoders_i,
      .valid_i   (valid[i]),
      .line_i    (address[i]),
      .hit_o     (hit[i]),
      .module_o  (target[i]),
      .dpa_line_o(dpa_line[i])
    );

    assign goes_out[i] = hit[i] && (i < 2 || is_read[i]) && !dead_o[target[i][ModuleBits-1:0]];
    assign local_in[i] = '{kind: !hit[i] ? LocalNoHit : i < 2 || is_read[i] ? LocalDead : LocalDone,
                           is_read: is_read[i], ld_id: info[i].ld_id, host_tag: info[i].host_tag};

    pf_due_ring #(
      .Width($bits(local_t)),
      .Depth(LocalDepth)
    ) u_local (
      .clk_i,
      .rst_ni,
      .now_i,
      .push_i   (local_push[i]),
      .due_i    (due_ns),
      .data_i   (local_in[i]),
      .room_o   (local_room[i]),
      .valid_o  (local_valid[i]),
      .data_o   (local_out[i]),
      .pop_i    (local_ready[i]),
      .wake_ns_o(local_wake_ns[i])
    );
  end

  // The second lane of a channel is taken only with the first.
  assign ready = can & {can[2] & valid[2], 1'b1, can[0] & valid[0], 1'b1};

  always_comb begin
    can = tags_ready ? local_room : '0;
    for (int unsigned i = 0; i < Slots; i++) begin
      if (goes_out[i] && !queue_room[target[i][ModuleBits-1:0]]) can[i] = 1'b0;
    end
  end

  assign fire = valid & ready;
  assign push = fire & goes_out;
  assign local_push = fire & ~goes_out;

  nic_tag_table #(
    .Modules(Modules),
    .Tags   (Tags)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .ready_o    (tags_ready),
    .tag_o      (tag),
    .take_i     (push),
    .info_i     (info),
    .look_i     (rx_valid_i),
    .look_hdr_i (rx_hdr_i),
    .known_o    (known),
    .info_o     (rx_info),
    .scan_i     (scan),
    .scan_busy_o(scan_busy),
    .scan_info_o(scan_info),
    .give_i     (give),
    .give_tag_i (give_tag),
    .used_o     (tags_used_o)
  );

  nic_path_queues #(
    .Modules   (Modules),
    .Tags      (Tags),
    .QueueDepth(PathQueueDepth)
  ) u_queues (
    .clk_i,
    .rst_ni,
    .now_i,
    .room_o       (queue_room),
    .count_o      (queue_count),
    .push_i       (push),
    .module_i     (target),
    .hdr_i        (hdr),
    .line_i       (rwd_line_i),
    .due_i        (due_ns),
    .drop_i       (dead_o),
    .tx_valid_o,
    .tx_has_data_o,
    .tx_ready_i,
    .tx_hdr_o,
    .tx_line_o,
    .wake_ns_o    (queue_wake_ns)
  );

  assign rx_live = rx_valid_i & known & ~dead_o;
  assign rx_drop = rx_valid_i & ~rx_live;
  assign rx_ready_o = rx_taken | rx_drop;

  nic_path_guard #(
    .Modules(Modules),
    .Tags   (Tags)
  ) u_guard (
    .clk_i,
    .rst_ni,
    .now_i,
    .timeout_ns_i (straps_i.timeout_ns),
    .link_dead_i,
    .push_i       (push),
    .push_module_i(target),
    .waiting_i    (rx_valid_i),
    .taken_i      (rx_taken),
    .dead_o,
    .scan_o       (scan),
    .scan_busy_i  (scan_busy),
    .scan_info_i  (scan_info),
    .flush_valid_o(flush_valid),
    .flush_ready_i(flush_ready),
    .wake_ns_o    (guard_wake_ns)
  );

  // Load in the four levels of DevLoad: tags in use below 1/2, 3/4, 7/8 of all; requests in a path's queue below 32, 64, 128.
  function automatic dev_load_e level(logic light, logic optimal, logic moderate);
    return light ? LoadLight : optimal ? LoadOptimal : moderate ? LoadModerate : LoadSevere;
  endfunction

  assign own_load = level(tags_used_o < (TagBits + 1)'(Tags / 2), tags_used_o < (TagBits + 1)'(Tags / 4 * 3),
                          tags_used_o < (TagBits + 1)'(Tags / 8 * 7));

  always_comb begin
    for (int unsigned m = 0; m < Modules; m++)
      path_load[m] = level(queue_count[m] < 32, queue_count[m] < 64, queue_count[m] < 128);
  end

  nic_return #(
    .Modules(Modules)
  ) u_return (
    .clk_i,
    .rst_ni,
    .rx_valid_i   (rx_live),
    .rx_has_data_i,
    .rx_ready_o   (rx_taken),
    .rx_hdr_i,
    .rx_data_i,
    .rx_info_i    (rx_info),
    .path_load_i  (path_load),
    .local_valid_i(local_valid),
    .local_ready_o(local_ready),
    .local_i      (local_out),
    .flush_valid_i(flush_valid),
    .flush_ready_o(flush_ready),
    .flush_tag_i  (scan),
    .flush_info_i (scan_info),
    .own_load_i   (own_load),
    .give_o       (give),
    .give_tag_o   (give_tag),
    .ndr_valid_o,
    .ndr_ready_i,
    .ndr_o,
    .drs_valid_o,
    .drs_ready_i,
    .drs_o,
    .drs_data_o
  );

  always_comb begin
    wake_ns_o = |rx_valid_i ? now_i : earlier(queue_wake_ns, guard_wake_ns);
    for (int unsigned i = 0; i < Slots; i++) wake_ns_o = earlier(wake_ns_o, local_wake_ns[i]);
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) nxm_count_o <= '0;
    else if ((fire & ~hit) != '0) nxm_count_o <= nxm_count_o + 32'($countones(fire & ~hit));
  end

  initial begin
    if (Modules < 1 || Modules > TargetsMax)
      $fatal(1, "%m: Modules %0d is outside 1..%0d", Modules, TargetsMax);
  end

endmodule
