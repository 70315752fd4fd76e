// Media of all modules: the sparse store of the emulator behind each port of each module.
//
// Writes of a cycle go before its reads, ports in order. Read data stands one cycle later.

module sparse_store
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Ports = 4
) (
  input  logic                          clk_i,
  input  logic [63:0]                   module_lines_i,
  input  logic [Modules-1:0][Ports-1:0] rd_valid_i,
  input  req_hdr_t                      rd_hdr_i [Modules][Ports],
  output data_t                         rd_data_o[Modules][Ports],
  input  logic [Modules-1:0][Ports-1:0] wr_valid_i,
  input  req_hdr_t                      wr_hdr_i [Modules][Ports],
  input  wline_t                        wr_line_i[Modules][Ports]
);

  function automatic void check_line(int unsigned m, int unsigned p, dpa_line_t line);
    if (64'(line) >= module_lines_i)
      $fatal(1, "%m: module %0d port %0d: line 0x%0h is beyond the module's %0d lines", m, p, line, module_lines_i);
  endfunction

  always_ff @(posedge clk_i) begin
    for (int unsigned m = 0; m < Modules; m++) begin
      if (wr_valid_i[m] != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (wr_valid_i[m][p]) begin
            check_line(m, p, wr_hdr_i[m][p].line);
            emu_store_write(m, {23'b0, wr_hdr_i[m][p].line, 6'b0}, p, 32'(wr_hdr_i[m][p].tag), wr_line_i[m][p].data,
                            wr_line_i[m][p].be);
          end
        end
      end
      if (rd_valid_i[m] != '0) begin
        for (int unsigned p = 0; p < Ports; p++) begin
          if (rd_valid_i[m][p]) begin
            automatic bit [511:0] data = '0;
            check_line(m, p, rd_hdr_i[m][p].line);
            emu_store_read(m, {23'b0, rd_hdr_i[m][p].line, 6'b0}, p, 32'(rd_hdr_i[m][p].tag), data);
            rd_data_o[m][p] <= data;
          end
        end
      end
    end
  end

endmodule
