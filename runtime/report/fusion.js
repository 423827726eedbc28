// The fusion graph: nests and library calls from top to bottom, what flows between them, and what was kept apart.

const BOX = { width: 196, height: 58, gapX: 22, gapY: 36 };

/** Places of all nodes: a node stands below all that it reads, under the middle of them; the longest chain below a node goes straight down. */
function layout(nodes) {
  const depth = [], layers = [];
  nodes.forEach((node, number) => {
    depth[number] = node.from.reduce((most, [from]) => Math.max(most, depth[from] + 1), 0);
    (layers[depth[number]] = layers[depth[number]] || []).push(number);
  });
  const x = [], below = nodes.map(() => 0); // below: how many layers hang on a node
  for (let number = nodes.length - 1; number >= 0; number--) {
    for (const [from] of nodes[number].from) below[from] = Math.max(below[from], below[number] + 1);
  }
  layers.forEach((layer) => {
    const wish = new Map(layer.map((number) => {
      const from = nodes[number].from.map(([each]) => x[each]).sort((a, b) => a - b);
      return [number, from.length ? from[from.length >> 1] : Infinity];
    }));
    layer.sort((a, b) => (wish.get(a) === wish.get(b) ? 0 : wish.get(a) - wish.get(b)) || below[b] - below[a] || a - b);
    let next = -Infinity;
    const step = BOX.width + BOX.gapX;
    layer.forEach((number) => {
      const wanted = wish.get(number) === Infinity ? (next === -Infinity ? 0 : next) : wish.get(number);
      x[number] = Math.max(wanted, next);
      next = x[number] + step;
    });
  });
  const least = x.reduce((a, b) => Math.min(a, b), 0);
  return nodes.map((node, number) => ({ x: x[number] - least + 60, y: depth[number] * (BOX.height + BOX.gapY) + 30 }));
}

class FusionView {
  constructor() {
    this.nodes = [];
    this.places = [];
    this.edges = [];
    this.picked = -1;
    this.showBlocked = el("input", { type: "checkbox", checked: true, onchange: () => this.picture.draw() });
    this.summary = el("span", { class: "dim" });
    this.which = el("select", { "aria-label": "function", onchange: () => this.fill(Number(this.which.value)) });
    this.picture = new Picture({ label: "fusion graph; arrow keys go from node to node, Enter opens the levels", draw: (view) => this.draw(view), key: (event) => this.key(event) });
    this.side = el("div", { class: "side", "aria-live": "polite" });
    this.node = el("section", {}, el("div", { class: "bar" }, this.which, el("label", {}, this.showBlocked, " fusions that were not done"), el("span", { class: "grow" }), this.summary),
      el("div", { class: "split" }, el("div", { class: "right" }, this.picture.node), this.side));
    chosenPlace.listen(() => this.picture.draw());
  }
  show(number) {
    this.graphs = compileAt(number).fusion;
    this.which.replaceChildren(...this.graphs.map((graph, index) => el("option", { value: index }, graph.function)));
    this.which.hidden = this.graphs.length < 2;
    this.fill(0);
  }
  fill(number) {
    const graph = this.graphs[number];
    this.nodes = graph ? graph.nodes : [];
    this.places = layout(this.nodes);
    this.byName = new Map(this.nodes.map((node, index) => [node.name, index]));
    this.edges = [];
    this.blocked = [];
    this.nodes.forEach((node, to) => {
      for (const [from, size] of node.from) this.edges.push({ from, to, size });
      for (const { other, why } of node.blocked || []) if (this.byName.has(other)) this.blocked.push({ from: this.byName.get(other), to, why });
    });
    this.pick(-1);
    const saved = this.nodes.reduce((sum, node) => sum + (node.fused || []).reduce((more, each) => more + each.saves, 0), 0);
    const nests = this.nodes.filter((node) => node.kind === "nest").length;
    this.summary.textContent = this.nodes.length ? `${nests} nests, ${this.nodes.length - nests} library calls, fusion saves ${bytes(saved)} of traffic` : "this compile has no loop level";
    const right = this.places.reduce((most, place) => Math.max(most, place.x), 0), low = this.places.reduce((most, place) => Math.max(most, place.y), 0);
    this.picture.size(right + BOX.width + 80, low + BOX.height + 60);
    if (this.nodes.length) this.picture.reveal(this.places[0].x, this.places[0].y);
  }
  curve(from, to, aside = 0) {
    const a = this.places[from], b = this.places[to];
    const x0 = a.x + BOX.width / 2 + aside, y0 = a.y + BOX.height, x1 = b.x + BOX.width / 2 + aside, y1 = b.y;
    const far = y1 - y0 > 2 * (BOX.height + BOX.gapY) && Math.abs(x0 - x1) < BOX.width;
    const bend = far ? BOX.width * 0.75 + Math.min(160, (y1 - y0) / 12) : 0;
    return `M${x0},${y0} C${x0 + bend},${y0 + 40} ${x1 + bend},${y1 - 40} ${x1},${y1}`;
  }
  inView(from, to, view) {
    const a = this.places[from], b = this.places[to];
    return Math.min(a.y, b.y) <= view.bottom && Math.max(a.y, b.y) + BOX.height >= view.top && Math.max(a.x, b.x) + 2 * BOX.width >= view.left && Math.min(a.x, b.x) - BOX.width <= view.right;
  }
  draw(view) {
    const out = [];
    for (const edge of this.edges) {
      if (this.inView(edge.from, edge.to, view)) out.push(svg("path", { class: "edge", d: this.curve(edge.from, edge.to), title: `@${this.nodes[edge.from].name} to @${this.nodes[edge.to].name}: ${bytes(edge.size)}` }));
    }
    if (this.showBlocked.checked) for (const edge of this.blocked) {
      if (this.inView(edge.from, edge.to, view)) out.push(svg("path", { class: "blocked", d: this.curve(edge.from, edge.to, 9), title: `not fused: ${edge.why}` }));
    }
    this.nodes.forEach((node, number) => {
      const { x, y } = this.places[number];
      if (y > view.bottom || y + BOX.height < view.top || x > view.right || x + BOX.width < view.left) return;
      const chosen = node.lines.some(([file, line]) => file * FILE + line === chosenPlace.value);
      out.push(svg("g", { class: "hit", onclick: () => this.pick(number), ondblclick: () => this.open(), "data-node": node.name },
        svg("rect", { x, y, width: BOX.width, height: BOX.height, rx: 6, class: `${node.kind}${number === this.picked ? " picked" : ""}${chosen ? " chosen" : ""}`, title: node.ops.join(", ") }),
        svgText(x + 8, y + 17, `@${node.name}${node.fused && node.fused.length ? `  (${node.fused.length + 1} fused)` : ""}`, BOX.width - 12),
        svgText(x + 8, y + 33, node.ops.join(", "), BOX.width - 12),
        svgText(x + 8, y + 49, `${node.space ? `${node.space}, ` : ""}${bytes(node.in)} in, ${bytes(node.out)} out`, BOX.width - 6, { class: "small" })));
    });
    return out;
  }
  pick(number) {
    this.picked = number;
    const node = this.nodes[number];
    this.picture.draw();
    if (!node) {
      this.side.replaceChildren(el("p", { class: "dim" }, "A box is a nest (one kernel or a part of one) or a call of a library. Choose one: click, or arrow keys. Dashed: fusions that were not done, with the reason."));
      return;
    }
    const line = (label, text) => (text ? el("div", {}, el("b", {}, `${label}: `), text) : null);
    const list = (label, items) => (items && items.length ? el("div", {}, el("b", {}, label), el("ul", {}, ...items.map((item) => el("li", {}, item)))) : null);
    this.side.replaceChildren(...[
      el("h2", {}, `@${node.name}`), line("kind", node.kind), line("operations", node.ops.join(", ")), line("index space", node.space),
      line("reads", bytes(node.in)), line("writes", bytes(node.out)), line("chosen", node.chosen),
      list("stored because", node.realize), list("fused", (node.fused || []).map((each) => `${each.how}: @${each.first}, @${each.second}, saves ${bytes(each.saves)}`)),
      list("not fused", (node.blocked || []).map((each) => `@${each.other}: ${each.why}`)),
      list("comes from", node.lines.map(([file, at]) => placeName(file * FILE + at))),
      node.lines.length ? el("button", { type: "button", onclick: () => this.open() }, "show in the levels") : null,
    ].filter(Boolean));
  }
  open() {
    const node = this.nodes[this.picked];
    if (!node || !node.lines.length) return;
    const [file, line] = node.lines[node.lines.length - 1];
    chosenPlace.set(file * FILE + line);
    chosenTab.set("levels");
    VIEWS.levels.panes.filter((pane) => pane.name === "loop").forEach((pane) => pane.jump(pane.rows.flatMap((row, index) => (row.text.includes(` @${node.name}(`) ? [index] : [])), 1));
  }
  key(event) {
    const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter") { this.open(); return true; }
    if (!by || !this.nodes.length) return false;
    this.pick(Math.max(0, Math.min(this.nodes.length - 1, this.picked + by)));
    const { x, y } = this.places[this.picked];
    this.picture.reveal(x, y);
    return true;
  }
}
