// Host port: takes line requests from the emulated host, makes CXL.mem messages of them and gives the completions back.
//
// One request a cycle and channel; a register a channel holds what the link has not yet taken. `+host_stall_permille=N` makes
// the port refuse responses that often (back-pressure).

module host_port
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  time_ns_t    now_i,
  input  logic [3:0]  id_i,
  /// Faults for the tests of the checkers: send a read twice; take no more responses.
  input  logic        fault_double_i,
  input  logic        fault_deaf_i,
  output logic        busy_o,
  /// A message waits for the link, or the port counts cycles: the next one matters.
  output logic        active_o,
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

  logic        req_valid_q, rwd_valid_q, doubled_q;
  m2s_req_t    req_q;
  m2s_rwd_t    rwd_q;
  wline_t      rwd_line_q;
  logic [31:0] outstanding_q;
  time_ns_t    progress_ns_q;
  logic [31:0] stall_permille;
  logic [31:0] stall_state_q;
  logic        stall, req_take, rwd_take, req_double, ndr_fire, drs_fire;

  // One message a cycle and class: lane 0.
  assign req_valid_o[1] = 1'b0;
  assign rwd_valid_o[1] = 1'b0;
  assign ndr_ready_o[1] = 1'b0;
  assign drs_ready_o[1] = 1'b0;
  assign req_o[1] = '0;
  assign rwd_o[1] = '0;
  assign rwd_line_o[1] = '0;

  assign req_valid_o[0] = req_valid_q;
  assign req_o[0] = req_q;
  assign rwd_valid_o[0] = rwd_valid_q;
  assign rwd_o[0] = rwd_q;
  assign rwd_line_o[0] = rwd_line_q;
  assign outstanding_o = outstanding_q;
  assign progress_ns_o = progress_ns_q;
  assign busy_o = outstanding_q != 0;
  assign active_o = req_valid_q || rwd_valid_q || stall_permille != 0;

  assign stall = fault_deaf_i || (stall_permille != 0 && stall_state_q % 1000 < stall_permille);
  assign ndr_ready_o[0] = !stall;
  assign drs_ready_o[0] = !stall;
  assign ndr_fire = ndr_valid_i[0] && ndr_ready_o[0];
  assign drs_fire = drs_valid_i[0] && drs_ready_o[0];
  assign req_double = fault_double_i && !doubled_q && req_valid_q && req_ready_i[0];
  assign req_take = (!req_valid_q || req_ready_i[0]) && !req_double;
  assign rwd_take = !rwd_valid_q || rwd_ready_i[0];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      req_valid_q <= 1'b0;
      rwd_valid_q <= 1'b0;
      doubled_q <= 1'b0;
      outstanding_q <= '0;
      progress_ns_q <= '0;
      stall_state_q <= 32'd2463534242 ^ 32'(id_i);
    end else begin
      automatic int unsigned tag = 0;
      automatic logic [63:0] hpa = '0;
      automatic bit [511:0] data = '0;
      automatic bit [63:0] be = '0;
      automatic logic [31:0] taken = 0;
      if (req_take) begin
        automatic int op = emu_port_pop(now_i, 32'(id_i), 0, tag, hpa, data, be);
        req_valid_q <= op != EmuOpNone;
        if (op != EmuOpNone) begin
          taken += 1;
          req_q <= '{opcode: M2sMemRd, snp_type: SnpNone, meta_field: MetaNone, tag: 16'(tag),
                     address: hpa[51:6], default: '0};
          emu_probe(now_i + 1, StageIssue, 32'(id_i), tag, 0);
        end
      end
      if (rwd_take) begin
        automatic int op = emu_port_pop(now_i, 32'(id_i), 1, tag, hpa, data, be);
        rwd_valid_q <= op != EmuOpNone;
        if (op != EmuOpNone) begin
          taken += 1;
          rwd_q <= '{opcode: op == EmuOpMemWrPtl ? M2sMemWrPtl : M2sMemWr, snp_type: SnpNone, meta_field: MetaNone,
                     tag: 16'(tag), address: hpa[51:6], default: '0};
          rwd_line_q.data <= data;
          rwd_line_q.be <= op == EmuOpMemWrPtl ? be : '1;
          emu_probe(now_i + 1, StageIssue, 32'(id_i), tag, 0);
        end
      end
      if (drs_fire) begin
        emu_probe(now_i, StageHost, 32'(id_i), 32'(drs_i[0].tag), 0);
        emu_port_done(now_i, 32'(id_i), 32'(drs_i[0].tag),
                      drs_i[0].poison ? EmuPoison : drs_i[0].opcode == S2mMemDataNxm ? EmuNxm : EmuOk, drs_data_i[0]);
      end
      if (ndr_fire) begin
        emu_probe(now_i, StageHost, 32'(id_i), 32'(ndr_i[0].tag), 0);
        emu_port_done(now_i, 32'(id_i), 32'(ndr_i[0].tag), ndr_i[0].err ? EmuNxm : EmuOk, '0);
      end
      if (req_double) doubled_q <= 1'b1;
      outstanding_q <= outstanding_q + taken + 32'(req_double) - 32'(drs_fire) - 32'(ndr_fire);
      if (drs_fire || ndr_fire || (outstanding_q == 0 && taken != 0)) progress_ns_q <= now_i;
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
