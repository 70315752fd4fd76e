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

  /// Request to a memory module; a write's line travels beside it. `poison`: the line to be written is known to be bad.
  typedef struct packed {
    req_op_e   op;
    logic      poison;
    nic_tag_t  tag;
    dpa_line_t line;
  } req_hdr_t;

  typedef enum logic [1:0] {
    RspOk     = 2'd0,
    RspPoison = 2'd1,  // read data that is known to be bad
    RspError  = 2'd2   // the module could not do it
  } rsp_status_e;

  /// Response of a memory module; read data travels beside it, a write completion stands alone. `load` is the module's load
  /// in the four levels of CXL's DevLoad.
  typedef struct packed {
    logic [1:0]  load;
    rsp_status_e status;
    nic_tag_t    tag;
  } rsp_hdr_t;

  /// What befalls the next frame or flit that a transmitter starts: a fault hook of every link, all zero when nothing does.
  /// Bits `flip` of the frame, counted from bit `at`, arrive inverted, as far as the frame reaches.
  typedef struct packed {
    logic        down;  // transmits nothing while this is set
    logic        drop;  // the frame never arrives
    logic [15:0] at;
    logic [31:0] flip;
  } link_fault_t;

  /// First-order timing of one kind of DRAM.
  typedef struct packed {
    delay_ns_t  cas_ns;         // column command to first data, controller and PHY included
    delay_ns_t  rcd_ns;         // activate to column command
    delay_ns_t  rp_ns;          // precharge
    delay_ns_t  ras_ns;         // activate to precharge
    delay_ns_t  rtp_ns;         // read command to precharge
    delay_ns_t  wr_ns;          // write command to precharge: write latency, burst and write recovery
    delay_ns_t  ccd_ns;         // column command to the next one of the same bank
    delay_ns_t  turn_ns;        // the data bus idles while it turns round for a batch of writes and back
    rate_b16_t  rate_b16;       // data rate of one channel
    delay_ns_t  idle_close_ns;  // an open row idle for longer is precharged by then; 0: rows stay open
    delay_ns_t  refi_ns;        // interval in which every bank is refreshed; 0: no refresh
    delay_ns_t  rfc_ns;         // duration of a refresh
    logic [3:0] ref_groups_log2;  // banks are refreshed in so many groups, one group after the other
    delay_ns_t  ref_step_ns;    // from bank to bank inside a group; 0: the group at once
    delay_ns_t  ref_offset_ns;  // of the first group in the interval
  } dram_straps_t;

  typedef enum logic [1:0] {
    HbmCache  = 2'd0,  // write-through cache in front of DDR5
    HbmMemory = 2'd1,  // memory of its own, from `hbm_base` on
    HbmOff    = 2'd2   // not there
  } hbm_mode_e;

  /// A count of lines of a module: one bit more than the number of a line.
  typedef logic [35:0] dpa_count_t;

  /// Memory module.
  typedef struct packed {
    delay_ns_t    port_ns;    // frame received to media access
    delay_ns_t    return_ns;  // media done to port transmit
    delay_ns_t    commit_ns;  // write accepted to globally visible
    logic         posted;     // a write completes when it is accepted, and is visible `posted_ns` later (odd: half)
    delay_ns_t    posted_ns;
    logic         halves;     // the halves of a line become visible one after the other, `half_ns` apart
    delay_ns_t    half_ns;
    hbm_mode_e    hbm_mode;
    dpa_count_t   hbm_base;   // first line of HBM as memory
    dpa_count_t   capacity;   // lines of the module
    dram_straps_t hbm;
    dram_straps_t ddr;
  } mem_straps_t;

  /// CXL link between a host port and its NIC.
  typedef struct packed {
    delay_ns_t   req_ns;        // host port to NIC, after the last byte of the flit
    delay_ns_t   rsp_ns;        // NIC to host port, after the last byte of the flit
    rate_b16_t   rate_b16;      // one direction
    delay_ns_t   ack_ns;        // for how long an acknowledgement may wait for company
    delay_ns_t   replay_ns;     // replay timer, beyond the round trip and ack_ns
    logic [15:0] replay_limit;  // replays without an acknowledgement in between, then the link is given up
  } cxl_straps_t;

  /// PF-NIC.
  typedef struct packed {
    delay_ns_t decode_ns;   // message received to request eligible in its path queue
    delay_ns_t timeout_ns;  // requests out and nothing back from the module for so long: its path is given up
  } nic_straps_t;

  /// Lightpaths.
  typedef struct packed {
    rate_b16_t  rate_b16;      // one direction
    delay_ns_t  phy_ns;        // electro-optical conversion and PHY of both ends, one direction
    delay_ns_t  flight_ns;     // fibre
    delay_ns_t  ack_ns;        // an acknowledgement waits so long for a frame to ride on
    delay_ns_t  replay_ns;     // no progress for the round trip of the fibre and so much more: replay
    logic [7:0] replay_limit;  // replays without progress after which the path is dead
    // Receive buffer by class: credits of the transmitter.
    logic [10:0] request_credits;
    logic [10:0] write_credits;
    logic [10:0] read_credits;
    logic [10:0] completion_credits;
    // Bytes on the wire of the parts of a frame; lines take their 64.
    bytes_t     head_b;      // frame header
    bytes_t     crc_b;
    bytes_t     address_b;   // line address and tag
    bytes_t     tag_b;       // tag alone
    bytes_t     enables_b;   // byte enables of a partial write
  } path_straps_t;

  /// Electrical switch: what one message meets in each hop of a direction.
  localparam int unsigned HopsMax = 4;
  typedef struct packed {
    delay_ns_t [HopsMax-1:0] hop_ns;    // of each hop, from the last byte in to the last byte out
    rate_b16_t               rate_b16;  // of a port, one direction
    delay_ns_t               credits;   // messages in a hop's queue of one output, shared by all inputs
    bytes_t                  head_b;    // message without a line on the wire
    bytes_t                  line_b;    // message with a line
  } switch_straps_t;

  /// Every delay and rate of a rack, whatever its fabric; constant after reset.
  typedef struct packed {
    cxl_straps_t    cxl;
    nic_straps_t    nic;
    path_straps_t   path;
    switch_straps_t sw;
    mem_straps_t    mem;
  } pf_straps_t;

  function automatic time_ns_t earlier(time_ns_t a, time_ns_t b);
    return a < b ? a : b;
  endfunction

endpackage
