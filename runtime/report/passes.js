// Pass by pass: what each changed.

class PassesView {
  constructor() {
    this.steps = [];
    this.onlyChanged = el("input", { type: "checkbox", checked: true, onchange: () => this.fill() });
    this.list = new VirtualList({ label: "passes", render: (row, index) => this.render(row, index), activate: (index) => this.open(index) });
    this.title = el("span", {}, "");
    this.diff = new DiffList("difference that a pass makes");
    this.node = el("section", {}, el("div", { class: "split" },
      el("div", { class: "left" }, el("div", { class: "bar" }, el("label", {}, this.onlyChanged, " only passes that changed something")), this.list.node),
      el("div", { class: "right" }, el("div", { class: "bar" }, this.title), this.diff.node)));
  }
  show(number) {
    const made = compileAt(number);
    const last = {};
    this.all = made.steps.map((step) => {
      const before = last[step.stage] || made.starts[step.stage];
      if (step.text) last[step.stage] = step.text;
      return { ...step, before };
    });
    this.fill();
  }
  fill() {
    this.steps = this.all.filter((step) => step.text || !this.onlyChanged.checked);
    this.list.setCount(this.steps.length);
    this.list.setActive(-1);
    this.title.textContent = this.steps.length ? "" : "no pass ran";
    this.diff.show([], []);
    const lowering = this.steps.findIndex((step) => step.text && step.stage !== "capture"); // what capture makes has no line of what was there before
    const first = lowering >= 0 ? lowering : this.steps.findIndex((step) => step.text);
    if (first >= 0) { this.list.setActive(first); this.open(first); }
  }
  render(row, index) {
    const step = this.steps[index];
    row.classList.add("table");
    row.classList.toggle("unchanged", !step.text);
    row.append(el("span", { class: "dim" }, step.stage), el("span", { class: "grow" }, step.name), el("span", { class: "dim" }, milliseconds(step.end - step.start)));
  }
  open(index) {
    const step = this.steps[index];
    const after = step.text ? expand(step.text) : null;
    const { removed, added } = this.diff.show(after ? expand(step.before || []) : [], after || []);
    this.title.replaceChildren(el("b", {}, step.name), ` (${step.stage}), ${milliseconds(step.end - step.start)}: `,
      step.text ? el("span", {}, el("span", { class: "bad" }, `−${removed}`), " ", el("span", { class: "good" }, `+${added}`), " lines") : "nothing changed");
  }
}
