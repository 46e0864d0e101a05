"""Edges: the codes and wordings by which providers' refusals are told apart.

Codes are written as `bench.provider_error_bodies` normalises them: lower-case letters and digits.
Texts are on one line, messages separated by "|", figures without thousands separators. Patterns
stay inside one sentence where they can, and every gap in them is bounded, so that they are linear.
"""

from __future__ import annotations

import re

from bench.provider import ErrorKind


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


OVERFLOW_CODES = frozenset(
    [
        "contextlengthexceeded",
        "contextlengthexceedederror",
        "contextexceeded",
        "contextlimitexceeded",
        "contextwindowexceeded",
        "contextwindowexceedederror",
        "contextwindowoverflow",
        "contextoverflow",
        "contextwindowoverflowexception",
        "contextoverflowerror",
        "contextsizeexceeded",
        "exceedcontextsizeerror",
        "maxcontextlengthexceeded",
        "maxprompttokensexceeded",
        "modelmaxprompttokensexceeded",
        "promptlengthexceeded",
        "prompttoolong",
        "inputtoolong",
        "inputtoolarge",
        "inputtokensexceeded",
        "inputlengthexceeded",
        "contentlengthexceedsthreshold",
        "tokenslimitreached",
        "1261",
    ]
)
CODES_EXACT: dict[str, ErrorKind] = {
    # OpenAI and Groq name the bucket that ran empty.
    "tokens": "rate_limit",
    "requests": "rate_limit",
    # Zhipu numbers its errors.
    "1113": "quota",
    "1301": "content_filter",
    "1302": "rate_limit",
    "1303": "rate_limit",
    "1304": "quota",
    "1305": "server",
    "1308": "quota",
}
_PARTS_OF_CODES: tuple[tuple[ErrorKind, str], ...] = (
    (
        "quota",
        "insufficientquota quotaexceeded quotaexhausted billing creditbalance "
        "insufficientbalance insufficientcredit paymentrequired arrearage spendlimit",
    ),
    ("rate_limit", "ratelimit throttl toomanyrequests resourceexhausted slowdown"),
    ("server", "overloaded"),
    (
        "auth",
        "authentication invalidapikey unauthorized unauthenticated permissiondenied "
        "permissionerror accessdenied expiredtoken unrecognizedclient",
    ),
    (
        "content_filter",
        "contentfilter contentpolicy responsibleai datainspection sensitive",
    ),
)
CODE_PARTS: tuple[tuple[ErrorKind, str], ...] = tuple(
    (kind, part) for kind, parts in _PARTS_OF_CODES for part in parts.split()
)
# MiniMax puts its own numbers into base_resp.
VENDOR_STATUSES: dict[int, ErrorKind] = {
    1001: "timeout",
    1002: "rate_limit",
    1004: "auth",
    1008: "quota",
    1026: "content_filter",
    1027: "content_filter",
    1039: "rate_limit",
    1041: "rate_limit",
    2049: "auth",
    2056: "quota",
}

QUOTA = _any_of(
    r"insufficient[_ ](?:quota|balance|credits?|funds)",
    r"exceeded your (?:current|monthly|daily) quota",
    r"quota (?:has been |is |was )?(?:exceeded|exhausted)",
    r"check your plan and billing",
    r"credit balance|more credits|out of (?:credits|quota)",
    r"billing (?:hard )?limit|spending limit|payment required",
    r"余额不足|欠费|额度(?:不足|已用|耗尽)|配额",
)
PER_DAY = _any_of(r"(?:tokens|requests) per day", r"daily (?:token |request )?(?:limit|quota)")
PER_MINUTE = _any_of(r"per[-_ ](?:min|minute|second|hour)\b|\b[TR]PM\b|_per_minute")
STATED_WAIT = _any_of(r"(?:try|retry) (?:again )?(?:in|after) \d")
RATE = _any_of(
    r"rate[- _]?limit(?:ed|s?[ _-]?(?:reached|exceeded|error|hit)|ing)\b",
    r"ratelimiterror|token rate limit",
    r"(?:exceed(?:s|ed)?|hit|reached|over)\b[^.|]{0,80}\brate limit",
    r"rate limit[^.|]{0,40}\bexceed",
    r"too many requests|throttl(?:ed|ing)",
    r"(?:tokens|requests)(?: per |/)(?:min|minute|second|hour|day)\b",
    r"\b(?:TPM|RPM|TPD|RPD|ITPM|OTPM)\b",
    r"please wait before",
    r"concurrency (?:limit|usage)",
    r"extra usage is required",
    r"请求(?:过于)?频繁|速率限制|限流|并发(?:数|量)?(?:超|过)",
    STATED_WAIT.pattern,
)
REQUESTED_OF_LIMIT = re.compile(
    r"limit:? (?P<limit>\d+),? (?:used:? \d+,? )?requested:? (?P<requested>\d+)", re.IGNORECASE
)
ENTITLEMENT = _any_of(r"extra usage is required")
OVERLOADED = _any_of(r"\boverloaded\b", r"server is busy", r"at capacity", r"服务(?:繁忙|过载)")
AUTH = _any_of(
    r"(?:invalid|incorrect|missing|expired) (?:x-)?api[- ]?key",
    r"unauthori[sz]ed|not authori[sz]ed",
    r"authentication (?:failed|required)",
)
FILTER = _any_of(
    r"content[ _-]?(?:filter|policy|management policy)",
    r"responsibleai|data_inspection_failed",
    r"flagged (?:as|by|for)|sensitive content|safety (?:system|filter|polic)",
    r"内容(?:审核|安全|违规)|敏感",
)
MEDIA = _any_of(
    r"image dimensions?|image (?:exceeds|is too (?:large|big)|size)|image\.source",
    r"(?:too many|at most \d+|maximum of \d+) (?:images|media|videos|pdf|documents)",
    r"(?:unsupported|invalid|could not process) (?:image|media|audio|video)",
    r"pdf pages|(?:does not|doesn't) support (?:image|vision|audio)",
    r"multimodal|image_url|media[_ ]type",
)
# gRPC says RESOURCE_EXHAUSTED for a message that is too large, which isn't a rate.
TRANSPORT_SIZE = _any_of(r"larger than max(?:imum)?\b[^|]{0,20}\d")
BYTES = _any_of(
    TRANSPORT_SIZE.pattern,
    r"payload (?:size|too large)|body size|body (?:is )?too large",
    r"request[_ ](?:entity|body|payload)[^.|]{0,20}too[_ ]large|request_too_large",
    r"request exceeds the maximum size",
    r"content[- ]length[^.|]{0,30}(?:exceed|too large)",
    r"exceed[^.|]{0,60}\d+ ?(?:bytes|[KMG]i?B)\b",
    r"请求体(?:过大|太大)",
)
# Limits of one field in characters: long content is a size, a long name is a mistake.
FIELD_LENGTH = _any_of(r"string[_ ](?:too long|above_max_length)", r"expected maxLength")
CONTENT_FIELD = _any_of(r"\b(?:messages|input|content|prompt|texts?)\b")
ITEM_COUNT = _any_of(
    r"'?\$\.\w+'? is too long|array too long|array[^.|]{0,60}maximum length",
    r"array_above_max_length|too many (?:messages|items|inputs|tools)",
    r"(?:messages|items|contents|tools)[^.|]{0,40}"
    r"(?:must (?:have|contain)|at most|maximum of|more than) (?:at most )?\d+ (?:items|messages)",
    r"maximum number of (?:messages|items)",
)

_OUTPUT_NAME = (
    r"['`\"]?(?:max[_ ]?(?:output[_ ]|completion[_ ]|new[_ ])?tokens|maxOutputTokens"
    r"|num_predict|(?:completion|output)[ _]tokens?)['`\"]?"
)
OUTPUT_PARAMS = frozenset(
    [
        "max_tokens",
        "max_completion_tokens",
        "max_output_tokens",
        "max_new_tokens",
        "maxoutputtokens",
        "generationconfig.maxoutputtokens",
        "num_predict",
    ]
)
# After "and" or "+" the name is one half of a sum that counts the input too.
OUTPUT_LIMIT = _any_of(
    rf"(?<!and )(?<!and maximum )(?<!and `)(?<!\+ )(?<!\+ `){_OUTPUT_NAME}:? "
    r"(?:value )?(?:is |are )?"
    r"(?:too (?:large|big|high)|must be|should be|cannot|can't|exceeds?|value of|\d+ >)",
    rf"(?:invalid|range of) {_OUTPUT_NAME}",
    r"maximum tokens you requested|maximum (?:allowed )?number of output tokens",
    r"maximum number of tokens to generate",
    r"supports? (?:at most|up to|a maximum of) \d+ (?:completion|output) tokens",
    rf"max(?:imum)?[^.|]{{0,30}} for {_OUTPUT_NAME}",
    r"model output limit was reached",
)
# A server that works the output out of what the input left names a negative one.
NEGATIVE_OUTPUT = _any_of(rf"{_OUTPUT_NAME} must be at least \d+,? got -\d")
UNSUPPORTED = _any_of(
    r"unsupported parameter|extra inputs are not permitted|unexpected keyword",
    r"(?:unknown|unrecognized) (?:field|parameter|name|request argument)",
    r"(?:is|are) not supported (?:with|by|for)",
)
TIMEOUT = _any_of(r"deadline exceeded|context cancell?ed", r"timed? ?-?out\b|timeout", r"请求超时")

# vLLM names the output, then shows that the window would be passed by the sum.
TOO_LARGE_FOR_WINDOW = _any_of(
    rf"{_OUTPUT_NAME} is too large: \d+\. ?this model's maximum context length"
)
SAYS_COMBINED = _any_of(
    rf"input[^.|]{{0,40}} (?:and|\+|plus) [^.|]{{0,30}}{_OUTPUT_NAME}",
    r"prompt and (?:prediction|completion)|input and (?:maximum )?output tokens",
    r"\d+ (?:tokens )?(?:in|for) the (?:completion|output)",
    r"requested [1-9]\d* (?:output|completion) tokens",
    TOO_LARGE_FOR_WINDOW.pattern,
)
OR_COMPLETION = _any_of(r"(?:messages|prompt|input) or (?:the )?completion")

TOO_LONG = _any_of(
    r"\b(?:input|prompt|context|conversation|chat history)\b[^.|]{0,40} too (?:long|large)\b",
    r"\bmessages (?:is |are )?too long",
    r"(?:prompt|input|context|messages)_too_l(?:ong|arge)|\[input_too_large\]",
    r"\b(?:input|prompt|request)\b[^|]{0,60}(?:longer|larger|greater|more) than[^.|]{0,40}"
    r"(?:context|maximum|allowed|model|limit|max_seq_len|max_model_len)",
    r"too large for model with \d+ maximum context",
    r"exceed(?:s|ed|ing)?\b[^.|]{0,60}(?:context[ _-]?(?:length|window|size|limit)"
    r"|available context|input (?:token )?limit|token limit of (?:this|the) model"
    r"|max(?:imum)? (?:context|prompt|input|model|sequence)\b|model(?:'s)? (?:\w+ )?limit"
    r"|model maximum)",
    r"context[ _-]?(?:(?:length|window|size|limit) )?(?:was |is |has been )?"
    r"(?:exceeded|exceeds|overflow(?:ed|s)?|is full)",
    r"context_(?:length|window)_exceeded|contextwindowexceeded|contextoverflow",
    r"(?:prompt|input)[^.|]{0,30}[ _]tokens?\b[^.|]{0,40}(?:exceed|only supports up to|greater than"
    r"|must (?:be|have) (?:less|no more|at most|fewer))",
    r"(?:prompt|input|message)s?\b[^.|]{0,30} exceeds? (?:the )?(?:max|limit)",
    r"input token count[^.|]{0,30}(?:exceed|supports up to)|input tokens exceed",
    r"range of input length|token length exceed|maximum prompt length is",
    r"inputs?`? must have less than \d+ tokens|prompt tokens? count of \d+ exceeds",
    r"reduce the (?:length|size|number of tokens) (?:of|in) (?:the |your )?"
    r"(?:messages|prompt|input|conversation)",
    r"(?:reduce|shorten) (?:the|your) (?:prompt|input)|shorter (?:prompt|input|or fewer inputs)",
    r"max(?:imum)? input (?:characters|tokens|length) is|tokens of [^.|]{1,30} exceed max",
    r"token limit (?:was |is )?exceeded|exceed(?:s|ed)? (?:the )?(?:maximum )?token limit",
    r"n_keep[^|]{0,30}n_ctx|size limit exceeded by \d+ tokens",
    r"max(?:imum)?(?: number of)? input tokens:? \d|too many (?:input|prompt) tokens",
    r"too many tokens (?:in|for) (?:the |your )?(?:input|prompt|context|messages|conversation)",
    r"maximum (?:context|input) length (?:is|of) \d|max tokens of \d+ exceeded",
    r"maximum context length[^|]{0,80}(?:resulted in|contains?|requested|has|have) (?:about )?\d",
    r"(?:输入|提示词?|上下文|消息|对话|prompt|token)[^。|]{0,20}(?:超过|超出|超限|过长|太长|大于)",
    r"(?:超过|超出)[^。|]{0,12}(?:上下文|输入|最大长度|窗口)|コンテキスト長[^|]{0,10}超",
)
