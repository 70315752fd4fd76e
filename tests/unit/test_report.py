"""The report without a simulator: points and their keys, what is kept, rows of the papers, the page, the comparison."""

import json
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from prismem.cli.main import cli
from prismem.errors import MisuseError
from prismem.models import profile as profiles
from prismem.tb.report import compare, idle, paper, plots, points, render, run
from prismem.tb.report.measure import Measured, measure
from prismem.tb.report.model import Figure, Metric, Results, Section, Series, Table
from prismem.tb.report.points import Plan, Point
from prismem.tb.runner import timed
from prismem.tb.runner.spec import make_spec

ABOUT = {"commit": "abc", "tools": {"x": "1"}, "made": "now", "report_s": 1.0, "measured_s": 2.0}


def threads(jobs: int) -> Executor:
    return ThreadPoolExecutor(jobs)


def point(name: str = "idle", **options: Any) -> Point:
    return Point(name, make_spec("idle_latency", **options), 1.0)


# --- points


@pytest.fixture(autouse=True)
def uncalibrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points of the timed port are planned here and never run: they need no calibration."""
    monkeypatch.setattr(timed, "check", lambda _request: None)


@pytest.mark.parametrize("quick", [False, True])
@pytest.mark.parametrize("profile", ["pfma", "niagara", "switch"])
def test_every_row_of_the_table_is_a_run_with_a_name_of_its_own(quick: bool, profile: str) -> None:
    """make_spec validates job, options, profile and size of each."""
    planned = points.points(Plan(profile=profile, quick=quick))
    names = [p.id for p in planned]
    assert len(set(names)) == len(names)
    assert "idle" in names
    assert len({p.key for p in planned}) == len(names)


def test_quick_is_a_part_of_full_and_a_point_can_be_asked_for() -> None:
    full, quick = ({p.id for p in points.points(Plan(quick=quick))} for quick in (False, True))
    assert quick < full
    assert [p.id for p in points.points(Plan(only=("fibre/5",)))] == ["fibre/5"]
    with pytest.raises(MisuseError, match="POINTS: none is called nothing; the points are idle"):
        points.points(Plan(only=("nothing",)))


def test_a_key_holds_everything_that_decides_a_result() -> None:
    assert point().key == point().key
    others = [point(seed=2), point(sets=("path.fibre_length=6 m",)), point(hosts=2), point(options={"lines": "7"})]
    assert len({point().key, *(other.key for other in others)}) == 5


def test_a_key_changes_with_the_text_of_a_profile(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    text = (profiles.PROFILES / "pfma.toml").read_text()
    keys = []
    for version in (text, text.replace("value = 46", "value = 47")):
        file.write_text(version)
        keys.append(point(profile=str(file)).key)
    assert keys[0] != keys[1]


# --- measuring


def fake(fails: set[int], seen: list[int]) -> Callable[[str], dict[str, Any]]:
    """A runner whose metric is the seed; seeds in `fails` do not pass."""

    def run(spec: str) -> dict[str, Any]:
        seed = json.loads(spec)["seed"]
        seen.append(seed)
        failure = "FAIL" if seed in fails else None
        return {"metrics": {"seed": seed}, "replay": f"again {seed}", "failure": failure, "wall_s": 1.5}

    return run


def test_a_stopped_report_goes_on_where_it_was(tmp_path: Path) -> None:
    """Results that are kept are not measured again; a failed one is, and so is one whose file is broken."""
    planned = [point(f"p/{seed}", seed=seed) for seed in (1, 2, 3)]
    seen: list[int] = []
    first = measure(planned, tmp_path, runner=fake({2}, seen), workers=threads)
    assert [m.metrics.get("seed") for m in first] == [1, 2, 3]
    assert [m.failure for m in first] == [None, "FAIL", None]
    (tmp_path / f"{planned[2].key}.json").write_text("{")
    seen.clear()
    second = measure(planned, tmp_path, runner=fake(set(), seen), workers=threads)
    assert sorted(seen) == [2, 3]
    assert [m.kept for m in second] == [True, False, False]
    assert [m.metrics["seed"] for m in second] == [1, 2, 3]
    seen.clear()
    measure(planned, tmp_path, resume=False, runner=fake(set(), seen), workers=threads)
    assert sorted(seen) == [1, 2, 3]


def test_a_run_that_dies_is_a_failed_point(tmp_path: Path) -> None:
    def dies(_spec: str) -> dict[str, Any]:
        raise RuntimeError("gone")

    (measured,) = measure([point()], tmp_path, runner=dies, workers=threads)
    assert measured.failure == "RuntimeError: gone"
    assert not list(tmp_path.iterdir())


# --- rows of the papers


def metric(name: str, value: float) -> Metric:
    return Metric(name, value, "ns", "measured", "")


ROW = paper.Row(id="x", source="s", printed="p", metric="m", low=282, high=284, floor="f", test="t")


@pytest.mark.parametrize(
    ("known", "verdict"),
    [
        ({"m": 283.0, "f": 122.0}, "holds"),
        ({"m": 285.0, "f": 122.0}, "differs"),
        ({"m": 283.0, "f": 283.5}, "faster than physics"),
        ({"f": 122.0}, "not measured"),
    ],
)
def test_verdicts(known: Mapping[str, float], verdict: str) -> None:
    judged = paper.judge(ROW, {name: metric(name, value) for name, value in known.items()})
    assert (judged.verdict, judged.measured) == (verdict, known.get("m"))
    assert paper.judge(ROW.model_copy(update={"metric": None}), {}).verdict == "cannot be shown"


def test_every_row_is_whole() -> None:
    """A row is shown by a command with a range, or has a reason; commands start runs that exist."""
    rows = paper.rows()
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        assert bool(row.metric) != bool(row.reason), row.id
        if row.metric:
            assert row.low <= row.high, row.id
            assert row.test.split()[1] in cli.commands, row.id


def test_the_floor_is_flight_wires_and_media() -> None:
    """pfma read: 2 x 25 ns of fibre, 1 + 3 ns of frames, 2 x 2 ns of flits, 16 + 46 + 2 ns of HBM; printed: 283 ns."""
    floor = idle.floor_ns(profiles.load("pfma"), "read")
    assert floor == {"flit": 2, "memory": 50 + 4 + 64, "total": 50 + 4 + 64 + 4}
    assert floor["total"] < 283


# --- the page


class Page(HTMLParser):
    """Collects what a browser would act on; unclosed tags are found by the counts."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br", "img", "link", "input"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Called by the parser."""
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        """Called by the parser."""
        assert self.open.pop() == tag

    def of(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of all tags of that name."""
        return [attributes for name, attributes in self.tags if name == tag]


def idle_metrics() -> dict[str, Any]:
    """As the job idle_latency returns them, small."""
    parts = {"request": 24, "memory": 212, "response": 47}
    kinds = ("read", "write")
    return {
        "idle": {
            "stages_ns": {kind: {"cxl_request": 24, "media": 212, "cxl_response": 47} for kind in kinds},
            "formula_ns": dict.fromkeys(kinds, parts),
            **{f"{kind}_ns": 283 for kind in kinds},
            **{f"{kind}_parts_ns": parts for kind in kinds},
        }
    }


def written(folder: Path, about: Mapping[str, Any] = ABOUT) -> tuple[list[Section], list[Measured]]:
    """A report of one point and of a section by hand."""
    measured = [Measured(point(), idle_metrics(), "prismem sim <x>", None, 1.0, kept=False)]
    results = Results(profiles.load("pfma"), {}, {m.point.id: m for m in measured})
    built = idle.build(results)
    assert built is not None
    by_hand = Section("hand", "By <hand>", "text & more")
    by_hand.figures.append(Figure("line", "Rate", "size (B)", "rate (GB/s)", [Series("a", [1, 2], [3, 4])], log_x=True))
    by_hand.tables.append(Table("t", "T", ["a"], [["<b>"], [1234567]]))
    sections = [built, by_hand]
    judged = paper.judge_all(metric for section in sections for metric in section.metrics)
    render.write(folder, Plan(), ("pfma", "d"), sections, judged, measured, about)
    return sections, measured


def test_the_page_is_whole_and_self_contained(tmp_path: Path) -> None:
    """Tags close; no script, nothing from elsewhere; every picture has axes with units; text of runs is escaped."""
    sections, _ = written(tmp_path)
    text = (tmp_path / "index.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert not page.of("script")
    assert not [a for tag in ("img", "link", "iframe", "image") for a in page.of(tag)]
    assert all((a["href"] or "").startswith("#") for a in page.of("a"))
    figures = [figure for section in sections for figure in section.figures]
    labels = [a["aria-label"] or "" for a in page.of("svg")]
    assert len(labels) == len(figures) == 2
    assert "Horizontal: size (B). Vertical: rate (GB/s)." in labels[1]
    assert "<b>" not in text
    assert "1,234,567" in text
    assert text.count("An idle read and an idle write take: pfma 283 and 283 ns.") == 2  # in short, and in its section
    for figure in figures:
        assert (tmp_path / f"{figure.id}.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "idle_parts.csv").read_text().splitlines()[1] == "pfma,read,request,24,24,24,0"


def test_a_bar_has_its_own_order_of_parts() -> None:
    """A posted write: the fence returns before the line is visible, other than in the bar above it."""
    when_visible, posted = {"visible": 112, "fence": 116}, {"fence": 222, "visible": 390}
    assert plots.spans(when_visible) == [("visible", 0, 112), ("fence", 112, 116)]
    assert plots.spans(posted) == [("fence", 0, 222), ("visible", 222, 390)]


def test_ids_of_pictures_do_not_meet_in_a_page() -> None:
    """SVG names are made by the figure's own, so two pictures never use each other's marks."""
    svgs = [plots.draw(Figure(name, "t", "x (1)", "y (1)", [Series("s", [1], [2])]))[0] for name in ("one", "two")]
    ids = [{part.split('"')[0] for part in svg.split('id="')[1:]} for svg in svgs]
    assert ids[0]
    assert not ids[0] & ids[1]


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    """All files but for what `about` says; figures too."""
    for name, made in (("a", "now"), ("b", "later")):
        written(tmp_path / name, ABOUT | {"made": made, "report_s": 3.0})
    reports = [json.loads((tmp_path / name / "report.json").read_text()) for name in "ab"]
    assert [r.pop("about")["made"] for r in reports] == ["now", "later"]
    assert json.dumps(reports[0]) == json.dumps(reports[1])
    for file in ("paper.json", "metrics.csv", "line.png", "idle.png", "idle_stages.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


# --- comparison


def report(values: Mapping[str, tuple[float, str]], **changes: Any) -> dict[str, Any]:
    metrics = {name: {"value": value, "unit": unit} for name, (value, unit) in values.items()}
    return {"format": 1, "quick": True, "seed": 1, "mesh": 4, "about": {}, "metrics": metrics} | changes


def test_counts_come_first_and_one_sided_metrics_count() -> None:
    before = report({"z.ns": (200, "ns"), "a.count": (10, "1"), "same": (1, "ns"), "gone": (5, "GB/s")})
    after = report({"z.ns": (201, "ns"), "a.count": (11, "1"), "same": (1, "ns")})
    found = compare.compare(before, after)
    assert [c.id for c in found.changes] == ["a.count", "z.ns", "gone"]
    assert found.equal == 1
    assert [c.percent for c in found.changes] == [pytest.approx(10), pytest.approx(0.5), None]
    assert [c.id for c in found.beyond(1.0)] == ["a.count", "gone"]


@pytest.mark.parametrize(("tolerance", "code"), [("0", 1), ("1", 0)])
def test_compare_ends_with_1_beyond_the_tolerance(tmp_path: Path, tolerance: str, code: int) -> None:
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, value in zip(files, (200, 201), strict=True):
        file.write_text(json.dumps(report({"x": (value, "ns")})))
    done = CliRunner().invoke(cli, ["compare", *map(str, files), "--tolerance", tolerance])
    assert done.exit_code == code
    assert "1 moved" in done.output


@pytest.mark.parametrize(("value", "code"), [(200, 0), (201, 1)])
def test_a_report_that_moved_from_its_baseline_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: int, code: int
) -> None:
    """The gate: a figure differs by 0.5 % from the baseline's, and simulated figures have no noise."""
    baseline = tmp_path / "old.json"
    baseline.write_text(json.dumps(report({"x": (200, "ns")})))

    def made(_plan: Plan, folder: Path, *, resume: bool) -> run.Report:
        (folder / "report.json").write_text(json.dumps(report({"x": (value, "ns")})))
        return run.Report(folder, [], [])

    monkeypatch.setattr("prismem.cli.report.make", made)
    done = CliRunner().invoke(cli, ["report", "--out", str(tmp_path), "--baseline", str(baseline)])
    assert done.exit_code == code, done.output
    assert isinstance(CliRunner().invoke(cli, ["report", "--baseline", str(tmp_path / "no")]).exception, MisuseError)


def test_reports_of_different_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MisuseError, match="seed: 1 and 2 cannot be compared"):
        compare.compare(report({}), report({}, seed=2))
    with pytest.raises(MisuseError, match=r"not a report\.json"):
        compare.load(tmp_path)
    (tmp_path / "report.json").write_text(json.dumps(report({}, format=9)))
    with pytest.raises(MisuseError, match="format 9, this version reads 1"):
        compare.load(tmp_path)
