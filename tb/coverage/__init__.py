"""Functional and code coverage: the plan, the collector, the reader of Verilator's files, the summary."""
