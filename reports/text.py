"""Text from sessions as data: made harmless, short and free of secrets before anybody sees it.

Whatever a report shows of a session passes through `excerpt` (or `clean` for names): control
characters, terminal escapes and direction marks are gone, secrets are replaced. Escaping for HTML,
Markdown or a terminal comes on top, in the module that writes it.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata

SECRET_MARK = "[secret removed]"  # noqa: S105 - it is what stands in the place of one

# Terminal escapes first: whole sequences, so that "31m" isn't left behind as text.
_TERMINAL_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x9b[0-?]*[ -/]*[@-~]"
    r"|\x1b[\]PX^_][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b."
)
_SPACES = re.compile(r"\s+")

_TOKEN_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and others
    r"(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}",
    r"github_pat_[A-Za-z0-9_]{20,}",
    r"glpat-[A-Za-z0-9_-]{16,}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,}",
    r"ya29\.[A-Za-z0-9_-]{20,}",
    r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    r"hf_[A-Za-z0-9]{20,}",
    r"npm_[A-Za-z0-9]{30,}",
    r"pypi-[A-Za-z0-9_-]{30,}",
    r"(?:xai|gsk|r8|fw|nvapi|tgp)[-_][A-Za-z0-9_-]{24,}",
    r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?",  # JSON web tokens
)
_TOKENS = re.compile(r"(?<![A-Za-z0-9_])(?:" + "|".join(_TOKEN_SHAPES) + ")")
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_ADDRESS_LOGIN = re.compile(r"(?<=://)[^\s/:@]{1,200}:[^\s/@]{1,400}(?=@)")
_AUTHORIZATION = re.compile(r"(?i)\b(bearer|basic)\s+([A-Za-z0-9+/_.=~-]{12,})")
_ASSIGNMENT = re.compile(
    r"""(?ix)
    \b([A-Z0-9_.-]{0,60}
       (?:api[_-]?key|secret(?:[_-]?key)?|access[_-]?key|auth[_-]?token|access[_-]?token
         |client[_-]?secret|password|passwd|passphrase)
       ["']?\s{0,4}[:=]\s{0,4}["']?)
    (?!\[secret|\$|<|\{|None\b|null\b|true\b|false\b|str\b|os\.)
    ([^\s"'`,;)}&]{6,400})
    """
)


def scrub(text: str) -> str:
    """The text with everything that is shaped like a key, a login or a password replaced."""
    text = _PRIVATE_KEY.sub(SECRET_MARK, text)
    text = _TOKENS.sub(SECRET_MARK, text)
    text = _ADDRESS_LOGIN.sub(SECRET_MARK, text)
    text = _AUTHORIZATION.sub(rf"\1 {SECRET_MARK}", text)
    return _ASSIGNMENT.sub(rf"\1{SECRET_MARK}", text)


def clean(text: object) -> str:
    """One line: no control characters, terminal escapes, direction marks or lone surrogates."""
    line = _TERMINAL_ESCAPES.sub("", str(text))
    line = _SPACES.sub(" ", line)
    return "".join(character for character in line if _is_harmless(character)).strip()


def _is_harmless(character: str) -> bool:
    # Cc controls, Cf direction marks and invisible joiners, Cs surrogates, Co private use, Cn none.
    return (character.isascii() and character >= " " and character != "\x7f") or (
        not character.isascii() and unicodedata.category(character) not in _HIDDEN
    )


_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def shorten(text: str, characters_max: int) -> str:
    """The text cut to at most this many characters, the cut shown by an ellipsis."""
    return text if len(text) <= characters_max else text[: characters_max - 1].rstrip() + "…"


def excerpt(text: object, characters_max: int = 240) -> str:
    """What a report may show of a session: scrubbed, cleaned, one line, at most this long.

    Secrets are looked for in a generous stretch before the cut, so that a cut key is still one.
    """
    if text is None or text != text:  # NaN, from a column with gaps
        return ""
    stretch = str(text)[: characters_max * 4 + 4096]
    return shorten(clean(scrub(stretch)), characters_max)


def hashed(name: str) -> str:
    """A short stand-in for a name that isn't to be shown; the same name gives the same one."""
    return "session-" + hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def width(text: str) -> int:
    """Columns that the text takes in a terminal: wide East Asian characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)
