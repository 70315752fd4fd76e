// All lightpaths of the mesh, both directions: requests from NICs to modules, responses back.
//
// Each direction carries the acknowledgements and credits of the other one, so here they are crossed over: what a receiver has
// to say leaves with the transmitter at its own end, and what a transmitter must know has come to the receiver at its own end.
// Requests and responses have credits and buffers of their own: responses never wait for requests.

module lightpaths
  import pf_pkg::*;
  import pf_link_pkg::*;
#(
  parameter int unsigned Hosts = 4,
  parameter int unsigned Modules = 4,
  parameter int unsigned Reach = 0  // pf_link_pkg: how much may be under way on a path
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  path_straps_t                  straps_i,
  // NIC ends: requests out, responses in
  input  logic [Hosts-1:0][Modules-1:0] req_tx_valid_i,
  input  logic [Hosts-1:0][Modules-1:0] req_tx_has_data_i,
  output logic [Hosts-1:0][Modules-1:0] req_tx_ready_o,
  input  req_hdr_t                      req_tx_hdr_i    [Hosts][Modules],
  input  wline_t                        req_tx_line_i   [Hosts][Modules],
  output logic [Hosts-1:0][Modules-1:0] rsp_rx_valid_o,
  output logic [Hosts-1:0][Modules-1:0] rsp_rx_has_data_o,
  input  logic [Hosts-1:0][Modules-1:0] rsp_rx_ready_i,
  output rsp_hdr_t                      rsp_rx_hdr_o    [Hosts][Modules],
  output data_t                         rsp_rx_data_o   [Hosts][Modules],
  // Module ends: requests in, responses out
  output logic [Modules-1:0][Hosts-1:0] req_rx_valid_o,
  input  logic [Modules-1:0][Hosts-1:0] req_rx_ready_i,
  output req_hdr_t                      req_rx_hdr_o     [Modules][Hosts],
  output wline_t                        req_rx_line_o    [Modules][Hosts],
  output time_ns_t                      req_rx_since_ns_o[Modules][Hosts],
  input  logic [Modules-1:0][Hosts-1:0] rsp_tx_valid_i,
  input  logic [Modules-1:0][Hosts-1:0] rsp_tx_has_data_i,
  output logic [Modules-1:0][Hosts-1:0] rsp_tx_ready_o,
  input  rsp_hdr_t                      rsp_tx_hdr_i     [Modules][Hosts],
  input  data_t                         rsp_tx_data_i    [Modules][Hosts],
  // Fault hooks of the transmitters; which of them start a frame in this cycle, and its bits
  input  link_fault_t                   req_fault_i      [Hosts][Modules],
  input  link_fault_t                   rsp_fault_i      [Modules][Hosts],
  output logic [Hosts-1:0][Modules-1:0] req_start_o,
  output logic [15:0]                   req_start_bits_o [Hosts][Modules],
  output logic [Modules-1:0][Hosts-1:0] rsp_start_o,
  output logic [15:0]                   rsp_start_bits_o [Modules][Hosts],
  /// Paths that their NIC gives up, and those whose replays to the module have come to the limit; for good.
  input  logic [Hosts-1:0][Modules-1:0] kill_i,
  output logic [Hosts-1:0][Modules-1:0] dead_o,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t                      wake_ns_o
);

  logic [Modules-1:0][Hosts-1:0] unused_req_rx_has_data, unused_rsp_dead;
  time_ns_t                      unused_rsp_rx_since_ns[Hosts][Modules];

  // At the modules: notes on requests, to go out with responses. At the NICs: notes on responses.
  link_note_t                    module_note [Modules][Hosts];
  link_note_t                    module_heard[Modules][Hosts];
  logic [Modules-1:0][Hosts-1:0] module_note_due, module_heard_valid;
  link_note_t                    nic_note    [Hosts][Modules];
  link_note_t                    nic_heard   [Hosts][Modules];
  logic [Hosts-1:0][Modules-1:0] nic_note_due, nic_heard_valid;
  time_ns_t                      req_wake_ns, rsp_wake_ns;

  assign wake_ns_o = earlier(req_wake_ns, rsp_wake_ns);

  lightpath_array #(
    .Near    (Hosts),
    .Far     (Modules),
    .Requests(1'b1),
    .Reach   (Reach),
    .head_t  (req_hdr_t),
    .line_t  (wline_t)
  ) u_requests (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i,
    .tx_valid_i   (req_tx_valid_i),
    .tx_has_data_i(req_tx_has_data_i),
    .tx_ready_o   (req_tx_ready_o),
    .tx_head_i    (req_tx_hdr_i),
    .tx_line_i    (req_tx_line_i),
    .fault_i      (req_fault_i),
    .kill_i,
    .dead_o,
    .start_o      (req_start_o),
    .start_bits_o (req_start_bits_o),
    .note_i       (nic_note),
    .note_due_i   (nic_note_due),
    .heard_valid_i(nic_heard_valid),
    .heard_i      (nic_heard),
    .rx_valid_o   (req_rx_valid_o),
    .rx_has_data_o(unused_req_rx_has_data),
    .rx_ready_i   (req_rx_ready_i),
    .rx_head_o    (req_rx_hdr_o),
    .rx_line_o    (req_rx_line_o),
    .rx_since_ns_o(req_rx_since_ns_o),
    .note_o       (module_note),
    .note_due_o   (module_note_due),
    .note_sent_i  (rsp_start_o),
    .heard_valid_o(module_heard_valid),
    .heard_o      (module_heard),
    .wake_ns_o    (req_wake_ns)
  );

  lightpath_array #(
    .Near    (Modules),
    .Far     (Hosts),
    .Requests(1'b0),
    .Reach   (Reach),
    .head_t  (rsp_hdr_t),
    .line_t  (data_t)
  ) u_responses (
    .clk_i,
    .rst_ni,
    .now_i,
    .straps_i,
    .tx_valid_i   (rsp_tx_valid_i),
    .tx_has_data_i(rsp_tx_has_data_i),
    .tx_ready_o   (rsp_tx_ready_o),
    .tx_head_i    (rsp_tx_hdr_i),
    .tx_line_i    (rsp_tx_data_i),
    .fault_i      (rsp_fault_i),
    .kill_i       ('0),
    .dead_o       (unused_rsp_dead),
    .start_o      (rsp_start_o),
    .start_bits_o (rsp_start_bits_o),
    .note_i       (module_note),
    .note_due_i   (module_note_due),
    .heard_valid_i(module_heard_valid),
    .heard_i      (module_heard),
    .rx_valid_o   (rsp_rx_valid_o),
    .rx_has_data_o(rsp_rx_has_data_o),
    .rx_ready_i   (rsp_rx_ready_i),
    .rx_head_o    (rsp_rx_hdr_o),
    .rx_line_o    (rsp_rx_data_o),
    .rx_since_ns_o(unused_rsp_rx_since_ns),
    .note_o       (nic_note),
    .note_due_o   (nic_note_due),
    .note_sent_i  (req_start_o),
    .heard_valid_o(nic_heard_valid),
    .heard_o      (nic_heard),
    .wake_ns_o    (rsp_wake_ns)
  );

  initial begin
    if (Reach > ReachMax) $fatal(1, "%m: PathReach %0d is outside 0..%0d", Reach, ReachMax);
  end

endmodule
