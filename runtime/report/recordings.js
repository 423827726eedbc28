// The recordings of device work when the page was written, what is not recorded and why, and what happened to recordings until then.

const ABOUT_RECORDINGS = new Set(["recording", "recording choice", "recording dropped", "recording off", "recording split"]);

class RecordingsView {
  constructor() {
    const { made, left } = DATA.recordings, told = DATA.events.filter((event) => ABOUT_RECORDINGS.has(event.kind));
    const start = DATA.events.length ? DATA.events[0].time : 0, total = made.reduce((sum, each) => sum + each.bytes, 0);
    const parts = [el("h3", {}, made.length ? `Recordings: ${made.length}, ${bytes(total)}` : "Nothing is recorded")];
    if (made.length) parts.push(this.table("recordings", ["graph", "sizes", "steps", "memory", "replays", "arguments copied", "addresses patched", "why it was made"],
      made.map((each) => [each.function, each.sizes, each.nodes, bytes(each.bytes), each.uses, each.copied, each.patched, each.reason])));
    parts.push(el("h3", {}, `Not recorded: ${left.length || "none"}`));
    if (left.length) parts.push(this.table("left", ["graph", "why"], left.map((each) => [each.function, each.reason])));
    parts.push(el("h3", {}, `What happened: ${told.length || "nothing"}`));
    if (told.length) parts.push(this.table("told", ["time", "event", "graph", "what"],
      told.map((event) => [`+${milliseconds(event.time - start)}`, event.kind, event.function, event.text])));
    this.node = el("section", {}, el("div", { class: "scroll", tabindex: "0" }, ...parts));
  }
  table(name, columns, rows) {
    return el("table", { "data-table": name }, el("thead", {}, el("tr", {}, ...columns.map((each) => el("th", {}, each)))),
      el("tbody", {}, ...rows.map((cells) => el("tr", {}, ...cells.map((each) => el("td", {}, String(each)))))));
  }
  show() {}
}
