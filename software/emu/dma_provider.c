/*
 * The emulated host's DMA engine as libprismem's provider. Linked into the instrumented library, itself not instrumented.
 * Outside of an emulated thread there is no host and so no engine.
 */
#include <stddef.h>

#include "prismem/dma.h"
#include "prismem_emu.h"

__attribute__((visibility("default"))) const pm_dma_engine *pm_dma_provider(void) {
  static const pm_dma_engine engine = {.submit = emu_dma_submit, .poll = emu_dma_poll};
  return emu_self() >= 0 ? &engine : NULL;
}
