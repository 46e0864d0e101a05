"""Asks the model that it finds in its environment for a summary, as usual clients do."""

import json
import os
import sys
import urllib.request


def summary_of(messages: list[dict]) -> str:
    body = {
        "model": "any",
        "max_tokens": 200,
        "messages": [{"role": "user", "content": "Summarise:\n" + json.dumps(messages)}],
    }
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps(body).encode(),
        {"content-type": "application/json", "authorization": "Bearer any"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]


request = json.load(sys.stdin)
messages, at = request["messages"], request["request_at"]
cut = max(1, len(messages) - 8)
while cut < len(messages) and messages[cut]["role"] == "tool":
    cut += 1
asked = [messages[at]] if at is not None and 0 < at < cut else []
summary = {"role": "user", "content": "Summary: " + summary_of(messages[1:cut])}
answer = {"messages": [messages[0], summary, *asked, *messages[cut:]]}
answer["usage"] = {"input_tokens": 10**6, "output_tokens": 10**6}
print(json.dumps(answer))
