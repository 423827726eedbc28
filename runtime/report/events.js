// All events, with filters.

class EventsView {
  constructor() {
    this.off = new Set();
    this.start = DATA.events.length ? DATA.events[0].time : 0;
    this.filter = el("input", { type: "search", placeholder: "filter ( / )", "aria-label": "filter", oninput: () => this.fill() });
    this.count = el("span", { class: "dim" });
    const kinds = [...new Set(DATA.events.map((event) => event.kind))];
    this.chips = el("span", { role: "group", "aria-label": "kinds of events" }, ...kinds.map((kind) => el("button", { type: "button", class: "chip", "aria-pressed": "true", onclick: (event) => {
      if (this.off.has(kind)) this.off.delete(kind);
      else this.off.add(kind);
      event.currentTarget.setAttribute("aria-pressed", String(!this.off.has(kind)));
      this.fill();
    } }, kind)));
    this.list = new VirtualList({ label: "events", render: (row, index) => this.render(row, index), activate: (index) => this.open(index) });
    this.detail = el("div", { class: "detail", "aria-live": "polite" }, el("span", { class: "dim" }, "Choose an event: click, or arrow keys and Enter."));
    this.node = el("section", {}, el("div", { class: "bar" }, this.chips, el("span", { class: "grow" }), this.count, this.filter), this.list.node, this.detail);
    this.fill();
  }
  show() {}
  fill() {
    const wanted = this.filter.value.toLowerCase();
    this.rows = DATA.events.filter((event) => !this.off.has(event.kind) && `${event.kind} ${event.function} ${event.text}`.toLowerCase().includes(wanted));
    this.count.textContent = `${this.rows.length} of ${DATA.events.length}`;
    this.list.setCount(this.rows.length, this.rows.reduce((most, event) => Math.max(most, event.text.length), 0) + 60);
  }
  render(row, index) {
    const event = this.rows[index];
    row.classList.add("table");
    const cells = [[`+${milliseconds(event.time - this.start)}`, "8em", "dim"], [event.kind, "9em", OBSTACLES.has(event.kind) ? "warn" : "t-word"], [event.function, "18em", ""]];
    for (const [text, width, tone] of cells) {
      const cell = el("span", { class: tone }, text);
      cell.style.width = width;
      row.append(cell);
    }
    row.append(el("span", {}, event.text.slice(0, LONGEST)));
  }
  open(index) {
    const event = this.rows[index], shown = Object.entries(event).filter(([name, value]) => !["text", "place", "kind", "time"].includes(name) && value !== "" && value !== null);
    this.detail.replaceChildren(el("b", {}, `${event.kind}: `), event.text, el("table", {}, ...shown.map(([name, value]) => el("tr", {}, el("th", {}, name), el("td", { class: "code" }, typeof value === "string" ? value : JSON.stringify(value))))));
    if (event.place) chosenPlace.set(event.place[0] * FILE + event.place[1]);
  }
}
