/**
 * @file prismem_emu_transactions.h
 * Every line request of a run with the times of its stages: for traces of single transactions, where the tables of
 * emu_latency_report hold sums.
 */
#ifndef PRISMEM_EMU_TRANSACTIONS_H
#define PRISMEM_EMU_TRANSACTIONS_H

#include <stdint.h>

#include "prismem_emu_dpi.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EMU_STAGES 12
#define EMU_TRANSACTIONS_MAX (1u << 22)

/** What asked for the line. */
enum emu_transaction_kind {
  EMU_TRANSACTION_FILL = 0,
  EMU_TRANSACTION_PREFETCH = 1,
  EMU_TRANSACTION_WRITE_BACK = 2,
  EMU_TRANSACTION_STREAM = 3,
  EMU_TRANSACTION_DMA_READ = 4,
  EMU_TRANSACTION_DMA_WRITE = 5,
  EMU_TRANSACTION_TRAFFIC_READ = 6,
  EMU_TRANSACTION_TRAFFIC_WRITE = 7
};

typedef struct emu_transaction {
  uint64_t line;                 /**< pool offset / 64 */
  uint64_t stage_ns[EMU_STAGES]; /**< enum emu_dpi_stage; UINT64_MAX: not seen */
  uint64_t visible_ns;           /**< writes: the module has applied it. Later than its completion if that is posted */
  uint32_t host, module, tag;
  uint32_t kind; /**< enum emu_transaction_kind */
} emu_transaction;

/** RTL port: keep the first `max` transactions of the run, 1..EMU_TRANSACTIONS_MAX. Before the run; 0 or -EINVAL. */
int emu_transactions_record(uint64_t max);
/** Those that have been completed, in order of completion: their number, and where they lie until the run goes
 *  on. `left_out`, if not NULL: how many came after the first `max`. */
uint64_t emu_transactions(const emu_transaction **list, uint64_t *left_out);

#ifdef __cplusplus
}
#endif
#endif
