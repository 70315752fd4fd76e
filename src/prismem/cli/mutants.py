"""`prismem mutants`: drop, weaken or move any one visibility verb or lock step of the library, and see what notices."""

from rich.console import Console

from prismem.lib.mutation.equivalents import load
from prismem.lib.mutation.judge import Verdict
from prismem.lib.mutation.run import RESULT, choose, clean, judge_all, summarize, write
from prismem.paths import relative


def list_mutants(console: Console, only: tuple[str, ...]) -> None:
    """One line a mutant: id, place, what the call becomes."""
    for mutant in choose(only):
        console.out(f"{mutant.id:64} {mutant.place:32} {mutant.before[:60]} -> {mutant.after[:80]}", highlight=False)


def line_of(verdict: Verdict, equivalent: bool) -> str:
    """One row of the table."""
    if verdict.state == "killed":
        return (
            f"{verdict.id:64} {verdict.oracle:12} after {verdict.executions:5} executions, story of "
            f"{verdict.story_steps:2} steps, {verdict.choices:4} choices: {verdict.test}"
        )
    words = "equivalent" if equivalent else verdict.state.upper()
    missed = "" if verdict.reached else "not reached: no execution of the battery comes there"
    return f"{verdict.id:64} {words} {verdict.message}{missed}".rstrip()


def run(console: Console, only: tuple[str, ...], *, resume: bool, check_clean: bool, jobs: int, quick: bool) -> bool:
    """Judge all mutants, or those whose id holds one of the texts; False for a survivor, a stale entry, a false report.

    Only a run of all leaves the result file. `quick`: the plain round alone; what is open then is for a whole run.
    """
    mutants = choose(only)
    equivalents = load()
    proven = {entry.id for entry in equivalents}
    done = 0

    def tell(verdict: Verdict, known: bool) -> None:
        nonlocal done
        done += 1
        mark = "=" if known else " "
        console.out(f"{done:4}/{len(mutants)}{mark} {line_of(verdict, verdict.id in proven)}", highlight=False)

    verdicts = judge_all(mutants, tell, resume=resume, jobs=jobs, quick=quick)
    summary = summarize(verdicts, equivalents, whole=not only)
    if check_clean:
        summary.false_reports, summary.clean_executions = clean(
            lambda text: console.out(text, highlight=False), jobs=jobs
        )
    result = summary.as_json()
    for text in (*summary.stale, *summary.false_reports):
        console.out(text, highlight=False)
    console.print(
        f"{result['killed']} of {result['total']} killed, {result['equivalent']} equivalent, "
        f"{len(result['survivors'])} survived: {result['score_percent']} %; {len(result['invalid'])} do not compile; "
        f"{result['false_reports']} false reports in {result['clean_executions']} executions; "
        f"{len(result['coherent_reports'])} faults of non-coherence noticed on coherent hosts; "
        f"stories of {result['story_steps_median']} steps, {result['choices_median']} choices (medians)",
        highlight=False,
    )
    if not only and not quick:
        write(summary)
        console.print(relative(RESULT))
    return not (summary.stale or summary.false_reports or result["survivors"] or result["coherent_reports"])
