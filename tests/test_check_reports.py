"""`midfill check` as a team uses it: configuration, the project's own tests, a baseline, and reports of every kind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from html.parser import HTMLParser
from pathlib import Path

import pytest

from engine.check import baseline, junit, page
from engine.check.trial import Limits, trial
from engine.errors import BadInput
from tests.cli import midfill

SOURCE = """def total(rows, rate=1):
    # adds them up
    result = sum(rows) * rate
    return result


def half(number):
    # a half of it
    return number / 2
"""
TEST = "import shop\n\nassert shop.total([1, 2], 3) == 9\nassert shop.half(4) == 2\n"
HOSTILE = "</script><b>&amp;\x01 ]]> \u2028"
TRIALS = "midfill-trial-*"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "shop.py").write_text(SOURCE)
    (folder / "test_shop.py").write_text(TEST)
    return folder


@pytest.fixture
def right(tmp_path: Path) -> tuple[str, str]:
    """A model that fills every `# a ` comment rightly, and writes a wrong number elsewhere."""
    return scripted(tmp_path, {"fills": [{"when": "# ", "text": "adds them up"}], "default": "7"})


def scripted(folder: Path, script: dict) -> tuple[str, str]:
    path = folder / f"script-{len(list(folder.iterdir()))}.json"
    path.write_text(json.dumps(script))
    return "--model", f"scripted:{path}"


def check(folder: Path, *arguments: object, model: tuple[str, str]):
    return midfill("check", str(folder / "shop.py"), *map(str, arguments), *model)


RUN = ("--run", f"{sys.executable} test_shop.py")


def test_the_projects_own_tests_judge_each_fill(shop: Path, right: tuple[str, str]) -> None:
    ran = check(shop, "--holes", 8, "--json", *RUN, model=right)
    report = json.loads(ran.out)
    passed = {(hole["kind"], hole["line"]): hole["passed"] for hole in report["holes"]}
    assert all(good for (kind, _), good in passed.items() if kind == "comment")
    assert not all(passed.values()) and report["pass"] == pytest.approx(sum(passed.values()) / len(passed), abs=1e-4)
    assert (shop / "shop.py").read_text() == SOURCE and not list(
        Path(tempfile.gettempdir()).glob(f"{TRIALS[:-1]}{os.getpid()}-*")
    )
    ran = check(shop, "--holes", 8, *RUN, "--min-pass", 1, model=right)
    assert ran.code == 1 and "pass is" in ran.err and b" pass " in ran.out


def test_a_command_that_fails_or_hangs_before_any_hole_is_dug_stops_the_run(shop: Path, right: tuple[str, str]) -> None:
    ran = check(shop, "--run", "echo no such thing; exit 3", model=right)
    assert ran.code == 2 and "fails on the tree as it is (exit code 3)" in ran.err and "no such thing" in ran.err
    begun = time.monotonic()
    ran = check(shop, "--run", "sleep 60 & sleep 60", "--run-timeout", 0.5, model=right)
    assert ran.code == 2 and "did not end within 0.5 seconds" in ran.err and time.monotonic() - begun < 20
    ran = check(shop, "--min-pass", 1, model=right)
    assert ran.code == 2 and "--min-pass needs --run" in ran.err


def test_a_fill_that_makes_the_tests_hang_is_one_that_fails(shop: Path) -> None:
    files = [shop / "shop.py", shop / "test_shop.py"]
    from engine.check.dig import Kind, draw
    from engine.text import read_document

    hole = next(h for h in draw([read_document(shop / "shop.py")], 50, 0) if h.kind is Kind.LINE and h.line == 4)
    with trial(shop, files, f"{sys.executable} test_shop.py", Limits(seconds=5, memory_mb=1024)) as made:
        made.check_untouched()
        assert not made.passes(hole, SOURCE.replace("return result", "while True: pass"))
        assert not made.passes(hole, SOURCE.replace("return result", "return [0] * 10**10"))
        assert made.passes(hole, SOURCE.replace("return result", "return (result)"))  # and the tree is as before


def test_a_tree_that_is_read_only_is_tried_too_and_links_stay_links(shop: Path) -> None:
    (shop / "link.py").symlink_to("shop.py")
    for path in (shop / "shop.py", shop / "test_shop.py"):
        path.chmod(0o444)
    with trial(shop, sorted(shop.iterdir()), f"{sys.executable} test_shop.py", Limits()) as made:
        copy = made._copy
        assert made.check_untouched() >= 0
        assert (copy / "link.py").is_symlink() and os.access(copy / "shop.py", os.W_OK)
    assert not copy.exists()


def test_scratch_trees_of_processes_that_were_killed_are_swept(shop: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = Path(tempfile.mkdtemp(prefix=f"midfill-trial-{gone.pid}-"))
    (left / "a.py").write_text("x = 1\n")
    mine = Path(tempfile.mkdtemp(prefix=f"midfill-trial-{os.getpid()}-"))
    with trial(shop, [], "true", Limits()):
        assert not left.exists() and mine.exists()
    mine.rmdir()


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_run_that_is_ended_midway_tells_what_it_found_and_leaves_nothing(
    shop: Path, right, how: signal.Signals
) -> None:
    command = [
        sys.executable,
        "-m",
        "lsp_server.cli.main",
        "check",
        str(shop / "shop.py"),
        "--json",
        "--run",
        "sleep 0.4",
        *right,
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "of" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(how)
    out, _ = process.communicate(timeout=30)
    report = json.loads(out)
    assert process.returncode == 130 and report["interrupted"] and report["count"] >= 1
    assert not list(Path(tempfile.gettempdir()).glob(f"midfill-trial-{process.pid}-*"))


# the configuration

CONFIG = {
    "ok": (
        "[tool.midfill.check]\nholes = 2\nkind = ['comment']\nmin-exact = 0.9\n",
        1,
        "exact is 0.500, less than 0.9",
    ),
    "unknown": ("[tool.midfill.check]\nmin-exat = 1\n", 2, "did you mean 'min-exact'?"),
    "unlike any": ("[tool.midfill.check]\nzzz = 1\n", 2, "unknown key 'zzz'"),
    "syntax": ("[tool.midfill.check]\nholes = \n", 2, "at line 2, column 9"),
    "type": ("[tool.midfill.check]\nholes = 'two'\n", 2, "holes must be a whole number, not 'two'"),
    "kind": ("[tool.midfill.check]\nkind = ['lines']\n", 2, "holds 'lines'; kinds are"),
    "rate": ("[tool.midfill.check]\nmin-exact = 3\n", 2, "must be a rate from 0 to 1, not 3"),
    "table": ("[tool.midfill]\ncheck = 3\n", 2, "must be a table"),
    "run": ("[tool.midfill.check]\nrun = 'rm -rf .'\n", 2, "unknown key 'run'"),
    "model": ("[tool.midfill.check]\nmodel = 'x'\n", 2, "unknown key 'model'"),
}


@pytest.mark.parametrize("name", CONFIG)
def test_the_repositorys_own_settings(shop: Path, right: tuple[str, str], name: str) -> None:
    text, code, said = CONFIG[name]
    (shop / "pyproject.toml").write_text(text)
    ran = check(shop, model=right)
    assert ran.code == code and said in ran.err
    if code == 2:
        assert ran.err.count("\n") == 1


def test_the_command_line_has_the_last_word_and_midfill_toml_the_one_before(shop: Path, right: tuple[str, str]) -> None:
    (shop / "pyproject.toml").write_text("[tool.midfill.check]\nholes = 2\n")
    (shop / "midfill.toml").write_text("[check]\nholes = 3\n")
    assert json.loads(check(shop, "--json", model=right).out)["count"] == 3
    assert json.loads(check(shop, "--json", "--holes", 1, model=right).out)["count"] == 1


# the baseline


def test_a_run_is_compared_with_one_before(shop: Path, tmp_path: Path, right: tuple[str, str]) -> None:
    many = "".join(f"def f{n}(x):\n    # adds them up\n    return x + {n}\n\n\n" for n in range(12))
    (shop / "shop.py").write_text(many)
    saved = tmp_path / "baseline.json"
    only = ("--kind", "comment", "--holes", 12)
    assert check(shop, *only, "--save-baseline", saved, model=right).code == 0
    assert check(shop, *only, "--baseline", saved, model=right).code == 0
    worse = scripted(tmp_path, {"default": "no idea"})
    ran = check(shop, *only, "--baseline", saved, model=worse)
    assert ran.code == 1 and re.search(r"exact fell from 1\.000 to 0\.000 over 12 holes \(p = 0\.000\d\)", ran.err)
    ran = check(shop, "--kind", "line", "--baseline", saved, model=worse)
    assert ran.code == 2 and "none of these holes" in ran.err
    saved.write_text("{}")
    assert check(shop, "--baseline", saved, model=right).code == 2


@pytest.mark.parametrize(("lost", "won", "p"), [(0, 0, 1.0), (1, 0, 0.5), (5, 0, 1 / 32), (3, 3, 42 / 64), (0, 5, 1.0)])
def test_mcnemars_exact_test(lost: int, won: int, p: float) -> None:
    assert baseline.mcnemar(lost, won) == pytest.approx(p)


def test_the_sign_flip_test_sees_a_drop_and_no_rise() -> None:
    assert baseline.sign_flips([-0.3] * 12) < 0.001
    assert baseline.sign_flips([0.3] * 12) > 0.99 and baseline.sign_flips([0.0] * 5) == 1.0
    assert baseline.sign_flips([-0.5, 0.5] * 6) > 0.3


# the reports


def hostile(shop: Path, tmp_path: Path) -> tuple[str, str]:
    (shop / "shop.py").write_text(SOURCE.replace("adds them up", HOSTILE.replace("\x01", "")))
    return scripted(
        tmp_path, {"default": HOSTILE, "fills": [{"when": "# ", "drafts": ["<b>", HOSTILE], "text": HOSTILE}]}
    )


def test_reports_of_every_kind_hold_any_text(shop: Path, tmp_path: Path) -> None:
    model = hostile(shop, tmp_path)
    names = {kind: tmp_path / f"report.{kind}" for kind in ("junit", "sarif", "html", "gitlab")}
    options = [part for kind, path in names.items() for part in (f"--{kind}", path)]
    ran = check(shop, "--holes", 6, "--annotations", "github", *options, "--min-exact", 1, model=model)
    assert ran.code == 1
    suites = ET.parse(names["junit"]).getroot()
    assert len(suites.findall(".//testcase")) >= 6 and suites.findall(".//failure")
    sarif = json.loads(names["sarif"].read_text())
    (run,) = sarif["runs"]
    assert sarif["version"] == "2.1.0" and run["results"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    for result in run["results"]:
        assert result["ruleId"] in rules and result["message"]["text"]
        for place in result.get("locations", []):
            assert place["physicalLocation"]["region"]["startLine"] >= 1
    quality = json.loads(names["gitlab"].read_text())
    assert {"description", "check_name", "fingerprint", "severity", "location"} <= set(quality[0])
    assert len({one["fingerprint"] for one in quality}) == len(quality)
    lines = [line for line in ran.out.decode().splitlines() if line.startswith("::error")]
    assert len(lines) == len(run["results"]) and all(line.count("::") >= 2 for line in lines)


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data) -> None:
        if self.tags and self.tags[-1][0] == "script" and self.scripts:
            self.scripts[-1] += data


def test_the_page_needs_nothing_else_and_runs_nothing_of_the_code(shop: Path, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    check(shop, "--holes", 6, "--html", path, model=hostile(shop, tmp_path))
    text = path.read_text(encoding="utf-8")
    found = Page()
    found.feed(text)
    assert not any("src" in attributes or "href" in attributes for _, attributes in found.tags)
    assert not any(tag == "b" for tag, _ in found.tags), "a fill's tag is none of the page's"
    drafts = json.loads(found.scripts[0])
    assert len(found.scripts) == 2 and ["<b>", HOSTILE] in drafts
    assert sum(tag == "details" for tag, _ in found.tags) == 6 and "svg" in [tag for tag, _ in found.tags]


def test_a_report_that_cannot_be_written_is_a_line(shop: Path, tmp_path: Path, right: tuple[str, str]) -> None:
    ran = check(shop, "--holes", 1, "--html", tmp_path / "nowhere" / "page.html", model=right)
    assert ran.code == 2 and "cannot be written" in ran.err.splitlines()[-1]
    assert junit.render({"by_kind": {}, "holes": [], "missed": []}).startswith("<?xml")
    assert "all thresholds are kept" in page.render(
        {"count": 0, "model": "m", "files": 0, "seed": 0, "missed": [], "holes": [], "by_kind": {}, "exact": None, "layout": None, "similarity": None, "empty": None, "breaks": 0, "ms": {"p50": None, "p95": None}},
        [],
    )  # fmt: skip
    with pytest.raises(BadInput):
        baseline.read(tmp_path / "none.json")
