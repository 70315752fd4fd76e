// Counters of a host port: lines answered by class, cycles in which the link did not take a message, most requests in flight.

module probe_port
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
(
  input logic             clk_i,
  input logic             rst_ni,
  input logic [3:0]       id_i,
  input logic [31:0]      outstanding_i,
  input logic [Lanes-1:0] req_valid_i,
  input logic [Lanes-1:0] req_ready_i,
  input logic [Lanes-1:0] rwd_valid_i,
  input logic [Lanes-1:0] rwd_ready_i,
  input logic [Lanes-1:0] drs_fire_i,
  input logic [Lanes-1:0] ndr_fire_i
);

  // Index 0: reads, 1: writes.
  longint      lines_q[2];
  longint      stall_cycles_q[2];
  logic [31:0] outstanding_max_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      outstanding_max_q <= '0;
      for (int i = 0; i < 2; i++) begin
        lines_q[i] <= '0;
        stall_cycles_q[i] <= '0;
      end
    end else begin
      if (drs_fire_i != '0) lines_q[0] <= lines_q[0] + longint'($countones(drs_fire_i));
      if (ndr_fire_i != '0) lines_q[1] <= lines_q[1] + longint'($countones(ndr_fire_i));
      if (req_valid_i[0] && !req_ready_i[0]) stall_cycles_q[0] <= stall_cycles_q[0] + 1;
      if (rwd_valid_i[0] && !rwd_ready_i[0]) stall_cycles_q[1] <= stall_cycles_q[1] + 1;
      if (outstanding_i > outstanding_max_q) outstanding_max_q <= outstanding_i;
      if (check_pkg::reporting) begin
        for (int i = 0; i < 2; i++) begin
          emu_counter("port_lines", 32'(id_i), i, lines_q[i]);
          emu_counter("port_stall_cycles", 32'(id_i), i, stall_cycles_q[i]);
        end
        emu_counter("port_outstanding_max", 32'(id_i), 0, longint'(outstanding_max_q));
      end
    end
  end

endmodule

bind host_port probe_port u_probe (
  .clk_i,
  .rst_ni,
  .id_i,
  .outstanding_i(outstanding_o),
  .req_valid_i(req_valid_o),
  .req_ready_i,
  .rwd_valid_i(rwd_valid_o),
  .rwd_ready_i,
  .drs_fire_i (drs_valid_i & drs_ready_o),
  .ndr_fire_i (ndr_valid_i & ndr_ready_o)
);
