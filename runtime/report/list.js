// A list of any length of which only the rows in view are in the document.

const ROW = 18; // pixels, as in the style
const EXTRA = 12; // rows above and below the view

class VirtualList {
  /**
   * `render(row, index)` fills a row; `activate(index)` is called for Enter and a click; `hover(index)` for the pointer, -1 when it leaves.
   * `columns` is the length of the longest row in characters, so that the list scrolls sideways.
   */
  constructor({ label, count = 0, render, activate = () => {}, hover = null, columns = 0 }) {
    this.count = count;
    this.render = render;
    this.activate = activate;
    this.active = -1;
    this.first = 0;
    this.rows = new Map();
    this.space = el("div", { class: "space" });
    this.node = el("div", { class: "list", tabindex: "0", role: "listbox", "aria-label": label }, this.space);
    this.node.addEventListener("scroll", () => this.draw());
    this.node.addEventListener("keydown", (event) => this.key(event));
    this.node.addEventListener("click", (event) => {
      const index = this.indexOf(event.target);
      if (index >= 0) { this.setActive(index); this.activate(index); }
    });
    if (hover) {
      this.node.addEventListener("mouseover", (event) => hover(this.indexOf(event.target)));
      this.node.addEventListener("mouseleave", () => hover(-1));
    }
    this.setCount(count, columns);
    new ResizeObserver(() => this.draw()).observe(this.node);
  }
  indexOf(target) {
    const row = target instanceof Element ? target.closest(".row") : null;
    return row ? Number(row.dataset.index) : -1;
  }
  setCount(count, columns = 0) {
    this.count = count;
    this.space.style.height = `${count * ROW}px`;
    this.space.style.width = columns ? `${Math.min(columns, LONGEST + 40) + 12}ch` : "";
    if (this.active >= count) this.active = -1;
    this.refresh();
  }
  /** Draw all rows anew. */
  refresh() {
    for (const row of this.rows.values()) row.remove();
    this.rows.clear();
    this.draw();
  }
  draw() {
    const first = Math.max(0, Math.floor(this.node.scrollTop / ROW) - EXTRA);
    const last = Math.min(this.count, Math.ceil((this.node.scrollTop + this.node.clientHeight) / ROW) + EXTRA);
    for (const [index, row] of this.rows) {
      if (index < first || index >= last) { row.remove(); this.rows.delete(index); }
    }
    for (let index = first; index < last; index++) {
      if (this.rows.has(index)) continue;
      const row = document.createElement("div");
      row.className = "row";
      row.dataset.index = index;
      row.id = `${this.id()}-${index}`;
      row.setAttribute("role", "option");
      row.setAttribute("aria-posinset", index + 1);
      row.setAttribute("aria-setsize", this.count);
      row.style.top = `${index * ROW}px`;
      this.render(row, index);
      row.classList.toggle("active", index === this.active);
      row.setAttribute("aria-selected", index === this.active);
      this.rows.set(index, row);
      this.space.append(row);
    }
  }
  id() {
    if (!this.node.id) this.node.id = `list${VirtualList.made = (VirtualList.made || 0) + 1}`;
    return this.node.id;
  }
  setActive(index) {
    const before = this.rows.get(this.active);
    if (before) { before.classList.remove("active"); before.setAttribute("aria-selected", "false"); }
    this.active = index;
    const row = this.rows.get(index);
    if (row) { row.classList.add("active"); row.setAttribute("aria-selected", "true"); }
    if (index >= 0) this.node.setAttribute("aria-activedescendant", `${this.id()}-${index}`);
    else this.node.removeAttribute("aria-activedescendant");
  }
  /** Scroll so that a row is in view. */
  reveal(index) {
    if (index < 0 || index >= this.count) return;
    const top = index * ROW, height = this.node.clientHeight;
    if (top < this.node.scrollTop || top + ROW > this.node.scrollTop + height) this.node.scrollTop = Math.max(0, top - height / 3);
    this.draw();
  }
  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const page = Math.max(1, Math.floor(this.node.clientHeight / ROW) - 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    if (event.key in moves && this.count) {
      const start = this.active < 0 ? Math.floor(this.node.scrollTop / ROW) - Math.sign(moves[event.key]) : this.active;
      this.setActive(Math.max(0, Math.min(this.count - 1, start + moves[event.key])));
      this.reveal(this.active);
    } else if ((event.key === "Enter" || event.key === " ") && this.active >= 0) {
      this.activate(this.active);
    } else {
      return;
    }
    event.preventDefault();
  }
}
