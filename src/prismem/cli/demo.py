"""`prismem demo`: the whole path in three acts, each a run that anyone can type.

Idle latency by stage on the RTL; hosts that share KV blocks through the RTL with every byte checked; then the same with
one flush taken out of the library, which has to be caught.
"""

import sys
from collections.abc import Iterator

import click
from rich.console import Console

from prismem.tb.runner.execute import execute
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import make_spec, mutants

MUTANT = "publish_no_flag_flush"
MUTANT_SEEDS = range(1, 21)


def run(console: Console) -> bool:
    """Play the three acts; False when one does not end as it should."""
    console.rule("1. idle latency of one line, stage by stage (RTL)", align="left")
    latency = execute(make_spec("idle_latency"))
    _show(latency)
    console.rule("2. two hosts share KV blocks through the RTL", align="left")
    shared = execute(make_spec("kv_share"))
    _show(shared)
    if not (latency.passed and shared.passed):
        click.echo("FAIL demo")
        return False
    console.rule("3. the same run with one flush taken out of the library", align="left")
    click.echo(f"{MUTANT}: {mutants()[MUTANT]}")
    caught = next((result for result in _with_mutant() if not result.passed), None)
    if caught is None:
        click.echo(f"FAIL demo: {MUTANT} was not caught with seeds {MUTANT_SEEDS.start} to {MUTANT_SEEDS.stop - 1}")
        return False
    click.echo(caught.text())
    click.echo(
        "\nPASS demo: every byte was right on the RTL, and the missing flush was caught (the FAIL above is wanted)"
    )
    return True


def _with_mutant() -> Iterator[Result]:
    for seed in MUTANT_SEEDS:
        yield execute(make_spec("kv_share", port="rtl", seed=seed, mutant=MUTANT))


def _show(result: Result) -> None:
    click.echo(result.text())
    if result.passed:
        click.echo(result.spec.job().report(result.metrics).rstrip("\n"))
    sys.stdout.flush()
