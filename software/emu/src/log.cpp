/**
 * @file log.cpp
 * The digest over every decision of a run, and the readable log of the same decisions.
 */
#include <cerrno>
#include <cstring>

#include "modules.hpp"

namespace prismem {

namespace {

const char *decision_name(Decision decision) {
  switch (decision) {
    case Decision::kSwitch:
      return "switch";
    case Decision::kFill:
      return "fill";
    case Decision::kPrefetch:
      return "prefetch";
    case Decision::kEvict:
      return "evict";
    case Decision::kWriteBack:
      return "write-back";
    case Decision::kRetire:
      return "retire";
    case Decision::kStream:
      return "stream";
    case Decision::kDmaRead:
      return "dma-read";
    case Decision::kDmaWrite:
      return "dma-write";
    case Decision::kTrafficRead:
      return "traffic-read";
    case Decision::kTrafficWrite:
      return "traffic-write";
    case Decision::kWake:
      return "wake";
    case Decision::kFault:
      return "fault";
    case Decision::kEnd:
      return "end";
    case Decision::kCrash:
      return "crash";
  }
  return "?";
}

uint64_t mix(uint64_t hash, uint64_t value) {
  const unsigned __int128 product =
      static_cast<unsigned __int128>(hash ^ value ^ 0x9E3779B97F4A7C15ull) * 0xD6E8FEB86659FD93ull;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace

void note(Decision decision, uint64_t a, uint64_t b, uint64_t c, const void *data) {
  Machine &m = *g_machine;
  uint64_t hash = mix(m.digest + static_cast<uint64_t>(decision), a);
  hash = mix(hash, b);
  hash = mix(hash, c);
  if (data != nullptr) {
    uint64_t words[kWordsPerLine];
    memcpy(words, data, sizeof words);
    for (uint32_t i = 0; i < kWordsPerLine; i += 2) hash = mix(hash + words[i], words[i + 1]);
  }
  m.digest = hash;
  if (m.log == nullptr) return;
  fprintf(m.log, "%llu %s %llu %llu %llu %016llx\n", static_cast<unsigned long long>(now_ns()), decision_name(decision),
          static_cast<unsigned long long>(a), static_cast<unsigned long long>(b), static_cast<unsigned long long>(c),
          static_cast<unsigned long long>(hash));
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_log_open(const char *path) {
  if (g_machine == nullptr || g_machine->started || path == nullptr) {
    set_error("emu_log_open: there is no machine, or its run has started, or path is NULL");
    return -EINVAL;
  }
  FILE *log = fopen(path, "w");
  if (log == nullptr) {
    const int error = errno;
    set_error("path: %s: %s", path, strerror(error));
    return -error;
  }
  if (g_machine->log != nullptr) fclose(g_machine->log);
  g_machine->log = log;
  fprintf(log,
          "# ns decision a b c digest: switch from to ns; fill, write-back host line mask; evict host line dirty; "
          "prefetch host line cause; retire thread kind line; crash host kind event\n");
  return 0;
}
