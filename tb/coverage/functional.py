"""Functional coverage of one run: counts how often each bin of the plan is hit."""

from collections import Counter
from collections.abc import Iterable, Mapping

from prismem.tb.coverage.plan import Plan


class FunctionalCoverage:
    """`sample` with the bin of each coverpoint that applies; crosses of coverpoints sampled together follow."""

    def __init__(self, plan: Plan) -> None:
        self._bins = {point.name: frozenset(point.bins) for point in plan.points}
        self._crosses = [(cross.name, cross.of) for cross in plan.crosses]
        self.hits: Counter[str] = Counter()

    def sample(self, **chosen: str) -> None:
        """Count one observation. Raises ValueError for a bin that the plan does not have."""
        for name, bin_ in chosen.items():
            if bin_ not in self._bins.get(name, ()):
                raise ValueError(f"coverpoint {name} has no bin {bin_}")
            self.hits[f"{name}.{bin_}"] += 1
        for name, points in self._crosses:
            if all(point in chosen for point in points):
                self.hits[f"{name}.{'.'.join(chosen[point] for point in points)}"] += 1


def merged(runs: Iterable[Mapping[str, int]]) -> Counter[str]:
    """Hits of several runs together."""
    total: Counter[str] = Counter()
    for hits in runs:
        total.update(hits)
    return total


def percent(plan: Plan, hits: Mapping[str, int]) -> tuple[float, list[str]]:
    """Share of the bins that have to be hit and are, and those that are not."""
    wanted = [name for name, reason in plan.all_bins().items() if reason is None]
    missing = [name for name in wanted if not hits.get(name)]
    return 100.0 * (len(wanted) - len(missing)) / len(wanted), missing
