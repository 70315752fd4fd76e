// Host's end of the link: the tags that are out, and their answers when the link is down.
//
// A host must get an answer to each request, whatever happens to the link. When it is down, what has already arrived is
// delivered first; then the tags are gone through, one a cycle, and each that is out is answered: a read with poison, anything
// else with an error completion. So are the tags of requests that come later. A request is answered once: a tag leaves the
// table with its response, from the link or from here.

module cxl_host_tags
  import pf_pkg::*;
  import cxl_pkg::*;
#(
  parameter int unsigned Tags = 4096  // host tags, power of two
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  logic             down_i,
  // Requests that the link accepts in this cycle
  input  logic [Lanes-1:0] req_fire_i,
  input  m2s_req_t         req_i[Lanes],
  input  logic [Lanes-1:0] rwd_fire_i,
  input  m2s_rwd_t         rwd_i[Lanes],
  // Responses of the link
  input  logic [Lanes-1:0] link_ndr_valid_i,
  output logic [Lanes-1:0] link_ndr_ready_o,
  input  s2m_ndr_t         link_ndr_i[Lanes],
  input  logic [Lanes-1:0] link_drs_valid_i,
  output logic [Lanes-1:0] link_drs_ready_o,
  input  s2m_drs_t         link_drs_i[Lanes],
  input  data_t            link_drs_data_i[Lanes],
  // Responses to the host
  output logic [Lanes-1:0] ndr_valid_o,
  input  logic [Lanes-1:0] ndr_ready_i,
  output s2m_ndr_t         ndr_o[Lanes],
  output logic [Lanes-1:0] drs_valid_o,
  input  logic [Lanes-1:0] drs_ready_i,
  output s2m_drs_t         drs_o[Lanes],
  output data_t            drs_data_o[Lanes],
  /// Requests answered from here since reset.
  output logic [31:0]      failed_count_o,
  /// Time of the next action of its own; all ones when there is none.
  output time_ns_t         wake_ns_o
);

  localparam int unsigned TagBits = $clog2(Tags);
  typedef logic [TagBits-1:0] tag_t;

  typedef struct packed {
    logic       out;
    logic       read;
    logic [3:0] ld_id;
  } entry_t;

  entry_t           entry_q[Tags];
  tag_t             scan_q;
  logic [TagBits:0] out_q;
  logic             scanning, answer_ndr, answer_drs, answered;
  entry_t           entry;
  logic [Lanes-1:0] ndr_fire, drs_fire;

  assign scanning = down_i && out_q != 0 && !link_ndr_valid_i[0] && !link_drs_valid_i[0];
  assign entry = scanning ? entry_q[scan_q] : '0;
  assign answer_drs = entry.out && entry.read;
  assign answer_ndr = entry.out && !entry.read;
  assign wake_ns_o = down_i && out_q != 0 ? now_i : '1;

  assign link_ndr_ready_o = ndr_ready_i;
  assign link_drs_ready_o = drs_ready_i;
  assign ndr_valid_o = link_ndr_valid_i | {1'b0, answer_ndr};
  assign drs_valid_o = link_drs_valid_i | {1'b0, answer_drs};
  assign ndr_fire = ndr_valid_o & ndr_ready_i;
  assign drs_fire = drs_valid_o & drs_ready_i;
  assign answered = (answer_ndr && ndr_fire[0]) || (answer_drs && drs_fire[0]);
  assign ndr_o[1] = link_ndr_i[1];
  assign drs_o[1] = link_drs_i[1];
  assign drs_data_o[1] = link_drs_data_i[1];
  assign drs_data_o[0] = answer_drs ? '1 : link_drs_data_i[0];

  always_comb begin
    ndr_o[0] = link_ndr_i[0];
    if (answer_ndr)
      ndr_o[0] = '{opcode: S2mCmp, meta_field: MetaNone, dev_load: LoadLight, ld_id: entry.ld_id, err: 1'b1,
                   tag: 16'(scan_q), default: '0};
    drs_o[0] = link_drs_i[0];
    if (answer_drs)
      drs_o[0] = '{opcode: S2mMemData, meta_field: MetaNone, dev_load: LoadLight, ld_id: entry.ld_id, poison: 1'b1,
                   tag: 16'(scan_q), default: '0};
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      scan_q <= '0;
      out_q <= '0;
      failed_count_o <= '0;
    end else begin
      if (|{req_fire_i, rwd_fire_i, ndr_fire, drs_fire})
        out_q <= out_q + (TagBits + 1)'($countones({req_fire_i, rwd_fire_i}))
            - (TagBits + 1)'($countones({ndr_fire, drs_fire}));
      if (scanning && (answered || !entry.out)) scan_q <= scan_q + 1'b1;
      if (answered) failed_count_o <= failed_count_o + 1;
    end
  end

  // Memory: no tag is used again in the cycle of its response.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Tags; i++) entry_q[i] <= '0;
    end else begin
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (ndr_fire[l]) entry_q[ndr_o[l].tag[TagBits-1:0]] <= '0;
        if (drs_fire[l]) entry_q[drs_o[l].tag[TagBits-1:0]] <= '0;
        if (req_fire_i[l])
          entry_q[req_i[l].tag[TagBits-1:0]] <= '{out: 1'b1, read: req_i[l].opcode == M2sMemRd, ld_id: req_i[l].ld_id};
        if (rwd_fire_i[l])
          entry_q[rwd_i[l].tag[TagBits-1:0]] <= '{out: 1'b1, read: 1'b0, ld_id: rwd_i[l].ld_id};
      end
    end
  end

  initial begin
    if (Tags < 2 || (Tags & (Tags - 1)) != 0 || TagBits > 16)
      $fatal(1, "%m: Tags %0d is not a power of two in 2..65536", Tags);
  end

endmodule
