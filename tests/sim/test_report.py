"""The report on the RTL: one made twice is the same, its page opens in a browser, and its rows of the papers hold."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prismem.models import latency, profile
from prismem.paths import ROOT
from prismem.tb.report import run as reports
from prismem.tb.report.points import Plan
from prismem.tb.runner.execute import execute
from prismem.tb.runner.spec import make_spec

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
SMALL = {"quick": True, "mesh": 2}
BROWSER_SECONDS_MAX = 120


def make(folder: Path, *only: str) -> dict[str, Any]:
    """A report of these points; its JSON."""
    made = reports.run(Plan(only=only, **SMALL), folder)
    assert not made.failures, made.failures[0].failure
    return dict(json.loads((folder / "report.json").read_text()))


def test_a_report_repeats_byte_by_byte(tmp_path: Path) -> None:
    """Two runs with one seed: all is equal but `about`; idle latency is the printed one, a metre costs 10 ns."""
    first, second = (make(tmp_path / name, "fibre", "offered/main") for name in "ab")
    assert first.pop("about")["points_kept"] == second.pop("about")["points_kept"] == 0
    assert json.dumps(first) == json.dumps(second)
    for file in ("paper.json", "fibre.png", "offered.png", "offered.csv"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    values = {name: metric["value"] for name, metric in first["metrics"].items()}
    assert values["fabrics.fibre.5_m.read_ns"] == 283
    assert values["fabrics.fibre.ns_per_m"] == 10
    assert values["fabrics.pfma.at_24_gb_s.carried_gb_s"] == pytest.approx(24, rel=0.05)
    assert {row["verdict"] for row in json.loads((tmp_path / "a" / "paper.json").read_text())} <= {
        "holds",
        "not measured",
        "cannot be shown",
    }
    assert make(tmp_path / "a", "fibre", "offered/main")["about"]["points_kept"] == 8


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    """docs/profiles.md: a few changed numbers in a file; the report follows them, and the baselines stand beside it."""
    text = (ROOT / "profiles" / "pfma.toml").read_text().replace('name = "pfma"', 'name = "mine"', 1)
    file = tmp_path / "mine.toml"
    file.write_text(text.replace("port_time = { value = 14", "port_time = { value = 24"))
    made = reports.run(Plan(profile=str(file), only=("fibre/10",), **SMALL), tmp_path / "report")
    assert not made.failures
    values = json.loads((tmp_path / "report" / "report.json").read_text())["metrics"]
    longer = profile.load(str(file), ["path.fibre_length=10 m"])
    assert values["fabrics.fibre.10_m.read_ns"]["value"] == latency.idle_ns(longer, "read") == 283 + 10 + 50


@pytest.mark.parametrize("kind", ["read", "write"])
def test_a_sweep_never_beats_physics(kind: str) -> None:
    """Each load of a sweep stays below its wire and above the floor of latency; the job itself checks every byte."""
    options = {"set": "mixes", "measure_ns": "2000", "warm_ns": "2000"}
    result = execute(make_spec("characterize", hosts=2, modules=2, options=options))
    assert result.passed, result.text()
    points = result.metrics["characterize"]["points"]
    pfma = profile.load("pfma")
    pure = next(p for p in points if p["load"]["read_permille"] == (1000 if kind == "read" else 0))
    assert max(pure["hosts_gb_s"]) <= 2 * pfma.path.rate.canonical / 16
    assert pure["mean_gb_s"] > 0.9 * 2 * latency.path_bound_gb_per_s(pfma, float(kind == "read"))


@pytest.mark.regress
def test_the_page_opens_and_prints_in_a_browser(tmp_path: Path) -> None:
    """Headless: no error on the console, pictures have a size, and it prints to PDF."""
    assert CHROMIUM, "no browser to open the page in: sudo apt-get install -y chromium"
    make(tmp_path, "fibre", "offered/main")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"]
    page = (tmp_path / "index.html").as_uri()
    shown = _browse([*command, "--dump-dom", page])
    assert not re.findall(r":CONSOLE|ERR_", shown.stderr)
    assert shown.stdout.count("<svg ") == len(list(tmp_path.glob("*.png"))) >= 2
    assert shown.stdout.rstrip().endswith("</html>")
    _browse([*command, f"--print-to-pdf={tmp_path / 'page.pdf'}", page])
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")


def _browse(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=BROWSER_SECONDS_MAX)
