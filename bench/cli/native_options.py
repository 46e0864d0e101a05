"""Which models can be asked for `native`: said before anything is replayed, in one line."""

from __future__ import annotations

from collections.abc import Sequence

from bench.errors import UsageError
from bench.providers.native_wire import FORMS
from bench.providers.simulated_native import OWN_FORMS
from bench.providers.vendors import is_remote
from bench.registry import NamedStrategy

_NAME = "native"
# Done by the strategy itself, whoever the model is.
_OWN_WORK = "clear_tool_uses"


def forms_of(model: str) -> tuple[str, ...]:
    """The forms of compaction that the provider of this MODEL has, the usual one first."""
    if not is_remote(model):
        return OWN_FORMS
    vendor = model.partition(":")[0]
    return tuple(form.removeprefix(f"{vendor}_") for form in FORMS.get(vendor, ()))


def with_native(
    made: Sequence[NamedStrategy], models: Sequence[str], *, is_default: bool
) -> list[NamedStrategy]:
    """The strategies without a default `native` that no model's provider could serve.

    Raises UsageError where it was asked for and no model has such a form.
    """
    kept: list[NamedStrategy] = []
    for one in made:
        form = getattr(one.strategy, "form", "auto") if one.name == _NAME else _OWN_WORK
        if form == _OWN_WORK or any(_has(model, form) for model in models):
            kept.append(one)
        elif not is_default:
            raise UsageError(f"--strategy {one.spec}: {_said(models[0])}")
    return kept


def native_warnings(specs: Sequence[str], models: Sequence[str], *, is_default: bool) -> list[str]:
    """What is to be said of models whose provider compacts nothing."""
    has_native = any(spec.partition("(")[0] == _NAME for spec in specs)
    without = [model for model in models if not forms_of(model)]
    if not without or not (has_native or is_default):
        return []
    if has_native:
        return [f"{_NAME} compacts nothing with some models: {_said(without[0])}"]
    return [f"{_NAME} is left out: {_said(without[0])}"]


def _has(model: str, form: str) -> bool:
    forms = forms_of(model)
    return bool(forms) if form == "auto" else form in forms


def _said(model: str) -> str:
    forms = forms_of(model)
    if not forms:
        return (
            f"the API of {model} has no compaction of its own; responses:NAME and anthropic:NAME "
            "have, and the stand-ins imitate one"
        )
    return f"the provider of {model} has no such form, it has: {', '.join(forms)}"
