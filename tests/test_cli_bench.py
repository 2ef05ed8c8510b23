"""`midfill bench` and `midfill train`: what they print and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli import midfill, run, scripted

PROBLEMS = [
    {
        "task_id": f"SingleLineInfilling/{number}",
        "prompt": f"def add{number}(a, b):\n",
        "suffix": "\n\nnext_one = 1\n",
        "canonical_solution": "    return a + b\n",
        "test": "def check(candidate):\n    assert candidate(1, 2) == 3\n",
        "entry_point": f"add{number}",
    }
    for number in range(4)
]


@pytest.fixture
def problems(tmp_path: Path) -> Path:
    path = tmp_path / "problems.jsonl"
    path.write_text("".join(json.dumps(problem) + "\n" for problem in PROBLEMS))
    return path


def test_figures_and_samples(problems: Path) -> None:
    samples = problems.parent / "samples.jsonl"
    model = scripted(problems.parent, "    return a + b\n")
    ran = midfill("bench", str(problems), "--json", "--samples", str(samples), *model)
    found = ran.json
    assert ran.code == 0 and ran.out.count(b"\n") == 1
    expected = {
        "pass@1": 1.0,
        "exact": 1.0,
        "similarity": 1.0,
        "parses": 1.0,
        "empty": 0.0,
        "adds_error": 0,
        "count": 4,
    }
    assert {key: found[key] for key in expected} == expected
    assert found["seed"] == 0 and found["steps"] == 1.0 and {"p50", "p95"} == found["ms"].keys()
    lines = [json.loads(line) for line in samples.read_text().splitlines()]
    assert [line["task_id"] for line in lines] == [problem["task_id"] for problem in PROBLEMS]
    assert {line["completion"] for line in lines} == {"    return a + b\n"}


def test_a_baseline_by_name_and_the_table(problems: Path) -> None:
    other = problems.parent / "other.json"
    other.write_text(json.dumps({"name": "wrong", "default": "    return a - b\n"}))
    arguments = ["bench", str(problems), "--limit", "2", "--baseline", f"scripted:{other}"]
    model = scripted(problems.parent, "    return b + a\n")
    found = midfill(*arguments, "--json", *model).json
    assert (found["count"], found["pass@1"], found["baseline"]["pass@1"]) == (2, 1.0, 0.0)
    assert found["ratio"]["pass@1"] is None
    ran = midfill(*arguments, *model)
    rows = {row.split()[0]: row.split()[1:] for row in ran.out.decode().splitlines() if row}
    assert rows["pass@1"] == ["1.000", "0.000", "-"]
    assert "2 of 2 problems" in ran.err


def test_an_interrupted_run_prints_its_figures(problems: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Impatient:
        live = False

        def close(self) -> None: ...

        def __call__(self, done: int, of: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr("lsp_server.cli.bench._Progress", Impatient)
    model = scripted(problems.parent, "    return a + b\n")
    ran = run(monkeypatch, "bench", str(problems), "--json", *model)
    assert (ran.code, ran.json["count"], ran.json["interrupted"]) == (130, 2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.jsonl"], "there is no file none.jsonl"),
        (["."], "is a directory"),
        (["bad.jsonl"], "bad.jsonl, line 2 is not JSON"),
        (["problems.jsonl", "--limit", "0"], "limit must be 1 or more"),
        (["problems.jsonl", "--slots", "0"], "slots must be"),
        (["problems.jsonl", "--seed", "9" * 30], "--seed: must be"),
    ],
)
def test_bad_input_is_one_line_and_2(
    problems: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    (problems.parent / "bad.jsonl").write_text(json.dumps(PROBLEMS[0]) + "\n{")
    monkeypatch.chdir(problems.parent)
    ran = midfill("bench", *arguments, "--model", "none")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert message in ran.err


def test_a_baseline_that_was_not_fetched_is_3_and_names_the_command(
    problems: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIDFILL_CACHE", str(problems.parent / "cache"))
    ran = run(monkeypatch, "bench", str(problems), "--baseline", "ar")
    assert (ran.code, ran.out, ran.err.count("\n")) == (3, b"", 1)
    assert "midfill train --fetch-base" in ran.err


def test_train_hands_its_options_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    monkeypatch.setattr("engine.training.run.main", lambda options: seen.append(options) or 5)
    assert run(monkeypatch, "train", "--folder", str(tmp_path), "--minutes", "2").code == 5
    assert (seen[0].folder, seen[0].minutes) == (tmp_path, 2.0)
