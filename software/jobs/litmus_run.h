/**
 * @file litmus_run.h
 * Job litmus: litmus programs as threads of the emulated hosts, with real loads, stores and flushes of the host's view.
 *
 * Slots are the threads of the machine; a slot takes part in a program or waits. Every round of a program runs on lines of
 * its own, so all caches are cold and the device holds the initial words.
 */
#ifndef PRISMEM_LITMUS_RUN_H
#define PRISMEM_LITMUS_RUN_H

#include <stdint.h>

enum {
  LITMUS_REGISTERS = 16, /**< of a thread */
  LITMUS_WORDS = 8,      /**< of a line */
  LITMUS_CHANNELS = 16,
  LITMUS_SLOTS_MAX = 8
};

/** Operations; the order is that of OPS in tb/tests/litmus.py. */
enum litmus_op {
  LITMUS_ST,
  LITMUS_LD,
  LITMUS_CLFLUSH,
  LITMUS_CLFLUSHOPT,
  LITMUS_CLWB,
  LITMUS_SFENCE,
  LITMUS_MFENCE,
  LITMUS_LFENCE,
  LITMUS_NT,
  LITMUS_MOVDIR64B,
  LITMUS_UC_ST,
  LITMUS_UC_LD,
  LITMUS_DMA_ST,
  LITMUS_DMA_LD,
  LITMUS_CAS,
  LITMUS_MOV,
  LITMUS_ADD,
  LITMUS_BEQ,
  LITMUS_BNE,
  LITMUS_BLT,
  LITMUS_BLE,
  LITMUS_JMP,
  LITMUS_CS_ENTER,
  LITMUS_CS_LEAVE,
  LITMUS_SEND,
  LITMUS_RECV,
  LITMUS_STOP
};

typedef struct litmus_operand {
  int64_t value; /**< or number of the register */
  int64_t is_register;
} litmus_operand;

typedef struct litmus_instruction {
  uint32_t op;
  uint32_t offset; /**< bytes from the first line of the round */
  uint32_t reg;    /**< written */
  uint32_t target; /**< of branches; the channel of send and recv */
  litmus_operand a, b;
  int64_t words[LITMUS_WORDS]; /**< of movdir64b */
} litmus_instruction;

/** What one slot does in a program; no code: it only keeps time with the others. */
typedef struct litmus_part {
  const litmus_instruction *code;
  int64_t *registers; /**< result: LITMUS_REGISTERS a round */
  uint8_t *ended;     /**< result, a round: 1 when the end was reached, 0 when the thread gave up waiting */
  uint32_t count;     /**< of instructions */
  uint32_t pad;
} litmus_part;

typedef struct litmus_program {
  uint64_t first_line; /**< in the pool */
  uint8_t *overlap;    /**< result, a round: two threads were in their critical sections */
  uint32_t lines;      /**< of a round */
  uint32_t warm;       /**< 1: every slot loads all lines before it starts */
  uint32_t drain;      /**< 1: all lines are flushed at the end, for final memory */
  uint32_t pad;
  litmus_part part[LITMUS_SLOTS_MAX];
} litmus_program;

/** Shared by all slots. */
typedef struct litmus_run {
  const char *pool_path;
  const litmus_program *program;
  uint64_t seed;
  uint32_t programs;
  uint32_t rounds;    /**< of each program */
  uint32_t slots;     /**< threads of the machine */
  uint32_t tries_max; /**< branches back and looks at a channel after which a thread gives up */
  uint32_t delay_max; /**< pauses between two instructions, at most */
  /* State of the round */
  uint32_t arrived, phase, inside, overlap;
  uint32_t messages[LITMUS_CHANNELS];
} litmus_run;

typedef struct litmus_slot {
  litmus_run *run;
  uint64_t index;
} litmus_slot;

/** Program of one thread of the machine: arg is its litmus_slot. 0 or -errno. */
int64_t litmus_slot_run(void *arg);

#endif
