"""Hygiene of the checkout as tests. Each check is a function of a text, and each is shown a text that it refuses."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from prismem.cli.main import cli
from prismem.paths import ROOT

LINES_MAX = {".py": 400, ".sv": 400, ".svh": 400, ".c": 450, ".h": 450, ".cpp": 450, ".hpp": 400, ".sh": 150}
COLUMNS_MAX = 140  # comments of C and SystemVerilog; ruff and clang-format hold code to 120
SIZE_MAX_B = 700 * 1024
TEXT_ENDINGS = {*LINES_MAX, ".md", ".toml", ".yaml", ".vlt", ".mk", ".f", ".def"}

# Package -> packages of prismem that it may import; design: models below software, both below tb, the command on top.
MAY_IMPORT = {
    "models": {"models", "errors", "paths"},
    "lib": {"lib", "errors", "paths"},
    "tb": {"tb", "lib", "models", "errors", "paths"},
    "cli": {"cli", "tb", "lib", "models", "errors", "paths"},
}
FOLDER_OF = {"models": "models", "lib": "software/python", "tb": "tb", "cli": "src/prismem/cli"}


def tracked() -> list[Path]:
    """Files of the checkout; links are left out, their targets are listed themselves."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    paths = [ROOT / name for name in names if name]
    return [path for path in paths if path.is_file() and not path.is_symlink()]


def texts() -> list[tuple[Path, str]]:
    return [
        (path, path.read_text(encoding="utf-8"))
        for path in tracked()
        if path.suffix in TEXT_ENDINGS or path.name in ("Makefile", "run")
    ]


def length_problems(suffix: str, text: str) -> list[str]:
    """Files too long to hold one thing, and lines too long to read."""
    lines = text.splitlines()
    problems = []
    if len(lines) > LINES_MAX.get(suffix, len(lines)):
        problems.append(f"{len(lines)} lines, at most {LINES_MAX[suffix]}")
    if suffix in LINES_MAX:
        problems += [
            f"line {i}: over {COLUMNS_MAX} columns" for i, line in enumerate(lines, 1) if len(line) > COLUMNS_MAX
        ]
    return problems


def word_problems(text: str) -> list[str]:
    """Unfinished places, skipped tests, and paths of one machine."""
    unfinished = r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X)\b|NotImplemented" r"Error|pytest\.skip" r"\(|mark\.skip\b"
    machine = "|".join(re.escape(f"{path}/") for path in {ROOT, ROOT.parent, Path.home()} if path != Path("/"))
    return [match[0] for match in re.finditer(f"{unfinished}|{machine}", text)]


def opening_problem(suffix: str, text: str) -> str | None:
    """A file opens with what it is and why."""
    starts = {".py": ('"""', "'''", "#!"), ".sh": ("#!",), ".toml": ("#",), ".yaml": ("#",), ".md": ("#",)}
    start = starts.get(suffix, ("//", "/*", "#", "`"))
    return None if not text or text.startswith(start) else f"opens with {text.splitlines()[0]!r}"


def import_problems(package: str, text: str) -> list[str]:
    """Imports of prismem packages that lie above, and of the simulator in models."""
    problems = []
    for node in ast.walk(ast.parse(text)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [f"prismem.{a.name}" for a in node.names] if node.module == "prismem" else [node.module or ""]
        for name in names:
            parts = name.split(".")
            if parts[0] == "prismem" and len(parts) > 1 and parts[1] not in MAY_IMPORT[package] | {"__version__"}:
                problems.append(name)
            if parts[0] in ("cocotb", "cocotb_tools", "pyuvm") and package in ("models", "lib"):
                problems.append(name)
    return problems


def command_problems(text: str, targets: set[str], commands: set[str]) -> list[str]:
    """`make x` and `prismem x` in the code of a document that do not exist."""
    code = "\n".join(re.findall(r"```.*?```", text, re.DOTALL) + re.findall(r"`[^`\n]+`", text))
    unknown = [f"make {name}" for name in re.findall(r"\bmake ([a-z][a-z-]*)", code) if name not in targets]
    return unknown + [
        f"prismem {name}" for name in re.findall(r"\bprismem ([a-z][a-z-]*)", code) if name not in commands
    ]


def link_problems(path: Path, text: str) -> list[str]:
    """Relative links of a document that lead nowhere."""
    links = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text)
    return [link for link in links if "://" not in link and not (path.parent / link).exists()]


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def report(problems: dict[str, list[str]]) -> str:
    return "\n".join(f"{name}: {problem}" for name, found in problems.items() for problem in found)


def test_files_are_short() -> None:
    found = {str(path.relative_to(ROOT)): length_problems(path.suffix, text) for path, text in texts()}
    assert not any(found.values()), report(found)
    assert length_problems(".py", "x\n" * 401)
    assert length_problems(".sv", "x" * 141)


def test_nothing_is_unfinished_or_of_one_machine() -> None:
    found = {str(path.relative_to(ROOT)): word_problems(text) for path, text in texts()}
    assert not any(found.values()), report(found)
    assert word_problems("# TO" + "DO: later")
    assert word_problems(f"see {ROOT}/x")


def test_files_open_with_what_they_are() -> None:
    found = {str(p.relative_to(ROOT)): [problem] for p, text in texts() if (problem := opening_problem(p.suffix, text))}
    assert not found, report(found)
    assert opening_problem(".py", "import os\n")
    assert opening_problem(".sv", "module x;\n")


def test_nothing_is_large_or_generated() -> None:
    """No build products and nothing over 700 KiB."""
    for path in tracked():
        assert path.stat().st_size <= SIZE_MAX_B, path
        assert path.suffix not in {".o", ".so", ".vcd", ".fst", ".pyc", ".a"}, path


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_run_one_way(package: str) -> None:
    folder = ROOT / FOLDER_OF[package]
    found = {
        str(path.relative_to(ROOT)): import_problems(package, text)
        for path, text in texts()
        if path.suffix == ".py" and path.is_relative_to(folder)
    }
    assert found
    assert not any(found.values()), report(found)


def test_import_check_refuses_what_it_should() -> None:
    assert import_problems("models", "from prismem.tb.job import Job")
    assert import_problems("models", "import cocotb")
    assert import_problems("lib", "from prismem import models")
    assert not import_problems("tb", "from prismem.models.lru import PrefixCache")


def test_documents_name_commands_and_files_that_exist() -> None:
    documents = {path: text for path, text in texts() if path.suffix == ".md"}
    assert documents
    targets, commands = make_targets(), set(cli.commands)
    found = {
        str(path.relative_to(ROOT)): command_problems(text, targets, commands) + link_problems(path, text)
        for path, text in documents.items()
    }
    assert not any(found.values()), report(found)
    wrong = "```\nmake coffee\nprismem brew x\n```"
    assert command_problems(wrong, targets, commands) == ["make coffee", "prismem brew"]
    assert link_problems(ROOT / "README.md", "[x](docs/nowhere.md)") == ["docs/nowhere.md"]


def test_lock_is_exact_and_holds_the_direct_dependencies() -> None:
    """Every line pins one version; pyproject and lock agree; no index or host stands in it."""
    lock = [line for line in (ROOT / "requirements.lock").read_text().splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r'[\w.-]+==[\w.]+(; platform_machine == "x86_64")?', line) for line in lock), lock
    pinned = {line.partition(";")[0].lower().replace("_", "-") for line in lock}
    direct = re.findall(r'"([\w-]+==[\w.]+)[^"]*"', (ROOT / "pyproject.toml").read_text())
    assert direct
    assert {name.lower() for name in direct} <= pinned
