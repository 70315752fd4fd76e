"""Mutants of libprismem: one verb or lock step of its source is wrong in each, and the battery has to notice."""
