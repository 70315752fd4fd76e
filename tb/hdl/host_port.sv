// Host port: CXL.mem messages of an emulated host or of a traffic engine, two a cycle and class, and their completions.
//
// Which of the two drives the port is settled when the run starts. `+host_stall_permille=N` makes the port refuse responses that
// often (back-pressure).

module host_port
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_hdm_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  time_ns_t    now_i,
  input  logic [3:0]  id_i,
  input  hdm_decoder_t [Decoders-1:0] decoders_i,
  /// The traffic engine drives the port; its phases (traffic_control); all else has ended.
  input  logic        engine_i,
  input  logic        load_i,
  input  logic [31:0] phase_i,
  input  logic        stop_i,
  /// Faults for the tests of the checkers: send a read twice; take no more responses; an answer is lost, or comes twice.
  input  logic        fault_double_i,
  input  logic        fault_deaf_i,
  input  logic        fault_lose_i,
  input  logic        fault_again_i,
  output logic        busy_o,
  output logic        engine_busy_o,
  /// A message waits for the link, or the port counts cycles: the next one matters.
  output logic        active_o,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t    wake_ns_o,
  output logic [31:0] outstanding_o,
  /// Time of the latest completion, or of the first request after idling.
  output time_ns_t    progress_ns_o,
  // CXL.mem
  output logic [Lanes-1:0] req_valid_o,
  input  logic [Lanes-1:0] req_ready_i,
  output m2s_req_t    req_o[Lanes],
  output logic [Lanes-1:0] rwd_valid_o,
  input  logic [Lanes-1:0] rwd_ready_i,
  output m2s_rwd_t    rwd_o[Lanes],
  output wline_t      rwd_line_o[Lanes],
  input  logic [Lanes-1:0] ndr_valid_i,
  output logic [Lanes-1:0] ndr_ready_o,
  input  s2m_ndr_t    ndr_i[Lanes],
  input  logic [Lanes-1:0] drs_valid_i,
  output logic [Lanes-1:0] drs_ready_o,
  input  s2m_drs_t    drs_i[Lanes],
  input  data_t       drs_data_i[Lanes]
);

  logic [Lanes-1:0] emu_req_valid, emu_rwd_valid, eng_req_valid, eng_rwd_valid;
  m2s_req_t    emu_req[Lanes], eng_req[Lanes];
  m2s_rwd_t    emu_rwd[Lanes], eng_rwd[Lanes];
  wline_t      emu_rwd_line[Lanes], eng_rwd_line[Lanes];
  logic [31:0] emu_outstanding, eng_outstanding;
  logic [Lanes-1:0] req_taken, rwd_taken, ndr_fire, drs_fire, drs_seen;
  logic        doubled_q, req_double, engine_active, lost_q, given_q, again_q, stall;
  s2m_drs_t    seen[Lanes];
  data_t       seen_data[Lanes];
  s2m_drs_t    again_drs_q;
  data_t       again_data_q;
  time_ns_t    progress_ns_q;
  logic [31:0] stall_permille, stall_state_q;

  emu_source u_emulated (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .enable_i     (!engine_i),
    .req_valid_o  (emu_req_valid),
    .req_taken_i  (req_taken),
    .req_o        (emu_req),
    .rwd_valid_o  (emu_rwd_valid),
    .rwd_taken_i  (rwd_taken),
    .rwd_o        (emu_rwd),
    .rwd_line_o   (emu_rwd_line),
    .ndr_fire_i   (ndr_fire),
    .ndr_i,
    .drs_fire_i   (drs_fire),
    .drs_i,
    .drs_data_i,
    .outstanding_o(emu_outstanding)
  );

  traffic_engine u_engine (
    .clk_i,
    .rst_ni,
    .now_i,
    .id_i,
    .decoders_i,
    .load_i,
    .phase_i,
    .stop_i,
    .busy_o       (engine_busy_o),
    .active_o     (engine_active),
    .wake_ns_o,
    .outstanding_o(eng_outstanding),
    .req_valid_o  (eng_req_valid),
    .req_taken_i  (req_taken),
    .req_o        (eng_req),
    .rwd_valid_o  (eng_rwd_valid),
    .rwd_taken_i  (rwd_taken),
    .rwd_o        (eng_rwd),
    .rwd_line_o   (eng_rwd_line),
    .ndr_fire_i   (ndr_fire),
    .ndr_i,
    .drs_fire_i   (drs_seen),
    .drs_i        (seen),
    .drs_data_i   (seen_data)
  );

  assign req_valid_o = engine_i ? eng_req_valid : emu_req_valid;
  assign rwd_valid_o = engine_i ? eng_rwd_valid : emu_rwd_valid;
  assign outstanding_o = engine_i ? eng_outstanding : emu_outstanding;

  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      req_o[i] = engine_i ? eng_req[i] : emu_req[i];
      rwd_o[i] = engine_i ? eng_rwd[i] : emu_rwd[i];
      rwd_line_o[i] = engine_i ? eng_rwd_line[i] : emu_rwd_line[i];
    end
  end

  assign progress_ns_o = progress_ns_q;
  assign busy_o = outstanding_o != 0 || |{req_valid_o, rwd_valid_o};
  assign active_o = |{req_valid_o, rwd_valid_o} || engine_active || again_q || stall_permille != 0;

  assign stall = fault_deaf_i || (stall_permille != 0 && stall_state_q % 1000 < stall_permille);
  assign ndr_ready_o = {Lanes{!stall}};
  assign drs_ready_o = {Lanes{!stall}};
  assign ndr_fire = ndr_valid_i & ndr_ready_o;
  assign drs_fire = drs_valid_i & drs_ready_o;
  assign req_double = fault_double_i && !doubled_q && req_valid_o[0] && req_ready_i[0];
  assign req_taken = req_double ? '0 : req_valid_o & req_ready_i;
  assign rwd_taken = rwd_valid_o & rwd_ready_i;

  // What the engine sees of the read answers: all of them, but for the faults.
  always_comb begin
    drs_seen = drs_fire;
    seen = drs_i;
    seen_data = drs_data_i;
    if (fault_lose_i && !lost_q) drs_seen[0] = 1'b0;
    if (again_q && !drs_fire[1]) begin
      drs_seen[1] = 1'b1;
      seen[1] = again_drs_q;
      seen_data[1] = again_data_q;
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      doubled_q <= 1'b0;
      lost_q <= 1'b0;
      given_q <= 1'b0;
      again_q <= 1'b0;
      progress_ns_q <= '0;
      stall_state_q <= 32'd2463534242 ^ 32'(id_i);
    end else begin
      if (req_double) doubled_q <= 1'b1;
      if (fault_lose_i && drs_fire[0]) lost_q <= 1'b1;
      if (fault_again_i && !given_q && drs_fire[0]) begin
        given_q <= 1'b1;
        again_q <= 1'b1;
        again_drs_q <= drs_i[0];
        again_data_q <= drs_data_i[0];
      end else if (!drs_fire[1]) begin
        again_q <= 1'b0;
      end
      if (|{drs_fire, ndr_fire} || outstanding_o == 0) progress_ns_q <= now_i;
      if (stall_permille != 0) begin
        // xorshift32
        automatic logic [31:0] x = stall_state_q;
        x ^= x << 13;
        x ^= x >> 17;
        x ^= x << 5;
        stall_state_q <= x;
      end
    end
  end

  initial begin
    stall_permille = '0;
    void'($value$plusargs("host_stall_permille=%d", stall_permille));
    if (stall_permille > 999)
      $fatal(1, "%m: strap host_stall_permille = %0d is outside 0..999", stall_permille);
  end

endmodule
