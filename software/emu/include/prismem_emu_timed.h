/**
 * @file prismem_emu_timed.h
 * The timed port: a queue model in the place of the Verilated hardware, for workloads that are too long for it.
 *
 * The machine is one of the RTL port (time in ns, hosts that wait for lines); `emu_run_timed` drives it in the bench's
 * stead. A line passes these stations, each a queue served in order of arrival, and fixed delays between them:
 *
 *   host's link out -> NIC -> path out -> port -> HBM hit, or DDR5 -> path back -> NIC -> host's link back
 *
 * Numbers come from a calibration that was measured on the RTL (`prismem calibrate`). Not modelled: credits, link errors,
 * batches of writes on a DRAM bus.
 */
#ifndef PRISMEM_EMU_TIMED_H
#define PRISMEM_EMU_TIMED_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_TIMED_MODULES_MAX 16u

/** One kind of DRAM of a module. Times in ns; a bank moves one line at a time, a channel's bus one in `bus_ps`. */
typedef struct emu_timed_dram {
  uint64_t channels, banks, row_lines; /**< powers of two; banks of a channel */
  uint64_t row_to_column_ns, precharge_ns, activate_ns, read_precharge_ns, write_precharge_ns, column_ns;
  uint64_t data_ns; /**< column command to the whole line, measured */
  uint64_t bus_ps;  /**< time of a line on the bus */
  uint64_t idle_close_ns;
  uint64_t ahead_ns, horizon_ns; /**< how far ahead a bus, and a bank, is booked; then ports of the module wait */
  uint64_t refresh_interval_ns, refresh_ns, refresh_groups, refresh_step_ns, refresh_offset_ns; /**< interval 0: none */
} emu_timed_dram;

/** The whole machine. Arrays of two: reads, writes. `_ps` is what a line occupies of a busy link. */
typedef struct emu_timed {
  uint64_t struct_bytes; /**< sizeof(emu_timed): refuses another version of this structure */
  uint64_t modules, ways, granularity_b, decoder_bytes; /**< as the NIC's decoders map the pool */
  uint64_t shared_path; /**< 0: a path for each host and module; 1: a port of a module out, of a host back */
  uint64_t cxl_request_ns[2], decode_ns[2], serialize_ns[2], flight_ns[2], port_ns[2], commit_ns, return_ns[2],
      serialize_back_ns[2], flight_back_ns[2], cxl_response_ns[2];
  uint64_t cxl_out_ps[2], path_out_ps[2], path_back_ps[2], cxl_back_ps[2];
  uint64_t hbm_on; /**< 0: no HBM, every access goes to DDR5 */
  uint64_t hbm_sets, hbm_ways, hbm_sector_lines;
  emu_timed_dram hbm, ddr;
} emu_timed;

/** Run a machine of the RTL port to its end on this model. Returns enum emu_state, or -EINVAL (emu_error() names it). */
int emu_run_timed(const emu_timed *model);

#ifdef __cplusplus
}
#endif
#endif
