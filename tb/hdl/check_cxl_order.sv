// One class of a CXL link, from port to port: each message leaves once, in the order in which it came, and unchanged.
//
// A sum over header, line and byte enables of each message waits in a ring until the message leaves.

module check_cxl_order
  import pf_pkg::*;
  import cxl_pkg::*;
#(
  parameter int unsigned HeadBits = 30,
  parameter bit          WithData = 1'b0
) (
  input logic                clk_i,
  input logic                rst_ni,
  input time_ns_t            now_i,
  input logic                down_i,
  input logic [Lanes-1:0]    in_i,
  input logic [HeadBits-1:0] in_head_i[Lanes],
  input data_t               in_line_i[Lanes],
  input logic [63:0]         in_be_i  [Lanes],
  input logic [Lanes-1:0]    out_i,
  input logic [HeadBits-1:0] out_head_i[Lanes],
  input data_t               out_line_i[Lanes],
  input logic [63:0]         out_be_i  [Lanes]
);

  localparam int unsigned Depth = 512;  // more than queue and receive buffer of a class hold
  typedef logic [$clog2(Depth)-1:0] place_t;

  longint unsigned sum_q[Depth];
  place_t          wr_q, rd_q;
  longint unsigned inject_ns;
  bit              inject;

  function automatic longint unsigned sum_line(data_t d, logic [63:0] be);
    return d[63:0] + 3 * d[127:64] + 5 * d[191:128] + 7 * d[255:192] + 9 * d[319:256] + 11 * d[383:320]
        + 13 * d[447:384] + 15 * d[511:448] + 17 * be;
  endfunction

  function automatic longint unsigned sum_head(logic [HeadBits-1:0] head);
    return 19 * 64'(head) + 21 * 64'(head >> (HeadBits / 2));
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      wr_q <= '0;
      rd_q <= '0;
    end else if ((in_i != 0 || out_i != 0) && !down_i) begin
      automatic place_t wr = wr_q;
      automatic place_t rd = rd_q;
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (out_i[l]) begin
          automatic longint unsigned sum = sum_head(out_head_i[l]);
          if (WithData) sum += sum_line(out_line_i[l], out_be_i[l]);
          if (inject && now_i >= inject_ns) rd = rd + 1'b1;
          if (rd == wr_q) $fatal(1, "%m: t=%0d ns: a message leaves that never came: %h", now_i, out_head_i[l]);
          if (sum_q[rd] != sum)
            $fatal(1, "%m: t=%0d ns: not the message that is next: %h", now_i, out_head_i[l]);
          rd = rd + 1'b1;
        end
      end
      for (int unsigned l = 0; l < Lanes; l++) begin
        if (in_i[l]) begin
          automatic longint unsigned sum = sum_head(in_head_i[l]);
          if (WithData) sum += sum_line(in_line_i[l], in_be_i[l]);
          sum_q[wr] = sum;
          wr = wr + 1'b1;
        end
      end
      wr_q <= wr;
      rd_q <= rd;
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected() == "cxl_once";
  end

endmodule
