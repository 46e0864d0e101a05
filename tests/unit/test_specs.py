"""The SPEC language: what it reads, what it writes, and what it says about mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.errors import UsageError
from bench.parameters import bind, canonical, parameters_of, prompt_digest
from bench.specs import Scalar, Spec, foreign_target, format_value, parse_spec, parse_specs

NAMES = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
SCALARS: st.SearchStrategy[Scalar] = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.booleans(),
    st.none(),
    st.text(max_size=12),
    st.sampled_from(["true", "None", "5", "1e9", "sha256:00ff", "./a b.py", "x'y", '"', "\\", ""]),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3).map(tuple))
FOREIGN = st.builds(
    foreign_target,
    st.sampled_from(["exec", "http"]),
    st.text(min_size=1, max_size=12).map(str.strip).filter(bool)
    | st.sampled_from(
        ["node 'a b.js' --x=1, (2)", './x"y', "http://h:1/p?a=1,2", "a.py:b", "(", "\\"]
    ),
)
TARGETS = st.one_of(
    NAMES,
    FOREIGN,
    st.sampled_from(["./mine.py:Mine", "C:\\my files\\a(1).py:Mine", "../x.py/y.py:Ünder"]),
)
SPECS = st.builds(
    Spec,
    TARGETS,
    st.lists(st.tuples(NAMES, VALUES), max_size=4, unique_by=lambda pair: pair[0]).map(tuple),
)


@given(SPECS)
def test_what_is_written_reads_back_to_the_same_value_and_type(spec: Spec) -> None:
    # repr tells 1 from 1.0 and True, which == doesn't.
    assert repr(parse_spec(str(spec))) == repr(spec)


@given(SPECS)
def test_writing_is_stable(spec: Spec) -> None:
    assert str(parse_spec(str(spec))) == str(spec)


@given(st.text(alphabet="ab_(){}[],=\"'.:py15 \\n\u4e2d", max_size=25))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    try:
        parse_specs(text)
    except UsageError as error:
        assert "\n" not in str(error)
        assert str(error).startswith("--strategy ")


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("head_tail", Spec("head_tail")),
        (" head_tail ( ) ", Spec("head_tail")),
        (
            "head_tail(preserve_last=6, threshold=0.7)",
            Spec("head_tail", (("preserve_last", 6), ("threshold", 0.7))),
        ),
        (
            's(a=TRUE,b=false,c=None,d=word,e=\'two words\',f="q\\"q",)',
            Spec(
                "s",
                (
                    ("a", True),
                    ("b", False),
                    ("c", None),
                    ("d", "word"),
                    ("e", "two words"),
                    ("f", 'q"q'),
                ),
            ),
        ),
        ("s(n=20_000, x=-1.5e3, y=1e3)", Spec("s", (("n", 20000), ("x", -1500.0), ("y", 1000.0)))),
        ("s(prompt=sha256:12ab)", Spec("s", (("prompt", "sha256:12ab"),))),
        ("s(prompt=./p/我的.md)", Spec("s", (("prompt", "./p/我的.md"),))),
        ("s(exempt=[skill, 'ask user'])", Spec("s", (("exempt", ("skill", "ask user")),))),
        ("./mine.py:MyStrategy(groups=4)", Spec("./mine.py:MyStrategy", (("groups", 4),))),
        ("./mine.py:compact", Spec("./mine.py:compact")),
    ],
)
def test_what_is_read(text: str, spec: Spec) -> None:
    assert repr(parse_spec(text)) == repr(spec)


def test_a_grid_is_several_specs_in_order() -> None:
    specs = parse_specs("s(a={4,8}, b=x, c={true, none})")
    assert [str(spec) for spec in specs] == [
        "s(a=4, b=x, c=true)",
        "s(a=4, b=x, c=none)",
        "s(a=8, b=x, c=true)",
        "s(a=8, b=x, c=none)",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no strategy is named ''"),
        ("head tail", "no strategy is named 'head tail'"),
        ("./mine.py", "name what is in the file, as in ./mine.py:MyStrategy"),
        ("s(", "expected the name of a parameter"),
        ("s(a=1", "closed by ')'"),
        ("s(a)", "write a=VALUE"),
        ("s(a=)", "a has no value"),
        ("s(a=1 b=2)", "separated by commas"),
        ("s(a=1, a=2)", "a is given twice; a grid is written a={1,2}"),
        ("s(a={})", "an empty grid"),
        ("s(a={1,1})", "a grid names each value once"),
        ("s(a='x)", "a quote is opened and never closed"),
        ('s(a="\\d")', "write a backslash twice"),
        ("s(a=1) b", "nothing may follow"),
    ],
)
def test_mistakes_are_named(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_specs(text)
    assert problem in str(caught.value)


def test_the_option_is_named() -> None:
    with pytest.raises(UsageError, match=r"^--baseline s\(a=\{1,2\}\): a grid of 2"):
        parse_spec("s(a={1,2})", option="--baseline")


def test_infinite_numbers_have_no_spec() -> None:
    with pytest.raises(ValueError, match="finite"):
        format_value(float("inf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """An example. `groups` is how many groups stay. It does nothing."""

    groups: int = 10
    share: float = 1
    is_strict: bool = False
    estimator: Literal["chars", "units"] = "chars"
    cap: int | None = None
    exempt: tuple[str, ...] = ("skill",)
    prompt: str | None = None
    policy: complex = 0j

    def __post_init__(self) -> None:
        if self.groups < 0:
            raise ValueError(f"groups is {self.groups}, write 0 or more")


EXAMPLES = st.builds(
    Example,
    groups=st.integers(0, 20),
    share=st.floats(0, 1),
    is_strict=st.booleans(),
    estimator=st.sampled_from(["chars", "units"]),
    cap=st.none() | st.integers(0, 3),
    exempt=st.lists(st.text(max_size=4), max_size=2).map(tuple),
    prompt=st.none() | st.text(max_size=8),
)


@given(EXAMPLES)
def test_a_canonical_spec_makes_the_same_strategy_again(example: Example) -> None:
    texts = {prompt_digest(example.prompt): example.prompt} if example.prompt is not None else {}
    spec = canonical("example", example)
    again = bind(parse_spec(str(spec)), Example, read_prompt=texts.__getitem__)
    assert again == example
    assert canonical("example", again) == spec


@given(EXAMPLES, EXAMPLES)
def test_a_preset_is_a_set_of_defaults(example: Example, preset: Example) -> None:
    spec = canonical("preset", example, preset)
    texts = {prompt_digest(e.prompt): e.prompt for e in (example,) if e.prompt is not None}
    assert bind(parse_spec(str(spec)), preset, read_prompt=texts.__getitem__) == example
    assert canonical("preset", preset, preset) == Spec("preset")


def test_canonical_order_is_that_of_the_fields_and_defaults_are_left_out() -> None:
    spec = parse_spec("example(cap=3, share=1, groups=4)")
    assert str(canonical("example", bind(spec, Example))) == "example(groups=4, cap=3)"


def test_whole_numbers_serve_as_numbers_but_not_as_switches() -> None:
    assert bind(parse_spec("e(share=0)"), Example).share == 0.0
    with pytest.raises(UsageError, match="is_strict=1 is no switch"):
        bind(parse_spec("e(is_strict=1)"), Example)
    with pytest.raises(UsageError, match="groups=true is no integer"):
        bind(parse_spec("e(groups=true)"), Example)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("e(group=1)", "has no parameter group; did you mean groups? it has groups (integer, 10)"),
        ("e(policy=1)", "has no parameter policy"),
        ("e(groups=4.5)", "groups=4.5 is no integer"),
        ("e(groups=[4])", "groups=[4] is no integer"),
        ("e(estimator=words)", "estimator=words is no chars | units"),
        ("e(cap=many)", "cap=many is no integer | none"),
        ("e(exempt=skill)", "exempt=skill is no list of words"),
        ("e(prompt=5)", 'write prompt="5"'),
        ("e(groups=-1)", "groups is -1, write 0 or more"),
        ("e(share=x)", "share=x is no number"),
    ],
)
def test_wrong_parameters_are_named(text: str, problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        bind(parse_spec(text), Example)
    assert problem in str(caught.value)
    assert str(caught.value).startswith("--strategy e(")


def test_a_parameter_without_default_must_be_given() -> None:
    @dataclass(frozen=True)
    class Strict:
        size: int

    with pytest.raises(UsageError, match=r"size has no default; write strict\(size=INTEGER\)"):
        bind(parse_spec("strict"), Strict)
    assert str(canonical("strict", Strict(3))) == "strict(size=3)"


def test_parameters_are_described() -> None:
    rows = {row.name: (row.type, row.default, row.doc) for row in parameters_of(Example)}
    assert rows["groups"] == ("integer", "10", "`groups` is how many groups stay.")
    assert rows["estimator"] == ("chars | units", "chars", "")
    assert rows["exempt"] == ("list of words", "[skill]", "")
    assert "policy" not in rows


@pytest.mark.parametrize(
    ("text", "spec", "foreign"),
    [
        ("exec:./compact", "exec:./compact", ("exec", "./compact")),
        ("exec:node compact.js", 'exec:"node compact.js"', ("exec", "node compact.js")),
        (
            " exec: node x.js ( mode = jsonl )",
            'exec:"node x.js"(mode=jsonl)',
            ("exec", "node x.js"),
        ),
        ("exec:'a \"b\" (c), d'", 'exec:"a \\"b\\" (c), d"', ("exec", 'a "b" (c), d')),
        ('exec:"\u4e2d x"', 'exec:"\u4e2d x"', ("exec", "\u4e2d x")),
        ("exec:./a.py:compact", "exec:./a.py:compact", ("exec", "./a.py:compact")),
        ("exec:x(env=A;B)", "exec:x(env=A;B)", ("exec", "x")),
        ("http:http://h:1/p?a=1,2", "http:http://h:1/p?a=1,2", ("http", "http://h:1/p?a=1,2")),
        ("http://h/p(timeout_s=3)", "http:http://h/p(timeout_s=3)", ("http", "http://h/p")),
        ("https://h/p", "http:https://h/p", ("http", "https://h/p")),
    ],
)
def test_commands_and_addresses(text: str, spec: str, foreign: tuple[str, str]) -> None:
    parsed = parse_spec(text)
    assert (str(parsed), parsed.foreign, parsed.file) == (spec, foreign, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("exec:", 'names nothing to ask; write exec:"node compact.js"'),
        ("exec:(mode=jsonl)", "names nothing to ask"),
        ("http:", "names nothing to ask; write http:http://127.0.0.1:8000/compact"),
        ('exec:node "a b.js"', "stands in quotes, as in"),
        ('exec:"x"y', "stands in quotes, as in"),
        ('exec:"a\\q"', "double quotes hold JSON text"),
        ("exec:x(mode=jsonl", "parameters are separated by commas and closed by ')'"),
    ],
)
def test_commands_that_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_spec(text)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_other_targets_are_not_foreign() -> None:
    for text in ("head_tail", "./exec:x.py:Mine", "mine.py:Mine"):
        assert parse_spec(text).foreign is None
