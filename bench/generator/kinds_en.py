"""English requests, thoughts and reports of the kinds coding, incident and analysis."""

# One sentence is one line, however long.
# ruff: noqa: E501

from __future__ import annotations

from bench.generator.kinds_people_en import CHAT, SUPPORT
from bench.generator.vocabulary import KindWords

CODING = KindWords(
    system=(
        "You are a careful coding agent in the repository of {product}. Work in small steps: read "
        "before you change, run the tests that cover a change, and keep the plan up to date with "
        "update_plan. Say plainly what you did and what is still open. Ask when a request can be "
        "read in two ways and the difference matters."
    ),
    requests=(
        "The {noun} exporter writes rows twice when {service} restarts. Please find out why and fix it.",
        "Can you make `{function}` safe to call from several workers at once?",
        "We need `{field}` on every {noun}, also for those written before {date}.",
        "`{test}` fails about one time in {few}. I'd like it to be stable, not skipped.",
        "Please split {path}, it does parsing and storage in one place.",
        "The {noun} import takes {minutes} minutes now. Look for the slow part first, then propose a change.",
        "{person} reported {error} from the {env} environment. Can you reproduce it?",
        "Rename the column `{column}` of {noun} without breaking readers that lag one release behind.",
        "Add a dry run to `{function}` that says what would be written.",
        "The {noun_b} side now sends `{field}` as an integer. Adapt the {noun} reader.",
        "Review the branch {branch} and tell me whether it can be merged.",
        "Let's remove the old {noun} cache, it was meant to be temporary.",
        "Types are missing in {path}; add them and fix what the checker then finds.",
        "The retry around `{function}` hides real errors. Narrow it.",
    ),
    contexts=(
        "It began with release {version}.", "{person} has seen it in {region} only.",
        "There is a half-finished attempt on {branch}.", "The {team} team waits for this.",
        "It may have to do with what we saw in {earlier_path}.",
        "We had something like it in {date}, but the cause was another one.",
        "About {count} rows a day are concerned.", "It is not urgent, but it comes up every week.",
        "The reference is the behaviour of {service}.", "I tried it locally and got the same.",
    ),
    wishes=(
        "Start with a test that shows the problem.", "Keep the change small.",
        "Tell me before you touch the schema.", "A short note in the changelog is enough.",
        "Please look at the callers too.", "If it turns out larger, stop and tell me.",
        "I'd rather have it right than fast.", "Run the whole {noun} suite at the end.",
    ),
    findings=(
        "The cause is in `{function}`: it reads `{field}` before the lease is taken, so two workers see the same {noun}.",
        "`{function}` now takes the lease first and gives up with {error} when another worker holds it.",
        "The slow part was the join on `{column}`; reading in chunks brings it from {minutes} minutes to {few}.",
        "The test depended on the order of {noun} rows. It now compares sorted by `{field}`.",
        "I split the module: parsing stays in {path}, storage moved to {path_b}.",
        "Old readers get `{field}` from the default until the backfill has run, new ones read the column.",
        "{error} comes from rows that were written with version {version}; they lack `{field}`.",
        "The branch can be merged after one change: `{function}` swallows the error that the caller waits for.",
        "It reproduces with {few} workers and {count} rows, never with one worker.",
        "The cache served {percent} of the reads, and removing it costs {ms} per page, which nobody should notice.",
        "`{function}` takes `dry_run=True` now and lists {count} planned writes without touching the store.",
        "The {noun} reader accepts both forms of `{field}` now; text is parsed before anything is compared.",
        "{path} is typed; the checker found {few} real mistakes, among them a `None` that reached `{function}`.",
        "The retry now catches only {error}; everything else reaches the caller at once.",
    ),
    details=(
        "The same pattern is in {earlier_path}, which I left alone.",
        "{earlier_number} was the figure before, so this is in the range that we expected.",
        "I added a case to {test} that fails without the change.",
        "Two callers relied on the old order, both are adapted.",
        "The line that matters is {path}:{line}.",
        "Nothing else imports it; I checked with a search over all areas.",
        "The request {earlier_id} in the log shows exactly this sequence.",
        "Coverage of {earlier_path} went up a little, the missing part is the error branch.",
        "The commit is {commit} on {branch}.",
        "One warning of the type checker is left, it was there before.",
    ),
    offers=(
        "Shall I go on with the callers?", "I can open a follow-up for the rest.",
        "Tell me if you want the backfill in the same change.", "All tests of the area pass.",
        "I have not pushed anything.", "The next part would be {path_b}.",
        "That is all for this one.", "If you agree I squash the two commits.",
    ),
    plan=(
        "Reproduce the {noun} problem", "Read `{function}` and its callers", "Write a failing test",
        "Change {path}", "Run the {noun} suite", "Update the changelog", "Check the {env} settings",
        "Ask {person} about `{field}`", "Remove the old code path", "Measure again",
    ),
    thoughts={
        "": (
            "Let me look at the two places together.", "Next I check whether the callers agree.",
            "That doesn't explain it yet.", "One more place to look at before I change anything.",
            "I want to see this with my own eyes.", "The same shape as in {earlier_path}.",
            "So {earlier_number} isn't the whole story.", "Following {earlier_id} further.",
        ),
        "read_file": (
            "I read {target} first.", "{target} should tell how `{field}` gets lost.",
            "Now the other side: {target}.", "Let me open {target} around the lease.",
        ),
        "grep": ("Who else calls `{target}`?", "Searching for `{target}` over all areas.",
                 "I look for other uses of `{target}`."),
        "run_tests": ("Running {target}.", "Let's see whether {target} agrees.",
                      "Tests of this area, starting with {target}."),
        "edit_file": ("The change goes into {target}.", "I adapt {target}.",
                      "Small edit in {target}: the lease comes first."),
        "shell": ("What does the build say?", "I want to see the output of the build.",
                  "Building once to see the warnings."),
        "git_diff": ("The diff of {target} before I go on.", "Comparing {target} with the branch."),
        "update_plan": ("I bring the plan up to date.", "Plan first.", "Ticking off what is done."),
    },
)  # fmt: skip

INCIDENT = KindWords(
    system=(
        "You help the engineer on call for {product}. Look before you act, prefer reversible steps, "
        "keep a time line, and never change production without saying so first. Tools read logs, "
        "metrics, traces and the cluster; update_plan holds the open steps."
    ),
    requests=(
        "Page at {hour}: {metric} of {service} is up in {region}. Please have a first look.",
        "Customers of the {team} team see {error}. What changed?",
        "{service} restarts every {minutes} minutes since the deploy of {version}.",
        "The queue behind {service} doesn't drain. Find out whether it is the consumer or the data.",
        "Can you check whether {region} is affected too, or only {region_b}?",
        "Let's find the first failing request and follow it through the services.",
        "Compare {metric} before and after {hour}, please.",
        "The pool of {service} is exhausted again. I need to know who holds the connections.",
        "I rolled {service} back to {version}. Is it better now?",
        "Write down what we know so far, then look at {service_b}.",
        "Are the errors from {service} only in {env}?",
        "The alert for {metric} fired again, {minutes} minutes after we closed it.",
    ),
    contexts=(
        "{person} is on call for {service_b}.", "The last deploy was {version} at {hour}.",
        "{earlier_id} might be a good example.", "The {team} team has been told.",
        "Nothing on the status page yet.", "About {percent} of the requests are hit.",
        "The same alert fired on {date}.", "Traffic is normal as far as I can see.",
        "We have {minutes} minutes until the nightly job starts.",
    ),
    wishes=(
        "Don't fix anything yet, I want to understand it.", "Give me numbers, please.",
        "Keep the time line going.", "Tell me what you would roll back first.",
        "If you need access, ask.", "Short answers are fine for now.",
        "Look at the cheap explanations first.",
    ),
    findings=(
        "The errors start at {hour}, {few} minutes after {version} reached {region}.",
        "{service} waits for {service_b}: spans of {ms} end in {error}.",
        "The pool is held by {few} workers that never return their connections after {error}.",
        "It's the data: {count} messages lack `{field}`, and the consumer retries them for ever.",
        "{region} alone is affected, {region_b} shows the usual {ms}.",
        "The rollback helped: {metric} is back at its level of yesterday, the queue shrinks by {count} a minute.",
        "The restarts follow the memory: each pod is stopped at the limit after {minutes} minutes.",
        "The first failing request is {request_id}; before it everything looks normal.",
        "Two things overlap here, the deploy and a slow disk on one node.",
        "The alert is right, but its threshold of {few} is below the normal peak.",
        "Only {env} shows them; {env_b} ran through the same hour with {few} errors in all.",
    ),
    details=(
        "{earlier_id} shows it best.", "The peak was {earlier_number}.",
        "The settings are in {earlier_path}, last changed in {commit}.",
        "{percent} of the requests end in a retry.", "The oldest message is {minutes} minutes old.",
        "No other service of the {team} team is touched.", "The clock of one node is off by {ms}.",
        "I found {count} of these in the last hour.", "Before {hour} there were none.",
        "Pods on the same node behave alike.",
    ),
    offers=(
        "Next I would drain the queue into a side table.", "Shall I prepare the rollback?",
        "I keep watching {metric}.", "The time line is up to date.",
        "For the moment nothing needs to be done.", "I need a decision on {service} from you.",
        "If it comes back, look at {service_b} first.",
    ),
    plan=(
        "Find the first failing request", "Compare {region} with {region_b}", "Check deploy {version}",
        "Read the runbook of {service}", "Look at the pool of {service_b}", "Tell the {team} team",
        "Decide on a rollback", "Watch {metric} for {minutes} minutes", "Write the summary",
    ),
    thoughts={
        "": (
            "Looking at several sources at once.", "That narrows it down.",
            "The times should tell us more.", "I follow {earlier_id} through the services.",
            "Compared with {earlier_number} this is a lot.", "Not conclusive yet.",
        ),
        "query_logs": ("Logs of {target} around that time.", "What does {target} say?",
                       "I read the log of {target}."),
        "query_metrics": ("{target} over the last hours.", "Let me see {target} by region."),
        "query_traces": ("Slow spans through {target}.", "Traces that touch {target}."),
        "kubectl": ("State of the pods.", "Which pods restarted?", "Now the cluster itself."),
        "get_alert": ("The alert and its history.", "When did this alert fire before?"),
        "read_runbook": ("The runbook for {target}.", "What does the runbook say about {target}?"),
        "read_file": ("The settings in {target}.", "I check {target}."),
        "update_plan": ("Updating the open steps.", "The plan as it stands now."),
    },
)  # fmt: skip

ANALYSIS = KindWords(
    system=(
        "You are a data analyst for {product} with access to its warehouse. State the question, the "
        "table and the filter before a number; check row counts; say when a difference may be "
        "noise. Tools describe tables, run queries and scripts; update_plan holds the steps."
    ),
    requests=(
        "How did the number of {noun} rows develop per region since {date}?",
        "Please find out why {table} and {table_b} disagree for {date}.",
        "Which {noun} records have no `{column}`, and where do they come from?",
        "I need the share of void {noun} rows by month, without test accounts.",
        "Is the drop in {noun} after {date} real or a gap in the load?",
        "Compare {region} with {region_b} on {noun} per customer.",
        "{person} wants one chart on {noun} for the board. What would you show?",
        "Check whether `{column}` in {table} is safe to join on.",
        "Build the monthly {noun} report again and tell me what differs from the last one.",
        "How long does a {noun} stay open, and has that changed?",
        "The forecast for {noun} was off by {percent}. Where did it go wrong?",
        "Look for outliers in {table} before we publish.",
    ),
    contexts=(
        "The last report said {earlier_number}.", "Finance counts by booking day, we count by event.",
        "{person} has an older query in {path}.", "{table} was reloaded on {date}.",
        "Rows from {region} arrive {few} hours late.", "The {team} team uses the same figures.",
        "There may be duplicates from the migration.", "It is for the review on {date}.",
    ),
    wishes=(
        "Show the query too.", "Round sensibly.", "Say how sure you are.",
        "One table is enough.", "Leave out the current week.", "Please check it in a second way.",
        "Note what you had to assume.",
    ),
    findings=(
        "The two tables differ because {table} counts void rows and {table_b} doesn't: {count} rows in all.",
        "The drop is real in {region} ({percent}) and an artefact elsewhere, where a day is missing.",
        "`{column}` isn't unique in {table}: {count} values occur more than once, so a join multiplies rows.",
        "Median time open went from {few} to {few_b} days after {date}.",
        "{count} of {count_b} rows lack `{column}`, nearly all of them from {region}.",
        "Without test accounts the share is {percent}, with them it looks twice as high.",
        "The forecast missed the {noun_b} campaign; leaving those days out, the error is {percent}.",
        "Most of the difference comes from {few} customers, the largest is {customer}.",
        "The report agrees with the last one but for {region}, where late rows came in.",
        "{noun} rows grew by {percent} in {region} and stayed level in {region_b}; the other regions move with the season.",
        "For the board I'd show {noun} per region by month as lines, nothing else; the jump on {date} needs a footnote.",
        "{count} rows in {table} lie far outside, {few} of them with a `{column}` that can't be right.",
    ),
    details=(
        "The query is in {path}.", "I compared with {earlier_number} from before.",
        "{earlier_id} is a typical case.", "Rows of the current week are left out.",
        "The interval is wide, so I wouldn't read much into it.", "A second way gave {count}.",
        "The filter on `{column}` removes {percent}.", "Times are in UTC.",
        "I used {table}, not the snapshot.", "The script behind it is {earlier_path}.",
    ),
    offers=(
        "Shall I break it down by month?", "I'd publish it with a footnote.",
        "The next step would be to clean `{column}`.", "I saved the result as a table.",
        "Tell me if finance counts differently.", "No further surprises in the data.",
        "I can repeat it for {region_b}.",
    ),
    plan=(
        "Describe {table}", "Count rows per {column}", "Compare {table} with {table_b}",
        "Look for duplicates", "Leave out test accounts", "Check {region} apart", "Draw the chart",
        "Write the footnote", "Send the numbers to {person}", "Repeat with fresh data",
    ),
    thoughts={
        "": (
            "Checking it from two sides.", "Before I trust {earlier_number} I want the row counts.",
            "That is more than I expected.", "Let me see whether {earlier_id} is an exception.",
            "First the shape of the data.", "One more cut to be sure.",
        ),
        "run_query": ("Querying {target}.", "Rows of {target} by day and region.",
                      "The same filter on {target}."),
        "describe_table": ("What columns does {target} have?", "I look at {target} first."),
        "run_script": ("Running the script {target}.", "{target} does the aggregation."),
        "read_file": ("The older query is in {target}.", "I read {target} to see the filter."),
        "list_files": ("Which scripts are there?", "Listing what we have."),
        "update_plan": ("Updating the plan.", "Where we stand."),
    },
)  # fmt: skip

KINDS = {
    "coding": CODING,
    "incident": INCIDENT,
    "analysis": ANALYSIS,
    "support": SUPPORT,
    "chat": CHAT,
}
