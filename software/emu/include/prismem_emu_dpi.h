/**
 * @file prismem_emu_dpi.h
 * DPI-C seam between the Verilated bench (`tb/hdl/emu_dpi_pkg.sv`) and the host emulator. Times are core clock cycles of
 * 1 ns. Wide vectors are arrays of 32-bit words, least significant first, as the simulator lays them out.
 */
#ifndef PRISMEM_EMU_DPI_H
#define PRISMEM_EMU_DPI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Request kinds as the host port sees them. */
enum emu_dpi_op { EMU_DPI_NONE = 0, EMU_DPI_MEM_RD = 1, EMU_DPI_MEM_WR = 2, EMU_DPI_MEM_WR_PTL = 3 };
/** Completion kinds. */
enum emu_dpi_status {
  EMU_DPI_OK = 0,  /**< Cmp or MemData */
  EMU_DPI_NXM = 1, /**< no decoder claims the address: MemData-NXM, or Cmp with the error flag */
  EMU_DPI_POISON = 2
};

/** Run the hosts up to `now`; once a clock (calls with the same `now` do nothing). Returns enum emu_state.
 *  Completions delivered at cycle t are acted upon at the first tick later than t, in (host, tag) order, so the order in
 *  which the bench's processes run within a clock has no influence. */
int emu_tick(uint64_t now);

/** Next request of `host`, channel 0 = M2S Req (reads), 1 = M2S RwD (writes). Runs emu_tick(now) first.
 *  Returns enum emu_dpi_op; NONE leaves the outputs alone. hpa is a byte address, a multiple of 64. */
int emu_port_pop(uint64_t now, int host, int channel, uint32_t *tag, uint64_t *hpa, uint32_t data[16], uint32_t be[2]);

/** Completion of `tag` at the host port. `data` counts for reads only. */
void emu_port_done(uint64_t now, int host, int tag, int status, const uint32_t data[16]);

/** Earliest cycle at which a host wants to act by itself; `now` + 1 when one is ready, UINT64_MAX when all wait for the
 *  memory or have ended. The bench asks only while nothing is in flight, and may then move `now` there at once. */
uint64_t emu_next_wake(uint64_t now);

/** Media behind a memory module: one whole line. `host` and `ntag` (tag of the NIC) say whose transaction it is. */
void emu_store_read(int module, uint64_t dpa, int host, int ntag, uint32_t data[16]);
void emu_store_write(int module, uint64_t dpa, int host, int ntag, const uint32_t data[16], const uint32_t be[2]);

/** Stage boundaries of one transaction. The NIC's tag is bound to the host's at NIC_TAG. */
enum emu_dpi_stage {
  EMU_STAGE_ISSUE = 0,      /**< T0: the host port offers the message (key: host tag) */
  EMU_STAGE_NIC_RX = 1,     /**< T1: the NIC has the message (host tag) */
  EMU_STAGE_NIC_TAG = 2,    /**< decoded, tag entry taken, in its path queue (host tag; `aux` = NIC tag) */
  EMU_STAGE_PATH_TX = 3,    /**< serialization onto the lightpath starts (NIC tag, as all below) */
  EMU_STAGE_FLIGHT = 4,     /**< last byte has left */
  EMU_STAGE_MOD_RX = 5,     /**< whole frame at the module's port */
  EMU_STAGE_MEDIA = 6,      /**< T2: leaves the port queue, media access starts */
  EMU_STAGE_MEDIA_DONE = 7, /**< read data available, or write globally visible */
  EMU_STAGE_RSP_TX = 8,     /**< serialization of the response starts */
  EMU_STAGE_RSP_FLIGHT = 9, /**< last byte has left */
  EMU_STAGE_NIC_RSP = 10,   /**< T3: response back at the NIC, tag free */
  EMU_STAGE_HOST = 11,      /**< T4: the host port has it (host tag) */
  EMU_STAGE_VISIBLE = 12    /**< no boundary of the way: a write whose completion was posted is globally visible now */
};
/** `host` and `tag` name the transaction; `aux` is the NIC's tag at NIC_TAG and the module at MOD_RX, else 0. An address
 *  that no decoder claims goes NIC_RX -> NIC_RSP (keyed by the host tag with aux = 1) -> HOST. */
void emu_probe(uint64_t now, int stage, int host, int tag, int aux);

/** Counters of the hardware, for emu_report: in the cycle in which the bench reports, it begins a reading, then each
 *  probe gives its values, a name with two indices (host, module, channel, bin, ...). A run may have several readings. */
void emu_counters_begin(void);
void emu_counter(const char *name, int a, int b, int64_t value);

/** Traffic engines: number of phases; whether a host is an engine, and in this phase; the fields of its descriptor in the
 *  order of struct emu_engine behind `phase`, 0 where there is none. */
int emu_engine_phases(void);
int emu_engine_host(int host);
int emu_engine_has(int phase, int host);
uint64_t emu_engine_field(int phase, int host, int field);

/** Lines that engines have written, by module and address in it / 64. Reading returns 0, and no data, when there is none. */
int emu_line_read(int module, uint64_t line, uint32_t data[16]);
void emu_line_write(int module, uint64_t line, const uint32_t data[16]);

#ifdef __cplusplus
}
#endif
#endif
