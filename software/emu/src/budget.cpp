/**
 * @file budget.cpp
 * The countdown that the hooks run down: how many accesses go by until a cache event, a forced switch or the step limit.
 */
#include <algorithm>

#include "access.hpp"

namespace prismem {

namespace {

/** Eager policy: mean accesses between two evictions. */
constexpr uint64_t kEagerEventEvery = 2;
/** RTL port without forced switches: accesses after which time passes nevertheless. */
constexpr uint64_t kRtlSliceAccesses = 1000;
/** One in so many forced switches, and each that a cache event asks for, stalls the thread for up to so long. */
constexpr uint64_t kStallOdds = 4, kStallNs = 200;

uint64_t event_mean(const Machine &m) {
  if (m.cfg.policy == EMU_POLICY_EAGER) return kEagerEventEvery;
  return m.cfg.policy == EMU_POLICY_RANDOM ? m.cfg.event_every : 0;
}

/** On the RTL port a thread that only hits must let time pass now and then, or the others' clock would stand still. */
uint64_t switch_mean(const Machine &m) {
  return m.cfg.switch_every == 0 && m.rtl ? kRtlSliceAccesses : m.cfg.switch_every;
}

}  // namespace

void arm_budget(uint64_t steps) {
  Machine &m = *g_machine;
  if (m.next_event == kNever && event_mean(m) != 0) m.next_event = steps + m.rng.countdown(event_mean(m));
  if (m.next_switch == kNever && switch_mean(m) != 0) m.next_switch = steps + m.rng.countdown(switch_mean(m));
  // Deadline D: the access that makes the count D brings the budget below 0.
  m.step_target = std::max(std::min({m.next_event, m.next_switch, m.cfg.step_limit}), steps + 1) - 1;
  g_fast.budget = static_cast<int64_t>(m.step_target - steps);
}

void budget_expired() {
  Machine &m = *g_machine;
  const uint64_t steps = steps_now();
  if (steps >= m.cfg.step_limit) {
    report_end("stuck", "stuck: " + std::to_string(steps) + " accesses and polls without an end\n");
    end_run(EMU_STUCK);
  }
  if (steps >= m.next_event) {
    m.next_event = kNever;
    cache_event();
  }
  const bool forced = steps >= m.next_switch;
  if (forced) m.next_switch = kNever;
  arm_budget(steps);
  if (!forced) return;
  if (m.rtl) {
    const uint64_t ns = m.stall ? 1 + m.rng.below(kStallNs) : 1;
    m.stall = false;
    realise_debt(ns);
  } else if (m.stall || (m.cfg.policy != EMU_POLICY_LAZY && m.rng.one_in(kStallOdds))) {
    m.stall = false;
    m.current->wake_ns = now_ns() + 1 + m.rng.below(kStallNs);
    block_current(ThreadState::kSleeping, "time");
  } else {
    reschedule(false);
  }
}

void hasten_event() {
  Machine &m = *g_machine;
  if (event_mean(m) == 0) return;
  const uint64_t steps = steps_now();
  m.next_event = steps + 1 + m.rng.below(3);
  arm_budget(steps);
}

void stall_now() {
  Machine &m = *g_machine;
  if (m.cfg.switch_every == 0) return;
  m.next_switch = steps_now();
  m.stall = true;
}

}  // namespace prismem
