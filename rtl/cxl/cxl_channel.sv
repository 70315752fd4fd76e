// CXL.mem between one host port and its NIC, at message level, both directions.
//
// Valid and ready at both ends. A flit packer and a link layer with CRC and replay take this module's place without a change
// at either end: they, too, accept messages of the four classes here and deliver them there.

module cxl_channel
  import pf_pkg::*;
  import cxl_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  input  time_ns_t  now_i,
  input  delay_ns_t req_ns_i,
  input  delay_ns_t rsp_ns_i,
  input  rate_b16_t rate_b16_i,
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

  time_ns_t m2s_wake_ns, s2m_wake_ns;

  assign wake_ns_o = earlier(m2s_wake_ns, s2m_wake_ns);

  // One message a cycle and class here: lane 0.
  assign host_req_ready_o[1] = 1'b0;
  assign host_rwd_ready_o[1] = 1'b0;
  assign nic_ndr_ready_o[1] = 1'b0;
  assign nic_drs_ready_o[1] = 1'b0;
  assign nic_req_valid_o[1] = 1'b0;
  assign nic_rwd_valid_o[1] = 1'b0;
  assign host_ndr_valid_o[1] = 1'b0;
  assign host_drs_valid_o[1] = 1'b0;
  assign nic_req_o[1] = '0;
  assign nic_rwd_o[1] = '0;
  assign nic_rwd_line_o[1] = '0;
  assign host_ndr_o[1] = '0;
  assign host_drs_o[1] = '0;
  assign host_drs_data_o[1] = '0;

  cxl_wire #(
    .HeadBits    ($bits(m2s_req_t)),
    .DataHeadBits($bits(m2s_rwd_t)),
    .LineBits    ($bits(wline_t))
  ) u_m2s (
    .clk_i,
    .rst_ni,
    .now_i,
    .delay_ns_i  (req_ns_i),
    .rate_b16_i,
    .head_valid_i(host_req_valid_i[0]),
    .head_ready_o(host_req_ready_o[0]),
    .head_i      (host_req_i[0]),
    .data_valid_i(host_rwd_valid_i[0]),
    .data_ready_o(host_rwd_ready_o[0]),
    .data_head_i (host_rwd_i[0]),
    .data_line_i (host_rwd_line_i[0]),
    .head_valid_o(nic_req_valid_o[0]),
    .head_ready_i(nic_req_ready_i[0]),
    .head_o      (nic_req_o[0]),
    .data_valid_o(nic_rwd_valid_o[0]),
    .data_ready_i(nic_rwd_ready_i[0]),
    .data_head_o (nic_rwd_o[0]),
    .data_line_o (nic_rwd_line_o[0]),
    .wake_ns_o   (m2s_wake_ns)
  );

  cxl_wire #(
    .HeadBits    ($bits(s2m_ndr_t)),
    .DataHeadBits($bits(s2m_drs_t)),
    .LineBits    ($bits(data_t))
  ) u_s2m (
    .clk_i,
    .rst_ni,
    .now_i,
    .delay_ns_i  (rsp_ns_i),
    .rate_b16_i,
    .head_valid_i(nic_ndr_valid_i[0]),
    .head_ready_o(nic_ndr_ready_o[0]),
    .head_i      (nic_ndr_i[0]),
    .data_valid_i(nic_drs_valid_i[0]),
    .data_ready_o(nic_drs_ready_o[0]),
    .data_head_i (nic_drs_i[0]),
    .data_line_i (nic_drs_data_i[0]),
    .head_valid_o(host_ndr_valid_o[0]),
    .head_ready_i(host_ndr_ready_i[0]),
    .head_o      (host_ndr_o[0]),
    .data_valid_o(host_drs_valid_o[0]),
    .data_ready_i(host_drs_ready_i[0]),
    .data_head_o (host_drs_o[0]),
    .data_line_o (host_drs_data_o[0]),
    .wake_ns_o   (s2m_wake_ns)
  );

endmodule
