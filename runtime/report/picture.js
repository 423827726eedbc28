// Pictures: SVG of which only what is in view is in the document.

const SVG = "http://www.w3.org/2000/svg";

/** An SVG element; `title` becomes its tooltip. */
function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "title") { const tip = document.createElementNS(SVG, "title"); tip.textContent = value; made.append(tip); }
    else if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** Text that is cut to a width in pixels. */
function svgText(x, y, text, width, attributes = {}) {
  const most = Math.max(0, Math.floor(width / 7.2));
  return svg("text", { x, y, ...attributes }, text.length > most ? (most > 2 ? `${text.slice(0, most - 1)}…` : "") : text);
}

class Picture {
  /** `draw(view)` gives the elements that lie in `view` = {left, top, right, bottom}; `key(event)` may handle a key. */
  constructor({ label, draw, key = () => false }) {
    this.drawing = draw;
    this.root = svg("svg", {});
    this.node = el("div", { class: "picture", tabindex: "0", role: "img", "aria-label": label }, this.root);
    this.node.addEventListener("scroll", () => this.draw());
    this.node.addEventListener("keydown", (event) => { if (key(event)) event.preventDefault(); });
    new ResizeObserver(() => this.draw()).observe(this.node);
    this.width = this.height = 0;
  }
  size(width, height) {
    this.width = width;
    this.height = height;
    this.root.setAttribute("width", Math.max(1, width));
    this.root.setAttribute("height", Math.max(1, height));
    this.draw();
  }
  draw() {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.node;
    if (!clientWidth) return;
    const view = { left: scrollLeft - 100, top: scrollTop - 100, right: scrollLeft + clientWidth + 100, bottom: scrollTop + clientHeight + 100 };
    this.root.replaceChildren(...this.drawing(view));
  }
  reveal(x, y) {
    const { scrollLeft, scrollTop, clientWidth, clientHeight } = this.node;
    if (x < scrollLeft + 40 || x > scrollLeft + clientWidth - 200) this.node.scrollLeft = Math.max(0, x - clientWidth / 2);
    if (y < scrollTop + 40 || y > scrollTop + clientHeight - 80) this.node.scrollTop = Math.max(0, y - clientHeight / 2);
    this.draw();
  }
}
