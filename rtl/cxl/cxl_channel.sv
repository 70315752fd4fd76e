// CXL.mem between one host port and its NIC: both ends of the link and the line between them.
//
//   host port -> cxl_link_tx (pack, replay) -> line -> cxl_link_rx (CRC, order, unpack) -> NIC       M2S: Req, RwD
//   host port <- cxl_host_tags <- cxl_link_rx <- line <- cxl_link_tx <- NIC                          S2M: NDR, DRS
//
// Each end's receiver tells its transmitter what to acknowledge and which credits to give back. When an end gives the link up
// both ends know it, as a link that is not trained is seen from both sides: requests are then answered at the host's end, and
// what the NIC still sends is taken and forgotten. Only a reset brings the link back.

module cxl_channel
  import pf_pkg::*;
  import cxl_pkg::*;
  import cxl_flit_pkg::*;
#(
  parameter int unsigned HostTags = 4096,  // tags of the host port are below this
  parameter int unsigned RxDepth = 256     // messages of a class that a receiver holds
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  time_ns_t    now_i,
  /// Which host's link this is.
  input  logic [3:0]  id_i,
  input  cxl_straps_t straps_i,
  /// What befalls the next flit: 0 to the NIC, 1 to the host.
  input  link_fault_t fault_i[2],
  /// A flit starts in this cycle: 0 to the NIC, 1 to the host.
  output logic [1:0]  start_o,
  /// The NIC's device is in viral state.
  input  logic        viral_i,
  output cxl_status_t status_o,
  // Host port side
  input  logic [Lanes-1:0] host_req_valid_i,
  output logic [Lanes-1:0] host_req_ready_o,
  input  m2s_req_t  host_req_i[Lanes],
  input  logic [Lanes-1:0] host_rwd_valid_i,
  output logic [Lanes-1:0] host_rwd_ready_o,
  input  m2s_rwd_t  host_rwd_i[Lanes],
  input  wline_t    host_rwd_line_i[Lanes],
  output logic [Lanes-1:0] host_ndr_valid_o,
  input  logic [Lanes-1:0] host_ndr_ready_i,
  output s2m_ndr_t  host_ndr_o[Lanes],
  output logic [Lanes-1:0] host_drs_valid_o,
  input  logic [Lanes-1:0] host_drs_ready_i,
  output s2m_drs_t  host_drs_o[Lanes],
  output data_t     host_drs_data_o[Lanes],
  // NIC side
  output logic [Lanes-1:0] nic_req_valid_o,
  input  logic [Lanes-1:0] nic_req_ready_i,
  output m2s_req_t  nic_req_o[Lanes],
  output logic [Lanes-1:0] nic_rwd_valid_o,
  input  logic [Lanes-1:0] nic_rwd_ready_i,
  output m2s_rwd_t  nic_rwd_o[Lanes],
  output wline_t    nic_rwd_line_o[Lanes],
  input  logic [Lanes-1:0] nic_ndr_valid_i,
  output logic [Lanes-1:0] nic_ndr_ready_o,
  input  s2m_ndr_t  nic_ndr_i[Lanes],
  input  logic [Lanes-1:0] nic_drs_valid_i,
  output logic [Lanes-1:0] nic_drs_ready_o,
  input  s2m_drs_t  nic_drs_i[Lanes],
  input  data_t     nic_drs_data_i[Lanes],
  /// Time of the next action of its own; all ones when empty.
  output time_ns_t  wake_ns_o
);

  localparam int unsigned ReqBits = $bits(m2s_req_t);
  localparam int unsigned RwdBits = $bits(m2s_rwd_t);
  localparam int unsigned NdrBits = $bits(s2m_ndr_t);
  localparam int unsigned DrsBits = $bits(s2m_drs_t);

  // Index 0: the host's end; 1: the NIC's end.
  seq_t          ack[2], got_ack[2];
  logic [1:0]    nak, ack_due, give_due, given, got, got_nak, dead;
  flit_credits_t give[2], got_credits[2];
  time_ns_t      tx_wake_ns[2], rx_wake_ns[2];
  time_ns_t      tags_wake_ns;

  // Lines, flit_valid: 0 to the NIC, 1 to the host. Two names: half of an array of flits would be copied at each port.
  logic [1:0] flit_valid;
  word_t      flit_m2s[Words];
  word_t      flit_s2m[Words];

  logic down;
  time_ns_t round_trip_ns, timeout_ns;

  // A replay begins to arrive a round trip after its Nak, and the flits that are already on their way in between.
  assign round_trip_ns = time_ns_t'(straps_i.req_ns) + time_ns_t'(straps_i.rsp_ns) + 64'd16;
  assign timeout_ns = round_trip_ns + time_ns_t'(straps_i.ack_ns) + time_ns_t'(straps_i.replay_ns);
  assign down = |dead;
  assign status_o.down = down;

  always_comb begin
    wake_ns_o = tags_wake_ns;
    for (int unsigned e = 0; e < 2; e++) wake_ns_o = earlier(wake_ns_o, earlier(tx_wake_ns[e], rx_wake_ns[e]));
  end

  // M2S
  logic [ReqBits-1:0] req_in[Lanes], req_out[Lanes];
  logic [RwdBits-1:0] rwd_in[Lanes], rwd_out[Lanes];
  data_t              rwd_line_in[Lanes], rwd_line_out[Lanes];
  logic [63:0]        rwd_be_in[Lanes], rwd_be_out[Lanes];
  // S2M
  logic [NdrBits-1:0] ndr_in[Lanes], ndr_out[Lanes];
  logic [DrsBits-1:0] drs_in[Lanes], drs_out[Lanes];
  logic [63:0]        all_bytes[Lanes], unused_be[Lanes];
  logic [Lanes-1:0]   link_ndr_valid, link_ndr_ready, link_drs_valid, link_drs_ready;
  s2m_ndr_t           link_ndr[Lanes];
  s2m_drs_t           link_drs[Lanes];
  data_t              link_drs_data[Lanes];
  logic               unused_viral;

  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    assign req_in[l] = host_req_i[l];
    assign rwd_in[l] = host_rwd_i[l];
    assign rwd_line_in[l] = host_rwd_line_i[l].data;
    assign rwd_be_in[l] = host_rwd_line_i[l].be;
    assign nic_req_o[l] = m2s_req_t'(req_out[l]);
    assign nic_rwd_o[l] = m2s_rwd_t'(rwd_out[l]);
    assign nic_rwd_line_o[l] = '{be: rwd_be_out[l], data: rwd_line_out[l]};
    assign ndr_in[l] = nic_ndr_i[l];
    assign drs_in[l] = nic_drs_i[l];
    assign all_bytes[l] = '1;
    assign link_ndr[l] = s2m_ndr_t'(ndr_out[l]);
    assign link_drs[l] = s2m_drs_t'(drs_out[l]);
  end

  cxl_link_tx #(
    .HeadBits    (ReqBits),
    .DataHeadBits(RwdBits),
    .SlotFields  (1),
    .Enables     (1'b1),
    .RxDepth     (RxDepth)
  ) u_host_tx (
    .clk_i,
    .rst_ni,
    .now_i,
    .delay_ns_i   (straps_i.req_ns),
    .rate_b16_i   (straps_i.rate_b16),
    .timeout_ns_i (timeout_ns),
    .limit_i      (straps_i.replay_limit),
    .fault_i      (fault_i[0]),
    .start_o      (start_o[0]),
    .down_i       (down),
    .dead_o       (dead[0]),
    .viral_i      (1'b0),
    .head_valid_i (host_req_valid_i),
    .head_ready_o (host_req_ready_o),
    .head_i       (req_in),
    .data_valid_i (host_rwd_valid_i),
    .data_ready_o (host_rwd_ready_o),
    .data_head_i  (rwd_in),
    .data_line_i  (rwd_line_in),
    .data_be_i    (rwd_be_in),
    .ack_i        (ack[0]),
    .nak_i        (nak[0]),
    .ack_due_i    (ack_due[0]),
    .give_i       (give[0]),
    .give_due_i   (give_due[0]),
    .given_o      (given[0]),
    .got_i        (got[0]),
    .got_ack_i    (got_ack[0]),
    .got_nak_i    (got_nak[0]),
    .got_credits_i(got_credits[0]),
    .valid_o      (flit_valid[0]),
    .flit_o       (flit_m2s),
    .wake_ns_o    (tx_wake_ns[0])
  );

  cxl_link_rx #(
    .HeadBits    (ReqBits),
    .DataHeadBits(RwdBits),
    .SlotFields  (1),
    .Enables     (1'b1),
    .RxDepth     (RxDepth)
  ) u_nic_rx (
    .clk_i,
    .rst_ni,
    .now_i,
    .ack_ns_i     (straps_i.ack_ns),
    .replay_ns_i  (round_trip_ns),
    .down_i       (down),
    .valid_i      (flit_valid[0]),
    .flit_i       (flit_m2s),
    .head_valid_o (nic_req_valid_o),
    .head_ready_i (nic_req_ready_i),
    .head_o       (req_out),
    .data_valid_o (nic_rwd_valid_o),
    .data_ready_i (nic_rwd_ready_i),
    .data_head_o  (rwd_out),
    .data_line_o  (rwd_line_out),
    .data_be_o    (rwd_be_out),
    .ack_o        (ack[1]),
    .nak_o        (nak[1]),
    .ack_due_o    (ack_due[1]),
    .give_o       (give[1]),
    .give_due_o   (give_due[1]),
    .told_i       (start_o[1]),
    .given_i      (given[1]),
    .got_o        (got[1]),
    .got_ack_o    (got_ack[1]),
    .got_nak_o    (got_nak[1]),
    .got_credits_o(got_credits[1]),
    .viral_o      (unused_viral),
    .wake_ns_o    (rx_wake_ns[1])
  );

  cxl_link_tx #(
    .HeadBits    (NdrBits),
    .DataHeadBits(DrsBits),
    .SlotFields  (3),
    .RxDepth     (RxDepth)
  ) u_nic_tx (
    .clk_i,
    .rst_ni,
    .now_i,
    .delay_ns_i   (straps_i.rsp_ns),
    .rate_b16_i   (straps_i.rate_b16),
    .timeout_ns_i (timeout_ns),
    .limit_i      (straps_i.replay_limit),
    .fault_i      (fault_i[1]),
    .start_o      (start_o[1]),
    .down_i       (down),
    .dead_o       (dead[1]),
    .viral_i,
    .head_valid_i (nic_ndr_valid_i),
    .head_ready_o (nic_ndr_ready_o),
    .head_i       (ndr_in),
    .data_valid_i (nic_drs_valid_i),
    .data_ready_o (nic_drs_ready_o),
    .data_head_i  (drs_in),
    .data_line_i  (nic_drs_data_i),
    .data_be_i    (all_bytes),
    .ack_i        (ack[1]),
    .nak_i        (nak[1]),
    .ack_due_i    (ack_due[1]),
    .give_i       (give[1]),
    .give_due_i   (give_due[1]),
    .given_o      (given[1]),
    .got_i        (got[1]),
    .got_ack_i    (got_ack[1]),
    .got_nak_i    (got_nak[1]),
    .got_credits_i(got_credits[1]),
    .valid_o      (flit_valid[1]),
    .flit_o       (flit_s2m),
    .wake_ns_o    (tx_wake_ns[1])
  );

  cxl_link_rx #(
    .HeadBits    (NdrBits),
    .DataHeadBits(DrsBits),
    .SlotFields  (3),
    .RxDepth     (RxDepth)
  ) u_host_rx (
    .clk_i,
    .rst_ni,
    .now_i,
    .ack_ns_i     (straps_i.ack_ns),
    .replay_ns_i  (round_trip_ns),
    .down_i       (down),
    .valid_i      (flit_valid[1]),
    .flit_i       (flit_s2m),
    .head_valid_o (link_ndr_valid),
    .head_ready_i (link_ndr_ready),
    .head_o       (ndr_out),
    .data_valid_o (link_drs_valid),
    .data_ready_i (link_drs_ready),
    .data_head_o  (drs_out),
    .data_line_o  (link_drs_data),
    .data_be_o    (unused_be),
    .ack_o        (ack[0]),
    .nak_o        (nak[0]),
    .ack_due_o    (ack_due[0]),
    .give_o       (give[0]),
    .give_due_o   (give_due[0]),
    .told_i       (start_o[0]),
    .given_i      (given[0]),
    .got_o        (got[0]),
    .got_ack_o    (got_ack[0]),
    .got_nak_o    (got_nak[0]),
    .got_credits_o(got_credits[0]),
    .viral_o      (status_o.viral),
    .wake_ns_o    (rx_wake_ns[0])
  );

  cxl_host_tags #(
    .Tags(HostTags)
  ) u_tags (
    .clk_i,
    .rst_ni,
    .now_i,
    .down_i          (down),
    .req_fire_i      (host_req_valid_i & host_req_ready_o),
    .req_i           (host_req_i),
    .rwd_fire_i      (host_rwd_valid_i & host_rwd_ready_o),
    .rwd_i           (host_rwd_i),
    .link_ndr_valid_i(link_ndr_valid),
    .link_ndr_ready_o(link_ndr_ready),
    .link_ndr_i      (link_ndr),
    .link_drs_valid_i(link_drs_valid),
    .link_drs_ready_o(link_drs_ready),
    .link_drs_i      (link_drs),
    .link_drs_data_i (link_drs_data),
    .ndr_valid_o     (host_ndr_valid_o),
    .ndr_ready_i     (host_ndr_ready_i),
    .ndr_o           (host_ndr_o),
    .drs_valid_o     (host_drs_valid_o),
    .drs_ready_i     (host_drs_ready_i),
    .drs_o           (host_drs_o),
    .drs_data_o      (host_drs_data_o),
    .failed_count_o  (status_o.failed_count),
    .wake_ns_o       (tags_wake_ns)
  );

endmodule
