// The address decoder of a NIC alone: addresses from a file, decoders from tb_straps, results as lines of the log.
//
// +addresses=FILE holds host physical line addresses, one hexadecimal number a line, +count=N of them. All are decoded with each
// granularity, from 256 B to 16 KiB; for each the bench prints `DECODE hit module line` in hexadecimal.

module hdm_bench_top
  import pf_pkg::*;
  import pf_hdm_pkg::*;
#(
  parameter int unsigned Modules = 16
) (
  input  logic clk_i,
  input  logic rst_ni,
  output logic done_o
);

  localparam int unsigned CountMax = 65536;

  pf_straps_t unused_straps;
  logic [63:0] unused_module_lines;
  hdm_decoder_t [Decoders-1:0] programmed, decoders;
  tb_straps #(.Modules(Modules)) u_straps (
    .straps_o(unused_straps), .decoders_o(programmed), .module_lines_o(unused_module_lines)
  );

  logic [63:0] address[CountMax];
  int unsigned count, at_q;
  logic [3:0]  gran_log2_q;
  string       path;
  logic        hit;
  logic [3:0]  target;
  dpa_line_t   line;

  nic_hdm_decode u_decode (
    .decoders_i(decoders), .valid_i(1'b1), .line_i(hpa_line_t'(address[at_q])), .hit_o(hit), .module_o(target),
    .dpa_line_o(line)
  );

  always_comb begin
    decoders = programmed;
    for (int unsigned d = 0; d < Decoders; d++) decoders[d].gran_log2 = gran_log2_q;
  end

  assign done_o = gran_log2_q > 4'd14;

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      at_q <= 0;
      gran_log2_q <= 4'd8;
    end else if (!done_o) begin
      $display("DECODE %h %h %h", hit, target, line);
      at_q <= at_q + 1 == count ? 0 : at_q + 1;
      if (at_q + 1 == count) gran_log2_q <= gran_log2_q + 1'b1;
    end
  end

  initial begin
    if ($value$plusargs("addresses=%s", path) == 0) $fatal(1, "%m: +addresses=FILE is missing");
    if ($value$plusargs("count=%d", count) == 0 || count > CountMax) $fatal(1, "%m: +count=N is missing or over %0d", CountMax);
    $readmemh(path, address, 0, count - 1);
  end

endmodule
