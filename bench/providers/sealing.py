"""Edge: text that only its maker can read: encrypted, authenticated, bound to one route.

A synthetic-IV construction from HMAC-SHA-256 alone, as in RFC 5297: the tag over the text is also
the nonce of the key stream, so the same text seals to the same bytes (H6) and any change is
noticed. It keeps a strategy or a scorer from reading the state, which is what opaque means here;
it is no protection of secrets, since the key is made from public parts.
"""

from __future__ import annotations

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import sha256

_TAG_BYTES = 32
_SALT = b"compaction-bench simulated provider, sealed state, version 1\0"


class BrokenSeal(ValueError):
    """The text was sealed for another route, or was changed since."""


def seal(text: str, *, route: str) -> str:
    """The text as letters, digits, - and _, for `unseal` with the same route."""
    plain = text.encode("utf-8", "surrogatepass")
    tag = _tag(plain, route)
    return urlsafe_b64encode(tag + _mixed(plain, tag, route)).decode("ascii").rstrip("=")


def unseal(sealed: str, *, route: str) -> str:
    """The text again. Raises BrokenSeal, which doesn't tell why: nothing can be learned from it."""
    try:
        data = urlsafe_b64decode(sealed.encode("ascii") + b"=" * (-len(sealed) % 4))
    except ValueError:
        raise BrokenSeal("no sealed text") from None
    tag, mixed = data[:_TAG_BYTES], data[_TAG_BYTES:]
    plain = _mixed(mixed, tag, route)
    # A decoder ignores what isn't of its alphabet, so the letters are compared too.
    is_whole = hmac.compare_digest(tag, _tag(plain, route))
    if not is_whole or urlsafe_b64encode(data).decode("ascii").rstrip("=") != sealed:
        raise BrokenSeal("the seal is broken")
    return plain.decode("utf-8", "surrogatepass")


def _key(route: str, use: bytes) -> bytes:
    return sha256(_SALT + use + b"\0" + route.encode("utf-8", "surrogatepass")).digest()


def _tag(plain: bytes, route: str) -> bytes:
    return hmac.digest(_key(route, b"tag"), plain, "sha256")


def _mixed(data: bytes, tag: bytes, route: str) -> bytes:
    """The data combined with a key stream; done twice, it is the data again."""
    key = _key(route, b"stream")
    blocks = -(-len(data) // sha256().digest_size)
    stream = b"".join(
        hmac.digest(key, tag + number.to_bytes(8, "big"), "sha256") for number in range(blocks)
    )
    size = len(data)
    mixed = int.from_bytes(data, "big") ^ int.from_bytes(stream[:size], "big")
    return mixed.to_bytes(size, "big")
