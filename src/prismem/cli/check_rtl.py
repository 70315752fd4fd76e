"""`prismem replay LOG --rtl` for a log of `prismem check`: the same execution with the RTL as its memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from prismem.lib.check.log import CheckLog, Fault
from prismem.lib.check.run import PAGE_FILE, Outcome, replay, tell
from prismem.paths import relative
from prismem.tb.runner.execute import execute
from prismem.tb.runner.result import Result
from prismem.tb.runner.spec import RunSpec, make_spec
from prismem.tb.tests.check_replay import answer_of

TRANSACTIONS_SHOWN_MAX = 24


def replay_on_rtl(console: Console, path: Path, log: CheckLog, *, waves: bool) -> bool:
    """Replay and print; False when the fault is there again, as in a run that fails."""
    spec = make_spec("check_replay", hosts=log.request.hosts, options={"log": str(path)}, waves=waves)
    result = execute(spec)
    answer = answer_of(spec.run_dir)
    if not result.passed or answer is None:
        console.out(f"NOT REPRODUCED on the RTL, because {_why_not(log, result)}", highlight=False)
        console.out(f"log     {result.log}", highlight=False)
        return True
    exactly = result.metrics["replay"]["exactly"]
    same = "step by step the same execution" if exactly else "the same fault in another execution than the log's"
    console.out(f"REPRODUCED on the RTL: {same}\n", highlight=False)
    for line in _story(spec, log, answer).lines:
        console.out(line, highlight=False)
    for line in transactions(answer["transactions"]):
        console.out(line, highlight=False)
    console.out(f"page    {relative(spec.run_dir / PAGE_FILE)}", highlight=False)
    if result.wave:
        console.out(f"wave    {result.wave}", highlight=False)
    console.out(f"replay  {result.replay}", highlight=False)
    return False


def _story(spec: RunSpec, log: CheckLog, answer: dict[str, Any]) -> Outcome:
    """Story and page of this execution, in the run's folder."""
    outcome = Outcome(1, folder=spec.run_dir)
    again = log.model_copy(update={"fault": Fault(**answer["report"]["faults"][0])})
    tell(outcome, again, answer, log.request.paths())
    return outcome


def _why_not(log: CheckLog, result: Result) -> str:
    """The nearest reason: the program has changed, the fault is gone everywhere, or what the hardware did."""
    changed = [source.path for source in log.request.sources if source.changed()]
    if changed:
        return f"{', '.join(changed)} has changed since the log was written"
    if not replay(log).found:
        return "the fault is not there on the functional port either"
    said = "the run left no outcome" if result.failure is None else result.failure.message
    detail = "" if result.failure is None or result.failure.actual is None else f" ({result.failure.actual})"
    return f"{said}{detail}"


def transactions(done: list[dict[str, Any]]) -> list[str]:
    """What the hardware did for the execution, the last ones in full, at times of the wave."""
    if not done:
        return ["RTL     no transaction"]
    lines = [f"RTL     {len(done)} transactions, one at a time; the execution ends at {done[-1]['answered_ns']} ns"]
    if len(done) > TRANSACTIONS_SHOWN_MAX:
        lines.append(f"        the last {TRANSACTIONS_SHOWN_MAX}:")
    for one in done[-TRANSACTIONS_SHOWN_MAX:]:
        lines.append(
            f"        {one['asked_ns']:8} to {one['answered_ns']:8} ns  host {one['host']}  {one['kind']:15} "
            f"line {one['line']} of the pool, module {one['module']}"
        )
    return lines
