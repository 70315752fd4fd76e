// Pins of one CXL.mem port: what Python drives and reads, as few flat vectors, one a message and lane.
//
// Python writes the variables below between clock edges; messages are laid out as cxl_pkg says. `fire_o` tells which lanes are
// taken at the coming edge, so that one read a clock finds out whether anything happened: {drs, ndr, rwd, req}, two lanes each.

module port_pins
  import pf_pkg::*;
  import cxl_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  logic [3:0]       id_i,
  output logic [7:0]       fire_o,
  output logic [31:0]      outstanding_o,
  /// Time of the latest completion, or of the first request after idling.
  output time_ns_t         progress_ns_o,
  // CXL.mem
  output logic [Lanes-1:0] req_valid_o,
  input  logic [Lanes-1:0] req_ready_i,
  output m2s_req_t         req_o[Lanes],
  output logic [Lanes-1:0] rwd_valid_o,
  input  logic [Lanes-1:0] rwd_ready_i,
  output m2s_rwd_t         rwd_o[Lanes],
  output wline_t           rwd_line_o[Lanes],
  input  logic [Lanes-1:0] ndr_valid_i,
  output logic [Lanes-1:0] ndr_ready_o,
  input  s2m_ndr_t         ndr_i[Lanes],
  input  logic [Lanes-1:0] drs_valid_i,
  output logic [Lanes-1:0] drs_ready_o,
  input  s2m_drs_t         drs_i[Lanes],
  input  data_t            drs_data_i[Lanes]
);

  // Written by Python.
  logic [1:0]                  req_valid, rwd_valid, ndr_ready, drs_ready;
  logic [$bits(m2s_req_t)-1:0] req0, req1;
  logic [$bits(m2s_rwd_t)-1:0] rwd0, rwd1;
  logic [$bits(wline_t)-1:0]   line0, line1;

  // Read by Python.
  logic [$bits(s2m_ndr_t)-1:0] ndr0, ndr1;
  logic [$bits(s2m_drs_t)-1:0] drs0, drs1;
  logic [511:0]                data0, data1;

  logic [31:0] outstanding_q;
  time_ns_t    progress_ns_q;

  assign req_valid_o = req_valid;
  assign rwd_valid_o = rwd_valid;
  assign ndr_ready_o = ndr_ready;
  assign drs_ready_o = drs_ready;
  assign req_o[0] = m2s_req_t'(req0);
  assign req_o[1] = m2s_req_t'(req1);
  assign rwd_o[0] = m2s_rwd_t'(rwd0);
  assign rwd_o[1] = m2s_rwd_t'(rwd1);
  assign rwd_line_o[0] = wline_t'(line0);
  assign rwd_line_o[1] = wline_t'(line1);
  assign ndr0 = ndr_i[0];
  assign ndr1 = ndr_i[1];
  assign drs0 = drs_i[0];
  assign drs1 = drs_i[1];
  assign data0 = drs_data_i[0];
  assign data1 = drs_data_i[1];

  assign fire_o = {drs_valid_i & drs_ready, ndr_valid_i & ndr_ready, rwd_valid & rwd_ready_i, req_valid & req_ready_i};
  assign outstanding_o = outstanding_q;
  assign progress_ns_o = progress_ns_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      outstanding_q <= '0;
      progress_ns_q <= '0;
    end else if (fire_o != '0) begin
      outstanding_q <= outstanding_q + 32'($countones(fire_o[3:0])) - 32'($countones(fire_o[7:4]));
      if (fire_o[7:4] != '0 || outstanding_q == 0) progress_ns_q <= now_i;
    end
  end

  check_lanes #(.Width($bits(m2s_req_t))) u_check_req (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .valid_i  (req_valid),
    .ready_i  (req_ready_i),
    .message_i({req1, req0})
  );

  check_lanes #(.Width($bits(m2s_rwd_t))) u_check_rwd (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .valid_i  (rwd_valid),
    .ready_i  (rwd_ready_i),
    .message_i({rwd1, rwd0})
  );

  check_lanes #(.Width($bits(s2m_ndr_t))) u_check_ndr (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .valid_i  (ndr_valid_i),
    .ready_i  (ndr_ready),
    .message_i({ndr1, ndr0})
  );

  check_lanes #(.Width($bits(s2m_drs_t)), .Injects(1'b1)) u_check_drs (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .valid_i  (drs_valid_i),
    .ready_i  (drs_ready),
    .message_i({drs1, drs0})
  );

  initial begin
    req_valid = '0;
    rwd_valid = '0;
    ndr_ready = '0;
    drs_ready = '0;
    {req1, req0} = '0;
    {rwd1, rwd0} = '0;
    {line1, line0} = '0;
  end

endmodule
