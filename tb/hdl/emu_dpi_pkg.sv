// DPI-C imports of the host emulator (software/emu/include/prismem_emu_dpi.h says what each does).

package emu_dpi_pkg;

  typedef enum int {
    EmuOpNone = 0,
    EmuOpMemRd = 1,
    EmuOpMemWr = 2,
    EmuOpMemWrPtl = 3
  } emu_op_e;

  typedef enum int {
    EmuOk = 0,
    EmuNxm = 1,
    EmuPoison = 2
  } emu_status_e;

  typedef enum int {
    StageIssue = 0,
    StageNicRx = 1,
    StageNicTag = 2,
    StagePathTx = 3,
    StageFlight = 4,
    StageModRx = 5,
    StageMedia = 6,
    StageMediaDone = 7,
    StageRspTx = 8,
    StageRspFlight = 9,
    StageNicRsp = 10,
    StageHost = 11,
    StageVisible = 12
  } emu_stage_e;

  import "DPI-C" function int emu_tick(input longint unsigned now);
  import "DPI-C" function int emu_port_pop(
    input  longint unsigned now,
    input  int              host,
    input  int              channel,
    output int unsigned     tag,
    output longint unsigned hpa,
    output bit [511:0]      data,
    output bit [63:0]       be
  );
  import "DPI-C" function void emu_port_done(
    input longint unsigned now,
    input int              host,
    input int              tag,
    input int              status,
    input bit [511:0]      data
  );
  import "DPI-C" function longint unsigned emu_next_wake(input longint unsigned now);
  import "DPI-C" function void emu_store_read(
    input  int              module_id,
    input  longint unsigned dpa,
    input  int              host,
    input  int              ntag,
    output bit [511:0]      data
  );
  import "DPI-C" function void emu_store_write(
    input int              module_id,
    input longint unsigned dpa,
    input int              host,
    input int              ntag,
    input bit [511:0]      data,
    input bit [63:0]       be
  );
  import "DPI-C" emu_probe = function void emu_probe_dpi(
    input longint unsigned now,
    input int              stage,
    input int              host,
    input int              tag,
    input int              aux
  );
  import "DPI-C" function void emu_counters_begin();
  import "DPI-C" function void emu_counter(
    input string  name,
    input int     a,
    input int     b,
    input longint value
  );

  // Traffic engines
  import "DPI-C" function int emu_engine_phases();
  import "DPI-C" function int emu_engine_host(input int host);
  import "DPI-C" function int emu_engine_has(
    input int phase,
    input int host
  );
  import "DPI-C" function longint unsigned emu_engine_field(
    input int phase,
    input int host,
    input int field
  );
  import "DPI-C" function int emu_line_read(
    input  int              module_id,
    input  longint unsigned line,
    output bit [511:0]      data
  );
  import "DPI-C" function void emu_line_write(
    input int              module_id,
    input longint unsigned line,
    input bit [511:0]      data
  );

  /// `+probes=0`: transactions are not stamped, which costs time when only counters are wanted.
  bit probes_off;

  function automatic void emu_probe(longint unsigned now, int stage, int host, int tag, int aux);
    if (!probes_off) emu_probe_dpi(now, stage, host, tag, aux);
  endfunction

endpackage
