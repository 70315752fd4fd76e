// Stage probes of the NIC: message received, request in its path queue, response back.

module probe_nic
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input time_ns_t    now_i,
  input logic [3:0]  id_i,
  input delay_ns_t   decode_ns_i,
  /// By request channel: 0 with data, 1 without.
  input logic [1:0]  fire_i,
  input logic [1:0]  push_i,
  input logic [15:0] rwd_tag_i,
  input logic [15:0] req_tag_i,
  input nic_tag_t    tag_i  [2],
  /// By response channel: 0 with data, 1 without.
  input logic [1:0]  give_i,
  input nic_tag_t    look_i [2],
  input logic [1:0]  local_i,
  input logic [21:0] local_entry_i[2]
);

  always_ff @(posedge clk_i) begin
    if (rst_ni) begin
      for (int unsigned i = 0; i < 2; i++) begin
        if (fire_i[i]) begin
          automatic int host_tag = 32'(i == 0 ? rwd_tag_i : req_tag_i);
          emu_probe(now_i, StageNicRx, 32'(id_i), host_tag, 0);
          // The request is eligible in its queue when it has been decoded.
          if (push_i[i]) emu_probe(now_i + 64'(decode_ns_i), StageNicTag, 32'(id_i), host_tag, 32'(tag_i[i]));
        end
        if (give_i[i]) emu_probe(now_i, StageNicRsp, 32'(id_i), 32'(look_i[i]), 0);
        if (local_i[i]) emu_probe(now_i, StageNicRsp, 32'(id_i), 32'(local_entry_i[i][15:0]), 1);
      end
    end
  end

endmodule

bind pf_nic probe_nic u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .decode_ns_i,
  .fire_i       (fire),
  .push_i       (push),
  .rwd_tag_i    (rwd_i[0].tag),
  .req_tag_i    (req_i[0].tag),
  .tag_i        (tag),
  .give_i       (give),
  .look_i       (look),
  .local_i      (local_ready),
  .local_entry_i(local_out)
);
