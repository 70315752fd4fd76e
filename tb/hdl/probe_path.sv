// Stage probes and counters of one direction of the lightpaths.
//
// Stages: serialization starts, last byte has left, of the frame that carries an item for the first time; a replay shows up as
// flight. Counters are by near end and far end; in the direction to the NICs the near end is a module.

module probe_path
  import pf_pkg::*;
  import pf_link_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Near = 4,
  parameter int unsigned Far = 4,
  parameter bit Requests = 1'b1,
  parameter int unsigned Reach = 0,
  parameter type head_t = req_hdr_t
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input time_ns_t                 now_i,
  input logic [15:0]              rate_b16_i,
  input logic [Near-1:0][Far-1:0] push_i,
  input head_t                    push_head_i[Near][Far],
  input logic [Near-1:0][Far-1:0] start_i,
  input tx_frame_t                frame_i   [Near][Far],
  input time_ns_t                 last_ns_i [Near][Far],
  input logic [Near-1:0][Far-1:0] bad_i,        // a frame with a wrong CRC arrives
  input logic [Near-1:0][Far-1:0] expired_i,    // replay timer
  input logic [Near-1:0][Far-1:0] no_credit_i,  // an item waits for a free wire and ...
  input logic [Near-1:0][Far-1:0] no_window_i,
  input logic [Near-1:0][Far-1:0] no_room_i,
  input logic [Near-1:0][Far-1:0] dead_i
);

  typedef struct {
    longint frames;   // with items, sent for the first time
    longint items;
    longint lines;
    longint notes;    // frames without items
    longint replays;  // frames sent again
    longint bits;
    longint crc_errors;
    longint timeouts;
    longint no_credit;
    longint no_window;
    longint no_room;
  } counts_t;

  localparam int unsigned ReplayItems = replay_items(Reach);

  nic_tag_t    tag_q  [Near*Far*ReplayItems];
  item_ptr_t   wr_q   [Near*Far];
  counts_t     count_q[Near*Far];

  function automatic int unsigned at(int unsigned link, item_ptr_t item);
    return link * ReplayItems + 32'(item) % ReplayItems;
  endfunction

  function automatic nic_tag_t tag_of(head_t head);
    req_hdr_t request = req_hdr_t'(head);
    rsp_hdr_t response = rsp_hdr_t'(head);
    return Requests ? request.tag : response.tag;
  endfunction

  function automatic void started(int unsigned i, int unsigned j);
    int unsigned l = i * Far + j;
    tx_frame_t f = frame_i[i][j];
    count_q[l].bits += longint'(f.bytes) * 8;
    if (f.count == '0 || f.count == Poll) begin
      count_q[l].notes += 1;
    end else if (!f.fresh) begin
      count_q[l].replays += 1;
    end else begin
      count_q[l].frames += 1;
      count_q[l].items += longint'(f.count);
      count_q[l].lines += longint'(f.lines);
      for (int unsigned k = 0; k < 32'(f.count); k++) begin
        automatic int tag = 32'(tag_q[at(l, f.first + item_ptr_t'(k))]);
        emu_probe(now_i, Requests ? StagePathTx : StageRspTx, Requests ? i : j, tag, 0);
        emu_probe(last_ns_i[i][j], Requests ? StageFlight : StageRspFlight, Requests ? i : j, tag, 0);
      end
    end
  endfunction

  function automatic void tell(string what, int unsigned i, int unsigned j, longint value);
    emu_counter({Requests ? "path_req_" : "path_rsp_", what}, i, j, value);
  endfunction

  function automatic void report(int unsigned i, int unsigned j);
    counts_t c = count_q[i*Far+j];
    tell("frames", i, j, c.frames);
    tell("items", i, j, c.items);
    tell("lines", i, j, c.lines);
    tell("notes", i, j, c.notes);
    tell("replays", i, j, c.replays);
    tell("busy_ns", i, j, c.bits * 2 / longint'(rate_b16_i));
    tell("crc_errors", i, j, c.crc_errors);
    tell("timeouts", i, j, c.timeouts);
    tell("no_credit_cycles", i, j, c.no_credit);
    tell("no_window_cycles", i, j, c.no_window);
    tell("no_room_cycles", i, j, c.no_room);
    tell("dead", i, j, longint'(dead_i[i][j]));
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q = '{default: '{default: '0}};
      wr_q = '{default: '0};
    end else begin
      for (int unsigned i = 0; i < Near; i++) begin
        if ((push_i[i] | start_i[i] | bad_i[i] | expired_i[i] | no_credit_i[i] | no_window_i[i] | no_room_i[i])
            != '0) begin
          for (int unsigned j = 0; j < Far; j++) begin
            automatic int unsigned l = i * Far + j;
            if (push_i[i][j]) begin
              tag_q[at(l, wr_q[l])] = tag_of(push_head_i[i][j]);
              wr_q[l] += 1'b1;
            end
            if (start_i[i][j]) started(i, j);
            if (bad_i[i][j]) count_q[l].crc_errors += 1;
            if (expired_i[i][j]) count_q[l].timeouts += 1;
            if (no_credit_i[i][j]) count_q[l].no_credit += 1;
            if (no_window_i[i][j]) count_q[l].no_window += 1;
            if (no_room_i[i][j]) count_q[l].no_room += 1;
          end
        end
        if (check_pkg::reporting) begin
          for (int unsigned j = 0; j < Far; j++) report(i, j);
        end
      end
    end
  end

endmodule

bind lightpath_array probe_path #(
  .Near    (Near),
  .Far     (Far),
  .Requests(Requests),
  .Reach   (Reach),
  .head_t  (head_t)
) u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .rate_b16_i (straps_i.rate_b16),
  .push_i     (push),
  .push_head_i(tx_head_i),
  .start_i    (start_o),
  .frame_i    (frame),
  .last_ns_i  (last_ns),
  .bad_i      (arrive & ~good),
  .expired_i  (u_tx.expired),
  .no_credit_i(u_tx.no_credit),
  .no_window_i(u_tx.no_window),
  .no_room_i  (u_tx.work & ~room_q),
  .dead_i     (dead_o)
);
