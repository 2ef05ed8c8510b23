"""Settings: every wrong one is named, the rest holds, and each source goes over the one below."""

from __future__ import annotations

import dataclasses

import pytest

from engine.errors import BadInput
from lsp_server.settings import Settings, SettingsLayers, apply, definitions, from_command_line, settings_table


def check(values: object, problem: str = "", **expected: object) -> None:
    """What `values` make of the default settings, and the one thing that is wrong with them."""
    settings, problems = apply(Settings(), values)
    assert settings == dataclasses.replace(Settings(), **expected)  # type: ignore[arg-type]
    assert len(problems) == (1 if problem else 0) and problem in "".join(problems)


def test_right_settings_are_taken() -> None:
    check({"steps": 4, "min_confidence": 1, "completion": True}, steps=4, min_confidence=1, completion=True)
    check({"midfill": {"seed": 7}, "python": {"seed": "x"}}, seed=7)
    check({"device": "cuda:1", "model": "scripted:a.json"}, device="cuda:1", model="scripted:a.json")
    check({"languages": {"markdown": False}}, languages={"markdown": False})
    check({"slots": None, "alternatives": None})


@pytest.mark.parametrize("nothing", [None, [], {}, {"midfill": None}])
def test_nothing_changes_nothing(nothing: object) -> None:
    check(nothing)


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"stpes": 4}, "unknown setting 'stpes'; did you mean 'steps'?"),
        ({"minConfidence": 0.5}, "did you mean 'min_confidence'?"),
        ({"zzzzzz": 1}, "unknown setting 'zzzzzz'"),
        ({"steps": 0}, "setting 'steps' must be a whole number from 1 to 4096, or null, not 0"),
        ({"steps": "4"}, "setting 'steps'"),
        ({"steps": True}, "setting 'steps'"),
        ({"steps": 2.0}, "setting 'steps'"),
        ({"min_confidence": 1.5}, "setting 'min_confidence' must be a number from 0 to 1"),
        ({"min_confidence": float("nan")}, "setting 'min_confidence'"),
        ({"completion": 1}, "setting 'completion' must be true or false"),
        ({"model": " "}, "setting 'model'"),
        ({"device": "gpu"}, "setting 'device'"),
        ({"precision": "int3"}, "setting 'precision' must be one of"),
        ({"languages": {"python": "off"}}, "setting 'languages'"),
        ({"languages": ["python"]}, "setting 'languages'"),
        ("steps", "settings must be an object"),
    ],
)
def test_a_wrong_setting_is_named_and_left_out(values: object, problem: str) -> None:
    check(values, problem)


def test_what_is_right_beside_what_is_wrong_holds() -> None:
    check({"steps": 0, "seed": 3}, "setting 'steps'", seed=3)


def test_a_long_value_is_shown_short() -> None:
    _, problems = apply(Settings(), {"steps": "x" * 1000})
    assert len(problems[0]) < 150


def test_the_clients_settings_go_over_the_command_lines_and_fall_back_to_them() -> None:
    layers = SettingsLayers(from_command_line({"model": "scripted:a", "seed": 1}))
    layers.initialize({"seed": 2, "steps": 2})
    assert (layers.current.model, layers.current.seed, layers.current.steps) == ("scripted:a", 2, 2)
    layers.change({"seed": 3})
    assert (layers.current.seed, layers.current.steps) == (3, 2)
    assert layers.change({"steps": 0}) != []
    assert (layers.current.seed, layers.current.steps) == (2, 2)


def test_the_command_line_refuses_what_is_wrong() -> None:
    with pytest.raises(BadInput, match="setting 'steps'"):
        from_command_line({"steps": 0})


def test_languages_are_on_unless_switched_off() -> None:
    settings, _ = apply(Settings(), {"languages": {"*": False, "python": True}})
    assert settings.language_on("python") and not settings.language_on("go")
    assert Settings().language_on("anything")


def test_every_setting_has_help_a_default_that_it_accepts_and_a_row_in_the_table() -> None:
    table = settings_table()
    for definition in definitions():
        assert definition.help.endswith(".")
        if definition.default is not None and definition.name != "languages":
            assert definition.kind.accepts(definition.default), definition.name
        assert f"| `{definition.name}` |" in table


def test_every_setting_that_a_fill_takes_is_in_its_range() -> None:
    for value in (1, 4096):
        settings, problems = apply(Settings(), {"slots": value, "steps": value, "alternatives": min(value, 16)})
        assert problems == [] and settings.fill_settings(settings.alternatives).slots == value
