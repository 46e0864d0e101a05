"use strict";
// Everything that comes from a session goes through textContent, never through markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const find = (id) => document.getElementById(id);
  const make = (name, text, className) => {
    const element = document.createElement(name);
    if (text !== undefined && text !== null) element.textContent = text;
    if (className) element.className = className;
    return element;
  };
  const drawn = (name, attributes) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  };
  const missing = "–";
  const share = (value) => (value === null ? missing : `${Math.round(100 * value)}%`);
  const tokens = (value) => {
    if (value === null || value === undefined) return missing;
    for (const [limit, divisor, unit] of [[999.5, 1, ""], [999500, 1e3, "k"], [Infinity, 1e6, "M"]]) {
      if (Math.abs(value) < limit) return Number((value / divisor).toPrecision(3)) + unit;
    }
    return String(value);
  };
  const addOptions = (select, options) => {
    for (const [value, text] of options) {
      const option = make("option", text);
      option.value = value;
      select.append(option);
    }
  };

  // Light and dark
  const theme = find("theme");
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : prefersDark.matches;
  };
  const nameTheme = () => {
    theme.textContent = isDark() ? "Light" : "Dark";
    theme.setAttribute("aria-pressed", String(isDark()));
  };
  theme.hidden = false;
  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    nameTheme();
  });
  prefersDark.addEventListener("change", nameTheme);
  nameTheme();

  // Sorting: numbers by value, texts by the reader's language, missing values always last
  const sortKey = (cell) => (cell.dataset.value !== undefined ? cell.dataset.value : cell.textContent);
  const sortBy = (table, column, direction) => {
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row, place) => ({ row, place, key: sortKey(row.cells[column]) }));
    rows.sort((a, b) => {
      if (a.key === "" || b.key === "") return (a.key === "") - (b.key === "") || a.place - b.place;
      const [x, y] = [Number(a.key), Number(b.key)];
      const order = Number.isNaN(x) || Number.isNaN(y) ? a.key.localeCompare(b.key) : x - y;
      return direction * order || a.place - b.place;
    });
    body.append(...rows.map((entry) => entry.row));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    table.tHead.addEventListener("click", (event) => {
      const heading = event.target.closest("th");
      if (!heading || !event.target.closest("button")) return;
      const isFirstText = heading.cellIndex === 0;
      const before = heading.getAttribute("aria-sort");
      const next = before === "none" ? (isFirstText ? "ascending" : "descending")
        : before === "ascending" ? "descending" : "ascending";
      for (const other of heading.parentElement.cells) other.setAttribute("aria-sort", "none");
      heading.setAttribute("aria-sort", next);
      sortBy(table, heading.cellIndex, next === "ascending" ? 1 : -1);
    });
  }
  const matches = (text, wanted) => wanted.every((word) => text.includes(word));
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

  const summary = document.querySelector('[data-filter="summary"]');
  summary.addEventListener("input", () => {
    for (const row of find("summary").tBodies[0].rows) {
      row.hidden = !matches(row.cells[0].textContent.toLowerCase(), words(summary.value));
    }
  });

  // All replays
  const headings = ["Session", "Strategy", "Window", "Model", "Seed", "Status", "Kept", "Said once",
    "Re-readable", "Saved", "Cost", "Compactions", "Retries", "Requests", "Invalid", "Reason"];
  const headRow = make("tr");
  for (const name of headings) {
    const heading = make("th", null, ["Strategy", "Model", "Status", "Reason"].includes(name) ? "text" : "");
    heading.scope = "col";
    heading.setAttribute("aria-sort", "none");
    const button = make("button", name);
    button.type = "button";
    heading.append(button);
    headRow.append(heading);
  }
  find("cells").tHead.append(headRow);
  const cellRows = [];
  for (const cell of data.cells) {
    const [session, strategy, asked, window_, model, seed, status, reason, kept, once, again, saved, cost,
      compactions, retries, served, total, invalid] = cell;
    const row = make("tr");
    const add = (text, value, className) => {
      const entry = make("td", text, className);
      entry.dataset.value = value === null || value === undefined ? "" : String(value);
      row.append(entry);
    };
    const first = make("th", data.sessions[session]);
    first.scope = "row";
    row.append(first);
    add(data.strategies[strategy].name, data.strategies[strategy].name, "text");
    add(asked === String(window_) ? tokens(window_) : `${asked}, ${tokens(window_)}`, window_);
    add(model, model, "text");
    add(String(seed), seed);
    add(status.replace("_", " "), status, "text");
    for (const value of [kept, once, again, saved]) add(share(value), value);
    add(cost === null ? missing : `${cost.toFixed(2)}×`, cost);
    add(compactions === null ? missing : String(compactions), compactions);
    add(String(retries), retries);
    add(served === total ? String(total) : `${served} of ${total}`, served);
    add(invalid === null ? missing : String(invalid), invalid);
    add(reason, reason, "long");
    row.lastElementChild.title = reason;
    find("cells").tBodies[0].append(row);
    cellRows.push({ row, strategy: String(strategy), status, text: row.textContent.toLowerCase() });
  }
  const names = data.strategies.map((strategy, place) => [String(place), strategy.name]);
  addOptions(find("cells-strategy"), names);
  addOptions(find("cells-status"), [...new Set(data.cells.map((cell) => cell[6]))].map((s) => [s, s.replace("_", " ")]));
  const cellsText = document.querySelector('[data-filter="cells"]');
  const filterCells = () => {
    let shown = 0;
    for (const entry of cellRows) {
      const isShown = (!find("cells-strategy").value || entry.strategy === find("cells-strategy").value)
        && (!find("cells-status").value || entry.status === find("cells-status").value)
        && matches(entry.text, words(cellsText.value));
      entry.row.hidden = !isShown;
      shown += isShown;
    }
    const rest = data.cellsTotal > data.cells.length ? ` (${data.cellsTotal} in tables/cells.csv)` : "";
    find("cells-count").textContent = `${shown} of ${cellRows.length} replays${rest}`;
  };
  cellsText.addEventListener("input", filterCells);
  find("cells-strategy").addEventListener("change", filterCells);
  find("cells-status").addEventListener("change", filterCells);
  filterCells();

  // Saw-tooths
  const added = (steps) => { let sum = 0; return steps.map((step) => (sum += step)); };
  const staircase = (x, y, at, values) => {
    let path = "";
    for (let i = 0; i < at.length; i += 1) {
      path += `${i ? "V" : `M${x(at[i])},`}${i ? y(values[i]) : y(values[i])}`;
      path += `H${x(i + 1 < at.length ? at[i + 1] : at[i] + 1)}`;
    }
    return path;
  };
  const area = (line, x, y, at) => (at.length ? `${line}V${y(0)}H${x(at[0])}Z` : "");
  const panel = (replay, top, last) => {
    const [width, height, left] = [1000, 92, 44];
    const strategy = data.strategies[replay.strategy];
    const colour = strategy.series < 0 ? "var(--muted)" : `var(--series-${strategy.series})`;
    const x = (index) => (left + (index / Math.max(1, last)) * (width - left)).toFixed(1);
    const y = (value) => (height - 4 - (Math.min(value, top) / top) * (height - 14)).toFixed(1);
    const [at, size] = [added(replay.at), added(replay.tokens)];
    const box = make("div", null, "saw-plot");
    const title = make("div", null, "saw-title");
    title.append(make("b", strategy.name), make("span",
      `${replay.requests} requests, ${replay.compacted.length} compactions, peak ${tokens(Math.max(0, ...size))}`
      + `${Math.max(0, ...size) > top ? " (cut off here)" : ""}`));
    const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" });
    picture.setAttribute("aria-label", `${title.textContent}, window ${tokens(replay.window)}`);
    const line = staircase(x, y, at, size);
    picture.append(drawn("path", { d: area(line, x, y, at), style: `fill:${colour};opacity:.9` }));
    const cachedLine = staircase(x, y, at, replay.cached);
    picture.append(drawn("path", { d: area(cachedLine, x, y, at), style: "fill:var(--paper);opacity:.72" }));
    picture.append(drawn("path", { d: line, style: `fill:none;stroke:${colour};stroke-width:1.4;vector-effect:non-scaling-stroke` }));
    if (replay.window !== null) {
      picture.append(drawn("line", { x1: left, x2: width, y1: y(replay.window), y2: y(replay.window),
        style: "stroke:var(--ink);stroke-dasharray:6 4;vector-effect:non-scaling-stroke" }));
    }
    picture.append(drawn("line", { x1: left, x2: width, y1: y(0), y2: y(0), style: "stroke:var(--grid)" }));
    const mark = (index, text, style) => {
      const entry = make("span", text);
      entry.style.cssText = `position:absolute;left:${(100 * x(index)) / width}%;transform:translateX(-50%);`
        + `bottom:-5px;font-size:10px;line-height:1;${style}`;
      entry.setAttribute("aria-hidden", "true");
      return entry;
    };
    const plot = make("div", null, "saw-plot");
    plot.append(picture);
    for (const index of replay.compacted) plot.append(mark(index + 0.5, "▲", "color:var(--ink)"));
    for (const index of replay.refused) plot.append(mark(index + 0.5, "✕", "color:var(--bad);font-weight:700"));
    for (const value of [0, top]) {
      const entry = make("span", tokens(value), "hint");
      entry.style.cssText = `position:absolute;left:0;font-size:11px;${value ? "top:0" : "bottom:-4px"}`;
      plot.append(entry);
    }
    const tip = make("span", "", "saw-tip");
    tip.hidden = true;
    plot.append(tip);
    plot.addEventListener("pointermove", (event) => {
      const area_ = picture.getBoundingClientRect();
      const part = ((event.clientX - area_.left) / area_.width * width - left) / (width - left);
      const wanted = part * last;
      let nearest = 0;
      for (let i = 0; i < at.length && at[i] <= wanted; i += 1) nearest = i;
      tip.textContent = `request ${at[nearest]}: ${size[nearest].toLocaleString("en")} tokens, `
        + `${replay.cached[nearest].toLocaleString("en")} from cache`;
      tip.hidden = part < 0;
      const isRight = part > 0.6;
      tip.style.left = isRight ? "auto" : `${event.clientX - area_.left + 12}px`;
      tip.style.right = isRight ? `${area_.right - event.clientX + 12}px` : "auto";
    });
    plot.addEventListener("pointerleave", () => { tip.hidden = true; });
    box.append(title, plot);
    return box;
  };
  const drawSaw = () => {
    const session = Number(find("saw-session").value);
    const setting = find("saw-setting").value;
    const shown = data.replays.filter((r) => r.session === session && r.setting === setting);
    shown.sort((a, b) => a.strategy - b.strategy);
    const sizes = shown.filter((r) => data.strategies[r.strategy].name !== "keep_all")
      .flatMap((r) => [r.window || 0, ...added(r.tokens)]);
    const top = Math.max(1, ...(sizes.length ? sizes : shown.flatMap((r) => added(r.tokens)))) * 1.06;
    const last = Math.max(1, ...shown.map((r) => r.requests));
    find("saw").replaceChildren(...shown.map((replay) => panel(replay, top, last)));
    if (!shown.length) find("saw").append(make("p", "No request was made in this session."));
  };
  const fillSettings = () => {
    const session = Number(find("saw-session").value);
    const settings = [...new Set(data.replays.filter((r) => r.session === session).map((r) => r.setting))];
    find("saw-setting").replaceChildren();
    addOptions(find("saw-setting"), settings.map((s) => [s, s]));
    drawSaw();
  };
  addOptions(find("saw-session"), data.sessions.map((name, place) => [String(place), name])
    .filter(([place]) => data.replays.some((r) => r.session === Number(place))));
  find("saw-session").addEventListener("change", fillSettings);
  find("saw-setting").addEventListener("change", drawSaw);
  fillSettings();

  // Lost facts
  addOptions(find("loss-strategy"), names.filter(([place]) => data.losses.some((l) => l.strategy === Number(place))));
  addOptions(find("loss-outcome"), [...new Set(data.losses.map((l) => l.outcome))].map((o) => [o, data.outcomes[o]]));
  const quote = (name, text) => {
    const entry = make("blockquote");
    entry.dir = "auto";
    entry.append(make("span", name), text);
    return entry;
  };
  const lossEntries = data.losses.map((loss) => {
    const entry = make("details");
    const head = make("summary");
    const text = make("strong", loss.text);
    text.dir = "auto";
    head.append(make("span", data.outcomes[loss.outcome], `outcome ${loss.outcome}`), " ",
      make("span", loss.kind, "kind"), " ", text,
      make("span", `${data.strategies[loss.strategy].name} · ${data.sessions[loss.session]}`, "story"));
    const said = `said in event ${loss.sourceSeq}, missing at event ${loss.neededAtSeq}`
      + `${loss.times > 1 ? ` and ${loss.times - 1} more times` : ""}`
      + `${loss.age === null ? "" : `, ${tokens(loss.age)} tokens after its last mention`}`
      + `${loss.mustKeep ? "; must keep" : ""}`;
    entry.append(head, make("div", said, "story"), quote("source", loss.source || "not at hand"),
      quote("summary", loss.summary || (loss.outcome === "unserved" ? "no request was made, the replay had stopped" : "nothing like it")),
      ...(loss.question ? [quote("question", loss.question)] : []),
      quote("answer", loss.answer || "not asked: only what stands in the request was looked at"));
    return { entry, strategy: String(loss.strategy), outcome: loss.outcome, text: entry.textContent.toLowerCase() };
  });
  find("loss-list").append(...lossEntries.map((l) => l.entry));
  const filterLosses = () => {
    let shown = 0;
    for (const loss of lossEntries) {
      const isShown = (!find("loss-strategy").value || loss.strategy === find("loss-strategy").value)
        && (!find("loss-outcome").value || loss.outcome === find("loss-outcome").value)
        && matches(loss.text, words(find("loss-text").value));
      loss.entry.hidden = !isShown;
      shown += isShown;
    }
    find("loss-count").textContent = `${shown} of ${lossEntries.length} shown; all are in tables/facts.csv`;
  };
  find("loss-text").addEventListener("input", filterLosses);
  find("loss-strategy").addEventListener("change", filterLosses);
  find("loss-outcome").addEventListener("change", filterLosses);
  filterLosses();
})();
