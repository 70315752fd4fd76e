// Return side of the NIC: responses of all lightpaths, and those that the NIC gives itself, to the two CXL response channels.
//
// One response with data and one without leave in a cycle; each channel goes round robin over its sources, so no module can
// starve another. A lightpath's responses leave in the order in which they came.

module nic_return
  import pf_pkg::*;
  import cxl_pkg::*;
#(
  parameter int unsigned Modules = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// Responses at the receiving ends of the lightpaths.
  input  logic [Modules-1:0] rx_valid_i,
  input  logic [Modules-1:0] rx_has_data_i,
  output logic [Modules-1:0] rx_ready_o,
  input  rsp_hdr_t           rx_hdr_i [Modules],
  input  data_t              rx_data_i[Modules],
  /// Tag table: index 0 for the response with data, 1 for the one without.
  output nic_tag_t           look_o   [2],
  input  logic [19:0]        info_i   [2],  // {LD-ID, host tag}
  output logic [1:0]         give_o,
  input  dev_load_e          dev_load_i,
  /// Responses without a transaction on a lightpath: {error, with data, LD-ID, host tag} by request channel.
  input  logic [1:0]         local_valid_i,
  output logic [1:0]         local_ready_o,
  input  logic [21:0]        local_i  [2],
  /// CXL response channels.
  output logic               ndr_valid_o,
  input  logic               ndr_ready_i,
  output s2m_ndr_t           ndr_o,
  output logic               drs_valid_o,
  input  logic               drs_ready_i,
  output s2m_drs_t           drs_o,
  output data_t              drs_data_o
);

  localparam int unsigned Sources = Modules + 2;
  localparam int unsigned IndexBits = $clog2(Sources);

  logic [Sources-1:0]   drs_request, ndr_request;
  logic [IndexBits-1:0] drs_index, ndr_index;
  logic                 drs_fire, ndr_fire, drs_local, ndr_local;

  assign drs_request = {local_valid_i & {local_i[1][20], local_i[0][20]}, rx_valid_i & rx_has_data_i};
  assign ndr_request = {local_valid_i & ~{local_i[1][20], local_i[0][20]}, rx_valid_i & ~rx_has_data_i};
  assign drs_fire = drs_valid_o && drs_ready_i;
  assign ndr_fire = ndr_valid_o && ndr_ready_i;
  assign drs_local = drs_index >= IndexBits'(Modules);
  assign ndr_local = ndr_index >= IndexBits'(Modules);

  pf_rr_arbiter #(.Sources(Sources)) u_drs (
    .clk_i,
    .rst_ni,
    .request_i(drs_request),
    .accept_i (drs_ready_i),
    .valid_o  (drs_valid_o),
    .index_o  (drs_index)
  );

  pf_rr_arbiter #(.Sources(Sources)) u_ndr (
    .clk_i,
    .rst_ni,
    .request_i(ndr_request),
    .accept_i (ndr_ready_i),
    .valid_o  (ndr_valid_o),
    .index_o  (ndr_index)
  );

  logic [Sources-1:0] taken;

  always_comb begin
    taken = '0;
    if (drs_fire) taken[drs_index] = 1'b1;
    if (ndr_fire) taken[ndr_index] = 1'b1;
  end

  assign rx_ready_o = taken[Modules-1:0];
  assign local_ready_o = taken[Modules+:2];
  assign give_o = {ndr_fire && !ndr_local, drs_fire && !drs_local};

  always_comb begin
    automatic logic [21:0] entry = '0;
    look_o[0] = '0;
    drs_o = '{opcode: S2mMemData, meta_field: MetaNone, dev_load: dev_load_i, default: '0};
    drs_data_o = '0;
    if (drs_valid_o && drs_local) begin
      // MemData-NXM carries all ones.
      entry = local_i[drs_index == IndexBits'(Modules + 1)];
      drs_o.opcode = S2mMemDataNxm;
      {drs_o.ld_id, drs_o.tag} = entry[19:0];
      drs_data_o = '1;
    end else if (drs_valid_o) begin
      look_o[0] = rx_hdr_i[drs_index[ModuleBits-1:0]].tag;
      {drs_o.ld_id, drs_o.tag} = info_i[0];
      drs_data_o = rx_data_i[drs_index[ModuleBits-1:0]];
    end
  end

  always_comb begin
    automatic logic [21:0] entry = '0;
    look_o[1] = '0;
    ndr_o = '{opcode: S2mCmp, meta_field: MetaNone, dev_load: dev_load_i, default: '0};
    if (ndr_valid_o && ndr_local) begin
      entry = local_i[ndr_index == IndexBits'(Modules + 1)];
      ndr_o.err = entry[21];
      {ndr_o.ld_id, ndr_o.tag} = entry[19:0];
    end else if (ndr_valid_o) begin
      look_o[1] = rx_hdr_i[ndr_index[ModuleBits-1:0]].tag;
      {ndr_o.ld_id, ndr_o.tag} = info_i[1];
    end
  end

  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;

endmodule
