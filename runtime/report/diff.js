// What differs between two texts, given as numbers of lines: lines that are once in both are kept in place, and so is what is equal around them.

/** Pairs [line of a or -1, line of b or -1], in order. */
function differences(a, b) {
  const out = [];
  compare(a, 0, a.length, b, 0, b.length, out);
  return out;
}

const MOST_CELLS = 400000; // of the table for a short stretch without lines that are once in both

function compare(a, a0, a1, b, b0, b1, out) {
  while (a0 < a1 && b0 < b1 && a[a0] === b[b0]) out.push([a0++, b0++]);
  const tail = [];
  while (a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]) tail.push([--a1, --b1]);
  if (a0 === a1 || b0 === b1) replace(a0, a1, b0, b1, out);
  else {
    const anchors = uniquePairs(a, a0, a1, b, b0, b1);
    if (anchors.length) {
      for (const [x, y] of anchors) {
        compare(a, a0, x, b, b0, y, out);
        out.push([x, y]);
        a0 = x + 1;
        b0 = y + 1;
      }
      compare(a, a0, a1, b, b0, b1, out);
    } else if ((a1 - a0) * (b1 - b0) <= MOST_CELLS) shortest(a, a0, a1, b, b0, b1, out);
    else replace(a0, a1, b0, b1, out);
  }
  while (tail.length) out.push(tail.pop());
}

function replace(a0, a1, b0, b1, out) {
  while (a0 < a1) out.push([a0++, -1]);
  while (b0 < b1) out.push([-1, b0++]);
}

/** The longest rising sequence of pairs of lines that are once in both stretches. */
function uniquePairs(a, a0, a1, b, b0, b1) {
  const inA = new Map(), inB = new Map();
  for (let i = a0; i < a1; i++) inA.set(a[i], inA.has(a[i]) ? -1 : i);
  for (let i = b0; i < b1; i++) inB.set(b[i], inB.has(b[i]) ? -1 : i);
  const piles = []; // the last pair of the best sequence of each length
  for (let i = b0; i < b1; i++) {
    const x = inA.get(b[i]);
    if (x === undefined || x < 0 || inB.get(b[i]) < 0) continue;
    let low = 0, high = piles.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (piles[middle].x < x) low = middle + 1;
      else high = middle;
    }
    piles[low] = { x, y: i, before: low ? piles[low - 1] : null };
  }
  const found = [];
  for (let last = piles[piles.length - 1]; last; last = last.before) found.push([last.x, last.y]);
  return found.reverse();
}

/** The longest common subsequence, by its table. */
function shortest(a, a0, a1, b, b0, b1, out) {
  const width = b1 - b0 + 1, rows = a1 - a0;
  const table = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = width - 2; j >= 0; j--) {
      table[i * width + j] = a[a0 + i] === b[b0 + j]
        ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  let i = 0, j = 0;
  while (i < rows && j < width - 1) {
    if (a[a0 + i] === b[b0 + j]) out.push([a0 + i++, b0 + j++]);
    else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) out.push([a0 + i++, -1]);
    else out.push([-1, b0 + j++]);
  }
  replace(a0 + i, a1, b0 + j, b1, out);
}

/** Rows of a diff: {kind: " ", "-", "+" or "gap", ...}; stretches of equal lines are folded but for `context` at their ends. */
function diffRows(a, b, context = 3) {
  const rows = [];
  let removed = 0, added = 0, equal = [];
  const flush = (last) => {
    const first = rows.length === 0, head = first ? 0 : context, tail = last ? 0 : context;
    if (equal.length > head + tail + 1) {
      for (const pair of equal.slice(0, head)) rows.push({ kind: " ", line: a[pair[0]], number: pair[1] });
      rows.push({ kind: "gap", hidden: equal.slice(head, equal.length - tail).map((pair) => ({ kind: " ", line: a[pair[0]], number: pair[1] })) });
      for (const pair of tail ? equal.slice(-tail) : []) rows.push({ kind: " ", line: a[pair[0]], number: pair[1] });
    } else for (const pair of equal) rows.push({ kind: " ", line: a[pair[0]], number: pair[1] });
    equal = [];
  };
  for (const pair of differences(a, b)) {
    if (pair[0] >= 0 && pair[1] >= 0) { equal.push(pair); continue; }
    if (equal.length) flush(false);
    if (pair[0] >= 0) { removed++; rows.push({ kind: "-", line: a[pair[0]], number: pair[0] }); }
    else { added++; rows.push({ kind: "+", line: b[pair[1]], number: pair[1] }); }
  }
  flush(true);
  return { rows, removed, added };
}

/** A list that shows a diff. A folded stretch opens when it is chosen. */
class DiffList {
  constructor(label) {
    this.rows = [];
    this.list = new VirtualList({ label, render: (row, index) => this.render(row, index), activate: (index) => this.open(index),
      hover: (index) => hoveredPlace.set(index < 0 || this.rows[index].kind === "gap" ? -1 : PLACES[this.rows[index].line]) });
    this.node = this.list.node;
    const mark = () => { for (const [index, row] of this.list.rows) this.mark(row, index); };
    chosenPlace.listen(mark);
    hoveredPlace.listen(mark);
  }
  show(a, b) {
    const { rows, removed, added } = diffRows(a, b);
    this.rows = rows;
    this.resize();
    const change = rows.findIndex((row) => row.kind === "-" || row.kind === "+");
    this.list.node.scrollTop = 0;
    this.list.setActive(-1);
    if (change >= 0) this.list.reveal(change);
    return { removed, added };
  }
  resize() {
    this.list.setCount(this.rows.length, this.rows.reduce((most, row) => Math.max(most, row.kind === "gap" ? 0 : LINES[row.line].length), 0) + 10);
  }
  render(row, index) {
    const line = this.rows[index];
    if (line.kind === "gap") {
      row.classList.add("gap");
      row.textContent = `⋯ ${line.hidden.length} equal lines`;
      return;
    }
    row.append(el("span", { class: "number" }, String(line.number + 1)), `${line.kind} `);
    paint(row, LINES[line.line], "ir");
    row.title = placeName(PLACES[line.line]);
    row.classList.toggle("removed", line.kind === "-");
    row.classList.toggle("added", line.kind === "+");
    this.mark(row, index);
  }
  mark(row, index) {
    const line = this.rows[index];
    const place = line.kind === "gap" ? -1 : PLACES[line.line];
    row.classList.toggle("chosen", place >= 0 && place === chosenPlace.value);
    row.classList.toggle("hover", place >= 0 && place === hoveredPlace.value);
  }
  open(index) {
    const line = this.rows[index];
    if (line.kind !== "gap") { if (PLACES[line.line] >= 0) chosenPlace.set(PLACES[line.line], this); return; }
    this.rows.splice(index, 1, ...line.hidden);
    this.resize();
  }
}
