"""Judgement: the table of typed entities, on which the found measure rests.

It is data: a kind, its pattern, the shortest match that counts, how it is compared, what is
stopped, and one line of meaning (scoring.md, "Typed entities"). `ENTITY_TABLE_VERSION` changes
whenever a row does, so that scores of two tables are never compared. `bench.entities` extracts by
it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Literal

from bench.matching import LETTERS, UNIT_PATTERN

EntityKind = Literal[
    "url",
    "email",
    "datetime",
    "number",
    "hash",
    "version",
    "path",
    "error",
    "identifier",
    "command",
    "literal",
]
Normalisation = Literal["exact case", "any case", "any case, path forms", "any case, units"]

_WORD = rf"{LETTERS}0-9_"

_EXTENSIONS = (
    "adoc astro avif bash bat bin bmp bz2 c cc cfg cjs clj cmake conf cpp cs css csv cts cue dart "
    "db diff dll doc docx env erb ex exs fish gif go gql gradle graphql gz h hbs heex hpp hs htm "
    "html ico idl ini ipynb jar java jpeg jpg js json json5 jsonl jsx kt kts less lock log lua "
    "make md mdx mjs ml mod mp3 mp4 mts nix npy npz parquet patch pb pdf php pkl plist png po "
    "proto ps1 py pyi pyc pyx r rb rs rst sass sbt scala scss sh snap so sol sql sqlite srt sum "
    "svelte svg swift tar tex tf tgz tmp toml ts tsv tsx ttf txt vue war wasm wav webp whl woff "
    "woff2 xlsx xml yaml yml zig zip zsh"
)
_EXTENSION = "(?:" + "|".join(_EXTENSIONS.split()) + ")"

_COMMANDS = (
    "git gh glab npm npx pnpm yarn bun deno node python python3 pip pip3 pipx uv uvx poetry pytest "
    "tox nox ruff mypy black flake8 cargo rustc rustup go gofmt golangci-lint make cmake ninja "
    "gradle mvn java javac docker docker-compose podman kubectl helm terraform ansible aws gcloud "
    "az curl wget ssh scp rsync psql mysql sqlite3 redis-cli mongosh tsc eslint prettier vite jest "
    "vitest mocha playwright next webpack bundle rails rake ruby php composer dotnet swift mise "
    "brew apt apt-get systemctl service bash sh sed awk grep rg find ls cat chmod chown cp mv rm "
    "mkdir tar unzip jq source export kill pkill lsof alembic flask django-admin uvicorn gunicorn"
)
COMMAND_NAMES = frozenset(_COMMANDS.split())

_PROSE_AFTER_COMMAND = (
    "a all an and any are as at back be but by can changes does for from has have if in into is it "
    "its me my not of on or our out over so some sure that the their them there these this those "
    "through to up us was way we what when where which will with you your"
)
_PROSE_PATHS = (
    "and/or he/she his/her him/her i/o input/output read/write true/false yes/no on/off n/a tcp/ip "
    "ci/cd client/server request/response before/after and/nor either/or win/loss pass/fail "
    "start/stop open/close add/remove get/set push/pull w/o his/hers s/he km/h import/export "
    "enable/disable if/else try/catch try/except key/value name/value success/failure error/warning"
)
_PRODUCT_NAMES = (
    "JavaScript TypeScript GitHub GitLab CoffeeScript macOS iOS iPadOS tvOS watchOS iPhone OpenAI "
    "PostgreSQL MySQL SQLite MongoDB DynamoDB GraphQL LaTeX NumPy SciPy PyTorch TensorFlow PyPI "
    "YouTube LinkedIn WhatsApp PayPal DevOps DevTools WordPress PowerShell IntelliJ VSCode LLMs "
    "APIs URLs IDs PRs PDFs CLIs UIs McDonald DeepSeek ChatGPT ClaudeCode NodeJS NextJS VueJS "
    "Node.js Next.js Nuxt.js Express.js React.js ASP.NET e.g i.e etc.and console.log console.error "
    "__init__ __main__ __name__ __file__ __str__ __repr__ isinstance toString hasOwnProperty "
    "node.js next.js vue.js"
)


@dataclass(frozen=True, slots=True)
class EntityType:
    """One row of the table.

    `pattern` must match a whole chunk, or stand anywhere in the text when `spans_chunks`. Matches
    shorter than `length_min` characters and those in `stopped` (compared without case) don't count.
    """

    kind: EntityKind
    pattern: str
    length_min: int
    normalisation: Normalisation
    stopped: tuple[str, ...]
    meaning: str
    spans_chunks: bool = False


ENTITY_TYPES: tuple[EntityType, ...] = (
    EntityType(
        "url",
        r"[A-Za-z][A-Za-z0-9+]{1,11}://[!-;=?-Z_a-z~]+",
        8,
        "any case",
        (),
        "An address with a scheme; closing punctuation and brackets of the sentence are left out.",
        spans_chunks=True,
    ),
    EntityType(
        "email",
        rf"[{_WORD}][{_WORD}.\-]*@[{_WORD}\-]+(?:\.[{_WORD}\-]+)*\.[A-Za-z]{{2,}}",
        6,
        "any case",
        (),
        "A name at a host with a dot: mail addresses and remotes of the same shape.",
    ),
    EntityType(
        "datetime",
        r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
        r"|\d{4}年\d{1,2}月\d{1,2}日|\d\d:\d\d:\d\d",
        8,
        "any case",
        (),
        "An ISO date, date and time, or time with seconds; the Chinese date form.",
        spans_chunks=True,
    ),
    EntityType(
        "number",
        rf"\d+(?:[,_]\d{{3}})*(?:\.\d+)?(?:{UNIT_PATTERN})?",
        2,
        "any case, units",
        ("000", "0000"),
        "A number of three digits or more, or of any size with a unit.",
        spans_chunks=True,
    ),
    EntityType(
        "hash",
        r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,64}"
        r"|[0-9A-F]{8}(?:-[0-9A-F]{4}){3}-[0-9A-F]{12}|0x[0-9a-fA-F]{4,64}",
        6,
        "exact case",
        (),
        "Seven or more hexadecimal digits, both letters and figures; UUIDs.",
    ),
    EntityType(
        "version",
        r"[vV]\d+(?:\.\d+){1,3}(?:[-.]?[a-z]+[.\d]*)?|\d+(?:\.\d+){2,3}(?:[-.]?[a-z]+[.\d]*)?",
        4,
        "any case",
        ("127.0.0.1",),
        "Three or four numbers with dots, two after a v; pre-release suffixes belong to it.",
    ),
    EntityType(
        "path",
        rf"[A-Za-z]:(?:\\[{_WORD}.\-]+)+"
        rf"|(?:\.{{1,2}}/|~/|/|@)?[{_WORD}.\-]+(?:/[{_WORD}.\-@]+)+"
        rf"|(?:\.{{1,2}}/|~/|/)[{_WORD}.\-]{{2,}}"
        rf"|\.?[{_WORD}\-]+(?:\.[{_WORD}\-]+)*\.{_EXTENSION}"
        r"|\.(?:env|gitignore|dockerignore|editorconfig|npmrc|nvmrc|bashrc|zshrc|eslintrc)"
        r"|Dockerfile|Makefile",
        4,
        "any case, path forms",
        tuple(_PROSE_PATHS.split()),
        "A name with at least one separator or a known extension.",
    ),
    EntityType(
        "error",
        r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning|Failure|Panic|Fault)"
        r"|ERR_[A-Z0-9_]+|E(?:NOENT|ACCES|EXIST|PERM|PIPE|ADDRINUSE|CONNREFUSED|CONNRESET|TIMEDOUT|"
        r"AGAIN|NOTFOUND|INVAL|ISDIR|NOTDIR|NOTEMPTY|MFILE|NOSPC|RESOLVE|LIFECYCLE)"
        r"|SIG(?:KILL|TERM|SEGV|INT|ABRT|HUP|PIPE|BUS)|[A-Z]{1,4}\d{3,5}|CVE-\d{4}-\d{4,7}",
        4,
        "any case",
        ("Error", "Exception", "Warning", "Failure"),
        "The name of an error class or signal, an errno word, a diagnostic code.",
    ),
    EntityType(
        "identifier",
        rf"--[{LETTERS}][{_WORD}\-]+"
        rf"|(?=[_0-9]*[{LETTERS}])[{_WORD}]*[{LETTERS}0-9]_[{_WORD}]+|_+[{LETTERS}][{_WORD}]+"
        r"|[a-z][a-z0-9]*(?:[A-Z][A-Za-z0-9]*)+|[A-Z][a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+"
        rf"|[{LETTERS}_][{_WORD}]+(?:\.[{LETTERS}_][{_WORD}]+)+"
        rf"|(?=[^0-9]*[0-9])[{LETTERS}][{LETTERS}0-9]*(?:-[{LETTERS}0-9]+)+",
        4,
        "exact case",
        tuple(_PRODUCT_NAMES.split()),
        "Snake, camel and dotted names, long flags, hyphenated names that hold a figure.",
    ),
    EntityType(
        "command",
        r"[a-z][a-z0-9\-]*(?:[ \t]+(?:\"[^\"\n]{0,60}\"|'[^'\n]{0,60}'"
        r"|[^\s`\"'|;&<>(),\u3000-\u303f\u3400-\u9fff\uff00-\uffef]+)){1,8}",
        6,
        "any case",
        tuple(_PROSE_AFTER_COMMAND.split()),
        "A known command with arguments, where a command can stand: at the start of a line, after "
        "a prompt, a backtick, a quote, a pipe or 'run'. The stop list is of first arguments.",
        spans_chunks=True,
    ),
    EntityType(
        "literal",
        r"\"(?<![\w\\]\")[^\"\n]{0,200}\"(?!\w)|'(?<![\w\\]')[^'\n]{0,200}'(?!\w)|`[^`\n]{0,200}`"
        r"|“[^”\n]{0,200}”|「[^」\n]{0,200}」|『[^』\n]{0,200}』|《[^》\n]{0,200}》",
        4,
        "any case",
        (),
        "Between quotation marks, 4 to 80 characters, more than one plain word (or any Chinese), "
        "and not itself an entity of another kind.",
        spans_chunks=True,
    ),
)

LITERAL_LENGTH_MAX = 80
CHUNK_LENGTH_MAX = 200
COMMAND_LENGTH_MAX = 120

# Runs of these are cut out of a text; names are then looked for in each distinct run.
CHUNK_PATTERN = rf"[{_WORD}./@\\~\-]+(?::\\[{_WORD}./@\\~\-]+)?"
# An escape or an ellipsis ends a name; backslashes join names after a drive only.
NAME_PATTERN = (
    rf"\\[nrt]|\.{{3,}}/?|[A-Za-z]:\\[{_WORD}.\-\\]*[{_WORD}]"
    rf"|(?:--|[.~]{{0,2}}/|\.|@)?[{_WORD}](?:[{_WORD}./@\-]*[{_WORD}])?"
)
BEFORE_COMMAND_PATTERN = (
    r"(?:(?:^|\n)[ \t]*(?:[$>%#*\-][ \t])?|[`\"'(|;&]\s?|\b(?:[Rr]un|[Uu]se|[Ee]xecute|sudo)\s"
    r"|[\u3000-\u303f\u3400-\u9fff\uff00-\uffef][ ]?)$"
)

ENTITY_TABLE_VERSION = hashlib.sha256(
    repr(
        (
            ENTITY_TYPES,
            _COMMANDS,
            CHUNK_PATTERN,
            NAME_PATTERN,
            BEFORE_COMMAND_PATTERN,
            LITERAL_LENGTH_MAX,
            CHUNK_LENGTH_MAX,
            COMMAND_LENGTH_MAX,
        )
    ).encode()
).hexdigest()[:12]
