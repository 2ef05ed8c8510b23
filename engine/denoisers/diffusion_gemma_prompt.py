"""What DiffusionGemma is asked. It is an instruction-tuned chat model, and so a hole is put to it as a request.

    user turn    what to do, then the file with its hole marked
    model turn   a code block, which begins with what stands before the hole in its line: pinned
                 the hole: slots
                 what stands behind the hole: pinned

Why so:

- The request comes before the file. As a person types, the prompt changes from the cursor on; what stands before it is
  encoded once.
- The marker stands for the whole line up to the hole, not for the hole alone. While a person types in a line nothing of
  the user turn changes at all, and only the pinned opening grows.
- The answer begins with the line's own start rather than in mid-line, so that it is a text as the model writes it, and the
  slots join what stands before them byte for byte. Both are pinned: a model that is asked to write less than a
  line often begins with the line, or with "Sure".
- What stands behind the hole is in the file and pinned too: the file says how it goes on far behind, the pinned tokens
  hold the end of the hole in place.
- A closing fence is pinned behind a suffix that fits the canvas whole, so that the end of the answer is in sight.
- The fence is longer than any run of backticks in the file, and the marker is a text that the file does not hold.
- Text from the file is encoded as plain text, whatever it looks like: no control token comes from a document. The chat
  template's own control tokens are encoded around it (see `around`).

The wording was **not measured**: the model's weights were never run here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.errors import ModelUnavailable

REQUEST = """\
Below is a file. In one place, {mark} stands for text that is missing. Write the text that belongs there, so that \
the file is complete and right: it begins as the code block below begins, and goes on with what the file has behind \
{mark}. Write nothing else, and no explanation.
"""


@dataclass(frozen=True)
class Prompt:
    """user: text of the user turn. opening: what the model's turn begins with. closing: what ends it, behind the suffix."""

    user: str
    opening: str
    closing: str


def write(prefix: str, suffix: str) -> Prompt:
    """The prompt of a hole between `prefix` and `suffix`."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall(r"`+", prefix + suffix)), default=0))
    mark = _mark(prefix + suffix)
    at = prefix.rfind("\n") + 1
    before, line = prefix[:at], prefix[at:]
    user = f"{REQUEST.format(mark=mark)}\n{fence}\n{before}{mark}{suffix}\n{fence}"
    return Prompt(user, f"{fence}\n{line}", ("" if suffix.endswith("\n") else "\n") + fence)


def _mark(text: str) -> str:
    number = 1
    while (mark := f"[[HOLE {number}]]") in text:
        number += 1
    return mark


CONTENT = "MIDFILL-CONTENT"  # stands for the user's text while the chat template is applied


def around(folder: Path) -> tuple[list[int], list[int]]:
    """Token ids of what the chat template puts before and behind the user's text, up to the model's turn.

    Thinking is turned off where the template knows it. Raises `ModelUnavailable` where there is no usable template.
    """
    from transformers import AutoTokenizer

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        whole = tokenizer.apply_chat_template(
            [{"role": "user", "content": CONTENT}], tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
    except Exception as broken:  # jinja's own errors, a missing file, a class that is not known
        raise ModelUnavailable(f"{folder}: the chat template cannot be used: {_line(broken)}") from None
    if whole.count(CONTENT) != 1:
        raise ModelUnavailable(f"{folder}: the chat template does not hold the user's text once")
    head, tail = whole.split(CONTENT)
    return tuple(tokenizer(part, add_special_tokens=False)["input_ids"] for part in (head, tail))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
