// The memory plan: bytes that are live at each step, and below the life of each buffer in its piece of memory.

const CHART = 130, BAR = 20, LEFT = 110;

/** Operations are called @name, parameters %name. */
const sign = (buffer) => (buffer.kind === "consumed" ? "%" : "@");

/** A row for each buffer: slots have one each, a result in old memory has that of the old one, the others take the first that is free. */
function memoryRows(plan) {
  const rows = plan.slots.map((size, slot) => ({ label: `slot ${slot}`, size, until: -1 }));
  const own = [], of = new Map();
  for (const buffer of plan.buffers) {
    let row = null;
    if (buffer.slot !== null) row = rows[buffer.slot];
    else if (buffer.over && of.has(buffer.over)) row = of.get(buffer.over);
    else row = own.find((each) => each.kind === buffer.kind && each.until < buffer.first);
    if (!row) {
      row = { label: buffer.kind, kind: buffer.kind, until: -1 };
      own.push(row);
    }
    row.until = Math.max(row.until, buffer.last);
    buffer.row = row;
    if (!of.has(sign(buffer) + buffer.name)) of.set(sign(buffer) + buffer.name, row);
  }
  return [...rows, ...own];
}

class MemoryView {
  constructor() {
    this.which = el("select", { "aria-label": "function", onchange: () => this.fill(Number(this.which.value)) });
    this.summary = el("span", {}, "");
    this.picture = new Picture({ label: "memory plan; arrow keys go from buffer to buffer", draw: (view) => this.draw(view), key: (event) => this.key(event) });
    this.detail = el("div", { class: "detail", "aria-live": "polite" });
    this.node = el("section", {}, el("div", { class: "bar" }, this.which, this.summary), this.picture.node, this.detail);
  }
  show(number) {
    this.plans = compileAt(number).memory;
    this.which.replaceChildren(...this.plans.map((plan, index) => el("option", { value: index }, plan.function)));
    this.which.hidden = this.plans.length < 2;
    this.fill(0);
  }
  fill(number) {
    const plan = this.plan = this.plans[number] || null;
    this.picked = -1;
    if (!plan || !plan.steps.length) {
      this.plan = null;
      this.summary.textContent = "this compile has no buffers";
      this.detail.replaceChildren();
      this.picture.size(1, 1);
      return;
    }
    this.rows = memoryRows(plan);
    this.rows.forEach((row, index) => { row.y = CHART + 40 + index * (BAR + 3); });
    this.most = plan.live.reduce((a, b) => Math.max(a, b), Math.max(1, plan.peak));
    this.at = plan.live.reduce((best, size, index) => (size > plan.live[best] ? index : best), 0);
    this.summary.textContent = `predicted peak ${bytes(plan.peak)} beside ${bytes(plan.parameters)} of parameters · ${plan.slots.length} slots, ${bytes(plan.slots.reduce((a, b) => a + b, 0))} · ${plan.buffers.length} buffers, ${bytes(plan.buffers.reduce((sum, each) => sum + each.bytes, 0))}${plan.order ? ` · order: ${plan.order}` : ""}`;
    this.detail.replaceChildren(el("span", { class: "dim" }, "Above: bytes that are live at each step. Below: a bar for the life of each buffer; one row is one piece of memory. Choose a bar: click, or arrow keys."));
    this.fit();
  }
  fit() {
    if (!this.plan) return;
    const room = (this.picture.node.clientWidth || 1200) - LEFT - 30;
    this.step = Math.max(6, room / this.plan.steps.length);
    this.picture.size(LEFT + this.step * this.plan.steps.length + 20, CHART + 60 + this.rows.length * (BAR + 3));
  }
  draw(view) {
    if (!this.plan) return [];
    const { plan, step } = this, out = [];
    const x = (number) => LEFT + number * step, y = (size) => 16 + CHART - (size / this.most) * CHART;
    const first = Math.max(0, Math.floor((view.left - LEFT) / step)), last = Math.min(plan.live.length, Math.ceil((view.right - LEFT) / step));
    if (last > first && view.top < CHART + 40) {
      let path = `M${x(first)},${y(0)}`;
      for (let number = first; number < last; number++) path += ` L${x(number)},${y(plan.live[number])} L${x(number + 1)},${y(plan.live[number])}`;
      out.push(svg("path", { class: "area", d: `${path} L${x(last)},${y(0)} Z` }));
      out.push(svg("line", { class: "peak", x1: LEFT, x2: this.picture.width - 20, y1: y(plan.peak), y2: y(plan.peak), title: `predicted peak ${bytes(plan.peak)}` }));
      out.push(svg("text", { x: 8, y: y(plan.peak) + 12, class: "small" }, `peak ${bytes(plan.peak)}`));
      out.push(svg("text", { x: 8, y: y(0), class: "small" }, `${plan.steps.length} steps`));
      const late = this.at > plan.steps.length / 2;
      out.push(svgText(x(late ? this.at + 1 : this.at), y(0) + 14, `peak at step ${this.at}, @${plan.steps[this.at]}`, 400, { class: "small", "text-anchor": late ? "end" : "start" }));
    }
    for (const row of this.rows) {
      if (row.y > view.bottom || row.y + BAR < view.top) continue;
      out.push(svg("line", { class: "axis", x1: LEFT, x2: this.picture.width - 20, y1: row.y + BAR, y2: row.y + BAR }));
      out.push(svgText(8, row.y + 14, row.size === undefined ? row.label : `${row.label}: ${bytes(row.size)}`, LEFT - 10, { class: "small" }));
    }
    plan.buffers.forEach((buffer, number) => {
      const top = buffer.row.y, left = x(buffer.first), width = Math.max(3, (buffer.last - buffer.first + 1) * step - 1);
      if (top > view.bottom || top + BAR < view.top || left > view.right || left + width < view.left) return;
      out.push(svg("g", { class: "hit", onclick: () => this.pick(number), "data-buffer": number },
        svg("rect", { x: left, y: top, width, height: BAR - 2, rx: 2, class: `${buffer.kind}${number === this.picked ? " picked" : ""}`, title: this.describe(buffer) }),
        svgText(left + 3, top + 13, `${sign(buffer)}${buffer.name} ${bytes(buffer.bytes)}`, width - 4)));
    });
    return out;
  }
  describe(buffer) {
    const where = buffer.over ? `in the memory of ${buffer.over}` : { slot: `in slot ${buffer.slot}`, library: "allocated by the library", result: "returned", own: "memory of its own", consumed: "a parameter that is freed here" }[buffer.kind];
    return `${sign(buffer)}${buffer.name}, result ${buffer.at}: ${buffer.type}, ${bytes(buffer.bytes)}, ${where}, from step ${buffer.first} (@${this.plan.steps[buffer.first]}) to step ${buffer.last} (@${this.plan.steps[buffer.last]})`;
  }
  pick(number) {
    this.picked = number;
    const buffer = this.plan.buffers[number];
    this.detail.textContent = this.describe(buffer);
    this.picture.reveal(LEFT + buffer.first * this.step, buffer.row.y);
  }
  key(event) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (!by || !this.plan || !this.plan.buffers.length) return false;
    this.pick(Math.max(0, Math.min(this.plan.buffers.length - 1, this.picked + by)));
    return true;
  }
}
