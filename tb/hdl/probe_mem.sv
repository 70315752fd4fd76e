// Stage probes of a memory module: frame at the port, media access starts, data available or write complete; posted writes visible.

module probe_mem
  import pf_pkg::*;
  import emu_dpi_pkg::*;
#(
  parameter int unsigned Ports = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input time_ns_t         now_i,
  input logic [3:0]       id_i,
  input logic [Ports-1:0] start_i,
  input logic [Ports-1:0] is_write_i,
  input req_hdr_t         hdr_i         [Ports],
  input time_ns_t         since_ns_i    [Ports],
  input time_ns_t         read_done_ns_i[Ports],
  input logic [Ports-1:0] write_done_i,
  input rsp_hdr_t         write_hdr_i   [Ports],
  /// Writes that become visible after their completion has gone.
  input logic [Ports-1:0] late_i,
  input req_hdr_t         late_hdr_i    [Ports]
);

  always_ff @(posedge clk_i) begin
    if (rst_ni && (start_i | write_done_i) != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (start_i[p]) begin
          emu_probe(since_ns_i[p], StageModRx, p, 32'(hdr_i[p].tag), 32'(id_i));
          emu_probe(now_i, StageMedia, p, 32'(hdr_i[p].tag), 0);
          if (!is_write_i[p]) emu_probe(read_done_ns_i[p], StageMediaDone, p, 32'(hdr_i[p].tag), 0);
        end
        if (write_done_i[p]) emu_probe(now_i, StageMediaDone, p, 32'(write_hdr_i[p].tag), 0);
      end
    end
    if (rst_ni && late_i != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (late_i[p]) emu_probe(now_i, StageVisible, p, 32'(late_hdr_i[p].tag), 0);
      end
    end
  end

endmodule

bind pf_mem probe_mem #(
  .Ports(Ports)
) u_probe (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .start_i       (grant),
  .is_write_i    (is_write),
  .hdr_i         (rx_hdr_i),
  .since_ns_i    (rx_since_ns_i),
  .read_done_ns_i(read_done_ns),
  .write_done_i  (write_done),
  .write_hdr_i   (write_hdr),
  .late_i        (commit & {Ports{straps_i.posted}}),
  .late_hdr_i    (media_wr_hdr_o)
);
