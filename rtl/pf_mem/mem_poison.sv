// Lines of a memory module that are known to be bad: the device's poison list.
//
// A poisoned write puts its line on the list, a whole-line write without poison takes it off; a partial write leaves the rest
// of the line bad, so it stays. The list is bounded: a mark that finds no place is refused, and counted. Writes of a cycle
// count in the order of the ports.

module mem_poison
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned Entries = 16
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  /// Reads that take their data in this cycle.
  input  logic [Ports-1:0] read_i,
  input  dpa_line_t        read_line_i [Ports],
  output logic [Ports-1:0] poisoned_o,
  /// Writes that become visible in this cycle.
  input  logic [Ports-1:0] write_i,
  input  req_hdr_t         write_hdr_i[Ports],
  /// The write is poisoned and the list is full: it must not be applied.
  output logic [Ports-1:0] refused_o,
  output logic [31:0]      refused_count_o
);

  dpa_line_t                    line_q [Entries];
  logic [Entries-1:0]           valid_q;
  logic [31:0]                  refused_q;
  logic [Ports-1:0]             mark, clear;

  assign refused_count_o = refused_q;

  function automatic logic listed(dpa_line_t addr);
    for (int unsigned e = 0; e < Entries; e++) if (valid_q[e] && line_q[e] == addr) return 1'b1;
    return 1'b0;
  endfunction

  always_comb begin
    poisoned_o = '0;
    if (valid_q != '0 && |read_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (read_i[p]) poisoned_o[p] = listed(read_line_i[p]);
      end
    end
  end

  // A mark takes a place even when another of the same cycle is for the same line, and places that become free in a cycle are
  // free from the next on.
  always_comb begin
    automatic int unsigned places = 0;
    mark = '0;
    clear = '0;
    refused_o = '0;
    if (|write_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        mark[p] = write_i[p] && write_hdr_i[p].poison;
        clear[p] = write_i[p] && !write_hdr_i[p].poison && write_hdr_i[p].op == ReqWrite && valid_q != '0;
      end
      if (|mark) begin
        places = Entries - $countones(valid_q);
        for (int unsigned p = 0; p < Ports; p++) begin
          if (mark[p] && !listed(write_hdr_i[p].line)) begin
            refused_o[p] = places == 0;
            if (places != 0) places -= 1;
          end
        end
      end
    end
  end

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      valid_q <= '0;
      refused_q <= '0;
    end else if (|{mark, clear}) begin
      automatic logic [Entries-1:0] valid = valid_q;
      for (int unsigned p = 0; p < Ports; p++) begin
        automatic logic placed = refused_o[p];
        if (clear[p] || mark[p]) begin
          for (int unsigned e = 0; e < Entries; e++) begin
            if (valid[e] && line_q[e] == write_hdr_i[p].line) begin
              placed = 1'b1;
              if (clear[p]) valid[e] = 1'b0;
            end
          end
        end
        if (mark[p] && !placed) begin
          for (int unsigned e = 0; e < Entries; e++) begin
            if (!placed && !valid[e] && !valid_q[e]) begin
              placed = 1'b1;
              valid[e] = 1'b1;
              line_q[e] <= write_hdr_i[p].line;
            end
          end
        end
      end
      valid_q <= valid;
      if (|refused_o) refused_q <= refused_q + 32'($countones(refused_o));
    end
  end

  initial begin
    if (Entries < 1 || Entries > 256) $fatal(1, "%m: Entries %0d is outside 1..256", Entries);
  end

endmodule
