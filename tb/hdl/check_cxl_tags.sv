// CXL link: host tags are small enough; and where the checkers of its lines and classes (check_cxl_line, check_cxl_order)
// are bound.

module check_cxl_tags
  import pf_pkg::*;
  import cxl_pkg::*;
#(
  parameter int unsigned HostTags = 4096
) (
  input logic             clk_i,
  input logic             rst_ni,
  input time_ns_t         now_i,
  input logic [Lanes-1:0] req_fire_i,
  input m2s_req_t         req_i[Lanes],
  input logic [Lanes-1:0] rwd_fire_i,
  input m2s_rwd_t         rwd_i[Lanes]
);

  longint unsigned inject_ns;
  bit inject;

  function automatic void check(logic [15:0] tag);
    if (32'(tag) + (inject && now_i >= inject_ns ? HostTags : 0) >= HostTags)
      $fatal(1, "%m: t=%0d ns: host tag %0d is not below %0d", now_i, tag, HostTags);
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && {req_fire_i, rwd_fire_i} != 0) begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (req_fire_i[l]) check(req_i[l].tag);
        if (rwd_fire_i[l]) check(rwd_i[l].tag);
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected() == "cxl_tag";
  end

endmodule

bind cxl_channel check_cxl_tags #(
  .HostTags(HostTags)
) u_check_tags (
  .clk_i,
  .rst_ni,
  .now_i,
  .req_fire_i(host_req_valid_i & host_req_ready_o),
  .req_i     (host_req_i),
  .rwd_fire_i(host_rwd_valid_i & host_rwd_ready_o),
  .rwd_i     (host_rwd_i)
);

bind cxl_channel check_cxl_line #(
  .RxDepth(RxDepth)
) u_check_m2s (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .credits_i ('{32'(u_host_tx.u_pack.head_credits_q), 32'(u_host_tx.u_pack.data_credits_q)}),
  .packed_i  ('{32'(u_host_tx.u_pack.head_rd_q), 32'(u_host_tx.u_pack.data_rd_q)}),
  .unpacked_i('{32'(u_nic_rx.u_unpack.head_wr_q), 32'(u_nic_rx.u_unpack.data_wr_q)}),
  .taken_i   ('{32'(u_nic_rx.u_unpack.head_rd_q), 32'(u_nic_rx.u_unpack.data_rd_q)}),
  .owed_i    ('{32'(u_nic_rx.u_unpack.head_owed_q), 32'(u_nic_rx.u_unpack.data_owed_q)}),
  .moved_i   (given[0] || given[1] || got[1] || got[0] || u_nic_rx.u_unpack.head_taken != 0
              || u_nic_rx.u_unpack.data_taken != 0),
  .given_i   (given[1]),
  .give_i    (give[1]),
  .got_i     (got_credits[0]),
  .next_i    (u_host_tx.next_q),
  .send_i    (u_host_tx.send_q),
  .acked_i   (u_host_tx.acked_q),
  .replay_i  (u_host_tx.u_pack.replay_q),
  .expected_i(u_nic_rx.expected_q),
  .take_i    (u_nic_rx.take),
  .flit_i    (flit_m2s)
);

bind cxl_channel check_cxl_line #(
  .RxDepth(RxDepth)
) u_check_s2m (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .credits_i ('{32'(u_nic_tx.u_pack.head_credits_q), 32'(u_nic_tx.u_pack.data_credits_q)}),
  .packed_i  ('{32'(u_nic_tx.u_pack.head_rd_q), 32'(u_nic_tx.u_pack.data_rd_q)}),
  .unpacked_i('{32'(u_host_rx.u_unpack.head_wr_q), 32'(u_host_rx.u_unpack.data_wr_q)}),
  .taken_i   ('{32'(u_host_rx.u_unpack.head_rd_q), 32'(u_host_rx.u_unpack.data_rd_q)}),
  .owed_i    ('{32'(u_host_rx.u_unpack.head_owed_q), 32'(u_host_rx.u_unpack.data_owed_q)}),
  .moved_i   (given[0] || given[1] || got[1] || got[0] || u_host_rx.u_unpack.head_taken != 0
              || u_host_rx.u_unpack.data_taken != 0),
  .given_i   (given[0]),
  .give_i    (give[0]),
  .got_i     (got_credits[1]),
  .next_i    (u_nic_tx.next_q),
  .send_i    (u_nic_tx.send_q),
  .acked_i   (u_nic_tx.acked_q),
  .replay_i  (u_nic_tx.u_pack.replay_q),
  .expected_i(u_host_rx.expected_q),
  .take_i    (u_host_rx.take),
  .flit_i    (flit_s2m)
);

bind cxl_channel check_cxl_order #(
  .HeadBits(ReqBits)
) u_check_req (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .in_i      (host_req_valid_i & host_req_ready_o),
  .in_head_i (req_in),
  .in_line_i (rwd_line_in),
  .in_be_i   (rwd_be_in),
  .out_i     (nic_req_valid_o & nic_req_ready_i),
  .out_head_i(req_out),
  .out_line_i(rwd_line_out),
  .out_be_i  (rwd_be_out)
);

bind cxl_channel check_cxl_order #(
  .HeadBits(RwdBits),
  .WithData(1'b1)
) u_check_rwd (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .in_i      (host_rwd_valid_i & host_rwd_ready_o),
  .in_head_i (rwd_in),
  .in_line_i (rwd_line_in),
  .in_be_i   (rwd_be_in),
  .out_i     (nic_rwd_valid_o & nic_rwd_ready_i),
  .out_head_i(rwd_out),
  .out_line_i(rwd_line_out),
  .out_be_i  (rwd_be_out)
);

bind cxl_channel check_cxl_order #(
  .HeadBits(NdrBits)
) u_check_ndr (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .in_i      (nic_ndr_valid_i & nic_ndr_ready_o),
  .in_head_i (ndr_in),
  .in_line_i (nic_drs_data_i),
  .in_be_i   (all_bytes),
  .out_i     (link_ndr_valid & link_ndr_ready),
  .out_head_i(ndr_out),
  .out_line_i(link_drs_data),
  .out_be_i  (all_bytes)
);

bind cxl_channel check_cxl_order #(
  .HeadBits(DrsBits),
  .WithData(1'b1)
) u_check_drs (
  .clk_i,
  .rst_ni,
  .now_i,
  .down_i    (down),
  .in_i      (nic_drs_valid_i & nic_drs_ready_o),
  .in_head_i (drs_in),
  .in_line_i (nic_drs_data_i),
  .in_be_i   (all_bytes),
  .out_i     (link_drs_valid & link_drs_ready),
  .out_head_i(drs_out),
  .out_line_i(link_drs_data),
  .out_be_i  (all_bytes)
);
