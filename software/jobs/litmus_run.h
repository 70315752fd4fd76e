/**
 * @file litmus_run.h
 * Job litmus: litmus programs as threads of the emulated hosts, with real loads, stores and flushes of the host's view.
 *
 * Slots are the threads of the machine; a slot takes part in a program or waits. Every round of a program runs on lines of
 * its own, so the device holds the initial words, and caches are cold but for what the round says. Where the lines lie and
 * who starts when is drawn by the caller, a round at a time.
 */
#ifndef PRISMEM_LITMUS_RUN_H
#define PRISMEM_LITMUS_RUN_H

#include <stdint.h>

enum {
  LITMUS_REGISTERS = 16, /**< of a thread */
  LITMUS_WORDS = 8,      /**< of a line */
  LITMUS_CHANNELS = 16,
  LITMUS_LINES_MAX = 8, /**< of a program */
  LITMUS_SLOTS_MAX = 8,
  LITMUS_EVENTS_MAX = 4 /**< of a slot in a round */
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
  uint32_t place;  /**< line of the program x LITMUS_WORDS + word */
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

/** Something that the cache of a slot's host does before an instruction, counted as they are executed, from 0. */
typedef struct litmus_event {
  uint32_t at;
  uint32_t kind;    /**< enum emu_cache_event */
  uint32_t line;    /**< of the program */
  uint32_t then_ns; /**< the thread stands still so long afterwards */
} litmus_event;

/** What a slot does in one round beside its code. */
typedef struct litmus_turn {
  uint32_t warm;     /**< bit of each line that it loads before the start */
  uint32_t start_ns; /**< it sleeps so long first */
  uint32_t gap_ns;   /**< and, one in four times, up to so long before an instruction */
  uint32_t stall_at; /**< it stands still before this instruction, counted as they are executed, from 0 */
  uint32_t stall_ns;
  uint32_t die_at; /**< its host dies before this instruction, or at the end; LITMUS_LIVES: never */
  uint32_t events;
  litmus_event event[LITMUS_EVENTS_MAX];
} litmus_turn;

#define LITMUS_LIVES UINT32_MAX

typedef struct litmus_round {
  uint64_t line[LITMUS_LINES_MAX]; /**< in the pool, of each line of the program */
  litmus_turn turn[LITMUS_SLOTS_MAX];
} litmus_round;

typedef struct litmus_program {
  const litmus_round *round;
  uint8_t *overlap; /**< result, a round: two threads were in their critical sections */
  uint32_t lines;
  uint32_t drain;     /**< 1: all lines are flushed at the end, for final memory */
  uint32_t keep;      /**< 1: write-backs under way when a host dies arrive */
  uint32_t recovered; /**< bit of each slot that starts when a host has died */
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
  uint32_t arrived, phase, inside, overlap, died;
  uint32_t messages[LITMUS_CHANNELS];
} litmus_run;

typedef struct litmus_slot {
  litmus_run *run;
  uint64_t index;
} litmus_slot;

/** Program of one thread of the machine: arg is its litmus_slot. 0 or -errno. */
int64_t litmus_slot_run(void *arg);

#endif
