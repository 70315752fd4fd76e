// CXL.mem messages, by the names and fields of the CXL 3.1 specification.
//
// Message structures hold what the protocol layer of a Type-3 device sees; how messages are packed into flits is the business
// of the link between host port and NIC. `err` in an NDR is this project's addition: CXL has no error field there.

package cxl_pkg;

  import pf_pkg::*;

  typedef enum logic [3:0] {
    M2sMemInv   = 4'b0000,
    M2sMemRd    = 4'b0001,
    M2sMemInvNt = 4'b1001
  } m2s_req_op_e;

  typedef enum logic [3:0] {
    M2sMemWr    = 4'b0001,
    M2sMemWrPtl = 4'b0010
  } m2s_rwd_op_e;

  typedef enum logic [2:0] {
    S2mCmp = 3'b000
  } s2m_ndr_op_e;

  typedef enum logic [2:0] {
    S2mMemData    = 3'b000,
    S2mMemDataNxm = 3'b001
  } s2m_drs_op_e;

  typedef enum logic [1:0] {
    MetaNone  = 2'b11,
    MetaState = 2'b00
  } meta_field_e;

  typedef enum logic [2:0] {
    SnpNone = 3'b000,
    SnpData = 3'b001,
    SnpCur  = 3'b010,
    SnpInv  = 3'b011
  } snp_type_e;

  /// Load of the device, for the host's throttling (QoS telemetry).
  typedef enum logic [1:0] {
    LoadLight    = 2'b00,
    LoadOptimal  = 2'b01,
    LoadModerate = 2'b10,
    LoadSevere   = 2'b11
  } dev_load_e;

  typedef struct packed {
    m2s_req_op_e opcode;
    snp_type_e   snp_type;
    meta_field_e meta_field;
    logic [1:0]  meta_value;
    logic [1:0]  tc;
    logic [3:0]  ld_id;
    logic [15:0] tag;
    hpa_line_t   address;  // [51:6]
  } m2s_req_t;

  /// Header of a request with data; the line and its byte enables travel beside it.
  typedef struct packed {
    m2s_rwd_op_e opcode;
    snp_type_e   snp_type;
    meta_field_e meta_field;
    logic [1:0]  meta_value;
    logic        poison;
    logic [1:0]  tc;
    logic [3:0]  ld_id;
    logic [15:0] tag;
    hpa_line_t   address;
  } m2s_rwd_t;

  typedef struct packed {
    s2m_ndr_op_e opcode;
    meta_field_e meta_field;
    logic [1:0]  meta_value;
    dev_load_e   dev_load;
    logic [3:0]  ld_id;
    logic        err;
    logic [15:0] tag;
  } s2m_ndr_t;

  /// Header of a response with data; the line travels beside it.
  typedef struct packed {
    s2m_drs_op_e opcode;
    meta_field_e meta_field;
    logic [1:0]  meta_value;
    logic        poison;
    dev_load_e   dev_load;
    logic [3:0]  ld_id;
    logic [15:0] tag;
  } s2m_drs_t;

  /// Messages of one class that cross an interface in a cycle, at most: 128 GB/s are two lines a ns. They are in order by
  /// lane: lane 1 is valid only with lane 0, and is taken only with lane 0. A lane is taken when it is valid and ready.
  localparam int unsigned Lanes = 2;

  /// What the host's end of a link knows about it.
  typedef struct packed {
    logic        down;          // given up; only a reset brings it back
    logic        viral;         // the device was in viral state since reset
    logic [31:0] failed_count;  // requests answered with poison or an error because the link is down
  } cxl_status_t;

endpackage
