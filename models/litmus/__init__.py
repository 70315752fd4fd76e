"""A second implementation of the memory model for litmus programs: small, clear, slow, written from the specification.

`program` reads the text format, `machine` and `steps` hold the rules, `explore` gives verdicts, `cycles` generates
programs. It shares nothing with the explorer of software/emu/litmus, and both have to agree on every verdict.
"""
