/**
 * Plays the hardware against the emulator's DPI functions: seeded delays, interleaving over modules, stage probes, an
 * order of the bench's processes within a clock that changes with `shuffle_seed` and must not matter.
 */
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "prismem_emu.h"
#include "prismem_emu_dpi.h"

namespace {

struct Random {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9E3779B97F4A7C15ull);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) { return next() % n; }
};

struct Transaction {
  int host, op, module;
  uint32_t tag, ntag;
  uint64_t hpa, dpa;
  uint64_t at[12];
  int status;
  int next_stage;
  uint32_t data[16];
  uint32_t be[2];
};

}  // namespace

/** What the driver is told; mirrored by the test as a ctypes structure. */
struct fake_rtl_options {
  uint64_t seed, shuffle_seed;
  uint64_t cycles_max;
  uint64_t hpa_base, hpa_bytes;  ///< outside: NXM
  uint64_t poison_hpa;           ///< reads of this line come back poisoned; UINT64_MAX: none
  uint32_t hosts, modules;
  uint32_t delay_max;   ///< each stage takes 1..delay_max ns
  uint32_t flip_bit;    ///< 1: a bit of every write is wrong at the module
  uint32_t lose_probe;  ///< the probe of stage lose_probe - 1 never fires
  uint32_t swap_lines;  ///< 1: every line lands at one place of its module
  uint32_t late_issue;  ///< 1: the probe of the first stage fires a cycle late
  uint32_t lose_write;  ///< 1: writes are completed and never reach the module
};

extern "C" int fake_rtl_run(const fake_rtl_options *o, uint64_t *cycles, uint64_t *skipped) {
  Random order{o->shuffle_seed};
  std::vector<Transaction> flight;
  uint64_t now = 0, jumped = 0;
  uint32_t next_ntag = 0;
  int state = EMU_RUNNING;
  for (; now < o->cycles_max; ++now) {
    std::vector<int> hosts(o->hosts);
    for (uint32_t i = 0; i < o->hosts; ++i) hosts[i] = static_cast<int>(i);
    for (size_t i = hosts.size(); i > 1; --i) std::swap(hosts[i - 1], hosts[order.below(i)]);
    const bool pops_first = order.below(2) == 0;
    for (int pass = 0; pass < 2; ++pass) {
      if ((pass == 0) == pops_first) {
        for (const int host : hosts) {
          const int first_channel = static_cast<int>(order.below(2));
          for (int i = 0; i < 2; ++i) {
            Transaction t{};
            const int channel = i ^ first_channel;
            t.op = emu_port_pop(now, host, channel, &t.tag, &t.hpa, t.data, t.be);
            if (t.op == EMU_DPI_NONE) continue;
            t.host = host;
            t.ntag = next_ntag++ % 2048;
            const bool known = t.hpa - o->hpa_base < o->hpa_bytes;
            t.status = known ? EMU_DPI_OK : EMU_DPI_NXM;
            if (t.op == EMU_DPI_MEM_RD && t.hpa == o->poison_hpa) t.status = EMU_DPI_POISON;
            const uint64_t line = (t.hpa - o->hpa_base) / 64;
            t.module = static_cast<int>(line / 4 % o->modules);
            t.dpa = o->swap_lines ? 0 : (line / 4 / o->modules * 4 + line % 4) * 64;
            // Delays follow from the transaction alone, so that the order of the pops cannot change them.
            Random own{o->seed ^ (t.hpa * 31 + t.tag * 7 + static_cast<uint64_t>(t.host) + now * 1000003)};
            t.at[0] = now + 1;
            for (int stage = 1; stage < 12; ++stage) t.at[stage] = t.at[stage - 1] + 1 + own.below(o->delay_max);
            flight.push_back(t);
          }
        }
      } else {
        std::vector<Transaction> left;
        std::sort(flight.begin(), flight.end(), [](const Transaction &a, const Transaction &b) {
          return std::pair(a.host, a.tag) < std::pair(b.host, b.tag);
        });
        for (Transaction &t : flight) {
          bool gone = false;
          while (t.next_stage < 12 && t.at[t.next_stage] <= now) {
            const int stage = t.next_stage++;
            const bool unmapped = t.status == EMU_DPI_NXM;
            if (unmapped && stage > EMU_STAGE_NIC_RX && stage < EMU_STAGE_NIC_RSP) continue;
            const bool host_tag = stage <= EMU_STAGE_NIC_TAG || stage == EMU_STAGE_HOST || unmapped;
            int aux = stage == EMU_STAGE_NIC_TAG ? static_cast<int>(t.ntag) : stage == EMU_STAGE_MOD_RX ? t.module : 0;
            if (stage == EMU_STAGE_NIC_RSP && unmapped) aux = 1;
            if (o->lose_probe != static_cast<uint32_t>(stage) + 1) {
              const uint64_t late = o->late_issue && stage == EMU_STAGE_ISSUE ? 1 : 0;
              emu_probe(t.at[stage] + late, stage, t.host, static_cast<int>(host_tag ? t.tag : t.ntag), aux);
            }
            if (stage == EMU_STAGE_MEDIA_DONE && t.op == EMU_DPI_MEM_RD) {
              emu_store_read(t.module, t.dpa, t.host, static_cast<int>(t.ntag), t.data);
            } else if (stage == EMU_STAGE_MEDIA_DONE && !o->lose_write) {
              if (o->flip_bit) t.data[3] ^= 1u << 9;
              emu_store_write(t.module, t.dpa, t.host, static_cast<int>(t.ntag), t.data, t.be);
            }
            if (stage == EMU_STAGE_HOST) {
              if (t.status == EMU_DPI_NXM) memset(t.data, 0xff, sizeof t.data);
              emu_port_done(now, t.host, static_cast<int>(t.tag), t.status, t.data);
              gone = true;
            }
          }
          if (!gone) left.push_back(t);
        }
        flight.swap(left);
      }
    }
    state = emu_tick(now);
    if (state != EMU_RUNNING && flight.empty()) break;
    if (flight.empty()) {
      const uint64_t wake = emu_next_wake(now);
      if (wake > now + 1 && wake < o->cycles_max) {
        jumped += wake - now - 1;
        now = wake - 1;
      }
    }
  }
  *cycles = now;
  *skipped = jumped;
  return state;
}
