// What was recorded, as the page was given it; and the one place and the one compile that are chosen.

const DATA = JSON.parse(document.getElementById("data").textContent);
const LINES = DATA.lines;
const PLACES = DATA.places; // of each line: file * 1,000,000 + line of the program, or -1
const FILE = 1000000;

/** The numbers of lines of a text, which is stored as pairs of a first one and how many follow each other. */
function expand(runs) {
  let count = 0;
  for (let i = 1; i < runs.length; i += 2) count += runs[i];
  const numbers = new Int32Array(count);
  let at = 0;
  for (let i = 0; i < runs.length; i += 2) {
    for (let k = 0; k < runs[i + 1]; k++) numbers[at++] = runs[i] + k;
  }
  return numbers;
}

function placeName(place) {
  return place < 0 ? "" : `${DATA.files[Math.floor(place / FILE)].name}:${place % FILE}`;
}

/** A value that others are told of when it changes. */
class Signal {
  constructor(value) {
    this.value = value;
    this.listeners = [];
  }
  set(value, origin = null) {
    if (value === this.value) return;
    this.value = value;
    for (const listener of this.listeners) listener(value, origin);
  }
  listen(listener) {
    this.listeners.push(listener);
  }
}

const chosenPlace = new Signal(-1);
const hoveredPlace = new Signal(-1);
const chosenCompile = new Signal(-1);
const chosenTab = new Signal("");

/** Nodes of a compile's fusion graphs and texts are looked up by what the compile is. */
const compileAt = (number) => DATA.compiles[number] || null;

function compileName(number) {
  const made = compileAt(number);
  const kind = made.backward ? "backward" : made.version === null ? outcomeOf(made).word : `version ${made.version}`;
  return `${number}: ${made.function} (${kind})`;
}

/** In a word, and a class for its colour, who runs what was compiled. */
function outcomeOf(made) {
  const of = (kind) => made.events.find((event) => event.kind === kind);
  if (of("fallback")) return { word: "eager", tone: "bad", event: of("fallback") };
  if (of("backward fallback")) return { word: "torch", tone: "warn", event: of("backward fallback") };
  if (of("note")) return { word: "torch", tone: "warn", event: of("note") };
  if (of("graph break")) return { word: "cut", tone: "warn", event: of("graph break") };
  return { word: "native", tone: "good", event: null };
}

function bytes(number) {
  if (number < 1024) return `${number} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = number / 1024, unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; unit++; }
  return `${value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

const milliseconds = (seconds) => `${(seconds * 1000).toFixed(seconds < 0.01 ? 2 : 1)} ms`;
