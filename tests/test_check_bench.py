"""The benchmark's figures are what the completions deserve."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.check import BenchReport, Problem, read_problems, run_bench, table
from engine.check.dataset import sample
from engine.check.metrics import exact, percentile, ratio, similarity
from engine.errors import BadInput
from engine.filler import CancelToken, Completion, Draft, FillSettings, Timing
from engine.hole import Hole, HoleKind
from engine.text import Document

REFERENCE = "    return a + b\n"


def problem(number: int, kind: str = "SingleLineInfilling", middle: str = REFERENCE) -> Problem:
    return Problem(
        task_id=f"{kind}/{number}",
        prompt=f"def add{number}(a, b):\n",
        suffix="\n\nnext_one = 1\n",
        canonical_solution=middle,
        test="def check(candidate):\n    assert candidate(1, 2) == 3\n",
        entry_point=f"add{number}",
    )


def written(path: Path, problems: list[Problem]) -> Path:
    path.write_text("\n\n".join(json.dumps(vars(item)) for item in problems) + "\n")
    return path


class Answers:
    """A filler that answers what a function of the document's text says; remembers what it was asked."""

    def __init__(self, answer: Callable[[str], str], name: str = "answers", ms: float = 4.0, shift: int = 0) -> None:
        self.name, self._answer, self._ms, self._shift = name, answer, ms, shift
        self.asked: list[tuple[Hole, FillSettings]] = []

    def fill(
        self, document: Document, hole: Hole, settings: FillSettings, cancel: CancelToken
    ) -> Iterator[Draft | Completion]:
        self.asked.append((hole, settings))
        text = self._answer(document.text)
        yield Draft(step=1, block=0, text=text)
        end = hole.end + self._shift
        yield Completion(text, hole.start, end, steps=3, ms=Timing(denoise=self._ms))


class LeftToRightAnswers(Answers):
    def __init__(self) -> None:
        super().__init__(lambda text: REFERENCE, name="ar")
        self.calls: list[tuple[int, bool]] = []

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def fill_left_to_right(
        self, document: Document, hole: Hole, max_tokens: int, stop_at_line_break: bool, cancel: CancelToken
    ) -> Completion:
        self.calls.append((max_tokens, stop_at_line_break))
        return Completion(REFERENCE, hole.start, hole.end, ms=Timing(2.0))


def check(tmp_path: Path, answer: str, count: int = 1, shift: int = 0, **expected: object) -> BenchReport:
    path = written(tmp_path / "problems.jsonl", [problem(number) for number in range(count)])
    report = run_bench(path, Answers(lambda text: answer, shift=shift))
    found = report.as_dict()
    assert {key: found[key] for key in expected} == expected
    return report


def test_the_reference_is_all_right(tmp_path: Path) -> None:
    report = check(tmp_path, REFERENCE, 2, exact=1.0, similarity=1.0, parses=1.0, empty=0.0, steps=3.0, adds_error=0)
    found = report.as_dict()
    assert found["pass@1"] == 1.0
    assert found["ms"] == {"p50": 4.0, "p95": 4.0}
    assert (found["count"], found["seed"], found["model"], found["not_exact_join"]) == (2, 0, "answers", 0)
    assert found["file"].endswith("problems.jsonl")
    assert not {"baseline", "ratio", "interrupted"} & found.keys()


def test_another_way_that_passes_is_not_exact(tmp_path: Path) -> None:
    report = check(tmp_path, "    return b + a", exact=0.0, parses=1.0, adds_error=0)
    assert report.as_dict()["pass@1"] == 1.0


@pytest.mark.parametrize("answer", ["    return a - b\n", "    raise SystemExit\n", "    import os; os._exit(0)\n"])
def test_wrong_text_does_not_pass(tmp_path: Path, answer: str) -> None:
    report = check(tmp_path, answer, exact=0.0, parses=1.0, empty=0.0, adds_error=0)
    assert report.as_dict()["pass@1"] == 0.0


def test_added_errors_are_counted(tmp_path: Path) -> None:
    check(tmp_path, "    return (a\n", 2, adds_error=2, parses=0.0, empty=0.0, not_exact_join=0)


def test_an_empty_answer_adds_no_error(tmp_path: Path) -> None:
    check(tmp_path, "", adds_error=0, parses=0.0, empty=1.0, exact=0.0)


def test_a_reference_that_does_not_parse_excuses(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0, middle="    return (\n")])
    assert run_bench(path, Answers(lambda text: "    return [\n")).as_dict()["adds_error"] == 0


def test_another_range_is_no_exact_join(tmp_path: Path) -> None:
    check(tmp_path, REFERENCE, shift=1, not_exact_join=1)


def test_half_a_character_is_no_exact_join(tmp_path: Path) -> None:
    check(tmp_path, REFERENCE + "# \ud83d", not_exact_join=1)


def test_an_endless_completion_fails(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0)])
    filler = Answers(lambda text: "    while True: pass\n")
    assert run_bench(path, filler, timeout_s=0.5).as_dict()["pass@1"] == 0.0


def test_the_hole_is_a_line_only_for_single_lines(tmp_path: Path) -> None:
    problems = [problem(0), problem(1, "MultiLineInfilling"), problem(2, "RandomSpanInfilling")]
    path = written(tmp_path / "p.jsonl", problems)
    filler = Answers(lambda text: REFERENCE)
    run_bench(path, filler, seed=7, steps=5)
    kinds = [hole.kind for hole, _ in filler.asked]
    assert kinds == [HoleKind.LINE, HoleKind.SELECTION, HoleKind.SELECTION]
    assert all(
        hole.start == hole.end == len(item.prompt) for (hole, _), item in zip(filler.asked, problems, strict=True)
    )
    assert filler.asked[0][1] == FillSettings(slots=None, steps=5, seed=7)
    run_bench(path, filler, slots=11)
    assert filler.asked[-1][0].slots == filler.asked[-1][1].slots == 11


def test_the_limit_draws_by_the_seed(tmp_path: Path) -> None:
    problems = [problem(number) for number in range(50)]
    drawn = [sample(problems, 5, seed) for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert drawn[0] != problems[:5]
    assert [problems.index(item) for item in drawn[2]] == sorted(problems.index(item) for item in drawn[2])
    assert sample(problems, 99, 0) == sample(problems, None, 0) == problems
    with pytest.raises(BadInput, match="limit"):
        sample(problems, 0, 0)
    path = written(tmp_path / "p.jsonl", problems)
    filler = Answers(lambda text: "")
    assert run_bench(path, filler, limit=5, seed=1).as_dict()["count"] == 5
    assert [hole.start for hole, _ in filler.asked] == [len(item.prompt) for item in drawn[2]]


def test_samples_are_written_as_they_come(tmp_path: Path) -> None:
    path, samples = written(tmp_path / "p.jsonl", [problem(0), problem(1)]), tmp_path / "samples.jsonl"
    seen: list[tuple[int, int, int]] = []

    def progress(done: int, of: int) -> None:
        seen.append((done, of, samples.read_text().count("\n")))

    run_bench(path, Answers(lambda text: "é\u2028"), samples=samples, progress=progress)
    assert seen == [(1, 2, 1), (2, 2, 2)]
    lines = [json.loads(line) for line in samples.read_text().split("\n")[:-1]]
    assert lines == [{"task_id": f"SingleLineInfilling/{number}", "completion": "é\u2028"} for number in range(2)]
    with pytest.raises(BadInput, match="cannot be written"):
        run_bench(path, Answers(lambda text: ""), samples=tmp_path)


def test_a_baseline_and_its_ratios(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0), problem(1)])
    filler = Answers(lambda text: REFERENCE if "add0" in text else "    return a - b\n", ms=3.0)
    report = run_bench(path, filler, baseline=Answers(lambda text: REFERENCE, name="other", ms=2.0))
    found = report.as_dict()
    assert (found["pass@1"], found["exact"]) == (0.5, 0.5)
    assert (found["baseline"]["pass@1"], found["baseline"]["model"]) == (1.0, "other")
    assert found["ratio"]["pass@1"] == found["ratio"]["exact"] == 0.5
    assert found["ratio"]["similarity"] == found["similarity"] < 1
    assert found["ratio"]["ms"]["p50"] == 1.5
    assert json.loads(json.dumps(found)) == found
    lines = {line.split()[0]: line.split()[1:] for line in table(report).split("\n")[2:]}
    assert lines["pass@1"] == ["0.500", "1.000", "0.500"]
    assert lines["ms"][0] in ("p50", "p95")
    assert table(report).split("\n")[1].split() == ["answers", "other", "ratio"]


def test_a_baseline_that_gets_nothing_has_no_ratio(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0)])
    report = run_bench(path, Answers(lambda text: REFERENCE), baseline=Answers(lambda text: "", ms=0.0))
    nothing = dict.fromkeys(("pass@1", "exact", "similarity", "parses"))
    assert report.as_dict()["ratio"] == {**nothing, "steps": 1.0, "ms": {"p50": None, "p95": None}}
    assert "-" in table(report)


def test_left_to_right_stops_at_the_line_or_at_the_references_length(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0), problem(1, "MultiLineInfilling"), problem(2, "M", "")])
    baseline = LeftToRightAnswers()
    found = run_bench(path, Answers(lambda text: ""), baseline=baseline).as_dict()
    assert baseline.calls == [(64, True), (4, False), (1, False)]
    assert not baseline.asked
    assert found["baseline"]["pass@1"] == 1.0


@pytest.mark.parametrize("with_baseline", [False, True])
def test_an_interrupt_returns_what_there_is(tmp_path: Path, with_baseline: bool) -> None:
    path = written(tmp_path / "p.jsonl", [problem(number) for number in range(3)])

    def answer(text: str) -> str:
        if "add1" in text:
            raise KeyboardInterrupt
        return REFERENCE

    filler, good = Answers(answer), Answers(lambda text: REFERENCE)
    report = run_bench(path, good, baseline=filler) if with_baseline else run_bench(path, filler)
    found = report.as_dict()
    assert (found["count"], found["pass@1"], found["interrupted"]) == (1, 1.0, True)
    assert not with_baseline or found["baseline"]["count"] == 1
    assert "1 of 3 problems" in table(report)


def test_a_cancel_before_the_first_leaves_no_figures(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", [problem(0)])
    cancel = CancelToken()
    cancel.cancel()
    report = run_bench(path, Answers(lambda text: REFERENCE), cancel=cancel)
    found = report.as_dict()
    assert (found["count"], found["pass@1"], found["ms"]["p50"], found["interrupted"]) == (0, None, None, True)
    assert "0 of 1 problems" in table(report)


def test_compressed_files_read_alike(tmp_path: Path) -> None:
    problems = [problem(0), problem(1, middle="    x = '\u2028\x85'\r\n")]
    plain = written(tmp_path / "p.jsonl", problems)
    packed = tmp_path / "p.jsonl.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_problems(plain) == read_problems(packed) == problems


GOOD = json.dumps(vars(problem(0)))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (GOOD + "\n{", "line 2 is not JSON"),
        (GOOD + "\n\n[1]", "line 3 must be a JSON object"),
        (GOOD.replace('"suffix"', '"sufix"'), "line 1 has no 'suffix'"),
        (json.dumps({**vars(problem(0)), "test": 3}), "line 1: 'test' must be a text"),
        (json.dumps({**vars(problem(0)), "entry_point": "f(); g"}), "line 1: 'entry_point' must be a name"),
        ("[" * 100_000, "line 1 is not JSON"),
        ("\n\n", "holds no problem"),
        (b"\xff", "not UTF-8"),
        (gzip.compress(GOOD.encode())[:-20], "broken gzip"),
        (gzip.compress(GOOD.encode())[:15] + b"\0" * 40, "broken gzip"),
    ],
)
def test_malformed_data_is_named(tmp_path: Path, data: str | bytes, message: str) -> None:
    path = tmp_path / "p.jsonl"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    with pytest.raises(BadInput, match=message) as caught:
        read_problems(path)
    assert "\n" not in str(caught.value)


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        read_problems(tmp_path / "none")
    with pytest.raises(BadInput, match="is a directory"):
        read_problems(tmp_path)


def test_measures() -> None:
    assert exact("  a\n", "  a") and not exact("  a\n", "a\n") and exact("", "\n")
    assert similarity("ab\n", "ab") == similarity("", "") == 1.0
    assert similarity("abcd", "bcde") == 0.75
    assert similarity("abc", "") == 0.0
    assert percentile([], 0.5) is None
    assert percentile([1, 2, 3, 4], 0.5) == 2.5
    assert percentile([3, 1, 2], 0.95) == pytest.approx(2.9)
    assert ratio(1, 0) is None and ratio(None, 1) is None and ratio(0, 2) == 0


def test_torch_is_not_imported() -> None:
    code = "import sys, engine.check; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
