/*
 * Selection of an injected fault by name.
 */
#include "mutant.h"

#include <errno.h>
#include <string.h>

#include "error.h"
#include "prismem/pool.h"

#ifdef PM_MUTATION
enum pmi_mutant pmi_mutant_selected = PM_MUTANT_ID_none;

static const char *const mutant_names[] = {
    "none",
#define PM_MUTANT(name, description, noncoherence) #name,
#include "mutants.def"
#undef PM_MUTANT
};

int pm_mutant_select(const char *name) {
  for (unsigned i = 0; i < sizeof mutant_names / sizeof mutant_names[0]; ++i) {
    if (strcmp(name, mutant_names[i]) == 0) {
      pmi_mutant_selected = (enum pmi_mutant)i;
      return 0;
    }
  }
  return pmi_error(ENOENT, "mutant: '%s' is unknown; src/mutants.def lists the names", name);
}
#else
int pm_mutant_select(const char *name) {
  return pmi_error(ENOTSUP, "mutant: '%s' cannot be switched on, this build has no PM_MUTATION", name);
}
#endif
