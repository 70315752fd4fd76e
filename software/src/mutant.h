/*
 * Fault injection. PM_MUTANT_ON(name) is true while the fault `name` of mutants.def is switched on, and the constant 0 in
 * ordinary builds, so that the injected faults cost nothing there.
 */
#ifndef PRISMEM_SRC_MUTANT_H
#define PRISMEM_SRC_MUTANT_H

enum pmi_mutant {
  PM_MUTANT_ID_none = 0,
#define PM_MUTANT(name, description, noncoherence) PM_MUTANT_ID_##name,
#include "mutants.def"
#undef PM_MUTANT
};

#ifdef PM_MUTATION
extern enum pmi_mutant pmi_mutant_selected __attribute__((visibility("default"))); /* tests see the layout it changes */
#define PM_MUTANT_ON(name) (pmi_mutant_selected == PM_MUTANT_ID_##name)
#else
#define PM_MUTANT_ON(name) 0
#endif

#endif
