"""`prismem rtl-mutants`: build the hardware with each seeded fault, and see which test fails."""

from rich.console import Console

from prismem.errors import MisuseError
from prismem.paths import relative
from prismem.tb.runner.build import build_software
from prismem.tb.runner.rtl_mutants import RESULT, Verdict, judge_all, load, write_result


def run(console: Console, names: tuple[str, ...]) -> bool:
    """Judge all mutants, or those named; False when one survives. Only a run of all leaves the result file."""
    mutants = load()
    known = {mutant.name: mutant for mutant in mutants}
    if unknown := [name for name in names if name not in known]:
        raise MisuseError(f"{', '.join(unknown)}: no such mutant; the mutants are {', '.join(known)}")
    chosen = [known[name] for name in names] if names else mutants
    build_software()

    def tell(verdict: Verdict) -> None:
        how = f"killed by {verdict.killed_by}: {verdict.message}" if verdict.killed else "SURVIVED"
        console.out(f"{verdict.name:28} {verdict.seconds:6.1f} s  {how[:160]}", highlight=False)

    verdicts = judge_all(chosen, tell)
    killed = sum(verdict.killed for verdict in verdicts)
    console.print(f"{killed} of {len(verdicts)} killed", highlight=False)
    if not names:
        write_result(verdicts)
        console.print(relative(RESULT))
    return killed == len(verdicts)
