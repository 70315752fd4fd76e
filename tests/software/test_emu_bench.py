"""The emulator's benchmarks: every access is checked, equal seeds give equal digests; speed itself is not judged."""

from __future__ import annotations

import json
import subprocess

from emu_support import ROOT, make


def test_benchmark_prints_rates_and_equal_digests() -> None:
    """A short run of the command ends well and prints one JSON object."""
    make("bench_build")
    command = [str(ROOT / "build/sw/emu_bench"), "2000"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["digests_equal"] is True
    assert report["runs"] == 10
    assert set(report["accesses_per_s"]) == {"functional_1host", "functional_2hosts", "functional_2hosts_shared"}
    assert all(rate > 0 for rate in report["accesses_per_s"].values())
