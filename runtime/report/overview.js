// The compiles in a table, and what they came to.

class OverviewView {
  constructor() {
    this.rows = [];
    const columns = ["compile", "runs", "stages", "operations at each level", "kernels", "guards", "what is in the way"];
    this.table = el("table", {}, el("thead", {}, el("tr", {}, ...columns.map((name) => el("th", {}, name)))), el("tbody", {}, ...DATA.compiles.map((made, number) => this.row(made, number))));
    const { lect, torch, python } = DATA.versions;
    this.node = el("section", {}, el("div", { class: "scroll" }, el("p", { class: "dim" }, `lect ${lect}, torch ${torch}, Python ${python}. `,
      DATA.more ? `${DATA.more} further compiles are left out. ` : "", "Choose a compile; the other parts of this page then show it."),
      DATA.compiles.length ? this.table : el("p", { class: "empty" }, "Nothing was compiled.")));
  }
  row(made, number) {
    const { word, tone, event } = outcomeOf(made);
    const stages = made.spans.map(([name, start, end]) => `${name} ${milliseconds(Math.max(0, (end || made.end) - start))}`).join(", ");
    const counts = made.levels.filter(({ name }) => !["host.py", "llvm", "ptx", "triton"].includes(name)).map(({ name, text }) => `${name} ${this.operations(text)}`).join(", ");
    const kernel = made.levels.find((level) => level.name === "kernel");
    const kernels = kernel ? Array.from(expand(kernel.text)).filter((line) => LINES[line].startsWith("kernel.func")).length : 0;
    const choose = () => chosenCompile.set(number);
    const row = el("tr", { class: "pick", tabindex: "0", onclick: choose, ondblclick: () => { choose(); chosenTab.set("levels"); },
      onkeydown: (key) => { if (key.key === "Enter") { choose(); chosenTab.set("levels"); key.preventDefault(); } } },
      el("td", {}, compileName(number)), el("td", { class: tone }, word), el("td", {}, stages), el("td", {}, counts), el("td", {}, String(kernels)), el("td", {}, String(made.guards.length)),
      el("td", { class: tone }, made.lost ? el("div", { class: "bad" }, `not all of it could be recorded: ${made.lost}`) : null, event ? `${event.kind}: ${event.text}` : ""));
    this.rows.push(row);
    return row;
  }
  operations(runs) {
    let count = 0;
    for (const line of expand(runs)) if (!/^\s*(\}|\^|$)/.test(LINES[line])) count++;
    return count;
  }
  show(number) {
    this.rows.forEach((row, index) => row.setAttribute("aria-selected", String(index === number)));
  }
}
