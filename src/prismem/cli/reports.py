"""The commands around characterization: `prismem report` and `prismem compare`."""

import sys
from pathlib import Path

import click
from rich.console import Console


@click.command()
@click.option("--profile", default="pfma", show_default=True, help="Name of a profile, or the path of a TOML file.")
@click.option("--quick", is_flag=True, help="Fewer points and shorter runs: below five minutes once all is built.")
@click.option("--seed", type=int, default=1, show_default=True, help="The whole report follows from it.")
@click.option("--mesh", type=click.IntRange(2, 16), default=4, show_default=True, help="Hosts and modules of the mesh.")
@click.option("--points", "only", multiple=True, metavar="ID", help="Only these points, and those below them.")
@click.option("--resume/--fresh", default=True, show_default=True, help="Use what an earlier report has measured.")
@click.option("--baseline", type=click.Path(path_type=Path), help="An earlier report: fail when a figure has moved.")
@click.option("--out", type=click.Path(path_type=Path), default=Path("build/report"), show_default=True)
def report(
    profile: str,
    quick: bool,
    seed: int,
    mesh: int,
    only: tuple[str, ...],
    resume: bool,
    baseline: Path | None,
    out: Path,
) -> None:
    """Latency and bandwidth characterization: HTML, PNG, CSV and JSON."""
    from prismem.cli.report import run
    from prismem.tb.report.points import Plan

    plan = Plan(profile=profile, quick=quick, seed=seed, mesh=mesh, only=only)
    sys.exit(0 if run(Console(), plan, out, resume=resume, baseline=baseline) else 1)


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option("--tolerance", type=click.FloatRange(0), default=0.0, show_default=True, help="Percent; 0: exact.")
def compare(before: Path, after: Path, tolerance: float) -> None:
    """What moved between two reports (report.json or their folders); exit code 1 beyond the tolerance."""
    from prismem.cli.compare import run

    sys.exit(0 if run(Console(), before, after, tolerance_percent=tolerance) else 1)


@click.command()
@click.option("--profile", default="pfma", show_default=True, help="Name of a profile, or the path of a TOML file.")
@click.option("--validate", is_flag=True, help="Then compare with the RTL on other traffic -> timed_validation.json.")
def calibrate(profile: str, validate: bool) -> None:
    """Measure on the RTL what the timed port needs; leaves a file in build/calibration."""
    from prismem.cli.calibrate import run

    sys.exit(0 if run(Console(), profile, validate=validate) else 1)
