// Bank of a DRAM: when its row may be used, in first order, by the times of JEDEC's tables.
//
// A bank keeps its open row, its last column command, the earliest time of a precharge and the refresh that it had last. The
// answer to an access is the earliest time of its column command. Accesses of a bank are served in the order in which they
// are booked, and each is booked with the time at which it will happen, so what a bank keeps may lie ahead of time.

package mem_dram_pkg;

  import pf_pkg::*;
  import pf_rate_pkg::*;

  typedef struct packed {
    time_ns_t row;
    time_ns_t column_ns;     // last column command; 0: never used, nothing open
    time_ns_t precharge_ns;  // no precharge before this
    time_ns_t refresh_ns;    // nominal time of the last refresh that counts; 0: none yet
  } bank_t;

  /// Answer to an access. The flags fill a word, so that the times are where a simulator finds them fast.
  typedef struct packed {
    time_ns_t    column_ns;   // earliest column command
    time_ns_t    command_ns;  // first command: the activate if there is one
    time_ns_t    refresh_ns;  // refresh that counts from now on
    logic [60:0] unused;
    logic        activate;    // the row has to be opened
    logic        conflict;    // another row has to be closed for it
    logic        refreshing;  // a refresh is in the way
  } access_t;

  /// Last nominal refresh at or before `at_ns`, when the last one known is `last_ns` and the first comes at `phase_ns`.
  function automatic time_ns_t refresh_before(time_ns_t at_ns, time_ns_t last_ns, time_ns_t phase_ns,
                                              time_ns_t refi_ns);
    time_ns_t known_ns = last_ns == 0 ? phase_ns : last_ns;
    if (at_ns < phase_ns) return 0;
    if (at_ns < known_ns + refi_ns) return known_ns;
    if (at_ns < known_ns + 2 * refi_ns) return known_ns + refi_ns;
    return known_ns + ((at_ns - known_ns) / refi_ns) * refi_ns;
  endfunction

  /// Earliest column command for `row` at or after `now_ns`.
  function automatic access_t access_of(bank_t bank, time_ns_t row, time_ns_t now_ns, time_ns_t phase_ns,
                                        dram_straps_t straps);
    access_t  a = '0;
    time_ns_t refi_ns = time_ns_t'(straps.refi_ns);
    time_ns_t next_ns = later(now_ns, bank.column_ns + time_ns_t'(straps.ccd_ns));
    time_ns_t close_ns = later(bank.precharge_ns, bank.column_ns + time_ns_t'(straps.idle_close_ns));
    time_ns_t ready_ns = 0;  // the bank is precharged
    logic     open = bank.column_ns != 0 && (straps.idle_close_ns == 0 || next_ns <= close_ns);
    a.refresh_ns = bank.refresh_ns;
    if (open && bank.row == row
        && (refi_ns == 0 || refresh_before(next_ns, bank.refresh_ns, phase_ns, refi_ns) == bank.refresh_ns)) begin
      a.column_ns = next_ns;
      a.command_ns = next_ns;
      return a;
    end
    a.activate = 1'b1;
    if (bank.column_ns != 0)
      ready_ns = (open ? later(now_ns, bank.precharge_ns) : close_ns) + time_ns_t'(straps.rp_ns);
    a.command_ns = later(now_ns, ready_ns);
    a.conflict = open;
    if (refi_ns != 0) begin
      a.refresh_ns = refresh_before(a.command_ns, bank.refresh_ns, phase_ns, refi_ns);
      // A refresh needs the bank precharged: one that is due during an access comes after it.
      if (a.refresh_ns != bank.refresh_ns) begin
        ready_ns = bank.column_ns == 0 ? 0 : bank.precharge_ns + time_ns_t'(straps.rp_ns);
        ready_ns = later(a.refresh_ns, ready_ns) + time_ns_t'(straps.rfc_ns);
        a.refreshing = a.command_ns < ready_ns;
        a.command_ns = later(a.command_ns, ready_ns);
        a.conflict = 1'b0;
      end
    end
    a.column_ns = a.command_ns + time_ns_t'(straps.rcd_ns);
    return a;
  endfunction

endpackage
