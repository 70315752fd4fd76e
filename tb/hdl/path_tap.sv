// Tap of one lightpath, for a passive agent: messages as they enter and leave it, in both directions.
//
// `fire_o` says what crosses at the coming edge: {rsp out at the NIC, rsp in at the module, req out at the module, req in at
// the NIC}. What a frame is made of is the link's business; the tap sees what it carries.

module path_tap
  import pf_pkg::*;
(
  input  logic     req_tx_fire_i,
  input  req_hdr_t req_tx_hdr_i,
  input  wline_t   req_tx_line_i,
  input  logic     req_rx_fire_i,
  input  req_hdr_t req_rx_hdr_i,
  input  wline_t   req_rx_line_i,
  input  logic     rsp_tx_fire_i,
  input  rsp_hdr_t rsp_tx_hdr_i,
  input  data_t    rsp_tx_data_i,
  input  logic     rsp_rx_fire_i,
  input  rsp_hdr_t rsp_rx_hdr_i,
  input  data_t    rsp_rx_data_i,
  input  logic     rsp_tx_has_data_i,
  input  logic     rsp_rx_has_data_i,
  output logic [3:0] fire_o
);

  // Read by Python: {line, header}, and for responses {line, with data, header}.
  logic [$bits(wline_t)+$bits(req_hdr_t)-1:0] req_in, req_out;
  logic [$bits(data_t)+$bits(rsp_hdr_t):0]    rsp_in, rsp_out;

  assign req_in = {req_tx_line_i, req_tx_hdr_i};
  assign req_out = {req_rx_line_i, req_rx_hdr_i};
  assign rsp_in = {rsp_tx_data_i, rsp_tx_has_data_i, rsp_tx_hdr_i};
  assign rsp_out = {rsp_rx_data_i, rsp_rx_has_data_i, rsp_rx_hdr_i};
  assign fire_o = {rsp_rx_fire_i, rsp_tx_fire_i, req_rx_fire_i, req_tx_fire_i};

endmodule
