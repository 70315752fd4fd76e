"""Builds and runs simulations: one way for make, pytest and benchmarks."""
