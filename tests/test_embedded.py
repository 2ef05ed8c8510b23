"""The embedded model itself, and the whole product around it: no stand-in, real holes, a real server process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import Cancelled
from engine.filler import CancelToken, FillSettings, run
from engine.hole import hole_at
from engine.syntax import SyntaxTree, compiles, new_faults
from engine.text import Document

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parent.parent

HOLES = [
    (
        "a word",
        "import json\n\ndef load_settings(path):\n    with open(path) as handle:\n        return json.lo¦(handle)\n",
    ),
    ("an argument", "import os\n\ndef show(path):\n    print(os.path.join(path, ¦))\n    return path\n"),
    ("a line", "def total(items):\n    result = 0\n    ¦\n        result += item.price\n    return result\n"),
    (
        "tabs",
        "class Stack:\n\tdef __init__(self):\n\t\tself.items = []\n\n\tdef push(self, item):\n\t\t¦\n\n\tdef pop(self):\n\t\treturn self.items.pop()\n",
    ),
    ("crlf", "def area(w, h):\r\n    ¦\r\n\r\nprint(area(2, 3))\r\n"),
    ("astral", 'names = {"😀": "grin", "👩‍👩‍👧": "family"}; label = names[¦]\nprint(label)\n'),
    (
        "markers",
        'MARKERS = ["<|fim_prefix|>", "<|endoftext|>", "<empty_output>", "<mask>"]\n\ndef is_marker(text):\n    return ¦\n',
    ),
    ("an empty document", "¦"),
]


@pytest.fixture(scope="module")
def filler():
    from engine.infill import load_filler

    return load_filler()


@pytest.mark.parametrize("marked", [text for _, text in HOLES], ids=[name for name, _ in HOLES])
def test_what_is_offered_fits(filler, marked):
    at = marked.index("¦")
    document = Document(marked.replace("¦", "", 1), "python")
    tree = SyntaxTree.parse(document.text, "python")
    done = run(filler, document, hole_at(document, at, tree))
    after = done.apply(document.text)
    assert (done.start, done.end) == (at, at)
    assert after == document.text[:at] + done.text + document.text[at:]
    if done.text:
        assert not new_faults(tree, SyntaxTree.parse(after, "python"), at, at, at + len(done.text))
        assert compiles(after)
    assert "<|endoftext|>" not in done.text and "\ufffd" not in done.text
    if "\r\n" in marked:
        assert "\n" not in done.text.replace("\r\n", "")
    if "\t" in marked:
        assert "\n " not in done.text


def test_a_half_typed_word_is_completed(filler):
    marked = HOLES[0][1]
    at = marked.index("¦")
    document = Document(marked.replace("¦", ""), "python")
    done = run(filler, document, hole_at(document, at))
    assert done.text == "ad"


def test_typing_a_character_encodes_only_what_is_new(filler):
    text = "import os\n\n\ndef walk(root, names):\n    found = []\n    for name in names:\n        pa"
    first = run(filler, Document(text, "python"), hole_at(Document(text, "python"), len(text)), FillSettings(steps=1))
    text += "t"
    then = run(filler, Document(text, "python"), hole_at(Document(text, "python"), len(text)), FillSettings(steps=1))
    assert first.encoded_tokens > 20
    assert then.encoded_tokens - then.cached_tokens <= 1


def test_cancel_stops_within_a_step(filler):
    document = Document("def f(a):\n    return ", "python")
    cancel = CancelToken()
    drafts = filler.fill(document, hole_at(document, len(document.text)), FillSettings(), cancel)
    next(drafts)
    cancel.cancel()
    with pytest.raises(Cancelled):
        next(drafts)


def test_the_same_request_gives_the_same_completion(filler):
    document = Document("def f(a):\n    return ", "python")
    hole = hole_at(document, len(document.text))
    one, two = run(filler, document, hole), run(filler, document, hole)
    assert (one.text, one.steps) == (two.text, two.steps)


def test_the_command_line_fills_the_demo():
    command = [sys.executable, "-m", "lsp_server.cli.main", "fill", "examples/demo.py:14:9", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["text"].strip() and found["model"] == "embedded"
    assert found["steps"] >= 1 and found["ms"]["denoise"] > 0


def test_a_long_file_is_answered():
    """Case 09: a line of 200,000 characters, then 20,000 short functions."""
    text = "x = '" + "a" * 200_000 + "'\n"
    text += "".join(f"def f{n}(a):\n    return a\n\n\n" for n in range(20_000)) + "def last():\n    "
    command = [sys.executable, "-m", "lsp_server.cli.main", "fill", f"-:{text.count(chr(10)) + 1}:5", "--json"]
    done = subprocess.run(
        [*command, "--language", "python"], cwd=ROOT, input=text, capture_output=True, text=True, timeout=200
    )
    assert done.returncode in (0, 1), done.stderr
    assert json.loads(done.stdout)["encoded_tokens"] < 2048


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_an_editor_gets_the_same_over_pipes(encoding):
    """A real server process with the real model: open, ask, cancel while it works, ask again, shut down."""
    from tests.lsp_client import CANCELLED, cursor_of, insert, spawned

    marked = (
        "import json\n\ndef load_settings(path):\n    with open(path) as handle:\n        return json.lo¦(handle)\n"
    )
    text, (line, character) = cursor_of(marked, encoding)
    with spawned([sys.executable, "-m", "lsp_server.cli.main", "serve"]) as client:
        client.initialize(encoding)
        client.open(text)
        early = client.begin_inline(line, character)  # before the model is loaded
        client.cancel(early)
        assert client.response(early)["error"]["code"] == CANCELLED
        items = client.inline(line, character, trigger=2)
        assert insert(text, items[0], encoding) == marked.replace("¦", "ad")
        assert client.shut_down() == 0


def test_an_answer_does_not_depend_on_the_hash_seed(tmp_path):
    """Sets of strings come in another order in every process: nothing that is answered may go by it."""
    (tmp_path / "a.py").write_text(
        "import json\nfrom b import load, store, Shelf\n\n\ndef f(path, shelf):\n    data = \n    store(shelf, data)\n\n\ndef g(:\n    pass\n"
    )
    (tmp_path / "b.py").write_text(
        "class Shelf:\n    books = {}\n\n\ndef load(path):\n    return open(path).read()\n\n\ndef store(shelf, data):\n    shelf.books[data] = 1\n"
    )
    answers = []
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        arguments = ["a.py:6:12", "--json", "--alternatives", "2"]
        ran = subprocess.run(
            [sys.executable, "-m", "lsp_server.cli.main", "fill", *arguments],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
            env=environment,
            cwd=tmp_path,
        )
        assert ran.returncode == 0, ran.stderr
        answer = json.loads(ran.stdout)
        answers.append({k: answer[k] for k in ("text", "confidence", "steps", "alternatives", "encoded_tokens")})
    assert answers[0] == answers[1]
