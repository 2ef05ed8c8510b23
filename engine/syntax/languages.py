"""The one table of languages: id (as the protocol and editors have it), file names, and the wheel with the grammar."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from engine.errors import BadInput

PLAINTEXT = "plaintext"


@dataclass(frozen=True)
class Language:
    """A language that Midfill has a grammar for.

    id: as in the protocol's table of language ids. endings: of file names, lower case, with the dot. filenames: whole
    names. wheel: the package on PyPI; `module`.`function`() gives the grammar. aliases: what some editors call it.
    """

    id: str
    name: str
    endings: tuple[str, ...]
    filenames: tuple[str, ...]
    wheel: str
    module: str
    function: str = "language"
    aliases: tuple[str, ...] = ()


def _language(
    id: str,
    name: str,
    grammar: str,
    endings: str,
    filenames: str = "",
    function: str = "language",
    aliases: str = "",
) -> Language:
    module = f"tree_sitter_{grammar.replace('-', '_')}"
    names = tuple(filenames.split())
    return Language(
        id, name, tuple(endings.split()), names, f"tree-sitter-{grammar}", module, function, tuple(aliases.split())
    )


LANGUAGES: tuple[Language, ...] = (
    _language("python", "Python", "python", ".py .pyi .pyw", "SConstruct SConscript"),
    _language("javascript", "JavaScript", "javascript", ".js .mjs .cjs", "Jakefile"),
    _language("javascriptreact", "JavaScript JSX", "javascript", ".jsx"),
    _language("typescript", "TypeScript", "typescript", ".ts .mts .cts", function="language_typescript"),
    _language("typescriptreact", "TypeScript JSX", "typescript", ".tsx", function="language_tsx"),
    _language("go", "Go", "go", ".go"),
    _language("rust", "Rust", "rust", ".rs"),
    _language("c", "C", "c", ".c .h"),
    _language("cpp", "C++", "cpp", ".cpp .cc .cxx .c++ .hpp .hh .hxx .h++ .ipp .tpp", aliases="c++"),
    _language("java", "Java", "java", ".java"),
    _language("lua", "Lua", "lua", ".lua"),
    _language(
        "shellscript",
        "Bash",
        "bash",
        ".sh .bash .zsh .ksh .bats",
        ".bashrc .bash_profile .bash_aliases .profile .zshrc .zprofile",
        aliases="sh bash zsh",
    ),
    _language("json", "JSON", "json", ".json .webmanifest", ".prettierrc .eslintrc"),
    _language("jsonc", "JSON with comments", "json", ".jsonc .code-workspace"),
    _language("yaml", "YAML", "yaml", ".yaml .yml", ".clang-format .clang-tidy"),
    _language("toml", "TOML", "toml", ".toml", "Cargo.lock poetry.lock uv.lock Pipfile"),
    _language("html", "HTML", "html", ".html .htm .xhtml"),
    _language("css", "CSS", "css", ".css"),
    _language("ruby", "Ruby", "ruby", ".rb .rake .gemspec .ru", "Gemfile Rakefile Podfile Vagrantfile Brewfile"),
    _language("csharp", "C#", "c-sharp", ".cs .csx", aliases="cs c#"),
    _language("php", "PHP", "php", ".php .phtml", function="language_php"),
    _language("kotlin", "Kotlin", "kotlin", ".kt .kts"),
    _language("swift", "Swift", "swift", ".swift"),
    _language("markdown", "Markdown", "markdown", ".md .markdown .mdown"),
)

_BY_ID = {name: language for language in LANGUAGES for name in (language.id, *language.aliases)}
_BY_ENDING = {ending: language.id for language in LANGUAGES for ending in language.endings}
_BY_FILENAME = {filename: language.id for language in LANGUAGES for filename in language.filenames}


def find(id: str) -> Language | None:
    """The table's row for an id or an alias; None for plain text and for what is not known."""
    return _BY_ID.get(id)


def is_known(id: str) -> bool:
    """Whether an id (or alias) is in the table, or plain text."""
    return id == PLAINTEXT or id in _BY_ID


def known(id: str) -> str:
    """The table's own id for an id or an alias. Raises `BadInput` that names the known ones."""
    if id == PLAINTEXT:
        return id
    if id not in _BY_ID:
        names = ", ".join(sorted([PLAINTEXT, *(language.id for language in LANGUAGES)]))
        raise BadInput(f"unknown language {id!r}; known are {names}")
    return _BY_ID[id].id


def language_for_path(path: str) -> str:
    """The id of the language that a file's name tells; "plaintext" if none."""
    pure = PurePath(path)
    return _BY_FILENAME.get(pure.name) or _BY_ENDING.get(pure.suffix.lower(), PLAINTEXT)
