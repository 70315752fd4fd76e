/*
 * Prints the speed of the host emulator on the functional port as JSON: ns a hooked load that hits (with the cost of the
 * same loop without hooks taken off), checked accesses a second, and whether equal seeds gave equal digests.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "emu_bench.h"

enum { POOL_BYTES = 64 << 20, RUNS = 10 };

static double seconds(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static double run(uint32_t hosts, emu_thread_fn fn, struct bench_job *jobs, char digest[17]) {
  emu_config cfg = {
      .struct_bytes = sizeof cfg, .hosts = hosts, .pool_bytes = POOL_BYTES, .seed = 1, .port = EMU_PORT_FUNCTIONAL};
  cfg.policy = EMU_POLICY_RANDOM;
  cfg.switch_every = 50;
  cfg.event_every = 100;
  cfg.detect = 1;
  cfg.faults_max = 1;
  cfg.step_limit = 1ull << 40;
  if (emu_create(&cfg) != 0) {
    fprintf(stderr, "emu_create: %s\n", emu_error());
    _exit(2);
  }
  for (uint32_t host = 0; host < hosts; ++host) emu_spawn(host, "bench", fn, &jobs[host], 0);
  const double start = seconds();
  const int state = emu_run();
  const double time = seconds() - start;
  const char *report = emu_report();
  if (state != EMU_DONE) {
    fprintf(stderr, "the run did not end well: %s\n", report);
    _exit(1);
  }
  memcpy(digest, strstr(report, "\"digest\": \"") + 11, 16);
  digest[16] = 0;
  emu_destroy();
  return time;
}

/* The loop of bench_hits without hooks, on ordinary memory. */
static double bare_loop_ns(uint64_t lines, uint64_t count) {
  volatile uint64_t sink;
  uint64_t *area = calloc(lines, 64), sum = 0;
  const double start = seconds();
  for (uint64_t done = 0; done < count; done += lines * 8) {
    for (uint64_t i = 0; i < lines * 8; ++i) {
      sum += area[i];
      __asm__ volatile("" : : : "memory");
    }
  }
  sink = sum;
  (void)sink;
  free(area);
  return (seconds() - start) * 1e9 / (double)count;
}

static double rate(uint32_t hosts, int shared, uint64_t count, int *equal) {
  char first[17] = "", digest[17];
  double best = 1e9;
  for (int i = 0; i < RUNS; ++i) {
    struct bench_job jobs[2];
    for (uint32_t host = 0; host < 2; ++host) {
      jobs[host] = (struct bench_job){
          .base = shared ? 0 : host * (16u << 20), .lines = shared ? 256 : 4096, .count = count, .seed = host + 1};
    }
    const double time = run(hosts, bench_access, jobs, digest);
    if (time < best) best = time;
    if (i == 0) memcpy(first, digest, sizeof first);
    if (strcmp(first, digest) != 0) *equal = 0;
  }
  return (double)(count * hosts) / best;
}

int main(int argc, char **argv) {
  const uint64_t count = argc > 1 ? strtoull(argv[1], NULL, 10) : 200000;
  const uint64_t hits = 50000000;
  struct bench_job hit = {.base = 0, .lines = 256, .count = hits, .seed = 1};
  char digest[17];
  const double hooked = run(1, bench_hits, &hit, digest) * 1e9 / (double)hits;
  const double bare = bare_loop_ns(256, hits);
  int equal = 1;
  const double one = rate(1, 0, count, &equal);
  const double two = rate(2, 0, count / 2, &equal);
  const double shared = rate(2, 1, count / 2, &equal);
  printf(
      "{\"hook_hit_ns\": %.2f, \"hooked_load_ns\": %.2f, \"bare_load_ns\": %.2f, \"accesses_per_s\": "
      "{\"functional_1host\": %.0f, "
      "\"functional_2hosts\": %.0f, \"functional_2hosts_shared\": %.0f}, \"digests_equal\": %s, \"runs\": %d}\n",
      hooked - bare, hooked, bare, one, two, shared, equal ? "true" : "false", RUNS);
  return equal ? 0 : 1;
}
