"""The corpus: which files the embedded model learns from, and which it is never shown. Imports no torch.

`corpus.txt` pins the projects; pip brings each as a wheel or source archive into the cache (`fetch`); `load` reads
the Python files of the standard library and of those archives, drops copies and what overlaps the benchmark, and
splits by project, so that no project stands on both sides.
"""

from __future__ import annotations

import hashlib
import io
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.errors import ModelUnavailable
from engine.training.base import cache_folder

_LIST = Path(__file__).with_name("corpus.txt")
_SKIPPED = re.compile(
    r"(^|/)(_?vendor(ed)?|site-packages|idlelib|lib2to3|pydoc_data|encodings|locale|migrations|test)/"
)
_SMALLEST, _LARGEST = 400, 200_000  # characters
# Distinctive names of HumanEval's functions: a file that defines one is left out whole.
_BENCHMARK = re.compile(
    r"human_?eval|def (has_close_elements|separate_paren_groups|below_zero|mean_absolute_deviation|parse_nested_parens"
    r"|filter_by_substring|sum_product|rolling_max|make_palindrome|string_xor|all_prefixes|string_sequence"
    r"|count_distinct_characters|parse_music|how_many_times|sort_numbers|find_closest_elements|rescale_to_unit"
    r"|filter_integers|remove_duplicates|largest_divisor|concatenate|filter_by_prefix|get_positive|fizz_buzz"
    r"|sort_third|sort_even|encode_cyclic|prime_fib|triples_sum_to_zero|car_race_collision|incr_list|pairs_sum_to_zero"
    r"|change_base|triangle_area|fib4|remove_vowels|below_threshold|same_chars|correct_bracketing|common|monotonic"
    r"|largest_prime_factor|sum_to_n|derivative|fibfib|vowels_count|circular_shift|digitSum|fruit_distribution|pluck"
    r"|search_frequency|strange_sort_list|will_it_fly|smallest_change|total_match|is_multiply_prime|is_simple_power"
    r"|iscube|iscuberoot|hex_key|decimal_to_binary|is_happy|numerical_letter_grade|prime_length|starts_one_ends"
    r"|anti_shuffle|get_row|sort_array|encrypt_message|next_smallest|is_bored|any_int|skjkasdkd|check_dict_case"
    r"|count_up_to|count_upper|closest_integer|make_a_pile|words_string|choose_num|rounded_avg|unique_digits|by_length"
    r"|even_odd_palindrome|count_nums|move_one_ball|odd_count|minSubArraySum|max_fill|select_words|get_closest_vowel"
    r"|match_parens|add_elements|get_odd_collatz|valid_date|split_words|is_sorted|prod_signs|minPath|tri_sequence"
    r"|is_equal_to_sum_even|special_factorial|fix_spaces|file_name_check|sum_squares|words_in_sentence|simplify"
    r"|order_by_points|specialFilter|get_max_triples|sorted_list_sum|x_or_y|double_the_difference|Strongest_Extension"
    r"|cycpattern_check|even_odd_count|int_to_mini_roman|right_angle_triangle|find_max_word|do_algebra|string_to_md5"
    r"|generate_integers)\("
)


@dataclass(frozen=True)
class Project:
    requirement: str
    licence: str
    held_out: bool

    @property
    def name(self) -> str:
        return self.requirement.split("==")[0]


@dataclass(frozen=True)
class SourceFile:
    project: str
    name: str
    text: str


def projects() -> list[Project]:
    found = [Project("python-standard-library", "PSF-2.0", False)]
    for line in _LIST.read_text().splitlines():
        if line and not line.startswith("#"):
            requirement, licence, *rest = line.split()
            found.append(Project(requirement, licence, rest == ["held-out"]))
    return found


def fetch(say=print) -> Path:
    """Brings the listed projects' archives into the cache, one pip call each; what is there is not fetched again.

    A project that pip cannot bring is named and left out. Raises `ModelUnavailable` where none could be brought.
    """
    folder = cache_folder() / "corpus"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [p for p in projects() if "==" in p.requirement]
    for project in wanted:
        target = folder / project.requirement
        if target.is_dir() and any(target.iterdir()):
            continue
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(target)]
        done = subprocess.run([*command, project.requirement], capture_output=True, text=True)
        if done.returncode != 0:
            say(f"corpus: {project.requirement} left out: {(done.stderr.strip().splitlines() or ['?'])[-1]}")
    if not any(folder.iterdir()):
        raise ModelUnavailable("pip brought none of the corpus: is there a package index?")
    return folder


def load(held_out: bool) -> list[SourceFile]:
    """The files of one side of the split, each text once, in a stable order."""
    folder = cache_folder() / "corpus"
    seen: set[bytes] = set()
    files: list[SourceFile] = []
    for project in projects():
        sources = _standard_library() if "==" not in project.requirement else _archives(folder / project.requirement)
        for name, data in sources:
            text = _usable(name, data)
            if text is None:
                continue
            digest = hashlib.sha1(re.sub(r"\s+", " ", text).encode()).digest()
            if digest in seen:
                continue
            seen.add(digest)
            if project.held_out == held_out:
                files.append(SourceFile(project.name, name, text))
    return files


def _usable(name: str, data: bytes) -> str | None:
    if not name.endswith(".py") or _SKIPPED.search(name):
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not _SMALLEST <= len(text) <= _LARGEST or _BENCHMARK.search(text):
        return None
    lines = text.splitlines()
    generated = len(text) / len(lines) > 80 or max(map(len, lines)) > 1000
    return None if generated else text


def _standard_library() -> Iterator[tuple[str, bytes]]:
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        yield path.relative_to(root).as_posix(), path.read_bytes()


def _archives(folder: Path) -> Iterable[tuple[str, bytes]]:
    if not folder.is_dir():
        return
    for path in sorted(folder.iterdir()):
        if path.suffix in (".whl", ".zip"):
            with zipfile.ZipFile(path) as wheel:
                for name in sorted(wheel.namelist()):
                    if name.endswith(".py"):
                        yield name, wheel.read(name)
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(fileobj=io.BytesIO(path.read_bytes())) as sdist:
                for member in sorted(sdist.getmembers(), key=lambda m: m.name):
                    if member.isfile() and member.name.endswith(".py"):
                        handle = sdist.extractfile(member)
                        if handle:
                            yield member.name, handle.read()
