// Passive fibre shuffle: port j of NIC i meets port i of module j. Wiring only, for both directions.

module fiber_shuffle
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4
) (
  // Requests, NIC side in
  input  logic     [Hosts-1:0][Modules-1:0] nic_req_valid_i,
  output logic     [Hosts-1:0][Modules-1:0] nic_req_ready_o,
  input  req_hdr_t                          nic_req_hdr_i     [Hosts][Modules],
  input  wline_t                            nic_req_line_i    [Hosts][Modules],
  input  time_ns_t                          nic_req_since_ns_i[Hosts][Modules],
  // Requests, module side out
  output logic     [Modules-1:0][Hosts-1:0] mod_req_valid_o,
  input  logic     [Modules-1:0][Hosts-1:0] mod_req_ready_i,
  output req_hdr_t                          mod_req_hdr_o     [Modules][Hosts],
  output wline_t                            mod_req_line_o    [Modules][Hosts],
  output time_ns_t                          mod_req_since_ns_o[Modules][Hosts],
  // Responses, module side in
  input  logic     [Modules-1:0][Hosts-1:0] mod_rsp_valid_i,
  input  logic     [Modules-1:0][Hosts-1:0] mod_rsp_has_data_i,
  output logic     [Modules-1:0][Hosts-1:0] mod_rsp_ready_o,
  input  rsp_hdr_t                          mod_rsp_hdr_i     [Modules][Hosts],
  input  data_t                             mod_rsp_data_i    [Modules][Hosts],
  // Responses, NIC side out
  output logic     [Hosts-1:0][Modules-1:0] nic_rsp_valid_o,
  output logic     [Hosts-1:0][Modules-1:0] nic_rsp_has_data_o,
  input  logic     [Hosts-1:0][Modules-1:0] nic_rsp_ready_i,
  output rsp_hdr_t                          nic_rsp_hdr_o     [Hosts][Modules],
  output data_t                             nic_rsp_data_o    [Hosts][Modules]
);

  for (genvar i = 0; i < Hosts; i++) begin : gen_nic
    for (genvar j = 0; j < Modules; j++) begin : gen_module
      assign mod_req_valid_o[j][i] = nic_req_valid_i[i][j];
      assign nic_req_ready_o[i][j] = mod_req_ready_i[j][i];
      assign mod_req_hdr_o[j][i] = nic_req_hdr_i[i][j];
      assign mod_req_line_o[j][i] = nic_req_line_i[i][j];
      assign mod_req_since_ns_o[j][i] = nic_req_since_ns_i[i][j];
      assign nic_rsp_valid_o[i][j] = mod_rsp_valid_i[j][i];
      assign nic_rsp_has_data_o[i][j] = mod_rsp_has_data_i[j][i];
      assign mod_rsp_ready_o[j][i] = nic_rsp_ready_i[i][j];
      assign nic_rsp_hdr_o[i][j] = mod_rsp_hdr_i[j][i];
      assign nic_rsp_data_o[i][j] = mod_rsp_data_i[j][i];
    end
  end

endmodule
