"""What providers say when the input was too long, and what an attacker may put elsewhere."""

OVERFLOW_TEXTS = (
    "prompt is too long: 213462 tokens > 200000 maximum",
    "maximum context length is 8192 tokens. However, your messages resulted in 9417 tokens.",
    "Input is too long for requested model. context_length_exceeded",
    "input length and `max_tokens` exceed context limit: 203113 + 8192 > 200000",
    "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
    "context window exceeded, reduce the length of the messages",
    "输入长度超过模型最大上下文长度",
)
