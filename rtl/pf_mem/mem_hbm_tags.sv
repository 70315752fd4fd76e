// Tags of the HBM write-through cache: sets x ways x sectors, with a valid bit for each line of a sector.
//
// Reset clears a bit a set; a set whose bit is clear misses, and its ways are emptied when it is first used, so that tags for
// all of HBM cost nothing at reset.
//
// Reads and whole-line writes allocate; a line that is written only in part and misses goes to DDR5 alone. Nothing is ever
// dirty, so a victim is just forgotten. The victim pointer of a set goes round and steps over the way it points at when that
// way is hit. A line whose fill is under way counts as a hit whose data comes no sooner than the fill (hit under miss).

module mem_hbm_tags
  import pf_pkg::*;
#(
  parameter int unsigned Ports = 4,
  parameter int unsigned Sets = 4096,        // power of two
  parameter int unsigned Ways = 8,           // power of two
  parameter int unsigned SectorLines = 32    // power of two, at most 64
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  time_ns_t         now_i,
  input  logic [Ports-1:0] look_i,
  input  dpa_line_t        line_i   [Ports],
  output logic [Ports-1:0] hit_o,
  /// Earliest time at which a hit has data.
  output time_ns_t         fill_ns_o[Ports],
  /// The access starts: touch on a hit, allocate on a miss unless `no_allocate_i`; `fill_ns_i` is the end of a read's fill.
  /// A write that hits needs nothing: the line is written through, and stays.
  input  logic [Ports-1:0] fire_i,
  input  logic [Ports-1:0] no_allocate_i,
  input  logic [Ports-1:0] is_fill_i,
  input  time_ns_t         fill_ns_i[Ports]
);

  localparam int unsigned SetBits = Sets > 1 ? $clog2(Sets) : 1;
  localparam int unsigned WayBits = Ways > 1 ? $clog2(Ways) : 1;
  localparam int unsigned LineBits = SectorLines > 1 ? $clog2(SectorLines) : 1;
  localparam int unsigned SectorLog2 = $clog2(SectorLines);
  localparam int unsigned SetLog2 = $clog2(Sets);
  localparam int unsigned FillEntries = 256;
  typedef logic [$clog2(Sets*Ways)-1:0] way_index_t;

  /// Fills under way, by a hash of the line.
  typedef struct packed {
    logic      several;  // of more than one line: whatever meets here waits for the last
    dpa_line_t line;
    time_ns_t  done_ns;
  } fill_t;

  dpa_line_t              tag_q   [Sets*Ways];
  logic [SectorLines-1:0] valid_q [Sets*Ways];
  logic [WayBits-1:0]     victim_q[Sets];
  logic                   used_q  [Sets];  // since reset
  fill_t                  fill_q  [FillEntries];

  logic [SetBits-1:0]  set   [Ports];
  logic [LineBits-1:0] column[Ports];
  dpa_line_t           tag   [Ports];
  logic [Ports-1:0]    sector_hit, used, allocate;
  way_index_t          entry [Ports];

  function automatic logic [7:0] fill_index(dpa_line_t addr);
    return addr[7:0] ^ addr[15:8] ^ addr[23:16];
  endfunction

  /// Way that has the sector, or the one to take for it.
  function automatic way_index_t place_of(logic [SetBits-1:0] s, dpa_line_t t);
    way_index_t first = way_index_t'(32'(s) * Ways);
    for (int unsigned w = 0; w < Ways; w++) begin
      if (tag_q[first+way_index_t'(w)] == t && valid_q[first+way_index_t'(w)] != '0) return first + way_index_t'(w);
    end
    return first + way_index_t'(victim_q[s]);
  endfunction

  /// Way behind `e` in its set.
  function automatic way_index_t next_way(way_index_t e);
    return Ways > 1 ? (e & ~way_index_t'(Ways - 1)) | ((e + 1'b1) & way_index_t'(Ways - 1)) : e;
  endfunction

  function automatic fill_t fill_after(fill_t fill, dpa_line_t addr, time_ns_t done_ns, logic busy);
    fill_t next;
    next.several = busy && (fill.several || fill.line != addr);
    next.line = addr;
    next.done_ns = busy && fill.done_ns > done_ns ? fill.done_ns : done_ns;
    return next;
  endfunction

  assign allocate = fire_i & ~hit_o & ~no_allocate_i;

  always_comb begin
    for (int unsigned p = 0; p < Ports; p++) begin
      set[p] = '0;
      column[p] = '0;
      tag[p] = '0;
      entry[p] = '0;
      fill_ns_o[p] = '0;
    end
    sector_hit = '0;
    used = '0;
    hit_o = '0;
    if (|look_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (look_i[p]) begin
          column[p] = LineBits'(line_i[p] & ~(~dpa_line_t'(0) << SectorLog2));
          set[p] = SetBits'((line_i[p] >> SectorLog2) & ~(~dpa_line_t'(0) << SetLog2));
          tag[p] = line_i[p] >> (SectorLog2 + SetLog2);
          used[p] = used_q[set[p]];
          entry[p] = way_index_t'(32'(set[p]) * Ways);
          if (used[p]) begin
            entry[p] = place_of(set[p], tag[p]);
            sector_hit[p] = tag_q[entry[p]] == tag[p] && valid_q[entry[p]] != '0;
          end
          // Ports that look for different sectors of one set in the same cycle and have none take a way each.
          if (!sector_hit[p]) begin
            for (int unsigned e = 0; e < p; e++) begin
              if (look_i[e] && !sector_hit[e] && entry[e] == entry[p] && tag[e] != tag[p])
                entry[p] = next_way(entry[p]);
            end
          end
          hit_o[p] = sector_hit[p] && valid_q[entry[p]][column[p]];
          if (hit_o[p] && (fill_q[fill_index(line_i[p])].line == line_i[p] || fill_q[fill_index(line_i[p])].several))
            fill_ns_o[p] = fill_q[fill_index(line_i[p])].done_ns;
        end
      end
    end
  end

  // Lines that ports allocate in one sector in the same cycle come together, fills that meet at one place wait for the last.
  always_ff @(posedge clk_i or negedge rst_ni) begin
    if (!rst_ni) begin
      for (int unsigned i = 0; i < Sets; i++) used_q[i] <= 1'b0;
      for (int unsigned i = 0; i < FillEntries; i++) fill_q[i] <= '0;
    end else if (|fire_i) begin
      for (int unsigned p = 0; p < Ports; p++) begin
        if (allocate[p]) begin
          automatic logic [SectorLines-1:0] valid = sector_hit[p] ? valid_q[entry[p]] : '0;
          automatic fill_t fill = fill_q[fill_index(line_i[p])];
          automatic logic first = !used[p];  // in this set
          fill = fill_after(fill, line_i[p], fill_ns_i[p], fill.done_ns > now_i);
          for (int unsigned e = 0; e < p; e++) begin
            if (allocate[e] && entry[e] == entry[p] && tag[e] == tag[p]) valid |= SectorLines'(1) << column[e];
            if (allocate[e] && is_fill_i[e] && fill_index(line_i[e]) == fill_index(line_i[p]))
              fill = fill_after(fill, line_i[e], fill_ns_i[e], 1'b1);
            if (allocate[e] && set[e] == set[p]) first = 1'b0;
          end
          if (first) begin
            used_q[set[p]] <= 1'b1;
            for (int unsigned w = 0; w < Ways; w++) valid_q[way_index_t'(32'(set[p]) * Ways + w)] <= '0;
          end
          valid_q[entry[p]] <= valid | (SectorLines'(1) << column[p]);
          tag_q[entry[p]] <= tag[p];
          if (is_fill_i[p]) fill_q[fill_index(line_i[p])] <= fill;
        end
        if (fire_i[p] && (sector_hit[p] ? WayBits'(entry[p]) == victim_q[set[p]] : allocate[p]))
          victim_q[set[p]] <= Ways > 1 ? WayBits'(entry[p]) + 1'b1 : '0;
      end
    end
  end

  initial begin
    if ((Sets & (Sets - 1)) != 0 || (Ways & (Ways - 1)) != 0 || (SectorLines & (SectorLines - 1)) != 0
        || SectorLines > 64)
      $fatal(1, "%m: Sets %0d, Ways %0d, SectorLines %0d must be powers of two, SectorLines at most 64", Sets, Ways,
             SectorLines);
  end

endmodule
