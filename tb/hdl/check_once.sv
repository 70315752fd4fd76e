// Memory module: a request that a NIC has accepted reaches the media once, whatever its link had to send again.
//
// The NIC numbers what it accepts (check_pkg::accepted, by host and tag); the number that a tag had when it last reached the
// media is remembered here, so that a frame delivered twice is seen even after its tag has been answered.

module check_once
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
  /// Writes that are complete at the media: one that is applied in parts counts once.
  input logic [Ports-1:0] write_i,
  input req_hdr_t         write_hdr_i[Ports]
);

  // Number of acceptance, plus one, of the request that reached the media last, by port and tag; 0: none.
  int unsigned     reached_q[Ports*check_pkg::TagsMax];
  longint unsigned inject_ns;
  bit              inject;

  function automatic void check(int unsigned p, req_hdr_t hdr, bit is_read);
    int unsigned at = p * check_pkg::TagsMax + 32'(hdr.tag);
    int unsigned number = check_pkg::accepted[at] + 1;
    if (reached_q[at] != 0 && (reached_q[at] == number || (inject && now_i >= inject_ns)))
      $fatal(1, "%m: t=%0d ns: host %0d module %0d: %s %0d of line 0x%0h (tag %0d) reaches the media twice",
             now_i, p, id_i, is_read ? "read" : "write", check_pkg::accepted[at], hdr.line, hdr.tag);
    reached_q[at] = number;
  endfunction

  always_ff @(posedge clk_i) begin
    if (rst_ni && (read_i | write_i) != '0) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (write_i[p]) check(p, write_hdr_i[p], 1'b0);
        if (read_i[p]) check(p, read_hdr_i[p], 1'b1);
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected() == "twice";
  end

endmodule

bind pf_mem check_once #(
  .Ports(Ports)
) u_once (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .read_i     (media_rd_valid_o),
  .read_hdr_i (media_rd_hdr_o),
  .write_i    (commit),
  .write_hdr_i(media_wr_hdr_o)
);
