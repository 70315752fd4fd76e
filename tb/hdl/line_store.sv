// Media of all modules in SystemVerilog: lines in an associative array, for benches without an emulated host.
//
// Writes of a cycle go before its reads, ports in order; read data stands one cycle later. Untouched lines are zero. For the
// negative twins `+inject=NAME` makes it a bad memory from `+inject_ns=N` on:
//
//   write_lost    the next write of any byte is forgotten
//   byte_enable   every partial write also writes a byte that is not enabled
//   torn          the next whole write leaves its upper half as it was
//   misplaced     the next write goes to the line beside

module line_store
  import pf_pkg::*;
#(
  parameter int unsigned Modules = 4,
  parameter int unsigned Ports = 4
) (
  input  logic                          clk_i,
  input  time_ns_t                      now_i,
  input  logic [63:0]                   module_lines_i,
  input  logic [Modules-1:0][Ports-1:0] rd_valid_i,
  input  req_hdr_t                      rd_hdr_i [Modules][Ports],
  output data_t                         rd_data_o[Modules][Ports],
  input  logic [Modules-1:0][Ports-1:0] wr_valid_i,
  input  req_hdr_t                      wr_hdr_i [Modules][Ports],
  input  wline_t                        wr_line_i[Modules][Ports]
);

  typedef logic [38:0] place_t;  // {module, line}

  data_t           lines[place_t];
  longint unsigned inject_ns;
  string           inject;
  bit              done;

  function automatic place_t place(int unsigned m, int unsigned p, dpa_line_t line);
    if (64'(line) >= module_lines_i)
      $fatal(1, "%m: module %0d port %0d: line 0x%0h is beyond the module's %0d lines", m, p, line, module_lines_i);
    return {4'(m), line};
  endfunction

  /// Whether the planted fault hits this write.
  function automatic bit faulty(string name, bit fits);
    return inject == name && !done && fits && now_i >= inject_ns;
  endfunction

  task automatic write(place_t where, req_op_e op, wline_t line);
    automatic data_t mask = '0;
    automatic data_t old = '0;
    automatic logic [63:0] be = line.be;
    if (faulty("write_lost", be != '0)) begin
      done = 1'b1;
      return;
    end
    if (faulty("misplaced", 1'b1)) begin
      done = 1'b1;
      where ^= 1;
    end
    if (faulty("byte_enable", op == ReqWritePart && be != '1)) begin
      be |= ~be & (be + 1);
    end
    if (faulty("torn", op == ReqWrite)) begin
      done = 1'b1;
      be &= 64'(32'hFFFF_FFFF);
    end
    if (be == '1) begin
      lines[where] = line.data;
    end else begin
      if (lines.exists(where) != 0) old = lines[where];
      for (int unsigned b = 0; b < 64; b++) mask[b*8+:8] = {8{be[b]}};
      lines[where] = (old & ~mask) | (line.data & mask);
    end
  endtask

  always_ff @(posedge clk_i) begin
    for (int unsigned m = 0; m < Modules; m++) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (wr_valid_i[m][p]) write(place(m, p, wr_hdr_i[m][p].line), wr_hdr_i[m][p].op, wr_line_i[m][p]);
      end
      for (int unsigned p = 0; p < Ports; p++) begin
        if (rd_valid_i[m][p]) begin
          automatic place_t where = place(m, p, rd_hdr_i[m][p].line);
          automatic data_t data = '0;
          if (lines.exists(where) != 0) data = lines[where];
          rd_data_o[m][p] <= data;
        end
      end
    end
  end

  initial begin
    inject = check_pkg::injected();
    inject_ns = check_pkg::injected_ns();
    done = 1'b0;
  end

endmodule
