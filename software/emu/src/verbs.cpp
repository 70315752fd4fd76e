/**
 * @file verbs.cpp
 * Counting and leaving out, and the C interface of both.
 */
#include "verbs.hpp"

#include <cerrno>

#include "access.hpp"
#include "json.hpp"
#include "program.hpp"

namespace prismem {

bool Verbs::acts(VerbKind kind, uint64_t pc, bool idle) {
  Issuer &site = by_pc_[pc];
  if (site.verb == nullptr) {
    site.place = program_place(pc);
    site.verb = &by_place_.try_emplace(site.place, Verb{kind, pc_id(pc), 0, 0}).first->second;
  }
  ++site.verb->count;
  site.verb->idle += idle;
  return site.place != skipped_;
}

std::string Verbs::report() const {
  static const char *const names[] = {"clflush", "clflushopt", "clwb", "sfence", "mfence"};
  std::vector<uint32_t> pcs;
  for (const auto &[place, verb] : by_place_) pcs.push_back(verb.pc);
  const std::vector<Location> where = locate(pcs);
  Json json;
  json.open('[');
  size_t index = 0;
  for (const auto &[place, verb] : by_place_) {
    json.open('{')
        .field("place", std::to_string(place))
        .field("verb", std::string(names[static_cast<size_t>(verb.kind)]));
    json.field("function", where[index].function).field("source", where[index].source);
    json.field("count", verb.count).field("idle", verb.idle).close('}');
    ++index;
  }
  return json.close(']').take();
}

}  // namespace prismem

using namespace prismem;

PRISMEM_EXPORT int emu_verbs_watch(void) {
  if (g_machine == nullptr) {
    set_error("emu_verbs_watch: there is no machine");
    return -EINVAL;
  }
  if (g_machine->verbs == nullptr) g_machine->verbs = std::make_unique<Verbs>();
  return 0;
}

PRISMEM_EXPORT int emu_verb_skip(uint64_t place) {
  if (g_machine == nullptr || g_machine->verbs == nullptr) {
    set_error("emu_verb_skip: emu_verbs_watch comes first");
    return -EINVAL;
  }
  g_machine->verbs->skip(place);
  return 0;
}

PRISMEM_EXPORT const char *emu_verbs(void) {
  if (g_machine == nullptr || g_machine->verbs == nullptr) return "[]";
  g_machine->verbs_text = g_machine->verbs->report();
  return g_machine->verbs_text.c_str();
}
