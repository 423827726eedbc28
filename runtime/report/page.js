// The page as a whole: parts, the chosen compile, light and dark, keys.

const VIEWS = {};
const PARTS = { overview: OverviewView, levels: LevelsView, passes: PassesView, fusion: FusionView, timeline: TimelineView, memory: MemoryView, guards: GuardsView, events: EventsView, recordings: RecordingsView };
const TABS = Object.keys(PARTS);
const NEEDS_COMPILE = new Set(["levels", "passes", "fusion", "timeline", "memory", "guards"]);
const shownCompile = {}; // part -> the compile that it shows

function showTab(name) {
  for (const button of document.querySelectorAll("#tabs button")) {
    const here = button.dataset.tab === name;
    button.setAttribute("aria-selected", String(here));
    button.tabIndex = here ? 0 : -1;
  }
  const main = document.getElementById("main");
  if (!VIEWS[name]) {
    const empty = NEEDS_COMPILE.has(name) && !DATA.compiles.length;
    VIEWS[name] = empty ? { node: el("section", {}, el("p", { class: "empty" }, "Nothing was compiled.")), show() {} } : new PARTS[name]();
    VIEWS[name].node.id = `part-${name}`;
    VIEWS[name].node.setAttribute("role", "tabpanel");
    main.append(VIEWS[name].node);
  }
  for (const section of main.children) section.hidden = section !== VIEWS[name].node;
  if (chosenCompile.value >= 0 && shownCompile[name] !== chosenCompile.value) {
    shownCompile[name] = chosenCompile.value;
    VIEWS[name].show(chosenCompile.value);
  }
}

function setTheme(name) {
  if (name) document.documentElement.dataset.theme = name;
  try { localStorage.setItem("lect-report-theme", name); } catch { /* a page from a file may have no storage */ }
}

function dark() {
  const named = document.documentElement.dataset.theme;
  return named ? named === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

const KEYS = [
  ["1 … 9", "the parts: overview, levels, passes, fusion, timeline, memory, guards, events, recordings"],
  ["[  ]", "previous and next compile"],
  ["arrows, PgUp, PgDn, Home, End", "move in a list or a picture"],
  ["Enter", "choose the line, node, event or compile: the levels mark what belongs to it"],
  ["n  N", "next and previous line of the chosen place, in all columns"],
  ["/", "find; Enter and Shift+Enter go on"],
  ["+  -", "zoom the timeline"],
  ["t", "light or dark"],
  ["Esc", "choose nothing"],
  ["?", "these keys"],
];

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
  if (event.key === "Escape") { chosenPlace.set(-1); if (typing) event.target.blur(); return; }
  if (typing) return;
  const step = { "]": 1, "[": -1 }[event.key];
  if (/^[1-9]$/.test(event.key)) chosenTab.set(TABS[Number(event.key) - 1]);
  else if (step && DATA.compiles.length) chosenCompile.set((chosenCompile.value + step + DATA.compiles.length) % DATA.compiles.length);
  else if ((event.key === "n" || event.key === "N") && chosenTab.value === "levels" && VIEWS.levels.step) VIEWS.levels.step(event.key === "n" ? 1 : -1);
  else if (event.key === "t") setTheme(dark() ? "light" : "dark");
  else if (event.key === "?") document.getElementById("keys").showModal();
  else if (event.key === "/") { const search = VIEWS[chosenTab.value].node.querySelector("input[type=search]"); if (search) search.focus(); }
  else return;
  event.preventDefault();
}

function start() {
  document.title = `lect: ${DATA.title}`;
  const title = document.getElementById("title");
  title.textContent = title.title = `lect: ${DATA.title}`;
  const select = document.getElementById("compile");
  select.append(...DATA.compiles.map((made, number) => el("option", { value: number }, compileName(number))));
  select.addEventListener("change", () => chosenCompile.set(Number(select.value)));
  const tabs = document.getElementById("tabs");
  tabs.append(...TABS.map((name) => el("button", { type: "button", role: "tab", "data-tab": name, "aria-controls": `part-${name}`, onclick: () => chosenTab.set(name) }, name)));
  tabs.addEventListener("keydown", (event) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!by) return;
    chosenTab.set(TABS[(TABS.indexOf(chosenTab.value) + by + TABS.length) % TABS.length]);
    tabs.querySelector('[aria-selected="true"]').focus();
    event.preventDefault();
  });
  document.getElementById("theme").addEventListener("click", () => setTheme(dark() ? "light" : "dark"));
  const keys = document.getElementById("keys");
  keys.append(el("h2", {}, "Keys"), el("table", {}, ...KEYS.map(([key, what]) => el("tr", {}, el("td", {}, el("kbd", {}, key)), el("td", {}, what)))),
    el("form", { method: "dialog" }, el("button", {}, "close")));
  document.getElementById("help").addEventListener("click", () => keys.showModal());
  document.addEventListener("keydown", pressed);
  try { const kept = localStorage.getItem("lect-report-theme"); if (kept) setTheme(kept); } catch { /* as above */ }
  chosenCompile.listen((number) => { select.value = number; showTab(chosenTab.value); });
  chosenTab.listen((name) => { showTab(name); try { history.replaceState(null, "", `#${name}`); } catch { /* not from every address */ } });
  addEventListener("hashchange", () => { const name = location.hash.slice(1); if (TABS.includes(name)) chosenTab.set(name); });
  const asked = location.hash.slice(1);
  chosenTab.set(TABS.includes(asked) ? asked : DATA.compiles.length > 1 ? "overview" : "levels");
  if (DATA.compiles.length) chosenCompile.set(0);
}

start();
