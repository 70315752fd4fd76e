"""`prismem litmus-rtl`: the litmus catalogue in front of the RTL; table and build/litmus_rtl/result.json."""

from rich.console import Console

from prismem.errors import MisuseError
from prismem.paths import relative
from prismem.tb.litmus_rtl import RESULT, TABLE, campaign, passed, table
from prismem.tb.runner.build import progress

SEEDS_MAX = 10_000


def run(console: Console, *, seed: int, seeds: int, pattern: str) -> bool:
    """Run and print; False when something is outside of the model or too little was seen."""
    if not 1 <= seeds <= SEEDS_MAX:
        raise MisuseError(f"--seeds: {seeds} is outside 1..{SEEDS_MAX}")
    result = campaign(
        seed=seed, seeds=seeds, pattern=pattern, tell=lambda done, of: progress(f"{done} of {of} simulations")
    )
    console.print(table(result), highlight=False, soft_wrap=True, markup=False)
    console.print(f"{relative(TABLE)}, {relative(RESULT)}", highlight=False)
    return passed(result)
