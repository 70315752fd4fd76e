"""prismem: non-coherent CXL shared memory on Verilated RTL, and the software that runs on it."""

__version__ = "0.1.0"
