"""Small sessions by hand: `session("system: s", "user: go", "call a b", "result a: text", ...)`."""

from bench.events import Event, Message, Session, ToolCall


def message(line: str) -> Message:
    """One message from a short line.

    "user: text", "assistant: text", "system: text"; "call a b" is an assistant message with calls
    of the ids a and b, "result a: text" a tool result for a.
    """
    head, _, text = line.partition(": ")
    words = head.split()
    if words[0] == "call":
        calls = tuple(ToolCall(call_id, "read", f'{{"of":"{call_id}"}}') for call_id in words[1:])
        return Message("assistant", text, calls)
    if words[0] == "result":
        return Message("tool", text, call_id=words[1])
    return Message(words[0], text)  # type: ignore[arg-type]


def session(*lines: str, name: str = "by-hand") -> Session:
    """A session of these lines."""
    return Session(name, tuple(Event(i + 1, message(line)) for i, line in enumerate(lines)))


def long_session(
    steps: int, *, words_per_result: int = 200, turns: int = 1, name: str = "long"
) -> Session:
    """A system prompt and `turns` requests, each worked on in `steps` steps of one call."""
    lines = ["system: Be terse."]
    for turn in range(turns):
        lines.append(f"user: request {turn}")
        for step in range(steps):
            label = f"c{turn}_{step}"
            lines.append(f"call {label}")
            lines.append(f"result {label}: " + f"word{step} " * words_per_result)
        lines.append(f"assistant: answer {turn}")
    return session(*lines, name=name)
