// Counters of a CXL link, by direction (0 to the NIC, 1 to the host): flits and how full they are, errors, replays, stalls.

module probe_cxl
  import cxl_flit_pkg::*;
  import emu_dpi_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input logic [3:0] id_i,
  // Transmitters
  input logic [1:0] start_i,
  input logic [1:0] build_i,
  input logic [1:0] replaying_i,
  input logic [1:0] nak_i,      // what the end that sends in this direction has to say
  input logic [1:0] expired_i,
  input logic [1:0] head_starved_i,
  input logic [1:0] data_starved_i,
  input logic [1:0] full_i,     // no place in the replay buffer
  input logic [3:0] slots_i[2],
  // Receivers
  input logic [1:0] valid_i,
  input logic [1:0] good_i,
  input logic [1:0] twice_i,
  input logic       down_i
);

  longint     flits_q[2], slots_q[2], crc_errors_q[2], naks_q[2], replays_q[2], timeouts_q[2], twice_q[2];
  longint     head_stalls_q[2], data_stalls_q[2], replay_stalls_q[2];
  logic [1:0] built_q;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      built_q <= '0;
      for (int d = 0; d < 2; d++) begin
        flits_q[d] <= '0;
        slots_q[d] <= '0;
        crc_errors_q[d] <= '0;
        naks_q[d] <= '0;
        replays_q[d] <= '0;
        timeouts_q[d] <= '0;
        twice_q[d] <= '0;
        head_stalls_q[d] <= '0;
        data_stalls_q[d] <= '0;
        replay_stalls_q[d] <= '0;
      end
    end else begin
      if (start_i != 0 || valid_i != 0 || built_q != 0) begin
        built_q <= build_i;
        for (int d = 0; d < 2; d++) begin
          if (start_i[d]) begin
            flits_q[d] <= flits_q[d] + 1;
            if (replaying_i[d]) replays_q[d] <= replays_q[d] + 1;
            if (nak_i[d]) naks_q[d] <= naks_q[d] + 1;
          end
          if (built_q[d]) slots_q[d] <= slots_q[d] + longint'(slots_i[d]);
          if (valid_i[d] && !good_i[d]) crc_errors_q[d] <= crc_errors_q[d] + 1;
          if (twice_i[d]) twice_q[d] <= twice_q[d] + 1;
        end
      end
      if ({expired_i, head_starved_i, data_starved_i, full_i} != 0) begin
        for (int d = 0; d < 2; d++) begin
          if (expired_i[d]) timeouts_q[d] <= timeouts_q[d] + 1;
          if (head_starved_i[d]) head_stalls_q[d] <= head_stalls_q[d] + 1;
          if (data_starved_i[d]) data_stalls_q[d] <= data_stalls_q[d] + 1;
          if (full_i[d]) replay_stalls_q[d] <= replay_stalls_q[d] + 1;
        end
      end
      if (check_pkg::reporting) begin
        emu_counter("cxl_down", 32'(id_i), 0, longint'(down_i));
        for (int d = 0; d < 2; d++) begin
          emu_counter("cxl_flits", 32'(id_i), d, flits_q[d]);
          emu_counter("cxl_slots", 32'(id_i), d, slots_q[d]);
          emu_counter("cxl_crc_errors", 32'(id_i), d, crc_errors_q[d]);
          emu_counter("cxl_naks", 32'(id_i), d, naks_q[d]);
          emu_counter("cxl_replays", 32'(id_i), d, replays_q[d]);
          emu_counter("cxl_timeouts", 32'(id_i), d, timeouts_q[d]);
          emu_counter("cxl_duplicates", 32'(id_i), d, twice_q[d]);
          emu_counter("cxl_stall_head_cycles", 32'(id_i), d, head_stalls_q[d]);
          emu_counter("cxl_stall_data_cycles", 32'(id_i), d, data_stalls_q[d]);
          emu_counter("cxl_stall_replay_cycles", 32'(id_i), d, replay_stalls_q[d]);
        end
      end
    end
  end

endmodule

bind cxl_channel probe_cxl u_probe (
  .clk_i,
  .rst_ni,
  .id_i,
  .start_i       (start_o),
  .build_i       ({u_nic_tx.given_o, u_host_tx.given_o}),
  .replaying_i   ({u_nic_tx.replaying, u_host_tx.replaying}),
  .nak_i         ({nak[1], nak[0]}),
  .expired_i     ({u_nic_tx.expired, u_host_tx.expired}),
  .head_starved_i({u_nic_tx.u_pack.head_starved, u_host_tx.u_pack.head_starved}),
  .data_starved_i({u_nic_tx.u_pack.data_starved, u_host_tx.u_pack.data_starved}),
  .full_i        ({u_nic_tx.full, u_host_tx.full}),
  .slots_i       ('{u_host_tx.u_pack.slots_q, u_nic_tx.u_pack.slots_q}),
  .valid_i       (flit_valid),
  .good_i        ({u_host_rx.good, u_nic_rx.good}),
  .twice_i       ({u_host_rx.twice, u_nic_rx.twice}),
  .down_i        (down)
);
