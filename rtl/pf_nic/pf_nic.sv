// PF-NIC: ends CXL.mem, finds the module that holds the address and carries the transaction over the lightpath to it.
//
// Requests are decoded, get a tag of the NIC and wait in the queue of their lightpath; responses come back in any order across
// modules and go to the host under its own tag. An address that no decoder claims is answered here and counted.
// A request with data goes first when both channels deliver in one cycle.

module pf_nic
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
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
  input  delay_ns_t                   decode_ns_i,
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
  /// Transactions whose address no decoder claims, since reset.
  output logic [31:0]                 nxm_count_o,
  output logic [$clog2(Tags):0]       tags_used_o,
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t                    wake_ns_o
);

  localparam int unsigned LocalDepth = 16;
  localparam int unsigned InfoBits = 20;

  // Index 0: request with data (RwD); 1: request without (Req).
  logic      hit       [2];
  logic      to_module [2];
  logic [3:0] target   [2];
  dpa_line_t dpa_line  [2];
  nic_tag_t  tag       [2];
  logic [InfoBits-1:0] info[2];
  req_hdr_t  hdr       [2];
  nic_tag_t  look      [2];
  logic [InfoBits-1:0] look_info[2];
  logic [1:0] fire, push, give, local_push, local_room, local_valid, local_ready;
  logic [21:0] local_in[2], local_out[2];
  logic      tags_ready;
  logic [Modules-1:0] queue_room;
  logic      req_is_read;
  dev_load_e dev_load;
  time_ns_t  queue_wake_ns;
  time_ns_t  local_wake_ns[2];

  // One message a cycle and class here: lane 0.
  assign req_ready_o[1] = 1'b0;
  assign rwd_ready_o[1] = 1'b0;
  assign ndr_valid_o[1] = 1'b0;
  assign drs_valid_o[1] = 1'b0;
  assign ndr_o[1] = '0;
  assign drs_o[1] = '0;
  assign drs_data_o[1] = '0;

  assign wake_ns_o = |rx_valid_i ? now_i : earlier(queue_wake_ns, earlier(local_wake_ns[0], local_wake_ns[1]));

  nic_hdm_decode u_decode_rwd (
    .decoders_i,
    .valid_i   (rwd_valid_i[0]),
    .line_i    (rwd_i[0].address),
    .hit_o     (hit[0]),
    .module_o  (target[0]),
    .dpa_line_o(dpa_line[0])
  );

  nic_hdm_decode u_decode_req (
    .decoders_i,
    .valid_i   (req_valid_i[0]),
    .line_i    (req_i[0].address),
    .hit_o     (hit[1]),
    .module_o  (target[1]),
    .dpa_line_o(dpa_line[1])
  );

  // MemInv changes no data and no cache stands behind this device: it is answered here.
  assign req_is_read = req_i[0].opcode == M2sMemRd;
  assign to_module[0] = hit[0];
  assign to_module[1] = hit[1] && req_is_read;

  assign rwd_ready_o[0] = tags_ready && local_room[0] && (!to_module[0] || queue_room[target[0][ModuleBits-1:0]]);
  assign req_ready_o[0] = tags_ready && local_room[1] && (!to_module[1] || queue_room[target[1][ModuleBits-1:0]]);
  assign fire = {req_valid_i[0] && req_ready_o[0], rwd_valid_i[0] && rwd_ready_o[0]};
  assign push = fire & {to_module[1], to_module[0]};
  assign local_push = fire & ~{to_module[1], to_module[0]};

  assign info[0] = {rwd_i[0].ld_id, rwd_i[0].tag};
  assign info[1] = {req_i[0].ld_id, req_i[0].tag};
  assign hdr[0] = '{op: rwd_i[0].opcode == M2sMemWrPtl ? ReqWritePart : ReqWrite, poison: rwd_i[0].poison, tag: tag[0], line: dpa_line[0]};
  assign hdr[1] = '{op: ReqRead, poison: 1'b0, tag: tag[1], line: dpa_line[1]};
  assign local_in[0] = {1'b1, 1'b0, info[0]};
  assign local_in[1] = {!hit[1], req_is_read, info[1]};

  nic_tag_table #(
    .Tags    (Tags),
    .InfoBits(InfoBits)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .ready_o(tags_ready),
    .tag_o  (tag),
    .take_i (push),
    .info_i (info),
    .look_i (look),
    .info_o (look_info),
    .give_i (give),
    .used_o (tags_used_o)
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
    .push_i       (push),
    .module_i     (target),
    .hdr_i        (hdr),
    .due_i        (now_i + time_ns_t'(decode_ns_i)),
    .line_i       (rwd_line_i[0]),
    .tx_valid_o,
    .tx_has_data_o,
    .tx_ready_i,
    .tx_hdr_o,
    .tx_line_o,
    .wake_ns_o    (queue_wake_ns)
  );

  for (genvar i = 0; i < 2; i++) begin : gen_local
    pf_due_ring #(
      .Width(22),
      .Depth(LocalDepth)
    ) u_local (
      .clk_i,
      .rst_ni,
      .now_i,
      .push_i (local_push[i]),
      .due_i  (now_i + time_ns_t'(decode_ns_i)),
      .data_i (local_in[i]),
      .room_o (local_room[i]),
      .valid_o(local_valid[i]),
      .data_o (local_out[i]),
      .pop_i  (local_ready[i]),
      .wake_ns_o(local_wake_ns[i])
    );
  end

  // Device load from the share of tags in use.
  always_comb begin
    unique case (tags_used_o[$clog2(Tags)-:3])
      3'b000, 3'b001: dev_load = LoadLight;
      3'b010:         dev_load = LoadOptimal;
      3'b011:         dev_load = tags_used_o[$clog2(Tags)-3] ? LoadSevere : LoadModerate;
      default:        dev_load = LoadSevere;
    endcase
  end

  nic_return #(
    .Modules(Modules)
  ) u_return (
    .clk_i,
    .rst_ni,
    .rx_valid_i,
    .rx_has_data_i,
    .rx_ready_o,
    .rx_hdr_i,
    .rx_data_i,
    .look_o       (look),
    .info_i       (look_info),
    .give_o       (give),
    .dev_load_i   (dev_load),
    .local_valid_i(local_valid),
    .local_ready_o(local_ready),
    .local_i      (local_out),
    .ndr_valid_o(ndr_valid_o[0]),
    .ndr_ready_i(ndr_ready_i[0]),
    .ndr_o(ndr_o[0]),
    .drs_valid_o(drs_valid_o[0]),
    .drs_ready_i(drs_ready_i[0]),
    .drs_o(drs_o[0]),
    .drs_data_o(drs_data_o[0])
  );

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) nxm_count_o <= '0;
    else nxm_count_o <= nxm_count_o + 32'(fire[0] && !hit[0]) + 32'(fire[1] && !hit[1]);
  end

  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;

  initial begin
    if (Modules < 1 || Modules > TargetsMax)
      $fatal(1, "%m: Modules %0d is outside 1..%0d", Modules, TargetsMax);
  end

endmodule
