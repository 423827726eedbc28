// Recompiles as differences of guards, and what stands in the way: graph breaks and fallbacks with their hints.

const OBSTACLES = new Set(["graph break", "fallback", "note", "backward fallback", "static sizes", "not native", "hook refused", "wrong value"]);

/** For each recompile the guards that missed, and the compiles of the version that missed and of the new one. */
function recompiles() {
  const found = [];
  let missed = [];
  for (const event of DATA.events) {
    if (event.kind === "guard miss") missed.push(event);
    if (event.kind !== "recompile") continue;
    const misses = missed.filter((each) => each.function === event.function);
    missed = missed.filter((each) => each.function !== event.function);
    const to = DATA.compiles.findIndex((made) => made.function === event.function && made.events.some((each) => each.kind === "compile" && each.time >= event.time));
    const from = to < 0 || !misses.length ? -1
      : DATA.compiles.findIndex((made) => made.frame === DATA.compiles[to].frame && !made.backward && made.version === misses[0].version);
    found.push({ event, misses, from, to });
  }
  return found;
}

class GuardsView {
  constructor() {
    const found = recompiles(), obstacles = DATA.events.filter((event) => OBSTACLES.has(event.kind));
    this.always = [el("h3", {}, `Recompiles: ${found.length || "none"}`), ...found.flatMap((each) => this.recompile(each)),
      el("h3", {}, `What stands in the way: ${obstacles.length || "nothing"}`), ...(obstacles.length ? [this.obstacles(obstacles)] : [])];
    this.body = el("div", { class: "scroll", tabindex: "0" });
    this.node = el("section", {}, this.body);
  }
  show(number) {
    const parts = [...this.always];
    const guard = compileAt(number).levels.find((level) => level.name === "guard");
    const lines = guard ? expand(guard.text) : [];
    parts.push(el("h3", {}, `Guards of ${compileName(number)}: ${compileAt(number).backward ? "those of its forward" : `${lines.length ? lines.length - 2 : 0} operations`}`));
    if (guard) parts.push(el("div", { class: "diffbox" }, new VirtualList({ label: "guards", count: lines.length,
      columns: lines.reduce((most, line) => Math.max(most, LINES[line].length), 0),
      render: (row, index) => { paint(row, LINES[lines[index]], "ir"); row.title = placeName(PLACES[lines[index]]); row.classList.toggle("placed", PLACES[lines[index]] >= 0); },
      activate: (index) => { if (PLACES[lines[index]] >= 0) { chosenPlace.set(PLACES[lines[index]]); chosenTab.set("levels"); } } }).node));
    this.body.replaceChildren(...parts);
  }
  recompile({ event, misses, from, to }) {
    const parts = [el("p", {}, el("b", {}, `${event.function}: version ${event.versions}`), ` was made, as ${event.reason}`,
      ...(event.numbers || []).map((path) => ` · ${path} became a run-time number`), ...(event.sizes || []).map((change) => ` · ${change}: dynamic from now on`))];
    if (misses.length) parts.push(el("table", {}, el("tr", {}, ...["version", "guard", "of", "expected", "found", "asked for at"].map((name) => el("th", {}, name))),
      ...misses.map((miss) => el("tr", {}, el("td", {}, String(miss.version)), ...[miss.guard, miss.source, miss.expected, miss.found].map((text) => el("td", { class: "code" }, text)), el("td", {}, this.link(miss))))));
    const guards = [from, to].map((number) => (number < 0 ? null : compileAt(number).levels.find((level) => level.name === "guard")));
    if (guards[0] && guards[1]) {
      const diff = new DiffList("difference of the guards");
      diff.show(...guards.map((level) => bare(expand(level.text))));
      parts.push(el("div", { class: "dim" }, `guards of ${compileName(from)} and of ${compileName(to)}:`), el("div", { class: "diffbox" }, diff.node));
    }
    return parts;
  }
  obstacles(events) {
    const groups = new Map();
    for (const event of events) {
      const key = `${event.kind} ${event.number || ""} ${event.title || event.reason || ""}`;
      groups.set(key, [...(groups.get(key) || []), event]);
    }
    return el("div", {}, ...[...groups].map(([key, group]) => el("div", {}, el("h3", { class: "warn" }, `${key} (${group.length})`),
      group[0].hint ? el("div", { class: "dim" }, `hint: ${group[0].hint}`) : null,
      el("ul", {}, ...group.slice(0, 200).map((event) => el("li", {}, el("b", {}, event.function), " ", this.link(event), ` ${event.detail || event.text}`))))));
  }
  link(event) {
    if (!event.place) return el("span", {}, event.location || "");
    const place = event.place[0] * FILE + event.place[1];
    return el("button", { type: "button", onclick: () => {
      const number = DATA.compiles.findIndex((made) => made.function === event.function);
      if (number >= 0) chosenCompile.set(number);
      chosenPlace.set(place);
      chosenTab.set("levels");
    } }, placeName(place));
  }
}

/** The same lines, each as the first line with its text: two guards that other lines asked for are the same guard. */
function bare(lines) {
  if (!bare.first) {
    bare.first = new Map();
    LINES.forEach((text, number) => { if (!bare.first.has(text)) bare.first.set(text, number); });
  }
  return Array.from(lines, (line) => bare.first.get(LINES[line]));
}
