// Types shared by every block: simulated time, lines, lightpath frame headers, and the straps.
//
// Time is a count of core clock cycles of 1 ns that comes in as a port (`now_i`). Blocks compare due times with it and never
// count cycles, so a bench may move time forward over idle stretches. Sizes are parameters; every delay and rate is a strap,
// so that one build serves all machine profiles. Rates are in 1/16 byte per ns (GB/s x 16).

package pf_pkg;

  typedef logic [63:0] time_ns_t;
  typedef logic [15:0] delay_ns_t;
  typedef logic [15:0] rate_b16_t;
  typedef logic [11:0] bytes_t;

  /// 64-byte line of a module: DPA[40:6], 2 TiB.
  typedef logic [34:0] dpa_line_t;
  /// 64-byte line of the host: HPA[51:6].
  typedef logic [45:0] hpa_line_t;
  /// Tag of the NIC: index of its tag table.
  typedef logic [15:0] nic_tag_t;
  /// One line, the unit that every memory and link moves.
  typedef logic [511:0] data_t;
  localparam int unsigned LineBytes = 64;
  /// A line to be written and the bytes that count.
  typedef struct packed {
    logic [63:0] be;
    data_t       data;
  } wline_t;

  typedef enum logic [1:0] {
    ReqRead       = 2'd0,
    ReqWrite      = 2'd1,
    ReqWritePart  = 2'd2
  } req_op_e;

  /// Header of a request frame on a lightpath.
  typedef struct packed {
    req_op_e   op;
    nic_tag_t  tag;
    dpa_line_t line;
  } req_hdr_t;

  /// Header of a response frame on a lightpath; read data follows, a write completion stands alone.
  typedef struct packed {
    nic_tag_t tag;
  } rsp_hdr_t;

  /// First-order timing of one kind of DRAM.
  typedef struct packed {
    delay_ns_t cas_ns;         // column command to first data, controller and PHY included
    delay_ns_t rcd_ns;         // activate to column command
    delay_ns_t rp_ns;          // precharge
    rate_b16_t rate_b16;       // data rate of one channel
    delay_ns_t idle_close_ns;  // an open row idle for longer is precharged by then; 0: rows stay open
    delay_ns_t refi_ns;        // refresh interval; 0: no refresh
    delay_ns_t rfc_ns;         // duration of a refresh
  } dram_straps_t;

  /// Memory module.
  typedef struct packed {
    delay_ns_t    port_ns;    // frame received to media access
    delay_ns_t    return_ns;  // media done to port transmit
    delay_ns_t    commit_ns;  // write accepted to globally visible
    dram_straps_t hbm;
    dram_straps_t ddr;
  } mem_straps_t;

  /// Every delay and rate of the appliance; constant after reset.
  typedef struct packed {
    delay_ns_t    cxl_req_ns;      // host port to NIC, after the last byte
    delay_ns_t    cxl_rsp_ns;      // NIC to host port, after the last byte
    rate_b16_t    cxl_rate_b16;    // one direction
    delay_ns_t    nic_decode_ns;   // message received to request eligible in its path queue
    rate_b16_t    path_rate_b16;   // lightpath, one direction
    delay_ns_t    path_phy_ns;     // electro-optical conversion and PHY of both ends, one direction
    delay_ns_t    path_flight_ns;  // fibre
    delay_ns_t    path_credits;    // frames in flight or in the receive buffer, a path and direction
    bytes_t       frame_rd_req_b;
    bytes_t       frame_wr_req_b;
    bytes_t       frame_rd_rsp_b;
    bytes_t       frame_wr_rsp_b;
    mem_straps_t  mem;
  } pf_straps_t;

  function automatic time_ns_t earlier(time_ns_t a, time_ns_t b);
    return a < b ? a : b;
  endfunction

endpackage
