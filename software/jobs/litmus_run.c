/**
 * @file litmus_run.c
 * Job litmus: an interpreter of litmus programs whose loads, stores and flushes of the pool are real ones.
 *
 * Only accesses to the pool may be seen by the machine: a store of the interpreter to its own memory would retire pending
 * flushes. So everything is compiled without access hooks except the three functions that touch the pool.
 *
 * Uncached accesses are put together, since a process cannot map one page in two ways: a store is a streaming store between
 * two MFENCEs, a load one of a line just dropped. Both are stronger than the model's.
 */
#include "litmus_run.h"

#include <errno.h>
#include <fcntl.h>
#include <immintrin.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prismem_emu.h"

#define UNSEEN __attribute__((no_sanitize("thread")))
/** Left alone by the compiler: a load that moves into its caller would no longer be seen. */
#define SEEN __attribute__((noipa))

typedef struct thread {
  litmus_run *run;
  const litmus_program *program;
  const litmus_round *round;
  const litmus_turn *turn;
  uint64_t *pool;
  uint64_t random;
  uint64_t slot;
  uint32_t tries;
  int64_t registers[LITMUS_REGISTERS];
} thread;

/* What the machine sees. */

static SEEN uint64_t load(const uint64_t *address) {
  return *address;
}

static SEEN void store(uint64_t *address, uint64_t value) {
  *address = value;
}

static SEEN int64_t compare_and_swap(uint64_t *address, uint64_t expected, uint64_t desired) {
  return __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* What it does not. */

UNSEEN static uint64_t next_random(thread *t) {
  t->random ^= t->random << 13;
  t->random ^= t->random >> 7;
  t->random ^= t->random << 17;
  return t->random;
}

/** All slots meet; the last one to come lets the others go. */
UNSEEN static void meet(litmus_run *run) {
  const uint32_t phase = run->phase;
  if (++run->arrived == run->slots) {
    run->arrived = 0;
    run->phase = phase + 1;
    return;
  }
  while (*(volatile uint32_t *)&run->phase == phase) _mm_pause();
}

UNSEEN static void dawdle(thread *t) {
  if (t->run->delay_max == 0 || next_random(t) % 4 != 0) return;
  for (uint64_t left = next_random(t) % t->run->delay_max + 1; left != 0; left--) _mm_pause();
}

UNSEEN static uint64_t *line_of(const thread *t, uint32_t line) {
  return t->pool + t->round->line[line] * LITMUS_WORDS;
}

/** Before an instruction, which is number `executed` of those that the thread executes. */
UNSEEN static void hesitate(thread *t, uint32_t executed) {
  const litmus_turn *turn = t->turn;
  for (uint32_t i = 0; i < turn->events; i++) {
    const litmus_event *event = &turn->event[i];
    if (event->at != executed) continue;
    emu_cache_event((int)event->kind, line_of(t, event->line));
    if (event->then_ns != 0) emu_sleep_ns(event->then_ns);
  }
  if (turn->gap_ns != 0 && next_random(t) % 4 == 0) emu_sleep_ns(next_random(t) % turn->gap_ns + 1);
  if (turn->stall_ns != 0 && executed == turn->stall_at) emu_sleep_ns(turn->stall_ns);
  dawdle(t);
}

/** One more wait; false when the thread has waited long enough. */
UNSEEN static bool wait_again(thread *t) {
  _mm_pause();
  return ++t->tries < t->run->tries_max;
}

UNSEEN static int64_t value_of(const thread *t, const litmus_operand *operand) {
  return operand->is_register ? t->registers[operand->value] : operand->value;
}

/** A whole line by DMA. Returns 0 or -errno. */
UNSEEN static int64_t transfer(int direction, uint64_t *line, uint64_t *words) {
  const int64_t ticket = emu_dma_submit(direction, line, words, EMU_LINE_BYTES);
  if (ticket < 0) return ticket;
  int done;
  while ((done = emu_dma_poll(ticket)) == 0) _mm_pause();
  return done < 0 ? done : 0;
}

UNSEEN static int64_t by_dma(thread *t, const litmus_instruction *i, uint64_t *address) {
  _Alignas(EMU_LINE_BYTES) uint64_t words[LITMUS_WORDS] = {0};
  uint64_t *line = (uint64_t *)((uintptr_t)address & ~(uintptr_t)(EMU_LINE_BYTES - 1));
  const uint64_t word = (uint64_t)(address - line);
  if (i->op == LITMUS_DMA_ST) words[word] = (uint64_t)i->a.value;
  const int64_t result = transfer(i->op == LITMUS_DMA_LD, line, words);
  if (i->op == LITMUS_DMA_LD) t->registers[i->reg] = (int64_t)words[word];
  return result;
}

UNSEEN static void access_memory(thread *t, const litmus_instruction *i, uint64_t *address) {
  switch (i->op) {
    case LITMUS_ST:
      store(address, (uint64_t)value_of(t, &i->a));
      break;
    case LITMUS_LD:
      t->registers[i->reg] = (int64_t)load(address);
      break;
    case LITMUS_CLFLUSH:
      _mm_clflush(address);
      break;
    case LITMUS_CLFLUSHOPT:
      _mm_clflushopt(address);
      break;
    case LITMUS_CLWB:
      _mm_clwb(address);
      break;
    case LITMUS_NT:
      _mm_stream_si64((long long *)address, i->a.value);
      break;
    case LITMUS_MOVDIR64B:
      _movdir64b((void *)((uintptr_t)address & ~(uintptr_t)(EMU_LINE_BYTES - 1)), i->words);
      break;
    case LITMUS_UC_ST:
      _mm_mfence();
      _mm_stream_si64((long long *)address, i->a.value);
      _mm_mfence();
      break;
    case LITMUS_UC_LD:
      _mm_clflush(address);
      _mm_mfence();
      t->registers[i->reg] = (int64_t)load(address);
      break;
    default:
      t->registers[i->reg] = compare_and_swap(address, (uint64_t)value_of(t, &i->a), (uint64_t)value_of(t, &i->b));
      break;
  }
}

UNSEEN static bool branches(const thread *t, const litmus_instruction *i) {
  const int64_t a = value_of(t, &i->a), b = value_of(t, &i->b);
  switch (i->op) {
    case LITMUS_BEQ:
      return a == b;
    case LITMUS_BNE:
      return a != b;
    case LITMUS_BLT:
      return a < b;
    case LITMUS_BLE:
      return a <= b;
    default:
      return true;
  }
}

UNSEEN static void critical_section(litmus_run *run, bool enter) {
  if (!enter) {
    for (int stay = 0; stay < 4; stay++) _mm_pause();
    --run->inside;
  } else if (++run->inside > 1) {
    run->overlap = 1;
  }
}

/** Run the slot's part. Returns 1 at its end, 0 when it gave up, -errno. */
UNSEEN static int64_t run_part(thread *t, const litmus_part *part) {
  litmus_run *run = t->run;
  uint32_t executed = 0;
  for (uint32_t pc = 0; pc < part->count; pc++, executed++) {
    const litmus_instruction *i = &part->code[pc];
    uint64_t *address = line_of(t, i->place / LITMUS_WORDS) + i->place % LITMUS_WORDS;
    hesitate(t, executed);
    if (i->op == LITMUS_STOP || executed == t->turn->die_at) break;
    if (i->op == LITMUS_SFENCE) {
      _mm_sfence();
    } else if (i->op == LITMUS_MFENCE) {
      _mm_mfence();
    } else if (i->op == LITMUS_LFENCE) {
      _mm_lfence();
    } else if (i->op == LITMUS_DMA_ST || i->op == LITMUS_DMA_LD) {
      const int64_t result = by_dma(t, i, address);
      if (result < 0) return result;
    } else if (i->op < LITMUS_MOV) {
      access_memory(t, i, address);
    } else if (i->op == LITMUS_MOV) {
      t->registers[i->reg] = i->a.value;
    } else if (i->op == LITMUS_ADD) {
      t->registers[i->reg] = value_of(t, &i->a) + value_of(t, &i->b);
    } else if (i->op <= LITMUS_JMP) {
      if (!branches(t, i)) continue;
      if (i->target <= pc && !wait_again(t)) return 0;
      pc = i->target - 1;
    } else if (i->op == LITMUS_SEND) {
      ++run->messages[i->target];
    } else if (i->op == LITMUS_RECV) {
      while (*(volatile uint32_t *)&run->messages[i->target] == 0) {
        if (!wait_again(t)) return 0;
      }
      --run->messages[i->target];
    } else {
      critical_section(run, i->op == LITMUS_CS_ENTER);
    }
  }
  if (executed != t->turn->die_at) hesitate(t, executed);
  return 1;
}

/** Every slot writes back what its host holds, in an order of the seed. */
UNSEEN static void drain(thread *t, uint64_t first) {
  for (uint64_t turn = 0; turn < t->run->slots; turn++) {
    if ((first + turn) % t->run->slots == t->slot) {
      for (uint32_t line = 0; line < t->program->lines; line++) _mm_clflush(line_of(t, line));
      _mm_mfence();
    }
    meet(t->run);
  }
}

/** The slot's part of the round: after a death if it is the recovery, and up to one if its host is to die. */
UNSEEN static int64_t take_part(thread *t, const litmus_part *part) {
  litmus_run *run = t->run;
  if (t->program->recovered >> t->slot & 1) {
    while (*(volatile uint32_t *)&run->died == 0) {
      if (!wait_again(t)) return 0;
    }
    t->tries = 0;
  }
  if (t->turn->start_ns != 0) emu_sleep_ns(t->turn->start_ns);
  const int64_t ended = run_part(t, part);
  if (t->turn->die_at == LITMUS_LIVES || ended < 0) return ended;
  const int result = emu_host_restart((int)t->program->keep);
  run->died = 1;
  return result < 0 ? result : ended;
}

UNSEEN static int64_t run_round(thread *t, uint32_t round) {
  litmus_run *run = t->run;
  const litmus_part *part = &t->program->part[t->slot];
  t->round = &t->program->round[round];
  t->turn = &t->round->turn[t->slot];
  meet(run);
  if (t->slot == 0) {
    run->inside = run->overlap = run->died = 0;
    for (int i = 0; i < LITMUS_CHANNELS; i++) run->messages[i] = 0;
  }
  for (uint32_t line = 0; line < t->program->lines; line++) {
    if (t->turn->warm >> line & 1) load(line_of(t, line));
  }
  meet(run);
  for (int i = 0; i < LITMUS_REGISTERS; i++) t->registers[i] = 0;
  t->tries = 0;
  int64_t ended = 1;
  if (part->code != NULL) {
    ended = take_part(t, part);
    if (ended < 0) return ended;
    for (int i = 0; i < LITMUS_REGISTERS; i++) part->registers[round * LITMUS_REGISTERS + i] = t->registers[i];
    part->ended[round] = (uint8_t)ended;
  }
  meet(run);
  if (t->slot == 0) t->program->overlap[round] = (uint8_t)run->overlap;
  _mm_mfence();
  if (t->program->drain) drain(t, (run->seed ^ round) * 0x9E3779B97F4A7C15u >> 32);
  return 0;
}

UNSEEN int64_t litmus_slot_run(void *arg) {
  const litmus_slot *slot = arg;
  litmus_run *run = slot->run;
  const int fd = open(run->pool_path, O_RDWR);
  if (fd < 0) return -errno;
  struct stat status;
  if (fstat(fd, &status) != 0) return -errno;
  uint64_t *pool = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (pool == MAP_FAILED) return -errno;
  thread t = {.run = run,
              .pool = pool,
              .slot = slot->index,
              .random = (run->seed + 1) * 0x9E3779B97F4A7C15u ^ (slot->index << 20)};
  int64_t result = 0;
  for (uint32_t p = 0; p < run->programs && result == 0; p++) {
    t.program = &run->program[p];
    for (uint32_t round = 0; round < run->rounds && result == 0; round++) result = run_round(&t, round);
  }
  return result;
}
