"""`prismem`: the commands. Exit code 0: passed, 1: failed, 2: the request itself was wrong."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from prismem import __version__
from prismem.cli import reports
from prismem.errors import MisuseError, PrismemError
from prismem.paths import relative

EXIT_PASSED, EXIT_FAILED, EXIT_MISUSE = 0, 1, 2
EXIT_SIGNAL = 128  # plus its number


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="prismem")
def cli() -> None:
    """Non-coherent CXL shared memory on Verilated RTL, and the software that runs on it."""


@cli.command()
@click.argument("test", required=False)
@click.option("--list", "list_tests", is_flag=True, help="List the tests and their options.")
@click.option("--port", help="rtl, functional or timed.")
@click.option("--hosts", type=int, help="Number of hosts.")
@click.option("--modules", type=int, help="Number of memory modules.")
@click.option("--profile", help="Name of a profile, or the path of a TOML file.")
@click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help="Override, e.g. path.fibre_length='15 m'.")
@click.option("--seed", type=int, default=1, show_default=True, help="The whole run follows from it.")
@click.option("--policy", default="seeded", show_default=True, help="Cache events: seeded, random, lazy, eager, warm.")
@click.option("--mutant", help="Fault to switch on in the library; 'help' lists them.")
@click.option("--opt", "opts", multiple=True, metavar="NAME=VALUE", help="Option of the test.")
@click.option("--coherent", is_flag=True, help="All threads on one coherent host.")
@click.option("--waves", is_flag=True, help="Leave a wave file.")
@click.option("--log", is_flag=True, help="Leave a log of every switch, cache event and transaction.")
@click.option("--trace-events", metavar="FILE", help="Leave each transaction, for ui.perfetto.dev.")
@click.option("--every-cycle", is_flag=True, help="RTL: clock the cycles too in which nothing can happen.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def sim(test: str | None, list_tests: bool, as_json: bool, **asked: Any) -> None:
    """Run one simulation; leaves result.json, junit.xml and run.log under build/run."""
    from prismem.tb.runner.execute import execute
    from prismem.tb.runner.spec import make_spec, mutants

    if list_tests:
        _list_tests()
        return
    if asked["mutant"] == "help":
        for name, description in mutants().items():
            click.echo(f"{name:28} {description}")
        return
    options = dict(_pair("--opt", text) for text in asked.pop("opts"))
    _finish(execute(make_spec(test, options=options, **asked)), as_json)


@cli.command()
@click.argument("result", type=click.Path(path_type=Path))
@click.option("--waves", is_flag=True, help="Leave a wave file.")
@click.option("--rtl", is_flag=True, help="On the RTL, whatever port the result or log came from.")
def replay(result: Path, waves: bool, rtl: bool) -> None:
    """Run again what left RESULT: a result.json or its folder, or a log of `prismem check`."""
    from prismem.lib.check.log import is_log, load

    if result.is_file() and is_log(result):
        from prismem.cli.check import run_replay
        from prismem.cli.check_rtl import replay_on_rtl

        log = load(result)
        gone = replay_on_rtl(Console(), result, log, waves=waves) if rtl or waves else run_replay(Console(), log)
        sys.exit(EXIT_PASSED if gone else EXIT_FAILED)
    from prismem.tb.runner.execute import execute
    from prismem.tb.runner.result import RESULT_FILE, load_result

    path = result / RESULT_FILE if result.is_dir() else result
    try:
        spec = load_result(path).spec
    except (OSError, ValueError) as error:
        raise MisuseError(f"{path}: not a result of prismem: {str(error).splitlines()[0]}") from None
    changes: dict[str, Any] = ({"waves": True} if waves else {}) | ({"port": "rtl"} if rtl else {})
    _finish(execute(spec.model_copy(update=changes)), as_json=False)


@cli.command()
@click.argument("programs", nargs=-1, type=click.Path(path_type=Path), metavar="PROGRAM...")
@click.option("--hosts", default=2, show_default=True, help="Hosts; each runs the program, with globals of its own.")
@click.option("--args", default="", help="Arguments of the program, as one text.")
@click.option("--executions", type=int, help="Stop after so many executions.")
@click.option("--time", type=float, help="Stop after so many seconds; 10 unless --executions is given.")
@click.option("--policy", "policies", multiple=True, help="lazy, eager, warm, dfs, random, pct; all unless given.")
@click.option("--seed", default=1, show_default=True, help="All choices follow from it.")
@click.option("--steps", default=200_000, show_default=True, help="An execution is cut after so many accesses.")
@click.option("--pool", "pools", multiple=True, help="A path that the program maps; beside /dev/dax* and shm_open.")
@click.option("--pool-mib", default=2, show_default=True, help="Size of the pool in MiB.")
@click.option("-D", "--define", "defines", multiple=True, metavar="NAME[=VALUE]", help="For the compiler.")
@click.option("-I", "--include", "includes", multiple=True, metavar="FOLDER", help="For the compiler.")
@click.option("--cflags", default="", help="Further flags for the compiler, as one text: '-std=c++17 -O1 -mavx2'.")
@click.option(
    "--coherent", is_flag=True, help="All hosts in one coherent cache: what is found is no matter of flushes."
)
@click.option("--posted", is_flag=True, help="Flushes and fences complete before the device has the line.")
@click.option("--redundant", is_flag=True, help="Nothing found: name flushes and fences that nothing depends on.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def check(programs: tuple[Path, ...], as_json: bool, **asked: Any) -> None:
    """Search a C or C++ program for missing flushes, fences and invalidates; exit code 1 when there is one."""
    from prismem.cli.check import make_request, run

    sys.exit(EXIT_PASSED if run(Console(), make_request(programs, **asked), as_json=as_json) else EXIT_FAILED)


@cli.command("paper-audit")
@click.option("--write", "to_file", is_flag=True, help="Write docs/paper_audit.md instead of printing it.")
def paper_audit(to_file: bool) -> None:
    """Run the programs of software/examples/tract_as_printed and say what becomes of each claim of the paper."""
    from prismem.cli.paper_audit import document, write

    click.echo(write() if to_file else document().rstrip())


@cli.command()
@click.argument("name", required=False)
def profiles(name: str | None) -> None:
    """List the profiles, or show one with the idle latency that follows from it."""
    from prismem.models import latency, profile
    from prismem.models.profile_tables import Section

    console = Console()
    if name is None:
        for known in profile.names():
            console.print(f"{known:10} {profile.load(known).description}", highlight=False)
        return
    loaded = profile.load(name)
    table = Table(title=f"{loaded.name}: {loaded.description}", title_justify="left")
    for column in ("key", "value", "source"):
        table.add_column(column)
    for section in type(loaded).model_fields:
        part = getattr(loaded, section)
        if isinstance(part, Section):
            for key in type(part).model_fields:
                value = getattr(part, key)
                table.add_row(f"{section}.{key}", str(value), getattr(value, "source", ""))
    console.print(table)
    for kind in ("write", "read"):
        parts = latency.idle_parts_ns(loaded, kind)
        console.print(f"idle {kind}: {sum(parts.values())} ns = {' + '.join(map(str, parts.values()))} (computed)")
        stages = latency.idle_stages_ns(loaded, kind)
        console.print(
            "  " + ", ".join(f"{stage} {ns}" for stage, ns in stages.items()), highlight=False, soft_wrap=True
        )


@cli.command()
def doctor() -> None:
    """Tools found, versions and paths; what is missing and the command that installs it."""
    from prismem.cli.doctor import report

    sys.exit(EXIT_PASSED if report(Console()) else EXIT_FAILED)


@cli.command()
@click.option("--fix", is_flag=True, help="Let ruff and clang-format rewrite the sources.")
def lint(fix: bool) -> None:
    """Ruff, mypy, verible, verilator --lint-only -Wall, clang-format."""
    from prismem.cli.lint import run

    sys.exit(EXIT_PASSED if run(Console(), fix=fix) else EXIT_FAILED)


@cli.command()
def demo() -> None:
    """Latency, KV blocks shared through the RTL, and a missing flush that is caught."""
    from prismem.cli.demo import run

    sys.exit(EXIT_PASSED if run(Console()) else EXIT_FAILED)


@cli.command()
@click.option("--library", is_flag=True, help="The library on real instructions beside dict, Redis and memcpy instead.")
@click.option("--locks", is_flag=True, help="The three ways in which a lock goes from node to node instead.")
def bench(library: bool, locks: bool) -> None:
    """Cycles a second, cost of a hooked load, checked accesses a second; leaves build/bench/result.json."""
    from prismem.cli import bench as simulation
    from prismem.cli import bench_locks, bench_native

    if library and locks:
        raise MisuseError("--locks: not together with --library; leave one of them out")
    run = bench_locks.bench if locks else bench_native.run if library else simulation.run
    sys.exit(EXIT_PASSED if run(Console()) else EXIT_FAILED)


@cli.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--coherent", is_flag=True, help="Only with all threads on one coherent host.")
@click.option("--noncoherent", is_flag=True, help="Only with the hosts as written.")
@click.option(
    "--bound-cache-events", type=int, metavar="K", help="At most K fills, evictions and write-backs in a run."
)
@click.option("--trace", is_flag=True, help="Show the shortest bad run, and the shortest way into a trap state.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list.")
def litmus(
    files: tuple[Path, ...],
    coherent: bool,
    noncoherent: bool,
    bound_cache_events: int | None,
    trace: bool,
    as_json: bool,
) -> None:
    """Verdicts of litmus programs FILES (or folders of them) over all interleavings; see docs/litmus.md."""
    from prismem.cli.litmus import run

    if coherent and noncoherent:
        raise MisuseError("--coherent --noncoherent: one of them, or none for both")
    asked = {"--coherent": coherent, "--noncoherent": noncoherent, "--trace": trace}
    options = [name for name, wanted in asked.items() if wanted]
    if bound_cache_events is not None:
        options += ["--bound-cache-events", str(bound_cache_events)]
    sys.exit(EXIT_PASSED if run(files, options, as_json=as_json) else EXIT_FAILED)


@cli.command(name="litmus-rtl")
@click.argument("pattern", default="*")
@click.option("--seeds", default=50, show_default=True, help="Runs of each program, each with a timing of its own.")
@click.option("--seed", default=1, show_default=True, help="The first of them.")
def litmus_rtl(pattern: str, seeds: int, seed: int) -> None:
    """The litmus catalogue (names like PATTERN) in front of the RTL: no outcome outside of the model; what was seen."""
    from prismem.cli.litmus_rtl import run

    sys.exit(EXIT_PASSED if run(Console(), seed=seed, seeds=seeds, pattern=pattern) else EXIT_FAILED)


@cli.command()
def coverage() -> None:
    """Run what the coverage plan lists, on builds that count lines; merge and judge."""
    from prismem.cli.coverage import run

    sys.exit(EXIT_PASSED if run(Console()) else EXIT_FAILED)


@cli.command()
@click.argument("test")
@click.option("--seed", default=1, show_default=True)
@click.option("--hosts", default=2, show_default=True)
@click.option("--modules", default=2, show_default=True)
@click.option("--twin", default="", help="Corrupt what the monitors say (tb/uvm/twins.py): the test has to fail.")
@click.option("--inject", default="", help="Plant a fault in the bench (tb/hdl/check_pkg.sv): the test has to fail.")
@click.option("--waves", is_flag=True, help="Record waves.")
def uvm(test: str, seed: int, hosts: int, modules: int, twin: str, inject: str, waves: bool) -> None:
    """Run TEST of the port-level environment."""
    from prismem.cli.uvm import run

    passed = run(Console(), test, seed=seed, hosts=hosts, modules=modules, twin=twin, inject=inject, waves=waves)
    sys.exit(EXIT_PASSED if passed else EXIT_FAILED)


@cli.command()
@click.option("--only", multiple=True, metavar="TEXT", help="Those whose id contains TEXT; may be repeated.")
@click.option("--list", "listing", is_flag=True, help="Print the mutants and stop.")
@click.option("--fresh", is_flag=True, help="Forget the verdicts of earlier runs.")
@click.option("--clean/--no-clean", default=None, help="Run ten batteries without a fault too; so without --only.")
@click.option("--jobs", type=click.IntRange(1, 64), default=2, show_default=True, help="Mutants at a time.")
@click.option(
    "--quick", is_flag=True, help="The plain round of the battery alone: most are noticed, the rest stay open."
)
def mutants(only: tuple[str, ...], listing: bool, fresh: bool, clean: bool | None, jobs: int, quick: bool) -> None:
    """Drop, weaken or move one flush, fence, invalidate or lock step of libprismem at a time; it must be noticed."""
    from prismem.cli.mutants import list_mutants, run

    if listing:
        list_mutants(Console(), only)
        return
    check_clean = not only and not quick if clean is None else clean
    passed = run(Console(), only, resume=not fresh, check_clean=check_clean, jobs=jobs, quick=quick)
    sys.exit(EXIT_PASSED if passed else EXIT_FAILED)


@cli.command(name="rtl-mutants")
@click.argument("names", nargs=-1)
def rtl_mutants(names: tuple[str, ...]) -> None:
    """Build the hardware with each seeded fault (or those NAMES); every one has to fail a test."""
    from prismem.cli.rtl_mutants import run

    sys.exit(EXIT_PASSED if run(Console(), names) else EXIT_FAILED)


@cli.command()
@click.argument("pool", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def inspect(pool: Path, as_json: bool) -> None:
    """Show what stands in POOL, in use or not: superblock, nodes, locks, chunks, index, pins, named roots."""
    from prismem.cli.inspect import show

    click.echo(show(pool, as_json=as_json))


@cli.command(name="fsck")
@click.argument("pool", type=click.Path(path_type=Path))
@click.option("--repair", is_flag=True, help="Mend what is found; nobody may use the pool.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def fsck_command(pool: Path, repair: bool, as_json: bool) -> None:
    """Check POOL, a pool that nobody uses: exit code 0 clean, 1 findings, 2 no pool or in use."""
    from prismem.cli.fsck import check

    text, clean = check(pool, repair=repair, as_json=as_json)
    click.echo(text)
    if not clean:
        sys.exit(1)


@cli.command()
def plan() -> None:
    """The test plan as a table."""
    from prismem.cli.plan import table

    click.echo(table())


def _list_tests() -> None:
    from prismem.tb.job import jobs

    for name, job in jobs().items():
        click.echo(f"{name:14} {job.description} ({', '.join(job.ports)}; hosts {job.hosts}, modules {job.modules})")
        for key, field in job.Options.model_fields.items():
            click.echo(f"    --opt {key}={field.default!s:12} {field.description or ''}")


def _pair(option: str, text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise MisuseError(f"{option} {text}: not of the form NAME=VALUE")
    return key, value


def _finish(result: Any, as_json: bool) -> None:
    click.echo(result.model_dump_json(indent=2) if as_json else result.text())
    if not as_json and result.passed and (report := result.spec.job().report(result.metrics)):
        click.echo(report.rstrip("\n"))
    sys.exit(EXIT_PASSED if result.passed else EXIT_FAILED)


cli.add_command(reports.report)
cli.add_command(reports.compare)
cli.add_command(reports.calibrate)


def main() -> None:
    """Entry point: errors become one line and an exit code."""
    from prismem.tb.runner.processes import Stopped, stop_on_signals

    stop_on_signals()
    try:
        cli(standalone_mode=False)
    except MisuseError as error:
        click.echo(f"prismem: {error}", err=True)
        sys.exit(EXIT_MISUSE)
    except PrismemError as error:
        click.echo(f"prismem: {error}", err=True)
        sys.exit(EXIT_FAILED)
    except click.ClickException as error:
        error.show()
        sys.exit(EXIT_MISUSE)
    except (click.Abort, KeyboardInterrupt) as error:
        stopped = error if isinstance(error, Stopped) else error.__cause__
        number = stopped.number if isinstance(stopped, Stopped) else signal.SIGINT
        click.echo(f"prismem: {'terminated' if number == signal.SIGTERM else 'interrupted'}", err=True)
        sys.exit(EXIT_SIGNAL + number)
    except BrokenPipeError:  # who reads the output has gone
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - for the interpreter's last flush
        sys.exit(EXIT_FAILED)
    except OSError as error:
        name = relative(Path(error.filename)) if error.filename else "a file"
        click.echo(
            f"prismem: {name}: {error.strerror or error}; make it writable or free space, then run again", err=True
        )
        sys.exit(EXIT_FAILED)


if __name__ == "__main__":
    main()
