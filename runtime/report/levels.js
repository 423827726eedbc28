// The levels side by side: a line of the source, and what became of it everywhere.

const WANTED = new Set(["source", "fx", "functional", "loop", "kernel", "llvm", "triton"]); // shown at first; the page's user changes it
const ORDER = ["pyframe", "guard", "residual", "fx", "functional", "loop", "kernel", "host", "host.py", "triton", "ptx", "llvm"];

/** One column: a text in which the lines of the chosen place are marked. */
class Pane {
  constructor(view, name, rows, language) {
    this.view = view;
    this.name = name;
    this.rows = rows; // {text, place, number, file, marks}
    this.language = language;
    this.byPlace = new Map();
    rows.forEach((row, index) => {
      if (row.place < 0) return;
      if (!this.byPlace.has(row.place)) this.byPlace.set(row.place, []);
      this.byPlace.get(row.place).push(index);
    });
    this.found = "";
    this.count = el("span", { class: "dim count" });
    const longest = rows.reduce((most, row) => Math.max(most, row.text.length), 0);
    this.list = new VirtualList({
      label: name, count: rows.length, columns: longest + 12,
      render: (row, index) => this.render(row, index),
      activate: (index) => this.choose(index),
      hover: (index) => hoveredPlace.set(index < 0 ? -1 : this.rows[index].place),
    });
    this.list.node.dataset.level = name;
    this.node = el("div", { class: "pane" },
      el("div", { class: "head" }, el("h2", {}, name), this.count, el("span", { class: "grow" }),
        el("button", { type: "button", title: `previous line of the chosen place in ${name} (N)`, onclick: () => this.step(-1) }, "↑"),
        el("button", { type: "button", title: `next line of the chosen place in ${name} (n)`, onclick: () => this.step(1) }, "↓")),
      this.list.node);
  }
  render(row, index) {
    const line = this.rows[index];
    if (line.file) {
      row.classList.add("file");
      row.textContent = line.text;
      return;
    }
    row.append(el("span", { class: "number" }, String(line.number)));
    if (line.marks !== undefined) row.append(marksOf(line.marks));
    paint(row, line.text, this.language);
    row.classList.toggle("placed", line.place >= 0);
    if (this.language !== "python" || this.name !== "source") row.title = placeName(line.place);
    this.mark(row, index);
  }
  mark(row, index) {
    const line = this.rows[index];
    row.classList.toggle("reached", line.place >= 0 && (this.name === "source" ? this.view.related : this.view.callees).has(line.place));
    row.classList.toggle("chosen", line.place >= 0 && line.place === chosenPlace.value);
    row.classList.toggle("hover", line.place >= 0 && line.place === hoveredPlace.value);
    row.classList.toggle("found", this.found !== "" && line.text.toLowerCase().includes(this.found));
  }
  markAll() {
    for (const [index, row] of this.list.rows) this.mark(row, index);
  }
  choose(index) {
    const { place, text } = this.rows[index];
    this.view.whole = text.length > LONGEST ? text : "";
    if (place >= 0 && place !== chosenPlace.value) chosenPlace.set(place, this);
    else this.view.describe();
  }
  /** Show where the chosen place is here. */
  follow(origin) {
    const lines = this.chosenLines();
    this.count.textContent = chosenPlace.value < 0 ? "" : `${lines.length} of ${this.rows.length} lines`;
    this.markAll();
    if (lines.length && origin !== this) {
      this.list.setActive(lines[0]);
      this.list.reveal(lines[0]);
    }
  }
  /** The lines of the chosen place, or where there are none those of what it calls. */
  chosenLines() {
    const own = this.byPlace.get(chosenPlace.value);
    if (own || !this.view.callees.size) return own || [];
    return [...this.view.callees].flatMap((place) => this.byPlace.get(place) || []).sort((a, b) => a - b);
  }
  step(by) {
    this.jump(this.chosenLines(), by);
  }
  jump(lines, by) {
    if (!lines.length) return;
    const after = by > 0 ? lines.find((line) => line > this.list.active) : lines.findLast((line) => line < this.list.active);
    const to = after === undefined ? (by > 0 ? lines[0] : lines[lines.length - 1]) : after;
    this.list.setActive(to);
    this.list.reveal(to);
  }
  find(text, by = 0) {
    this.found = text.toLowerCase();
    this.markAll();
    if (!by || !this.found) return 0;
    const lines = [];
    this.rows.forEach((row, index) => { if (row.text.toLowerCase().includes(this.found)) lines.push(index); });
    this.jump(lines, by);
    return lines.length;
  }
}

/** The margin of a source line: graph breaks and guards. */
function marksOf(marks) {
  const margin = el("span", { class: "marks" });
  if (marks.breaks.length) margin.append(el("span", { class: "break", title: marks.breaks.map((event) => event.text).join("\n") }, "✂"));
  if (marks.guards.length) margin.append(el("span", { class: "guard", title: marks.guards.join("\n") }, `g${marks.guards.length}`));
  margin.append(" ".repeat(Math.max(0, 5 - margin.textContent.length)));
  return margin;
}

/** For each place what its margin shows, of one compile. */
function marksByPlace(made) {
  const found = new Map();
  const at = (place) => {
    if (!found.has(place)) found.set(place, { breaks: [], guards: [] });
    return found.get(place);
  };
  for (const [text, file, line] of made.guards) at(file * FILE + line).guards.push(text);
  for (const event of made.events) {
    if (event.place && ["graph break", "fallback", "note", "static sizes"].includes(event.kind)) at(event.place[0] * FILE + event.place[1]).breaks.push(event);
  }
  return found;
}

/** The source lines of the files that a compile comes from, the file of its own function first. */
function sourceRows(made, marks) {
  const files = new Set();
  for (const level of ["pyframe", "guard", "fx", ...made.levels.map((each) => each.name)]) {
    const text = made.levels.find((each) => each.name === level);
    if (text) for (const number of expand(text.text)) if (PLACES[number] >= 0) files.add(Math.floor(PLACES[number] / FILE));
  }
  for (const place of marks.keys()) files.add(Math.floor(place / FILE));
  const rows = [];
  const none = { breaks: [], guards: [] };
  for (const file of files) {
    const { name, parts } = DATA.files[file];
    rows.push({ text: parts.length ? name : `${name} (its source is not there)`, place: -1, file: true });
    for (const part of parts) {
      if (part !== parts[0]) rows.push({ text: "…", place: -1, file: true });
      part.lines.forEach((text, index) => {
        const place = file * FILE + part.first + index;
        rows.push({ text, place, number: part.first + index, marks: marks.get(place) || none });
      });
    }
  }
  return rows;
}

class LevelsView {
  constructor() {
    this.panes = [];
    this.reaches = new Map(); // place -> what the functions that are called there consist of
    this.callees = new Set();
    this.callers = [];
    this.related = new Set();
    this.whole = ""; // the chosen line, where a column shows only its beginning
    this.chips = el("span", { role: "group", "aria-label": "levels that are shown" });
    this.search = el("input", { type: "search", placeholder: "find in all columns ( / )", "aria-label": "find in all columns", oninput: () => this.find(0),
      onkeydown: (event) => { if (event.key === "Enter") { this.find(event.shiftKey ? -1 : 1); event.preventDefault(); } } });
    this.hits = el("span", { class: "dim" });
    this.columns = el("div", { class: "panes" });
    this.detail = el("div", { class: "detail", "aria-live": "polite" });
    this.node = el("section", {}, el("div", { class: "bar" }, this.chips, el("span", { class: "grow" }), this.hits, this.search), this.columns, this.detail);
    chosenPlace.listen((place, origin) => this.follow(origin));
    hoveredPlace.listen(() => this.panes.forEach((pane) => pane.markAll()));
  }
  show(number) {
    const made = compileAt(number);
    const marks = marksByPlace(made);
    this.marks = marks;
    this.made = made;
    this.reaches = new Map();
    for (const [file, line, ...rest] of made.reaches) {
      const places = new Set();
      for (let at = 0; at < rest.length; at += 2) places.add(rest[at] * FILE + rest[at + 1]);
      this.reaches.set(file * FILE + line, places);
    }
    this.relate();
    const source = new Pane(this, "source", sourceRows(made, marks), "python");
    const texts = [...made.levels].sort((a, b) => ORDER.indexOf(a.name) - ORDER.indexOf(b.name));
    this.panes = [source, ...texts.map(({ name, text }) => {
      const rows = Array.from(expand(text), (line, index) => ({ text: LINES[line], place: PLACES[line], number: index + 1 }));
      return new Pane(this, name, rows, LANGUAGE_OF[name] || "ir");
    })];
    this.columns.replaceChildren(...this.panes.map((pane) => pane.node));
    this.chips.replaceChildren(...this.panes.map((pane) => this.chip(pane)));
    const own = made.levels.find((each) => each.name === "pyframe");
    if (own && chosenPlace.value < 0) {
      const first = Array.from(expand(own.text)).map((line) => PLACES[line]).find((place) => place >= 0);
      if (first !== undefined) source.list.reveal(Math.max(0, (source.byPlace.get(first) || [0])[0] - 1));
    }
    this.follow(null);
  }
  chip(pane) {
    const shown = WANTED.has(pane.name);
    pane.node.hidden = !shown;
    pane.node.style.display = shown ? "" : "none";
    return el("button", { type: "button", class: "chip", "aria-pressed": String(shown), "data-chip": pane.name, onclick: (event) => {
      if (WANTED.has(pane.name)) WANTED.delete(pane.name);
      else WANTED.add(pane.name);
      const now = WANTED.has(pane.name);
      event.currentTarget.setAttribute("aria-pressed", String(now));
      pane.node.hidden = !now;
      pane.node.style.display = now ? "" : "none";
      if (now) pane.follow(null);
    } }, pane.name);
  }
  /** What the chosen place calls, and what calls it. */
  relate() {
    const place = chosenPlace.value;
    this.callees = this.reaches.get(place) || new Set();
    this.callers = [...this.reaches].filter(([, places]) => places.has(place)).map(([caller]) => caller);
    this.related = new Set([...this.callees, ...this.callers]);
  }
  follow(origin) {
    this.relate();
    this.describe(); // first, as what is below may grow and take room from the columns
    this.panes.forEach((pane) => pane.follow(origin));
    if (origin && origin.list) origin.list.reveal(origin.list.active);
  }
  /** What is below the columns. */
  describe() {
    const place = chosenPlace.value, marks = this.marks && this.marks.get(place);
    if (place < 0 && !this.whole) {
      this.detail.replaceChildren(el("span", { class: "dim" }, "Choose a line in any column (click, or arrow keys and Enter): what it came from and what became of it is marked in all of them."));
      return;
    }
    const where = this.panes.filter((pane) => pane.byPlace.has(place)).map((pane) => `${pane.name} ${pane.byPlace.get(place).length}`);
    const parts = place < 0 ? [] : [el("div", {}, el("b", {}, placeName(place)), ` · lines at each level: ${where.join(", ") || "none"}`)];
    const go = (to) => el("button", { type: "button", onclick: () => chosenPlace.set(to) }, placeName(to));
    if (this.callers.length) parts.push(el("div", {}, "called from ", ...this.callers.slice(0, 20).map(go)));
    if (this.callees.size) parts.push(el("div", { class: "dim" }, `calls functions of ${this.callees.size} lines, which are marked more faintly`));
    for (const event of marks ? marks.breaks : []) parts.push(el("div", { class: "bad" }, `${event.kind}: ${event.text}`));
    if (marks && marks.guards.length) {
      parts.push(el("div", { class: "guard" }, `${marks.guards.length} guards were asked for by this line:`), el("ul", {}, ...marks.guards.slice(0, 50).map((text) => el("li", { class: "code" }, text))));
    }
    if (this.whole) parts.push(el("div", { class: "code whole" }, this.whole));
    this.detail.replaceChildren(...parts);
  }
  find(by) {
    const found = this.panes.filter((pane) => !pane.node.hidden).reduce((sum, pane) => sum + pane.find(this.search.value, by), 0);
    this.hits.textContent = by && this.search.value ? `${found} lines` : "";
  }
  step(by) {
    this.panes.filter((pane) => !pane.node.hidden).forEach((pane) => pane.step(by));
  }
}
