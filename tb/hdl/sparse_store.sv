// Media of all modules: a sparse store behind each port of each module.
//
// Writes of a cycle go before its reads, ports in order. Read data stands one cycle later. Ports of emulated hosts use the store
// of the emulator. Ports of traffic engines use one of their own: a line that was never written follows from its place
// (traffic_pkg), so memories of any size cost only what is written.

module sparse_store
  import pf_pkg::*;
  import emu_dpi_pkg::*;
  import traffic_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Ports = 4
) (
  input  logic                          clk_i,
  input  logic [63:0]                   module_lines_i,
  /// Ports whose host is a traffic engine.
  input  logic [Ports-1:0]              engines_i,
  /// Fault: a bit of what one read takes is turned.
  input  logic                          flip_i,
  input  logic [Modules-1:0][Ports-1:0] rd_valid_i,
  input  req_hdr_t                      rd_hdr_i [Modules][Ports],
  output data_t                         rd_data_o[Modules][Ports],
  input  logic [Modules-1:0][Ports-1:0] wr_valid_i,
  input  req_hdr_t                      wr_hdr_i [Modules][Ports],
  input  wline_t                        wr_line_i[Modules][Ports]
);

  bit written_q;  // some line of an engine
  bit flipped_q;

  function automatic void check_line(int unsigned m, int unsigned p, dpa_line_t line);
    if (64'(line) >= module_lines_i)
      $fatal(1, "%m: module %0d port %0d: line 0x%0h is beyond the module's %0d lines", m, p, line, module_lines_i);
  endfunction

  function automatic data_t engine_line(int unsigned m, dpa_line_t line);
    bit [511:0] data = '0;
    logic [63:0] seed = untouched_seed(4'(m), line);
    if (!written_q || emu_line_read(m, 64'(line), data) == 0) data = line_data(seed, seed);
    return data;
  endfunction

  task automatic engine_write(int unsigned m, dpa_line_t line, wline_t from);
    data_t data = from.data;
    if (from.be != '1) begin
      data = engine_line(m, line);
      for (int unsigned b = 0; b < LineBytes; b++) begin
        if (from.be[b]) data[8*b+:8] = from.data[8*b+:8];
      end
    end
    written_q = 1'b1;
    emu_line_write(m, 64'(line), data);
  endtask

  always_ff @(posedge clk_i) begin
    for (int unsigned m = 0; m < Modules; m++) begin
      if (wr_valid_i[m] != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (wr_valid_i[m][p]) begin
            check_line(m, p, wr_hdr_i[m][p].line);
            if (engines_i[p]) engine_write(m, wr_hdr_i[m][p].line, wr_line_i[m][p]);
            else emu_store_write(m, {23'b0, wr_hdr_i[m][p].line, 6'b0}, p, 32'(wr_hdr_i[m][p].tag),
                                 wr_line_i[m][p].data, wr_line_i[m][p].be);
          end
        end
      end
      if (rd_valid_i[m] != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (rd_valid_i[m][p]) begin
            automatic bit [511:0] data = '0;
            check_line(m, p, rd_hdr_i[m][p].line);
            if (engines_i[p]) data = engine_line(m, rd_hdr_i[m][p].line);
            else emu_store_read(m, {23'b0, rd_hdr_i[m][p].line, 6'b0}, p, 32'(rd_hdr_i[m][p].tag), data);
            if (flip_i && !flipped_q) begin
              data[77] = !data[77];
              flipped_q = 1'b1;
            end
            rd_data_o[m][p] <= data;
          end
        end
      end
    end
  end

endmodule
