// Line requests of the emulated host as CXL.mem messages, and their completions back to it: all by DPI.
//
// Up to two requests a cycle and class; a register a lane holds what the link has not yet taken.

module emu_source
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
  import port_lanes_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  logic [3:0]       id_i,
  /// The host is emulated, not a traffic engine.
  input  logic             enable_i,
  output logic [Lanes-1:0] req_valid_o,
  input  logic [Lanes-1:0] req_taken_i,
  output m2s_req_t         req_o[Lanes],
  output logic [Lanes-1:0] rwd_valid_o,
  input  logic [Lanes-1:0] rwd_taken_i,
  output m2s_rwd_t         rwd_o[Lanes],
  output wline_t           rwd_line_o[Lanes],
  input  logic [Lanes-1:0] ndr_fire_i,
  input  s2m_ndr_t         ndr_i[Lanes],
  input  logic [Lanes-1:0] drs_fire_i,
  input  s2m_drs_t         drs_i[Lanes],
  input  data_t            drs_data_i[Lanes],
  output logic [31:0]      outstanding_o
);

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      req_valid_o <= '0;
      rwd_valid_o <= '0;
      outstanding_o <= '0;
    end else if (enable_i) begin
      automatic int unsigned tag = 0;
      automatic logic [63:0] hpa = '0;
      automatic bit [511:0] data = '0;
      automatic bit [63:0] be = '0;
      automatic logic [31:0] outstanding = outstanding_o;
      automatic logic [Lanes-1:0] req_valid = left(req_valid_o, req_taken_i);
      automatic logic [Lanes-1:0] rwd_valid = left(rwd_valid_o, rwd_taken_i);
      if (moves(req_valid_o, req_taken_i)) req_o[0] <= req_o[1];
      if (moves(rwd_valid_o, rwd_taken_i)) begin
        rwd_o[0] <= rwd_o[1];
        rwd_line_o[0] <= rwd_line_o[1];
      end
      for (int unsigned i = 0; i < Lanes; i++) begin
        if (!req_valid[i]) begin
          if (emu_port_pop(now_i, 32'(id_i), 0, tag, hpa, data, be) == EmuOpNone) break;
          req_valid[i] = 1'b1;
          outstanding += 1;
          req_o[i] <= '{opcode: M2sMemRd, snp_type: SnpNone, meta_field: MetaNone, tag: 16'(tag), address: hpa[51:6],
                        default: '0};
          emu_probe(now_i + 1, StageIssue, 32'(id_i), tag, 0);
        end
      end
      for (int unsigned i = 0; i < Lanes; i++) begin
        if (!rwd_valid[i]) begin
          automatic int op = emu_port_pop(now_i, 32'(id_i), 1, tag, hpa, data, be);
          if (op == EmuOpNone) break;
          rwd_valid[i] = 1'b1;
          outstanding += 1;
          rwd_o[i] <= '{opcode: op == EmuOpMemWrPtl ? M2sMemWrPtl : M2sMemWr, snp_type: SnpNone,
                        meta_field: MetaNone, tag: 16'(tag), address: hpa[51:6], default: '0};
          rwd_line_o[i].data <= data;
          rwd_line_o[i].be <= op == EmuOpMemWrPtl ? be : '1;
          emu_probe(now_i + 1, StageIssue, 32'(id_i), tag, 0);
        end
      end
      req_valid_o <= req_valid;
      rwd_valid_o <= rwd_valid;
      for (int unsigned i = 0; i < Lanes; i++) begin
        if (drs_fire_i[i]) begin
          emu_probe(now_i, StageHost, 32'(id_i), 32'(drs_i[i].tag), 0);
          emu_port_done(now_i, 32'(id_i), 32'(drs_i[i].tag),
                        drs_i[i].poison ? EmuPoison : drs_i[i].opcode == S2mMemDataNxm ? EmuNxm : EmuOk,
                        drs_data_i[i]);
          outstanding -= 1;
        end
        if (ndr_fire_i[i]) begin
          emu_probe(now_i, StageHost, 32'(id_i), 32'(ndr_i[i].tag), 0);
          emu_port_done(now_i, 32'(id_i), 32'(ndr_i[i].tag), ndr_i[i].err ? EmuNxm : EmuOk, '0);
          outstanding -= 1;
        end
      end
      outstanding_o <= outstanding;
    end
  end

endmodule
