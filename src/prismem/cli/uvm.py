"""`prismem uvm`: one test of the port-level environment."""

from rich.console import Console

from prismem.errors import MisuseError
from prismem.paths import relative
from prismem.tb.runner.result import LOG_FILE
from prismem.tb.uvm import launch
from prismem.tb.uvm.tests import TESTS


def run(
    console: Console, test: str, *, seed: int, hosts: int, modules: int, twin: str, inject: str, waves: bool
) -> bool:
    """Run it and print what it found."""
    if test not in TESTS:
        raise MisuseError(f"'{test}' is no test of the environment; the tests are {', '.join(TESTS)}")
    plusargs = {"inject": inject} if inject else {}
    done = launch.run(test, seed=seed, hosts=hosts, modules=modules, twin=twin, plusargs=plusargs, waves=waves)
    answered = sum(done.outcome.get("answered", {}).values())
    console.print(f"{'PASS' if done.passed else 'FAIL'} {test} seed {seed}: {answered} transactions", highlight=False)
    for text in done.outcome.get("findings", [] if done.problem is None else [done.problem])[:3]:
        console.print(text, highlight=False, soft_wrap=True)
    console.print(relative(done.run_dir / LOG_FILE))
    return done.passed
