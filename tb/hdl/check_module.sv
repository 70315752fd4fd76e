// Memory module: what every access to the media must do, and how long a port may wait.
//
// - with HBM as a write-through cache every write occupies DDR5, and HBM too unless it misses and is partial, and the tags
//   learn of it; afterwards the line is in the cache unless another allocation took its place in the same cycle;
// - a read is served by HBM only if HBM has the line;
// - a request at the head of its port does not wait longer than `+mem_wait_ns_max=N` while its way back is free.

module check_module
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4
) (
  input logic             clk_i,
  input logic             rst_ni,
  input time_ns_t         now_i,
  input logic [3:0]       id_i,
  input mem_straps_t      straps_i,
  input logic [Ports-1:0] starts_i,
  input logic [Ports-1:0] is_write_i,
  input logic [Ports-1:0] is_part_i,
  input logic [Ports-1:0] hit_i,
  input logic [Ports-1:0] in_hbm_i,
  input logic [Ports-1:0] tags_fire_i,
  input logic [Ports-1:0] hbm_fire_i,
  input logic [Ports-1:0] ddr_fire_i,
  input logic [Ports-1:0] head_i,
  input logic [Ports-1:0] grant_i,
  input logic [Ports-1:0] no_return_i
);

  longint unsigned wait_ns_max, inject_ns;
  string           inject;
  time_ns_t        since_ns_q[Ports];  // the head waits for the media since then
  logic [Ports-1:0] waits_q;

  function automatic logic injecting(string name);
    return inject == name && now_i >= inject_ns;
  endfunction

  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      waits_q <= '0;
    end else if (head_i != '0 || waits_q != '0) begin
      automatic logic [Ports-1:0] waits = head_i & ~grant_i & ~no_return_i;
      automatic logic [Ports-1:0] ddr_fire = injecting("through") ? '0 : ddr_fire_i;
      automatic logic [Ports-1:0] served = hbm_fire_i & ~ddr_fire_i;
      automatic logic cached = straps_i.hbm_mode == HbmCache;
      waits_q <= waits;
      if (cached && (starts_i & is_write_i & ~ddr_fire) != '0)
        $fatal(1, "%m: t=%0d ns: module %0d: ports %b write into the cache and not through to DDR5", now_i, id_i,
               starts_i & is_write_i & ~ddr_fire);
      if (cached && (starts_i & is_write_i & (~tags_fire_i | (~hbm_fire_i & (hit_i | ~is_part_i)))) != '0)
        $fatal(1, "%m: t=%0d ns: module %0d: ports %b write, and the cache does not learn of it", now_i, id_i,
               starts_i & is_write_i);
      if ((served & ~is_write_i & ~(cached ? hit_i : in_hbm_i)) != '0)
        $fatal(1, "%m: t=%0d ns: module %0d: ports %b read from HBM what it has not", now_i, id_i, served);
      if ((starts_i & ~hbm_fire_i & ~ddr_fire_i) != '0)
        $fatal(1, "%m: t=%0d ns: module %0d: ports %b start without the media", now_i, id_i, starts_i);
      for (int unsigned p = 0; p < Ports; p++) begin
        if (waits[p]) begin
          if (!waits_q[p]) since_ns_q[p] <= now_i;
          else if (now_i - since_ns_q[p] > (injecting("starve") ? 1 : wait_ns_max))
            $fatal(1, "%m: t=%0d ns: module %0d port %0d: the head waits for the media since %0d ns", now_i, id_i, p,
                   since_ns_q[p]);
        end
      end
    end
  end

  initial begin
    inject_ns = check_pkg::injected_ns();
    inject = check_pkg::injected();
    wait_ns_max = 10_000;
    void'($value$plusargs("mem_wait_ns_max=%d", wait_ns_max));
  end

endmodule

bind pf_mem check_module #(
  .Ports(Ports)
) u_check_module (
  .clk_i,
  .rst_ni,
  .now_i,
  .id_i,
  .straps_i,
  .starts_i   (starts),
  .is_write_i (is_write),
  .is_part_i  (is_part),
  .hit_i      (hit),
  .in_hbm_i   (in_hbm),
  .tags_fire_i(u_tags.fire_i),
  .hbm_fire_i (u_hbm.fire_i),
  .ddr_fire_i (u_ddr.fire_i),
  .head_i     (head),
  .grant_i    (grant),
  .no_return_i((is_write & ~write_room) | (~is_write & ~read_room))
);
