// What a traffic engine remembers of each line in flight, and the verdict on its answer.
//
// The engine calls the tasks here in its own process; a slot is a tag. Counted: wrong bytes, answers nobody waits for, lines
// that were never answered, answers with an error. `done_q` tells the statistics what was answered in the cycle before.

module traffic_slots
  import pf_pkg::*;
  import cxl_pkg::*;
  import emu_dpi_pkg::*;
  import traffic_pkg::*;
(
  input logic       clk_i,
  input logic       rst_ni,
  input time_ns_t   now_i,
  input logic [3:0] id_i,
  /// Answers of this cycle count in the statistics.
  input logic       counting_i
);

  localparam int unsigned FailedMax = 16;
  localparam int unsigned ShownMax = 4;

  bit          busy_q    [Slots];
  bit          write_q   [Slots];
  bit          hot_q     [Slots];
  logic [3:0]  module_q  [Slots];
  logic [63:0] low_q     [Slots];  // seeds of what a read returns
  logic [63:0] high_q    [Slots];
  hpa_line_t   line_q    [Slots];
  time_ns_t    issue_ns_q[Slots];
  slot_index_t first_q   [Slots];  // first line of its request
  logic [4:0]  left_q    [Slots];  // lines of the request that starts here that are not yet answered
  time_ns_t    from_ns_q [Slots];

  logic [31:0] hot_lines_q;  // in flight to the hot footprint
  longint      issued_q[2];
  longint      wrong_bytes_q, unsure_lines_q, unexpected_q, nxm_q, poisoned_q, failed_q, lost_q;
  int unsigned shown_q;
  hpa_line_t   failed_line_q[FailedMax];
  done_line_t  done_q[2*Lanes];
  logic        some_q;  // done_q holds something
  bit          told_q;  // verdicts of the phase have been reported

  task automatic clear();
    for (int unsigned i = 0; i < Slots; i++) busy_q[i] = 1'b0;
    for (int unsigned i = 0; i < 2; i++) issued_q[i] = 0;
    {wrong_bytes_q, unsure_lines_q, unexpected_q, nxm_q, poisoned_q, failed_q, lost_q} = '0;
    shown_q = 0;
    hot_lines_q = '0;
    told_q = 1'b0;
  endtask

  task automatic open_request(slot_index_t slot, logic [4:0] lines, time_ns_t from_ns);
    left_q[slot] = lines;
    from_ns_q[slot] = from_ns;
  endtask

  task automatic open_line(slot_index_t slot, slot_index_t first, hpa_line_t line, logic [3:0] module_id, logic write,
                           logic hot, logic [63:0] low, logic [63:0] high);
    busy_q[slot] = 1'b1;
    write_q[slot] = write;
    hot_q[slot] = hot;
    if (hot) hot_lines_q += 1;
    module_q[slot] = module_id;
    low_q[slot] = low;
    high_q[slot] = high;
    line_q[slot] = line;
    issue_ns_q[slot] = now_i + 1;
    first_q[slot] = first;
    issued_q[write] += 1;
  endtask

  /// Lines that will never be answered.
  task automatic lose(logic [31:0] lines);
    lost_q += longint'(lines);
  endtask

  function automatic logic known(logic [15:0] tag, logic write);
    return tag < 16'(Slots) && busy_q[slot_index_t'(tag)] && write_q[slot_index_t'(tag)] == write;
  endfunction

  /// What a write that failed has left in its line is not known.
  function automatic logic failed_before(hpa_line_t line);
    for (int unsigned i = 0; i < FailedMax; i++) begin
      if (longint'(i) < failed_q && failed_line_q[i] == line) return 1'b1;
    end
    return failed_q > longint'(FailedMax);
  endfunction

  task automatic check(slot_index_t slot, data_t got);
    data_t right = line_data(low_q[slot], high_q[slot]);
    longint wrong = 0;
    if (got != right) begin
      if (failed_before(line_q[slot])) begin
        unsure_lines_q += 1;
      end else begin
        for (int unsigned b = 0; b < LineBytes; b++) begin
          if (got[8*b+:8] != right[8*b+:8]) begin
            if (wrong == 0 && shown_q < ShownMax)
              $display("%m: t=%0d ns: host %0d: line 0x%0h: byte %0d is 0x%02h, expected 0x%02h", now_i, id_i,
                       line_q[slot], b, got[8*b+:8], right[8*b+:8]);
            wrong += 1;
          end
        end
        shown_q += 1;
        wrong_bytes_q += wrong;
      end
    end
  endtask

  /// A line has been answered: its slot is free.
  function automatic done_line_t finish(slot_index_t slot);
    done_line_t done = '0;
    slot_index_t first = first_q[slot];
    busy_q[slot] = 1'b0;
    if (hot_q[slot]) hot_lines_q -= 1;
    left_q[first] = left_q[first] - 1'b1;
    done.valid = counting_i;
    done.is_write = write_q[slot];
    done.last = left_q[first] == 0;
    done.module_id = module_q[slot];
    done.line_ns = 32'(now_i - issue_ns_q[slot]);
    done.request_ns = 32'(now_i - from_ns_q[first]);
    return done;
  endfunction

  /// Answers of a cycle; returns how many lines they answer.
  task automatic take_answers(logic [Lanes-1:0] drs_fire, s2m_drs_t drs[Lanes], data_t drs_data[Lanes],
                              logic [Lanes-1:0] ndr_fire, s2m_ndr_t ndr[Lanes], output logic [31:0] answered);
    answered = 0;
    if (some_q || |{drs_fire, ndr_fire}) begin
      for (int unsigned i = 0; i < Lanes; i++) begin
        done_q[i].valid <= 1'b0;
        done_q[i+Lanes].valid <= 1'b0;
        if (drs_fire[i] && !known(drs[i].tag, 1'b0)) begin
          unexpected_q += 1;
        end else if (drs_fire[i]) begin
          if (drs[i].opcode == S2mMemDataNxm) nxm_q += 1;
          else if (drs[i].poison) poisoned_q += 1;
          else check(slot_index_t'(drs[i].tag), drs_data[i]);
          done_q[i] <= finish(slot_index_t'(drs[i].tag));
          answered += 1;
        end
        if (ndr_fire[i] && !known(ndr[i].tag, 1'b1)) begin
          unexpected_q += 1;
        end else if (ndr_fire[i]) begin
          if (ndr[i].err) begin
            failed_line_q[4'(failed_q)] = line_q[slot_index_t'(ndr[i].tag)];
            failed_q += 1;
          end
          done_q[i+Lanes] <= finish(slot_index_t'(ndr[i].tag));
          answered += 1;
        end
      end
      some_q <= |{drs_fire, ndr_fire};
    end
  endtask

  always_ff @(posedge clk_i) begin
    if (rst_ni && check_pkg::reporting && !told_q) begin
      told_q = 1'b1;
      emu_counter("engine_issued_lines", 32'(id_i), 0, issued_q[0]);
      emu_counter("engine_issued_lines", 32'(id_i), 1, issued_q[1]);
      emu_counter("engine_wrong_bytes", 32'(id_i), 0, wrong_bytes_q);
      emu_counter("engine_unsure_lines", 32'(id_i), 0, unsure_lines_q);
      emu_counter("engine_unexpected_answers", 32'(id_i), 0, unexpected_q);
      emu_counter("engine_nxm", 32'(id_i), 0, nxm_q);
      emu_counter("engine_poisoned", 32'(id_i), 0, poisoned_q);
      emu_counter("engine_failed_writes", 32'(id_i), 0, failed_q);
      emu_counter("engine_lost_lines", 32'(id_i), 0, lost_q);
    end
  end

  initial told_q = 1'b1;

endmodule
