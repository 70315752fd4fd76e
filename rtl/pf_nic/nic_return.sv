// Return side of the NIC: responses of all lightpaths, and those that the NIC gives itself, to the two CXL response channels.
//
// Two responses with data and two without leave in a cycle; each channel goes round robin over its sources, so no module can
// starve another. A lightpath's responses leave in the order in which they came, one a cycle. Sources in their order: the
// paths, the local answers by slot, and the transactions of dead paths.
//
// A read is answered with data whatever the module says: with poison if the module reports it, could not do it, or is gone. A
// write that failed completes with the error flag. DevLoad is the highest of the module's, the path queue's and the tags'.

module nic_return
  import pf_pkg::*;
  import cxl_pkg::*;
  import pf_nic_pkg::*;
#(
  parameter int unsigned Modules = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  /// Responses at the receiving ends of the lightpaths that have a transaction; what the tag table has of it.
  input  logic [Modules-1:0] rx_valid_i,
  input  logic [Modules-1:0] rx_has_data_i,
  output logic [Modules-1:0] rx_ready_o,
  input  rsp_hdr_t           rx_hdr_i [Modules],
  input  data_t              rx_data_i[Modules],
  input  tag_info_t          rx_info_i[Modules],
  /// Load of the way to each module.
  input  dev_load_e          path_load_i[Modules],
  /// Responses without a transaction on a lightpath.
  input  logic [Slots-1:0]   local_valid_i,
  output logic [Slots-1:0]   local_ready_o,
  input  local_t             local_i  [Slots],
  /// A transaction of a dead path.
  input  logic               flush_valid_i,
  output logic               flush_ready_o,
  input  nic_tag_t           flush_tag_i,
  input  tag_info_t          flush_info_i,
  input  dev_load_e          own_load_i,
  /// Tags to be returned: two of responses with data, two of those without.
  output logic [Slots-1:0]   give_o,
  output nic_tag_t           give_tag_o[Slots],
  /// CXL response channels.
  output logic [Lanes-1:0]   ndr_valid_o,
  input  logic [Lanes-1:0]   ndr_ready_i,
  output s2m_ndr_t           ndr_o     [Lanes],
  output logic [Lanes-1:0]   drs_valid_o,
  input  logic [Lanes-1:0]   drs_ready_i,
  output s2m_drs_t           drs_o     [Lanes],
  output data_t              drs_data_o[Lanes]
);

  localparam int unsigned Flush = Modules + Slots;
  localparam int unsigned Sources = Flush + 1;
  localparam int unsigned IndexBits = $clog2(Sources);
  localparam int unsigned ModuleBits = Modules > 1 ? $clog2(Modules) : 1;
  typedef logic [IndexBits-1:0] index_t;

  /// A response of any source.
  typedef struct packed {
    logic        has_tag;  // returns a tag of the NIC
    nic_tag_t    tag;
    logic        bad;     // poison or error
    logic        nxm;
    dev_load_e   load;
    logic [3:0]  ld_id;
    logic [15:0] host_tag;
  } answer_t;

  logic [Sources-1:0] drs_request, ndr_request, taken;
  logic [1:0]         drs_fire, ndr_fire;
  index_t             drs_index[2];
  index_t             ndr_index[2];

  always_comb begin
    drs_request = '0;
    ndr_request = '0;
    for (int unsigned m = 0; m < Modules; m++) begin
      drs_request[m] = rx_valid_i[m] && rx_info_i[m].is_read;
      ndr_request[m] = rx_valid_i[m] && !rx_info_i[m].is_read;
    end
    for (int unsigned i = 0; i < Slots; i++) begin
      drs_request[Modules+i] = local_valid_i[i] && local_i[i].is_read;
      ndr_request[Modules+i] = local_valid_i[i] && !local_i[i].is_read;
    end
    drs_request[Flush] = flush_valid_i && flush_info_i.is_read;
    ndr_request[Flush] = flush_valid_i && !flush_info_i.is_read;
  end

  nic_pick #(.Sources(Sources)) u_drs (
    .clk_i,
    .rst_ni,
    .request_i(drs_request),
    .valid_o  (drs_valid_o),
    .index_o  (drs_index),
    .accept_i (drs_fire)
  );

  nic_pick #(.Sources(Sources)) u_ndr (
    .clk_i,
    .rst_ni,
    .request_i(ndr_request),
    .valid_o  (ndr_valid_o),
    .index_o  (ndr_index),
    .accept_i (ndr_fire)
  );

  assign drs_fire = drs_valid_o & drs_ready_i;
  assign ndr_fire = ndr_valid_o & ndr_ready_i;

  always_comb begin
    taken = '0;
    for (int unsigned n = 0; n < 2; n++) begin
      if (drs_fire[n]) taken[drs_index[n]] = 1'b1;
      if (ndr_fire[n]) taken[ndr_index[n]] = 1'b1;
    end
  end

  assign rx_ready_o = taken[Modules-1:0];
  assign local_ready_o = taken[Modules+:Slots];
  assign flush_ready_o = taken[Flush];

  function automatic dev_load_e higher(dev_load_e a, dev_load_e b);
    return a > b ? a : b;
  endfunction

  function automatic answer_t answer(index_t source);
    answer_t a = '0;
    a.load = own_load_i;
    if (source < index_t'(Modules)) begin
      automatic logic [ModuleBits-1:0] m = source[ModuleBits-1:0];
      a.has_tag = 1'b1;
      a.tag = rx_hdr_i[m].tag;
      a.bad = rx_hdr_i[m].status != RspOk || (rx_info_i[m].is_read && !rx_has_data_i[m]);
      a.load = higher(a.load, higher(path_load_i[m], dev_load_e'(rx_hdr_i[m].load)));
      {a.ld_id, a.host_tag} = {rx_info_i[m].ld_id, rx_info_i[m].host_tag};
    end else if (source == index_t'(Flush)) begin
      a.has_tag = 1'b1;
      a.tag = flush_tag_i;
      a.bad = 1'b1;
      {a.ld_id, a.host_tag} = {flush_info_i.ld_id, flush_info_i.host_tag};
    end else begin
      automatic logic [1:0] i = 2'(source - index_t'(Modules));
      a.bad = local_i[i].kind == LocalDead || (local_i[i].kind == LocalNoHit && !local_i[i].is_read);
      a.nxm = local_i[i].kind == LocalNoHit;
      {a.ld_id, a.host_tag} = {local_i[i].ld_id, local_i[i].host_tag};
    end
    return a;
  endfunction

  always_comb begin
    for (int unsigned n = 0; n < 2; n++) begin
      drs_o[n] = '{opcode: S2mMemData, meta_field: MetaNone, dev_load: LoadLight, default: '0};
      drs_data_o[n] = '0;
      give_o[n] = 1'b0;
      give_tag_o[n] = '0;
      if (drs_valid_o[n]) begin
        automatic answer_t a = answer(drs_index[n]);
        drs_o[n].poison = a.bad;
        drs_o[n].dev_load = a.load;
        drs_o[n].ld_id = a.ld_id;
        drs_o[n].tag = a.host_tag;
        give_o[n] = drs_fire[n] && a.has_tag;
        give_tag_o[n] = a.tag;
        // MemData-NXM carries all ones.
        if (a.nxm) drs_o[n].opcode = S2mMemDataNxm;
        if (a.nxm) drs_data_o[n] = '1;
        else if (drs_index[n] < index_t'(Modules)) drs_data_o[n] = rx_data_i[drs_index[n][ModuleBits-1:0]];
      end
      ndr_o[n] = '{opcode: S2mCmp, meta_field: MetaNone, dev_load: LoadLight, default: '0};
      give_o[2+n] = 1'b0;
      give_tag_o[2+n] = '0;
      if (ndr_valid_o[n]) begin
        automatic answer_t a = answer(ndr_index[n]);
        ndr_o[n].err = a.bad;
        ndr_o[n].dev_load = a.load;
        ndr_o[n].ld_id = a.ld_id;
        ndr_o[n].tag = a.host_tag;
        give_o[2+n] = ndr_fire[n] && a.has_tag;
        give_tag_o[2+n] = a.tag;
      end
    end
  end

endmodule
