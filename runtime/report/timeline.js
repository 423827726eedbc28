// The first call in time: the compiles one behind the other, their stages, and the passes of these. What the program does between them is left out.

const LANE = 26;

class TimelineView {
  constructor() {
    this.items = [];
    let shift = 0;
    DATA.compiles.forEach((made, number) => {
      const last = Math.max(made.end, ...made.spans.map((span) => span[2]), ...made.steps.map((step) => step.end));
      const add = (lane, name, start, end, kind, detail) => this.items.push({ lane, name, start: start - made.start + shift, end: end - made.start + shift, kind, detail, compile: number });
      add(0, compileName(number), made.start, last, "own", made.function);
      for (const [name, start, end] of made.spans) add(1, name, start, end || last, name, `stage ${name}`);
      for (const step of made.steps) add(2, step.name, step.start, step.end, step.stage, `pass of ${step.stage}${step.text ? "" : ", changed nothing"}`);
      shift += last - made.start + 0.0005;
    });
    this.total = Math.max(shift, 1e-6);
    this.scale = 0;
    this.text = el("span", { class: "dim" }, "");
    this.picture = new Picture({ label: "timeline of compiling; plus and minus zoom", draw: (view) => this.draw(view), key: (event) => this.key(event) });
    this.picture.node.classList.add("short");
    this.table = [];
    this.list = new VirtualList({ label: "stages and passes by time", render: (row, index) => this.render(row, index), activate: (index) => this.pick(this.table[index]) });
    this.node = el("section", {}, el("div", { class: "bar" },
      el("button", { type: "button", title: "zoom in (+)", onclick: () => this.zoom(2) }, "+"), el("button", { type: "button", title: "zoom out (-)", onclick: () => this.zoom(0.5) }, "−"),
      el("button", { type: "button", onclick: () => this.fit() }, "all"), el("button", { type: "button", onclick: () => this.fitCompile() }, "this compile"), el("span", { class: "grow" }), this.text),
      this.picture.node, this.list.node);
    this.picture.node.style.flex = "0 0 170px";
  }
  show(number) {
    this.compile = number;
    this.table = this.items.filter((item) => item.compile === number && item.lane > 0).sort((a, b) => (b.end - b.start) - (a.end - a.start));
    this.list.setCount(this.table.length);
    const made = this.items.find((item) => item.compile === number && item.lane === 0);
    this.text.textContent = `compiling takes ${milliseconds(this.total)} in all, ${milliseconds(made.end - made.start)} for this one`;
    if (!this.scale) this.fit();
    else this.fitCompile();
  }
  fit() {
    this.setScale((Math.max(400, this.picture.node.clientWidth || 1200) - 30) / this.total);
    this.picture.node.scrollLeft = 0;
  }
  fitCompile() {
    const item = this.items.find((each) => each.compile === this.compile && each.lane === 0);
    this.setScale((Math.max(400, this.picture.node.clientWidth || 1200) - 30) / Math.max(item.end - item.start, 1e-6));
    this.picture.node.scrollLeft = item.start * this.scale;
  }
  setScale(scale) {
    this.scale = Math.min(scale, 3e6 / this.total);
    this.picture.size(this.total * this.scale + 20, 3 * LANE + 62);
  }
  zoom(by) {
    const { scrollLeft, clientWidth } = this.picture.node, middle = (scrollLeft + clientWidth / 2) / this.scale;
    this.setScale(this.scale * by);
    this.picture.node.scrollLeft = middle * this.scale - clientWidth / 2;
    this.picture.draw();
  }
  draw(view) {
    const out = [];
    const wish = 90 / this.scale, ten = 10 ** Math.floor(Math.log10(wish));
    const step = [1, 2, 5, 10].find((each) => each * ten >= wish) * ten;
    for (let at = Math.max(0, Math.floor(view.left / this.scale / step)) * step; at * this.scale < Math.min(view.right, this.picture.width); at += step) {
      out.push(svg("line", { class: "axis", x1: at * this.scale + 10, x2: at * this.scale + 10, y1: 18, y2: 3 * LANE + 50 }), svg("text", { class: "small", x: at * this.scale + 12, y: 14 }, milliseconds(at)));
    }
    for (const item of this.items) {
      const x = item.start * this.scale + 10, width = (item.end - item.start) * this.scale;
      if (x > view.right || x + width < view.left || width < 0.4) continue;
      const y = 26 + item.lane * (LANE + 6), left = Math.max(x, view.left + 100);
      out.push(svg("g", { class: "hit", onclick: () => this.pick(item) },
        svg("rect", { x, y, width, height: LANE, rx: 2, class: `${item.kind}${item === this.picked ? " picked" : ""}`, title: `${item.name}: ${milliseconds(item.end - item.start)} (${item.detail})` }),
        svgText(left + 4, y + 17, item.name, Math.min(x + width - left, width) - 6)));
    }
    return out;
  }
  render(row, index) {
    const item = this.table[index];
    row.classList.add("table");
    const time = el("span", {}, milliseconds(item.end - item.start)), name = el("span", {}, item.name);
    time.style.width = "7em";
    name.style.width = "24em";
    row.append(time, name, el("span", { class: "dim" }, item.detail));
  }
  pick(item) {
    this.picked = item;
    this.text.textContent = `${item.name}: ${milliseconds(item.end - item.start)} (${item.detail})`;
    if (item.lane === 0) chosenCompile.set(item.compile);
    this.picture.reveal(item.start * this.scale, 0);
  }
  key(event) {
    if (event.key === "+" || event.key === "=") this.zoom(2);
    else if (event.key === "-") this.zoom(0.5);
    else return false;
    return true;
  }
}
