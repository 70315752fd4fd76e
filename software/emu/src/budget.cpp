/**
 * @file budget.cpp
 * The countdown that the hooks run down: how many accesses go by until the chooser wants a say, or the step limit.
 */
#include <algorithm>

#include "access.hpp"
#include "chooser.hpp"

namespace prismem {

void arm_budget(uint64_t steps) {
  Machine &m = *g_machine;
  uint64_t next = std::min(m.chooser->next_stop(steps), m.cfg.step_limit);
  if (m.tracing) next = steps + 1;
  // Deadline D: the access that makes the count D brings the budget below 0.
  m.step_target = std::max(next, steps + 1) - 1;
  g_fast.budget = static_cast<int64_t>(m.step_target - steps);
}

void budget_expired() {
  Machine &m = *g_machine;
  const uint64_t steps = steps_now();
  if (steps >= m.cfg.step_limit) {
    if (m.exploring) end_run(EMU_STUCK);  // cut: a longer execution than was asked for is no fault
    report_end("stuck", "stuck: " + std::to_string(steps) + " accesses and polls without an end\n");
    end_run(EMU_STUCK);
  }
  const AtSite site(Site::kStep);
  const bool forced = m.chooser->at_stop(steps);
  arm_budget(steps);
  if (forced) m.chooser->give_way();
}

}  // namespace prismem
