// Counters of a switched fabric, by direction (a: 0 requests, 1 responses) and output (b): messages, time for which the first
// hop's port was busy, cycles in which some input waited, and the most messages that one queue held.

module probe_switch_ports
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter int unsigned Hops = 1,
  parameter int unsigned PtrBits = 9
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic                     id_i,
  input rate_b16_t                rate_b16_i,
  input bytes_t                   head_b_i,
  input bytes_t                   line_b_i,
  input logic [Near-1:0][Far-1:0] request_i,
  input logic [Near-1:0][Far-1:0] has_data_i,
  input logic [Near-1:0][Far-1:0] fire_i,
  input logic [PtrBits:0]         passed_i[Hops+1][Far]
);

  longint           messages_q[Far];
  longint           bytes_q   [Far];
  longint           waits_q   [Far];
  logic [PtrBits:0] held_max_q[Far];

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned j = 0; j < Far; j++) begin
        messages_q[j] <= '0;
        bytes_q[j] <= '0;
        waits_q[j] <= '0;
        held_max_q[j] <= '0;
      end
    end else begin
      if (request_i != '0) begin
        for (int unsigned j = 0; j < Far; j++) begin
          automatic bit waits = 1'b0;
          for (int unsigned i = 0; i < Near; i++) begin
            if (fire_i[i][j]) begin
              messages_q[j] <= messages_q[j] + 1;
              bytes_q[j] <= bytes_q[j] + (has_data_i[i][j] ? longint'(line_b_i) : longint'(head_b_i));
            end else if (request_i[i][j]) begin
              waits = 1'b1;
            end
          end
          if (waits) waits_q[j] <= waits_q[j] + 1;
          for (int unsigned k = 0; k < Hops; k++) begin
            if (passed_i[k][j] - passed_i[k+1][j] > held_max_q[j]) held_max_q[j] <= passed_i[k][j] - passed_i[k+1][j];
          end
        end
      end
      if (check_pkg::reporting) begin
        for (int unsigned j = 0; j < Far; j++) begin
          emu_counter("switch_messages", 32'(id_i), j, messages_q[j]);
          emu_counter("switch_busy_ns", 32'(id_i), j, bytes_q[j] * 16 / longint'(rate_b16_i));
          emu_counter("switch_wait_cycles", 32'(id_i), j, waits_q[j]);
          emu_counter("switch_queue_max", 32'(id_i), j, longint'(held_max_q[j]));
        end
      end
    end
  end

endmodule

bind switch_network probe_switch_ports #(
  .Near   (Near),
  .Far    (Far),
  .Hops   (Hops),
  .PtrBits(PtrBits)
) u_ports (
  .clk_i,
  .rst_ni,
  .id_i,
  .rate_b16_i(straps_i.rate_b16),
  .head_b_i  (straps_i.head_b),
  .line_b_i  (straps_i.line_b),
  .request_i (tx_valid_i),
  .has_data_i(tx_has_data_i),
  .fire_i    (tx_fire),
  .passed_i  (passed_q)
);
