"""The scripted filler plays its script exactly, and says in one line what is wrong with a bad one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.errors import Cancelled, ModelUnavailable
from engine.filler import CancelToken, Completion, Draft, FillSettings, run
from engine.hole import hole_at
from engine.scripted import ScriptedFiller
from engine.text import Document

SCRIPT = {
    "name": "adder",
    "fills": [
        {"text": "anywhere"},
        {"when": "def", "text": "contained"},
        {
            "when": "return ",
            "drafts": ["a", "a +"],
            "text": "a + b",
            "alternatives": ["b + a", "sum"],
            "confidence": 0.5,
        },
    ],
    "default": "never",
}


def load(tmp_path: Path, script: object) -> ScriptedFiller:
    path = tmp_path / "script.json"
    path.write_text(script if isinstance(script, str) else json.dumps(script))
    return ScriptedFiller.load(path)


def check(filler: ScriptedFiller, prefix: str, expected: str, **settings: object) -> Completion:
    document = Document(prefix + "\n")
    completion = run(filler, document, hole_at(document, len(prefix)), FillSettings(**settings))  # type: ignore[arg-type]
    assert completion.text == expected
    assert (completion.start, completion.end) == (len(prefix), len(prefix))
    return completion


def test_the_fill_that_the_prefix_ends_with_goes_before_others(tmp_path: Path) -> None:
    filler = load(tmp_path, SCRIPT)
    check(filler, "def f(a, b): return ", "a + b")
    check(filler, "def f(a, b): ", "contained")
    check(filler, "x = ", "anywhere")
    check(load(tmp_path, {"default": "only"}), "x = ", "only")
    check(load(tmp_path, {}), "x = ", "")


def test_drafts_come_in_order_and_one_completion_ends_them(tmp_path: Path) -> None:
    document = Document("return ")
    events = list(load(tmp_path, SCRIPT).fill(document, hole_at(document, 7), FillSettings(), CancelToken()))
    assert [event.text for event in events] == ["a", "a +", "a + b"]
    assert [type(event) for event in events] == [Draft, Draft, Completion]
    assert [event.step for event in events if isinstance(event, Draft)] == [1, 2]


def test_settings_are_kept_to(tmp_path: Path) -> None:
    filler = load(tmp_path, SCRIPT)
    assert [other.text for other in check(filler, "return ", "a + b", alternatives=2).alternatives] == ["b + a"]
    assert check(filler, "return ", "a + b").alternatives == ()
    assert check(filler, "return ", "a + b", steps=1).steps == 1
    check(filler, "return ", "", min_confidence=0.6)


def test_a_cancel_is_seen_between_two_steps(tmp_path: Path) -> None:
    document = Document("return ")
    cancel = CancelToken()
    events = load(tmp_path, SCRIPT).fill(document, hole_at(document, 7), FillSettings(), cancel)
    assert isinstance(next(events), Draft)
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(events)


def test_loading_reports_progress(tmp_path: Path) -> None:
    path = tmp_path / "script.json"
    path.write_text("{}")
    shares: list[float] = []
    ScriptedFiller.load(path, lambda share, _: shares.append(share))
    assert shares == sorted(shares) and shares[0] == 0 and shares[-1] < 1


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("{", "not JSON"),
        ([], "must be an object"),
        ({"fils": []}, "unknown key 'fils'; did you mean 'fills'?"),
        ({"fills": {}}, "fills must be a list"),
        ({"fills": [1]}, "fills[0] must be an object"),
        ({"fills": [{"txt": ""}]}, "fills[0]: unknown key 'txt'"),
        ({"fills": [{"text": 1}]}, "text must be a text"),
        ({"fills": [{"when": 1}]}, "when must be"),
        ({"fills": [{"drafts": "ab"}]}, "drafts must be a list of texts"),
        ({"fills": [{"alternatives": [1]}]}, "alternatives must be a list of texts"),
        ({"fills": [{"confidence": 2}]}, "confidence must be"),
        ({"load_ms": -1}, "load_ms must be"),
        ({"step_ms": "1"}, "step_ms must be"),
        ({"name": 1}, "name must be a text"),
    ],
)
def test_a_bad_script_is_one_line(tmp_path: Path, script: object, says: str) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        load(tmp_path, script)
    assert says in str(caught.value) and "\n" not in str(caught.value)


def test_no_script_and_a_folder_are_one_line(tmp_path: Path) -> None:
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(ModelUnavailable, match="cannot read the script"):
            ScriptedFiller.load(path)
