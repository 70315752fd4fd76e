/**
 * @file explore.hpp
 * Verdicts over all interleavings of a litmus program.
 */
#pragma once

#include "machine.hpp"

namespace litmus {

struct Result {
  bool allowed = false;                      ///< `bad` is reachable
  bool trap = false;                         ///< with a lazy cache, a state from which the end cannot be reached
  std::string vacuous;                       ///< why `bad` could not hold whatever the memory did; empty otherwise
  size_t states = 0;                         ///< looked at for the verdict
  size_t trap_states = 0;                    ///< looked at for trap states
  double seconds = 0;                        ///< of the processor, for both
  std::vector<TraceLine> bad_run, trap_run;  ///< shortest ones, if wanted
  std::string bad_end, trap_end;             ///< their last states
};

/** @throws InputError when the program is too large: states, values. */
Result explore(const Program &program, const Setting &setting, bool want_trace);

/**
 * Every outcome of the runs that end, sorted: "0.r0=1 1.r1=0", registers by thread and name, and with "mem.x=1" for each
 * variable if `bad` names memory; "both inside" if two threads meet in their critical sections.
 * @throws InputError when the program is too large.
 */
std::vector<std::string> outcomes(const Program &program, const Setting &setting);

/** Why no memory whatsoever could show `bad`, empty if one could: every load takes any value that the program writes. */
std::string vacuous(const Program &program);

}  // namespace litmus
