"""Runs publish.c on two emulated hosts with twenty seeds; --forget-flush runs the build in which one flush is missing.

Exit code 0: every run was right; 1: a run was caught.
"""

import argparse
import ctypes
import subprocess
import sys
from pathlib import Path

from prismem.lib.emu import POOL_PATH, Machine, MachineConfig, Policy, State
from prismem.paths import BUILD_SW

SEEDS = range(1, 21)
POOL_BYTES = 2 << 20


def run(program: ctypes.CDLL, seed: int) -> str | None:
    """One run, under one of the four cache policies; returns the first fault, or None."""
    path = ctypes.create_string_buffer(POOL_PATH.encode())
    config = MachineConfig(hosts=2, pool_bytes=POOL_BYTES, seed=seed, policy=Policy(seed % len(Policy)))
    with Machine(config) as machine:
        machine.spawn(0, "producer", program.producer, path)
        machine.spawn(1, "consumer", program.consumer, path)
        state = machine.run()
        faults = machine.report()["faults"]
    return None if state is State.DONE else faults[0]["message"] if faults else state.name


def main() -> int:
    """Build, run every seed, say what was found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--forget-flush", action="store_true", help="the payload is not flushed before the flag")
    name = "publish_forget_flush" if parser.parse_args().forget_flush else "publish"
    subprocess.run(["make", "-s", "-C", str(Path(__file__).parent)], check=True)
    program = ctypes.CDLL(str(BUILD_SW / "examples" / f"lib{name}.so"))
    for seed in SEEDS:
        fault = run(program, seed)
        if fault is not None:
            print(f"FAIL {name} seed {seed}: {fault}")
            return 1
    print(f"PASS {name}: {len(SEEDS)} seeds, two hosts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
