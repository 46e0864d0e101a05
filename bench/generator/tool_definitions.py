"""What the tools of each kind of session are called, and what they take."""

from __future__ import annotations

from bench.events import ToolDefinition

_DESCRIPTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "read_file": ("Read a text file of the repository.", {"path": "string"}),
    "grep": ("Search files for a pattern.", {"pattern": "string", "path": "string"}),
    "run_tests": ("Run a test file or folder.", {"target": "string"}),
    "edit_file": (
        "Replace one piece of text in a file.",
        {"path": "string", "old_text": "string", "new_text": "string"},
    ),
    "shell": ("Run a command and return what it prints.", {"command": "string"}),
    "list_files": ("List a folder.", {"path": "string", "recursive": "boolean"}),
    "git_diff": ("Show a file's changes.", {"path": "string", "against": "string"}),
    "query_logs": (
        "Read log lines of a service.",
        {"service": "string", "minutes": "integer", "contains": "string"},
    ),
    "query_metrics": ("Read a time series.", {"metric": "string", "service": "string"}),
    "query_traces": ("Find slow spans.", {"service": "string", "slower_than_ms": "integer"}),
    "kubectl": ("Ask the cluster, reading only.", {"command": "string"}),
    "get_alert": ("Read an alert and its history.", {"name": "string"}),
    "read_runbook": ("Read the runbook of a service.", {"service": "string"}),
    "run_query": ("Run a query on the warehouse, reading only.", {"sql": "string"}),
    "describe_table": ("Describe the columns of a table.", {"table": "string"}),
    "run_script": (
        "Run an analysis script.", {"path": "string", "since": "string", "region": "string"},
    ),
    "find_customer": ("Open a customer's record.", {"customer": "string"}),
    "get_orders": ("List a customer's orders.", {"customer": "string", "since": "string"}),
    "read_case": ("Read all messages of a case.", {"case": "string"}),
    "search_help": ("Search the help articles.", {"query": "string", "limit": "integer"}),
    "add_note": ("Add a note to a case.", {"case": "string", "text": "string"}),
    "web_search": ("Search the web.", {"query": "string"}),
    "open_page": ("Open a web page as text.", {"url": "string"}),
    "read_note": ("Read one of the user's notes.", {"name": "string"}),
    "save_note": ("Save a note for the user.", {"text": "string"}),
}  # fmt: skip

_TOOLS_OF: dict[str, tuple[str, ...]] = {
    "coding": ("read_file", "grep", "run_tests", "edit_file", "shell", "list_files", "git_diff"),
    "incident": (
        "query_logs", "query_metrics", "query_traces", "kubectl", "get_alert", "read_runbook",
        "read_file",
    ),
    "analysis": ("run_query", "describe_table", "run_script", "read_file", "list_files"),
    "support": (
        "find_customer", "get_orders", "read_case", "search_help", "run_query", "add_note",
    ),
    "chat": ("web_search", "open_page", "read_note", "save_note"),
}  # fmt: skip

_PLAN = ToolDefinition(
    "update_plan",
    "Replace the plan: every step with its status.",
    {
        "type": "object",
        "properties": {
            "plan": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "step": {"type": "string"},
                        "status": {"enum": ["pending", "in_progress", "completed"]},
                    },
                    "required": ["step", "status"],
                },
            }
        },
        "required": ["plan"],
    },
)


def tool_definitions(kind: str) -> tuple[ToolDefinition, ...]:
    """The tools that a session of this kind offers."""
    found = []
    for name in _TOOLS_OF[kind]:
        description, parameters = _DESCRIPTIONS[name]
        required = [name for name in parameters if name not in ("contains", "recursive")]
        properties = {name: {"type": kind_of_value} for name, kind_of_value in parameters.items()}
        schema = {"type": "object", "properties": properties, "required": required}
        found.append(ToolDefinition(name, description, schema))
    return (*found, _PLAN)
