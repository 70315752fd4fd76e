// Counters of mem_bench_top: printed as RESULT lines, since no emulator runs behind that bench.
#include <cstdio>

extern "C" void emu_counter(const char *name, int a, int b, long long value) {
  (void)a;  // one module
  std::printf("RESULT %s %d %lld\n", name, b, value);
}
