"""How a hole is put to a model on a server: fill-in-the-middle tokens where its family has them, else an instruction."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Template:
    """A fill-in-the-middle prompt: `{prefix}` and `{suffix}` stand for the text around the hole. stop: what ends a fill."""

    pattern: re.Pattern[str]
    prompt: str
    stop: tuple[str, ...]


# By the families' own model cards; a name is matched anywhere in the model's id.
_TEMPLATES = (
    Template(
        re.compile(r"qwen[\d.]*-?coder|codegemma", re.I),
        "<|fim_prefix|>{prefix}<|fim_suffix|>{suffix}<|fim_middle|>",
        ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", "<|file_sep|>", "<|file_separator|>", "<|endoftext|>"),
    ),
    Template(
        re.compile(r"starcoder|granite|smollm|stable-?code|refact", re.I),
        "<fim_prefix>{prefix}<fim_suffix>{suffix}<fim_middle>",
        ("<fim_prefix>", "<fim_suffix>", "<fim_middle>", "<file_sep>", "<|endoftext|>"),
    ),
    Template(
        re.compile(r"deepseek-?coder", re.I),
        "<｜fim▁begin｜>{prefix}<｜fim▁hole｜>{suffix}<｜fim▁end｜>",
        ("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", "<|EOT|>"),
    ),
    Template(
        re.compile(r"codellama", re.I), "<PRE> {prefix} <SUF>{suffix} <MID>", ("<EOT>", "<PRE>", "<SUF>", "<MID>")
    ),
    Template(
        re.compile(r"codestral|devstral", re.I), "[SUFFIX]{suffix}[PREFIX]{prefix}", ("[SUFFIX]", "[PREFIX]", "</s>")
    ),
)
_INSTRUCTION = (
    "Write the code that is missing at <HOLE/>. Answer with that code alone: no explanation, no code fence, nothing of "
    "what stands around it.\n\n"
)
_FENCE = re.compile(r"\A\s*```[\w+-]*\n(.*?)(?:\n?```\s*)?\Z", re.S)


def template_of(model: str) -> Template | None:
    """The fill-in-the-middle prompt of a model, by its id; None where it is not known to have one."""
    return next((one for one in _TEMPLATES if one.pattern.search(model)), None)


def fill_in_the_middle(template: Template, prefix: str, suffix: str) -> str:
    """The prompt. What looks like one of the model's own tokens in a document would move the hole: it is parted."""
    for token in template.stop:
        prefix, suffix = (text.replace(token, token[:1] + "\u200b" + token[1:]) for text in (prefix, suffix))
    parts = re.split(r"(\{\w+\})", template.prompt)
    return "".join({"{prefix}": prefix, "{suffix}": suffix}.get(part, part) for part in parts)


def instruction(prefix: str, suffix: str) -> str:
    """What a chat model is told."""
    return f"{_INSTRUCTION}{prefix}<HOLE/>{suffix}"


def answer(text: str) -> str:
    """What a chat model wrote, out of the code fence that it may have put around it all the same."""
    found = _FENCE.match(text)
    return found.group(1) if found else text
