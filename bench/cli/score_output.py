"""What `compaction-bench score` shows: a table for people, a document for programs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bench.before_after import BeforeAfter, View, counts_by_kind, written_tokens
from bench.cli.output import harmless
from bench.events import Session
from bench.scoring import Share

_LISTED_MAX = 10
_SHOWN_CHARACTERS = 76


def document(before: Session, after: Session, found: BeforeAfter) -> dict[str, Any]:
    """The JSON document."""
    outcomes = {one.fact: one for one in found.after.scores.facts}
    return {
        "before": _side(before, found.ceiling),
        "after": _side(after, found.after),
        "provenance": "inferred",
        **counts_by_kind(found.projection),
        "tokens_written": written_tokens(found.projection),
        "retention": found.retention,
        "retention_basis": found.basis,
        "reason": found.reason,
        "views": [_row(view) for view in (found.after, found.ceiling, found.floor)],
        "problems": [{"kind": one.kind, "what": one.what} for one in found.problems],
        "facts": [
            {
                "id": fact.id,
                "kind": fact.kind,
                "subject": fact.subject,
                "value": fact.value,
                "is_told": fact.id not in found.not_told,
                "is_present": outcomes[fact.id].is_present,
                "currency": outcomes[fact.id].currency,
                "is_bound": outcomes[fact.id].is_bound,
                "must_keep": fact.must_keep,
            }
            for fact in found.facts
        ],
        "invented": [
            {"kind": one.kind, "text": one.text, "line": one.line}
            for one in found.after.scores.inventions
        ],
        "canaries": dict(zip(("planted", "keep_all", "empty"), found.canaries, strict=True)),
    }


def _side(session: Session, view: View) -> dict[str, Any]:
    return {
        "path": session.path,
        "format": session.format,
        "session": session.id,
        "messages": len(session.events),
        "tokens": view.tokens,
        "repairs": [
            {"kind": one.kind, "where": one.where, "what": one.what} for one in session.repairs
        ],
    }


_LAYERS: tuple[tuple[str, str, Callable[[View], Share]], ...] = (
    ("present", "facts present", lambda view: view.present),
    ("current", "  current, not outdated", lambda view: view.current),
    ("stale", "  only outdated or contradicted", lambda view: view.stale),
    ("bound", "  beside their subject", lambda view: view.bound),
    ("recent", "used by the last 10 answers", lambda view: view.recent),
)


def _row(view: View) -> dict[str, Any]:
    row: dict[str, Any] = {"name": view.name, "tokens": view.tokens}
    for name, _, share_of in _LAYERS:
        share = share_of(view)
        row[name] = {"hits": share.hits, "of": share.total, "share": share.value}
    row["invented"] = {"hits": view.invented.hits, "of": view.invented.total}
    return row


def print_for_people(before: Session, after: Session, found: BeforeAfter) -> None:
    """The table, the verdict and the lists, in 80 columns."""
    for role, session, view in (("before", before, found.ceiling), ("after ", after, found.after)):
        name = harmless(session.path, 34)
        print(
            f"{role}: {name} ({session.format}), {len(session.events):,} messages, "
            f"{view.tokens:,} tokens"
        )
    counts = counts_by_kind(found.projection)
    print(
        f"inferred by comparing: {counts['kept']:,} kept, {counts['shortened']:,} shortened, "
        f"{counts['written']:,} written"
    )
    print(f"    ({written_tokens(found.projection):,} tokens written, {counts['gone']:,} gone)\n")
    _print_table(found)
    if found.reason:
        print(f"\nNo verdict: {found.reason}.")
    else:
        basis = "facts" if found.basis == "facts" else "found values"
        print(f"\nKept {found.retention:.0%} of {len(found.facts)} {basis} between the controls.")
    _print_list("Broken", [f"{one.kind}: {one.what}" for one in found.problems])
    _print_list("Lost", _lost(found))
    _print_list("Invented", [f"{i.text}: {i.line}" for i in found.after.scores.inventions])
    _print_list("Not told before, so not to be kept", list(found.not_told))


def _print_table(found: BeforeAfter) -> None:
    views = (found.after, found.ceiling, found.floor)
    print(f"{'':36}{'after':>13}{'keep_all':>13}{'empty':>13}")
    print(f"{'tokens':36}" + "".join(f"{view.tokens:>13,}" for view in views))
    for _, heading, share_of in _LAYERS:
        shares = [share_of(view) for view in views]
        if shares[0].total:
            print(f"{heading:36}" + "".join(f"{_said(share):>13}" for share in shares))
    invented = found.after.invented
    print(f"{'invented, of all entities written':36}{f'{invented.hits}/{invented.total}':>13}")
    planted, shown, leaked = found.canaries
    if planted:
        print(
            f"{'canaries in a copy':36}{'':13}{f'{shown}/{planted}':>13}{f'{leaked}/{planted}':>13}"
        )


def _said(share: Share) -> str:
    if share.value is None:
        return "-"
    return f"{share.hits}/{share.total} {share.value:.0%}"


def _lost(found: BeforeAfter) -> list[str]:
    lost = [one for one in found.after.scores.facts if one.is_retained is False]
    facts = {fact.id: fact for fact in found.facts}
    lines = []
    for one in sorted(lost, key=lambda outcome: not outcome.must_keep):
        fact = facts[one.fact]
        if fact.id in found.not_told:
            continue
        subject = f" ({fact.subject})" if fact.subject else ""
        state = f" [{one.currency}]" if one.currency in ("stale_only", "contradicted") else ""
        must = "must be kept: " if one.must_keep else ""
        lines.append(f"{must}{fact.kind} {fact.value}{subject}{state}")
    return lines


def _print_list(heading: str, lines: list[str]) -> None:
    if not lines:
        return
    print(f"\n{heading} ({len(lines)}):")
    for line in lines[:_LISTED_MAX]:
        print(f"  {harmless(line, _SHOWN_CHARACTERS)}")
    if len(lines) > _LISTED_MAX:
        print(f"  ... and {len(lines) - _LISTED_MAX} more (--json shows all)")
