// Link faults of the whole rack: an injector for each group of links, and modules that go dark.
//
// Groups and numbers of their links (link_faults lists the plusargs):
//
//   req   lightpaths from NIC to module     host x modules + module
//   rsp   lightpaths from module to NIC     module x hosts + host
//   cxl   CXL links                         2 x host (to the NIC), 2 x host + 1 (to the host)
//
// +fault_dead_module=M +fault_dead_ns=T: module M loses power at T; no fibre to or from it carries light any more.

module tb_link_faults
  import pf_pkg::*;
#(
  parameter int unsigned Hosts = 2,
  parameter int unsigned Modules = 2
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  time_ns_t                      now_i,
  input  logic [Hosts-1:0][Modules-1:0] req_start_i,
  input  logic [15:0]                   req_start_bits_i[Hosts][Modules],
  output link_fault_t                   req_fault_o     [Hosts][Modules],
  input  logic [Modules-1:0][Hosts-1:0] rsp_start_i,
  input  logic [15:0]                   rsp_start_bits_i[Modules][Hosts],
  output link_fault_t                   rsp_fault_o     [Modules][Hosts],
  /// Index 0: to the NIC, 1: to the host.
  input  logic [Hosts-1:0][1:0]         cxl_start_i,
  input  logic [15:0]                   cxl_bits_i,
  output link_fault_t                   cxl_fault_o     [Hosts][2]
);

  localparam int unsigned Paths = Hosts * Modules;
  localparam longint unsigned Never = 64'd1 << 62;

  longint unsigned dead_module, dead_ns;
  logic            dead;
  logic [Paths-1:0] req_dark, rsp_dark;
  logic [15:0]     req_bits[Paths];
  logic [15:0]     rsp_bits[Paths];
  logic [15:0]     cxl_bits[2*Hosts];
  link_fault_t     req_fault[Paths];
  link_fault_t     rsp_fault[Paths];
  link_fault_t     cxl_fault[2*Hosts];

  assign dead = now_i >= dead_ns;

  for (genvar h = 0; h < Hosts; h++) begin : gen_host
    for (genvar m = 0; m < Modules; m++) begin : gen_module
      assign req_bits[h*Modules+m] = req_start_bits_i[h][m];
      assign rsp_bits[m*Hosts+h] = rsp_start_bits_i[m][h];
      assign req_fault_o[h][m] = req_fault[h*Modules+m];
      assign rsp_fault_o[m][h] = rsp_fault[m*Hosts+h];
    end
    for (genvar d = 0; d < 2; d++) begin : gen_direction
      assign cxl_bits[2*h+d] = cxl_bits_i;
      assign cxl_fault_o[h][d] = cxl_fault[2*h+d];
    end
  end

  always_comb begin
    req_dark = '0;
    rsp_dark = '0;
    if (dead) begin
      for (int unsigned h = 0; h < Hosts; h++) begin
        for (int unsigned m = 0; m < Modules; m++) begin
          req_dark[h*Modules+m] = dead_module == 64'(m);
          rsp_dark[m*Hosts+h] = dead_module == 64'(m);
        end
      end
    end
  end

  link_faults #(
    .Links  (Paths),
    .Group  ("req"),
    .GroupId(1)
  ) u_req (
    .clk_i,
    .rst_ni,
    .now_i,
    .dark_i      (req_dark),
    .start_i     (req_start_i),
    .start_bits_i(req_bits),
    .fault_o     (req_fault)
  );

  link_faults #(
    .Links  (Paths),
    .Group  ("rsp"),
    .GroupId(2)
  ) u_rsp (
    .clk_i,
    .rst_ni,
    .now_i,
    .dark_i      (rsp_dark),
    .start_i     (rsp_start_i),
    .start_bits_i(rsp_bits),
    .fault_o     (rsp_fault)
  );

  link_faults #(
    .Links  (2 * Hosts),
    .Group  ("cxl"),
    .GroupId(3)
  ) u_cxl (
    .clk_i,
    .rst_ni,
    .now_i,
    .dark_i      ('0),
    .start_i     (cxl_start_i),
    .start_bits_i(cxl_bits),
    .fault_o     (cxl_fault)
  );

  initial begin
    dead_module = Never;
    dead_ns = Never;
    void'($value$plusargs("fault_dead_module=%d", dead_module));
    if (dead_module != Never) begin
      dead_ns = '0;
      void'($value$plusargs("fault_dead_ns=%d", dead_ns));
      if (dead_module >= 64'(Modules))
        $fatal(1, "%m: strap fault_dead_module = %0d is outside 0..%0d", dead_module, Modules - 1);
    end
  end

endmodule
