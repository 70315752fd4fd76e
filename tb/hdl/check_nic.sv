// NIC: a host tag is never in flight twice, a tag of the NIC never handed out while in use nor returned while free, and no
// transaction is older than the liveness bound. Acceptance is numbered for the order check at the media.

module check_nic
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Tags = 2048
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input time_ns_t              now_i,
  input logic [3:0]            id_i,
  /// By slot: accepted, with a tag of the NIC.
  input logic [Slots-1:0]      fire_i,
  input logic [Slots-1:0]      push_i,
  input tag_info_t             info_i       [Slots],
  input nic_tag_t              tag_i        [Slots],
  /// By response lane: of a transaction with a tag; by CXL channel: what the host gets.
  input logic [Slots-1:0]      give_i,
  input nic_tag_t              give_tag_i   [Slots],
  input logic [Lanes-1:0]      drs_fire_i,
  input s2m_drs_t              drs_i        [Lanes],
  input logic [Lanes-1:0]      ndr_fire_i,
  input s2m_ndr_t              ndr_i        [Lanes],
  input logic [$clog2(Tags):0] used_i,
  input logic [$clog2(Tags):0] waiting_i    [Modules]
);

  localparam int unsigned TagBits = $clog2(Tags);

  bit              host_tag_q[65536];
  bit              busy_q    [Tags];
  time_ns_t        since_ns_q[Tags];
  int unsigned     accepted_q;
  logic [TagBits-1:0] sweep_q;
  time_ns_t        live_ns_max;
  longint unsigned inject_ns;
  bit              inject_tag;
  bit              clean_q;  // nothing is in flight since reset

  function automatic void host_takes(logic [15:0] t);
    if (host_tag_q[t]) $fatal(1, "%m: t=%0d ns: host %0d: tag %0d is in flight already", now_i, id_i, t);
    host_tag_q[t] = 1'b1;
  endfunction

  function automatic void host_gets(logic [15:0] t);
    if (!host_tag_q[t])
      $fatal(1, "%m: t=%0d ns: host %0d: response for tag %0d, which is not in flight", now_i, id_i, t);
    host_tag_q[t] = 1'b0;
  endfunction

  function automatic void nic_takes(nic_tag_t t);
    if (busy_q[t[TagBits-1:0]] || (inject_tag && now_i >= inject_ns))
      $fatal(1, "%m: t=%0d ns: host %0d: NIC tag %0d handed out while in use", now_i, id_i, t);
  endfunction

  function automatic void nic_gives(nic_tag_t t);
    if (!busy_q[t[TagBits-1:0]])
      $fatal(1, "%m: t=%0d ns: host %0d: NIC tag %0d returned while free", now_i, id_i, t);
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clean_q <= 1'b1;
      if (!clean_q) begin
        for (int unsigned i = 0; i < 65536; i++) host_tag_q[i] = 1'b0;
        for (int unsigned i = 0; i < Tags; i++) busy_q[i] = 1'b0;
      end
    end else begin
      clean_q <= 1'b0;
      // Answers first: a host tag and a NIC tag may be used again in the cycle after.
      for (int unsigned i = 0; i < Slots; i++) begin
        if (give_i[i]) begin
          nic_gives(give_tag_i[i]);
          busy_q[give_tag_i[i][TagBits-1:0]] = 1'b0;
        end
      end
      for (int unsigned n = 0; n < Lanes; n++) begin
        if (drs_fire_i[n]) host_gets(drs_i[n].tag);
        if (ndr_fire_i[n]) host_gets(ndr_i[n].tag);
      end
      if (|fire_i) begin
        accepted_q <= accepted_q + Slots;
        for (int unsigned i = 0; i < Slots; i++) begin
          if (fire_i[i]) host_takes(info_i[i].host_tag);
          if (push_i[i]) begin
            nic_takes(tag_i[i]);
            busy_q[tag_i[i][TagBits-1:0]] = 1'b1;
            since_ns_q[tag_i[i][TagBits-1:0]] = now_i;
            check_pkg::accepted[32'(id_i)*check_pkg::TagsMax+32'(tag_i[i])] <= accepted_q + i;
          end
        end
      end
      // One tag a cycle is looked at.
      if (used_i != 0) begin
        sweep_q <= sweep_q + 1'b1;
        if (busy_q[sweep_q] && now_i > since_ns_q[sweep_q] + live_ns_max && !check_pkg::stuck) begin
          $display("%m: t=%0d ns: host %0d: NIC tag %0d is in flight since %0d ns", now_i, id_i, sweep_q,
                   since_ns_q[sweep_q]);
          check_pkg::stuck <= 1'b1;
        end
      end
      if (check_pkg::stuck && used_i != 0) begin
        $display("%m: host %0d: %0d of %0d tags in use", id_i, used_i, Tags);
        for (int unsigned m = 0; m < Modules; m++) begin
          if (waiting_i[m] != 0)
            $display("%m: host %0d: %0d requests wait for the path to module %0d", id_i, waiting_i[m], m);
        end
      end
    end
  end

  initial begin
    live_ns_max = 64'd100_000;
    void'($value$plusargs("live_ns_max=%d", live_ns_max));
    inject_ns = check_pkg::injected_ns();
    inject_tag = check_pkg::injected() == "tag";
    if (Tags > check_pkg::TagsMax)
      $fatal(1, "%m: NicTags %0d is more than the bench's %0d; raise check_pkg::TagsMax", Tags, check_pkg::TagsMax);
  end

endmodule

bind pf_nic check_nic #(
  .Modules(Modules),
  .Tags   (Tags)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .fire_i    (fire),
  .push_i    (push),
  .info_i    (info),
  .tag_i     (tag),
  .give_i    (give),
  .give_tag_i(give_tag),
  .drs_fire_i(drs_valid_o & drs_ready_i),
  .drs_i     (drs_o),
  .ndr_fire_i(ndr_valid_o & ndr_ready_i),
  .ndr_i     (ndr_o),
  .used_i    (tags_used_o),
  .waiting_i (queue_count)
);
