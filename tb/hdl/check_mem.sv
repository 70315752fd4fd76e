// Memory module: what one host does to one line reaches the media in the order in which its NIC accepted it.
//
// The last request to a line is remembered in a table indexed by a hash of the line; a collision only forgets.

module check_mem
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input time_ns_t         now_i,
  input logic [3:0]       id_i,
  input logic [Ports-1:0] read_i,
  input req_hdr_t         read_hdr_i [Ports],
  input logic [Ports-1:0] write_i,
  input req_hdr_t         write_hdr_i[Ports],
  input logic [Ports-1:0] waiting_i
);

  localparam int unsigned Entries = 256;

  dpa_line_t       line_q    [Ports*Entries];
  int unsigned     accepted_q[Ports*Entries];
  bit              known_q   [Ports*Entries];
  longint unsigned inject_ns;
  bit              inject;

  function automatic int unsigned entry_of(int unsigned port, dpa_line_t addr);
    return port * Entries + 32'(8'(addr ^ (addr >> 8)));
  endfunction

  // Acceptance numbers are compared by their difference: they wrap.
  function automatic void check(int unsigned p, req_hdr_t hdr, int unsigned accepted);
    int unsigned e = entry_of(p, hdr.line);
    if (known_q[e] && line_q[e] == hdr.line && $signed(accepted - accepted_q[e]) < 0)
      $fatal(1, "%m: t=%0d ns: host %0d module %0d: request %0d to line 0x%0h reaches the media after request %0d",
             now_i, p, id_i, accepted, hdr.line, accepted_q[e]);
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && (read_i | write_i) != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (write_i[p]) begin
          automatic int unsigned accepted = check_pkg::accepted[p*check_pkg::TagsMax+32'(write_hdr_i[p].tag)];
          check(p, write_hdr_i[p], accepted);
          known_q[entry_of(p, write_hdr_i[p].line)] <= 1'b1;
          line_q[entry_of(p, write_hdr_i[p].line)] <= write_hdr_i[p].line;
          accepted_q[entry_of(p, write_hdr_i[p].line)] <= accepted;
        end
        if (read_i[p]) begin
          automatic int unsigned accepted = check_pkg::accepted[p*check_pkg::TagsMax+32'(read_hdr_i[p].tag)]
              - (inject && now_i >= inject_ns ? 32'd1_000_000 : 32'd0);
          check(p, read_hdr_i[p], accepted);
          known_q[entry_of(p, read_hdr_i[p].line)] <= 1'b1;
          line_q[entry_of(p, read_hdr_i[p].line)] <= read_hdr_i[p].line;
          accepted_q[entry_of(p, read_hdr_i[p].line)] <= accepted;
        end
      end
    end
    if (check_pkg::stuck && waiting_i != '0)
      $display("%m: module %0d: ports with requests that wait for the media: %b", id_i, waiting_i);
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected() == "order";
  end

endmodule

bind pf_mem check_mem #(
  .Ports(Ports)
) u_check (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .read_i     (media_rd_valid_o),
  .read_hdr_i (media_rd_hdr_o),
  .write_i    (media_wr_valid_o),
  .write_hdr_i(media_wr_hdr_o),
  .waiting_i  (head)
);
