"""The report in a browser: everything can be reached and read, lines are marked through all levels, nothing goes wrong, and long lists stay short."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import lect
from lect.runtime.report.page import html, write_report
from tests.report.browser import Browser, missing
from tests.report.programs import data_in, everything, level, outer, source_line, spread

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
TABS = ("overview", "levels", "passes", "fusion", "timeline", "memory", "guards", "events", "recordings")
MARKED = "[...document.querySelectorAll('[data-level={}] .row.{}')].map((row) => Number(row.dataset.index))"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    opened = Browser()
    yield opened
    opened.close()


@pytest.fixture(autouse=True)
def nothing_goes_wrong(browser) -> Iterator[None]:
    """The page gives no error and no warning, and loads nothing but itself."""
    browser.problems.clear()
    browser.loaded.clear()
    browser.prefer("light")
    yield
    assert browser.problems == []
    assert all(url == "about:blank" or url.startswith("file:") and url.partition("#")[0].endswith(".html") for url in browser.loaded)


@pytest.fixture(scope="module")
def spread_page(tmp_path_factory) -> Path:
    return lect.explain(spread)(torch.randn(64, 32)).report(tmp_path_factory.mktemp("report") / "spread.html")


@pytest.fixture(scope="module")
def full_page(tmp_path_factory) -> Path:
    return write_report(everything(), tmp_path_factory.mktemp("report") / "all.html")


def lines_at(data: dict[str, Any], place: int, name: str) -> list[int]:
    """The rows of a level that come from a place of the source."""
    return [row for row, number in enumerate(level(data, 0, name)) if data["places"][number] == place]


def source_row(browser: Browser, place: int) -> int:
    """The row of the source column that shows a place."""
    number = place % 1_000_000
    return browser.ask(f"Number([...document.querySelectorAll('[data-level=source] .row')].find((row) => row.querySelector('.number')?.textContent === '{number}').dataset.index)")


def test_a_source_line_that_is_clicked_is_marked_at_all_levels(browser, spread_page):
    data = data_in(spread_page)
    place = source_line(data, "h = F.gelu(x) * 2")
    browser.open(spread_page, "#levels")
    row = source_row(browser, place)
    browser.click(f"[data-level=source] .row[data-index='{row}']")
    assert browser.ask(MARKED.format("source", "chosen")) == [row]
    for name in ("fx", "functional", "loop", "kernel", "llvm"):
        shown = browser.ask(f"[...document.querySelectorAll('[data-level={name}] .row')].map((row) => Number(row.dataset.index))")
        wanted = lines_at(data, place, name)
        assert wanted and browser.ask(MARKED.format(name, "chosen")) == [each for each in wanted if each in shown], name
        assert wanted[0] in shown  # it was scrolled there
    assert "lines at each level" in browser.ask("document.querySelector('#part-levels .detail').textContent")


IN_VIEW = """(() => {
  const row = document.querySelector("[data-level=%s] .row.active"), list = row && row.closest("[data-level]");
  return row !== null && row.getBoundingClientRect().bottom <= list.getBoundingClientRect().bottom + 1 && row.getBoundingClientRect().top >= list.getBoundingClientRect().top;
})()"""


def test_a_line_at_the_bottom_stays_in_view_when_it_is_clicked(browser, spread_page, tmp_path):
    """What stands below the columns about the line takes its room from them."""
    path, name = tmp_path / "many.html", "loop"
    path.write_text(html(many(data_in(spread_page), 40)), encoding="utf-8")
    browser.open(path, "#levels")
    column = f"document.querySelector('[data-level={name}]')"
    rows = f"[...{column}.querySelectorAll('.row')].filter((row) => row.getBoundingClientRect().bottom <= {column}.getBoundingClientRect().bottom)"
    last = browser.ask(f"Math.max(...{rows}.filter((row) => row.textContent.includes(' = ')).map((row) => Number(row.dataset.index)))")
    chosen, height = f"[data-level={name}] .row[data-index='{last}']", browser.ask(f"{column}.clientHeight")
    hidden = browser.ask(f"{column}.getBoundingClientRect().bottom - document.querySelector(\"{chosen}\").getBoundingClientRect().bottom")
    browser.click(chosen)
    assert height - browser.ask(f"{column}.clientHeight") > hidden  # else it would be in view by itself
    assert all(browser.ask(IN_VIEW % each) for each in (name, "source", "functional", "kernel"))


def test_lines_of_other_columns_are_in_view_above_what_is_said_of_a_line(browser, full_page):
    data = data_in(full_page)
    browser.open(full_page, "#levels")
    row = source_row(browser, source_line(data, "y = torch.sin(x) + n"))
    source, shown = "document.querySelector('[data-level=source]')", f"document.querySelector(\"[data-level=source] .row[data-index='{row}']\")"
    browser.ask(f"{source}.scrollTop += {shown}.getBoundingClientRect().bottom - {source}.getBoundingClientRect().bottom")  # the last line of its column
    browser.settle()
    height = browser.ask(f"{source}.clientHeight")
    call = browser.ask("Number([...document.querySelectorAll('[data-level=fx] .row')].find((row) => row.textContent.includes('torch.sin')).dataset.index)")
    browser.click(f"[data-level=fx] .row[data-index='{call}']")
    assert browser.ask(f"{source}.clientHeight") < height
    assert browser.ask(IN_VIEW % "source")


def test_a_line_that_calls_functions_marks_what_they_do(browser, tmp_path):
    path = lect.explain(outer)(torch.randn(4, 8)).report(tmp_path / "calls.html")
    data = data_in(path)
    calling, called, other = [source_line(data, part) for part in ("return inner(x) + torch.cos(x)", "return torch.exp(deepest(x))", "return torch.tanh(x)")]
    browser.open(path, "#levels")
    browser.click(f"[data-level=source] .row[data-index='{source_row(browser, calling)}']")
    assert browser.ask(MARKED.format("functional", "chosen")) == lines_at(data, calling, "functional")
    assert browser.ask(MARKED.format("functional", "reached")) == sorted(lines_at(data, called, "functional") + lines_at(data, other, "functional"))
    browser.click(f"[data-level=functional] .row[data-index='{lines_at(data, other, 'functional')[0]}']")
    assert browser.ask(MARKED.format("source", "reached")) == sorted(source_row(browser, place) for place in (calling, called))
    assert browser.ask(MARKED.format("functional", "reached")) == []  # what its callers do besides is not of it
    browser.click("#part-levels .detail button")
    assert browser.ask(MARKED.format("source", "chosen")) in ([source_row(browser, calling)], [source_row(browser, called)])


def test_a_program_whose_source_is_not_there(browser, tmp_path):
    space: dict[str, Any] = {"torch": torch}
    exec(compile("def made(x):\n    return torch.sin(x) * 2\n", "<made here>", "exec"), space)
    path = lect.explain(space["made"])(torch.randn(3)).report(tmp_path / "made.html")
    browser.open(path, "#levels")
    assert "<made here> (its source is not there)" in browser.ask("document.querySelector('[data-level=source]').textContent")
    browser.click("[data-level=functional] .row[data-index='1']")
    assert browser.ask(MARKED.format("fx", "chosen")) == [1, 2]


def test_a_line_that_is_too_long_for_a_column_is_shown_whole_below(browser, spread_page, tmp_path):
    data = data_in(spread_page)
    number = level(data, 0, "fx")[1]
    data["lines"][number] = "x" * 5000 + "the end"
    path = tmp_path / "long.html"
    path.write_text(html(data), encoding="utf-8")
    browser.open(path, "#levels")
    assert "more characters" in browser.ask("document.querySelector(\"[data-level=fx] .row[data-index='1']\").textContent")
    browser.click("[data-level=fx] .row[data-index='1']")
    assert browser.ask("document.querySelector('#part-levels .detail').textContent").endswith("the end")
    browser.click("[data-level=fx] .row[data-index='2']")
    assert "the end" not in browser.ask("document.querySelector('#part-levels .detail').textContent")


def test_an_operation_that_is_clicked_marks_its_source(browser, spread_page):
    data = data_in(spread_page)
    place = source_line(data, "return torch.softmax(h, dim=-1)")
    browser.open(spread_page, "#levels")
    browser.click(f"[data-level=functional] .row[data-index='{lines_at(data, place, 'functional')[0]}']")
    assert browser.ask(MARKED.format("source", "chosen")) == [source_row(browser, place)]
    browser.press("Escape")
    assert browser.ask(MARKED.format("source", "chosen")) == []


def test_a_line_under_the_pointer_is_marked_too(browser, spread_page):
    data = data_in(spread_page)
    place = source_line(data, "h = F.gelu(x) * 2")
    browser.open(spread_page, "#levels")
    browser.hover(f"[data-level=fx] .row[data-index='{lines_at(data, place, 'fx')[0]}']")
    assert browser.ask(MARKED.format("source", "hover")) == [source_row(browser, place)]
    assert browser.ask(MARKED.format("functional", "hover")) == lines_at(data, place, "functional")


def test_the_keyboard_goes_everywhere(browser, spread_page):
    data = data_in(spread_page)
    browser.open(spread_page, "#levels")
    browser.ask("document.querySelector('[data-level=functional]').focus()")
    browser.press("ArrowDown", 2)
    browser.press("Enter")
    lines = level(data, 0, "functional")
    assert browser.ask(MARKED.format("functional", "active")) == [1]
    assert data["places"][lines[1]] == source_line(data, "h = F.gelu(x) * 2")
    assert browser.ask(MARKED.format("functional", "chosen")) == [1, 2]
    browser.press("n")
    assert browser.ask(MARKED.format("functional", "active")) == [2]
    browser.press("End")
    assert browser.ask(MARKED.format("functional", "active")) == [len(lines) - 1]
    for number, name in enumerate(TABS, 1):
        browser.press(str(number))
        assert browser.ask("document.querySelector('#tabs [aria-selected=true]').textContent") == name
        assert browser.ask("[...document.querySelectorAll('main > section')].filter((each) => !each.hidden).map((each) => each.id)") == [f"part-{name}"]
    browser.press("?")
    assert browser.ask("document.getElementById('keys').open")
    browser.press("Escape")


def test_levels_can_be_shown_and_put_away(browser, spread_page):
    browser.open(spread_page, "#levels")
    wide = "[...document.querySelectorAll('.list[data-level]')].filter((each) => each.clientWidth).map((each) => each.dataset.level)"
    before = browser.ask(wide)
    browser.click(".chip[data-chip=guard]")
    assert set(browser.ask(wide)) == {*before, "guard"}
    browser.click(".chip[data-chip=fx]")
    assert "fx" not in browser.ask(wide)
    browser.click(".chip[data-chip=guard]")
    browser.click(".chip[data-chip=fx]")
    assert browser.ask(wide) == before


def test_a_word_is_found_in_all_columns(browser, spread_page):
    data = data_in(spread_page)
    browser.open(spread_page, "#levels")
    browser.press("/")
    browser.send("Input.insertText", text="erf")
    browser.press("Enter")
    wanted = [row for row, number in enumerate(level(data, 0, "loop")) if "erf" in data["lines"][number]]
    assert browser.ask(MARKED.format("loop", "found")) == wanted
    assert browser.ask(MARKED.format("loop", "active")) == wanted[:1]


def test_a_pass_shows_what_it_changed(browser, spread_page):
    browser.open(spread_page, "#passes")
    names = browser.ask("[...document.querySelectorAll('#part-passes .left .row')].map((row) => row.textContent)")
    inlining = next(index for index, name in enumerate(names) if "loop-inline" in name)
    browser.click(f"#part-passes .left .row[data-index='{inlining}']")
    removed, added = (browser.ask(f"[...document.querySelectorAll('#part-passes .right .row.{kind}')].map((row) => row.textContent)") for kind in ("removed", "added"))
    assert any("loop.nest @n0" in line for line in removed) and any("fused = [#loop.fuse<inline @n0, @n1" in line for line in added)
    assert not any("loop.nest @n0" in line for line in added)


def test_differences_are_what_turns_one_text_into_the_other(browser, spread_page):
    """On random texts: the lines that stay and go are the old text, those that stay and come the new one; a stretch that stays is not taken apart."""
    browser.open(spread_page, "#passes")
    source = Path(lect.runtime.report.__file__).with_name("diff.js").read_text(encoding="utf-8")
    script = (
        source.replace("class DiffList", "class DiffListAgain")
        + """
      let seed = 7;
      const random = (n) => { seed = (seed * 1103515245 + 12345) % 2147483648; return seed % n; };
      const wrong = [];
      for (let round = 0; round < 300; round++) {
        const a = Array.from({ length: random(40) }, () => random(1 + random(30)));
        const b = a.flatMap((line) => (random(5) === 0 ? [] : random(6) === 0 ? [line, 100 + random(9)] : [line]));
        const found = differences(a, b);
        const old = found.filter(([x]) => x >= 0).map(([x]) => x), now = found.filter(([, y]) => y >= 0).map(([, y]) => y);
        const same = found.filter(([x, y]) => x >= 0 && y >= 0).every(([x, y]) => a[x] === b[y]);
        if (old.join() !== a.map((_, i) => i).join() || now.join() !== b.map((_, i) => i).join() || !same) wrong.push([a, b]);
        const { rows, removed, added } = diffRows(a, b);
        const whole = rows.flatMap((row) => (row.kind === "gap" ? row.hidden : [row]));
        if (whole.filter((row) => row.kind !== "+").map((row) => row.line).join() !== a.join()) wrong.push(["rows", a, b]);
        if (whole.length !== a.length + added || removed !== whole.filter((row) => row.kind === "-").length) wrong.push(["counts", a, b]);
      }
      const long = Array.from({ length: 20000 }, (_, i) => i), other = long.map((i) => i + 50000);
      if (differences(long, other).length !== 40000) wrong.push("long");
      if (diffRows([1, 2, 3, 4, 5], [1, 2, 9, 4, 5]).rows.map((row) => row.kind).join("") !== "  -+  ") wrong.push("one line");
      wrong"""
    )
    assert browser.ask(f"(() => {{ {script.rpartition(';')[0]}; return wrong; }})()") == []


@pytest.mark.slow
def test_every_part_of_every_compile_can_be_seen(browser, full_page):
    browser.open(full_page)
    count = len(data_in(full_page)["compiles"])
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        for number in range(1, len(TABS) + 1):
            browser.press(str(number))
            browser.press("]", count)
            assert browser.ask("document.querySelector('main > section:not([hidden])').textContent.length") > 20


def test_what_a_program_says_is_not_run(browser, full_page):
    browser.open(full_page)
    for number in range(1, len(TABS) + 1):
        browser.press(str(number))
    browser.press("2")
    assert "<img src=x onerror" in browser.ask("document.querySelector('[data-level=source]').textContent")
    assert browser.ask("typeof window.hurt") == "undefined"
    assert browser.ask("document.querySelectorAll('img, iframe, object, embed, link').length") == 0
    assert browser.ask("document.scripts.length") == 2


def test_breaks_and_guards_are_in_the_margin(browser, full_page):
    data = data_in(full_page)
    browser.open(full_page, "#levels")
    row = source_row(browser, source_line(data, "y = torch.sin(x) + n"))
    assert browser.ask(f"document.querySelector(\"[data-level=source] .row[data-index='{row}'] .guard\").textContent") == "g3"
    cut = source_row(browser, source_line(data, "print(text"))
    browser.click(f"[data-level=source] .row[data-index='{cut}']")
    assert "LB0013" in browser.ask(f"document.querySelector(\"[data-level=source] .row[data-index='{cut}'] .break\").title")
    assert "graph break" in browser.ask("document.querySelector('#part-levels .detail').textContent")


def test_a_recompile_is_a_difference_of_guards(browser, full_page):
    browser.open(full_page, "#guards")
    text = browser.ask("document.querySelector('#part-guards').textContent")
    assert 'L["x"]' in text and "Tensor (5,)" in text and "LB0013" in text
    assert "helped: version 1 was made, as version 0: tensor of" in text and "was 4 and is 5: dynamic from now on" in text
    removed = browser.ask("[...document.querySelectorAll('#part-guards .removed')].map((row) => row.textContent)")
    added = browser.ask("[...document.querySelectorAll('#part-guards .added')].map((row) => row.textContent)")
    assert any("sizes = [4]" in line for line in removed) and any("#lect.size<s0>" in line for line in added)


def test_the_timeline_shows_compiles_stages_and_passes(browser, full_page):
    browser.open(full_page, "#timeline")
    bars = "[...document.querySelectorAll('#part-timeline g.hit title')].map((each) => each.textContent)"
    shown = browser.ask(bars)
    assert all(any(part in text for text in shown) for part in ("0: helped (version 0): ", "(stage emit)", "(pass of kernel"))
    ticks = "[...document.querySelectorAll('#part-timeline svg > text')].map((each) => parseFloat(each.textContent))"
    seen = browser.ask(ticks)
    assert len(seen) > 4 and seen == sorted(set(seen))
    before = len(browser.ask(bars))
    browser.click("#part-timeline .bar button:nth-of-type(4)")
    assert len(browser.ask(bars)) != before and browser.ask("document.querySelector('#part-timeline .picture').scrollLeft") == 0
    took = browser.ask("[...document.querySelectorAll('#part-timeline .list .row')].map((each) => parseFloat(each.textContent))")
    assert took[0] == max(took)  # what took longest comes first
    browser.click("#part-timeline .list .row")
    assert browser.ask("document.querySelectorAll('#part-timeline .picked').length") == 1


def test_events_can_be_filtered(browser, full_page):
    browser.open(full_page, "#events")
    browser.press("/")
    browser.send("Input.insertText", text="LB0022")
    browser.settle()
    assert browser.ask("[...document.querySelectorAll('#part-events .row')].length") == 1
    browser.press("Escape")
    browser.click("#part-events .row")
    assert "left_alone" in browser.ask("document.querySelector('#part-events .detail').textContent")


def test_light_and_dark(browser, spread_page):
    browser.open(spread_page)
    back = "getComputedStyle(document.body).backgroundColor"
    light = browser.ask(back)
    browser.prefer("dark")
    dark = browser.ask(back)
    assert light == "rgb(255, 255, 255)" and dark != light
    browser.click("#theme")
    assert browser.ask(back) == light
    browser.press("t")
    assert browser.ask(back) == dark
    browser.ask("localStorage.clear()")


CONTRAST = """(() => {
  const color = (name) => {
    const probe = document.createElement("span");
    probe.style.color = `var(${name})`;
    document.body.append(probe);
    const parts = getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number);
    probe.remove();
    const linear = parts.slice(0, 3).map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const ratio = (a, b) => { const [x, y] = [color(a), color(b)]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
  const texts = ["--text", "--dim", "--accent", "--bad", "--warn", "--good", "--word", "--name", "--string", "--number", "--type", "--remark"];
  const pairs = texts.map((name) => [name, "--back"]).concat(["--back", "--panel", "--chosen", "--reached", "--hover", "--active", "--added", "--removed", "--nest", "--library", "--own", "--result"].map((name) => ["--text", name]), [["--on-accent", "--accent"]]);
  return pairs.map(([a, b]) => [a, b, ratio(a, b)]).filter(([, , found]) => found < 4.5);
})()"""


def test_colours_can_be_read(browser, spread_page):
    """Text has a contrast of 4.5 to 1 at least, as WCAG 2 asks for (level AA)."""
    browser.open(spread_page)
    for scheme in ("light", "dark"):
        browser.prefer(scheme)
        assert browser.ask(CONTRAST) == []


def many(data: dict[str, Any], count: int) -> dict[str, Any]:
    """The report of a program with `count` kernels, made of one with a few."""
    data = json.loads(json.dumps(data))
    made = data["compiles"][0]
    for each in made["levels"]:
        each["text"] = each["text"] * (count // 2)
    (graph,) = made["fusion"]
    node = graph["nodes"][0]
    graph["nodes"] = [{**node, "name": f"n{number}", "from": [[start, 64] for start in {number - 1, number - 7} if start >= 0]} for number in range(count)]
    (plan,) = made["memory"]
    buffer = plan["buffers"][0]
    plan["steps"] = [f"n{number}" for number in range(count)]
    plan["live"] = [number % 99 for number in range(count)]
    plan["buffers"] = [{**buffer, "name": f"n{number}", "slot": None, "kind": "own", "first": number, "last": min(number + 300, count - 1)} for number in range(count)]
    data["events"] = data["events"] * count
    return data


def test_of_a_thousand_kernels_only_what_is_in_view_is_in_the_document(browser, spread_page, tmp_path):
    path = tmp_path / "many.html"
    path.write_text(html(many(data_in(spread_page), 1000)), encoding="utf-8")
    browser.open(path)
    for number in range(1, len(TABS) + 1):
        browser.press(str(number))
        assert browser.ask("document.querySelectorAll('main > section:not([hidden]) *').length") < 8000, TABS[number - 1]
    browser.press("2")
    assert browser.ask("Math.max(...[...document.querySelectorAll('[data-level]')].map((each) => each.querySelectorAll('.row').length))") < 120
    assert browser.ask("document.querySelector('[data-level=kernel] .space').clientHeight") > 100_000
    browser.ask("document.querySelector('[data-level=kernel]').focus()")
    browser.press("End")
    assert "}" in browser.ask("document.querySelector('[data-level=kernel] .row.active').textContent")
    browser.press("4")
    assert 0 < browser.ask("document.querySelectorAll('#part-fusion g.hit').length") < 100
    browser.ask("document.querySelector('#part-fusion .picture').scrollTop = 1e9")
    browser.settle()
    assert browser.ask("document.querySelector('[data-node=n999]') !== null")


def test_nodes_of_the_fusion_graph_do_not_lie_on_each_other(browser, spread_page, tmp_path):
    path = tmp_path / "many.html"
    path.write_text(html(many(data_in(spread_page), 60)), encoding="utf-8")
    browser.open(path, "#fusion")
    boxes = browser.ask(
        "[...document.querySelectorAll('#part-fusion g.hit rect')].map((r) => ['x', 'y', 'width', 'height'].map((name) => Number(r.getAttribute(name))))"
    )
    assert len(boxes) > 5
    for number, (x, y, width, height) in enumerate(boxes):
        for a, b, _, _ in boxes[:number]:
            assert abs(x - a) >= width or abs(y - b) >= height


def test_a_node_says_what_it_is_and_leads_to_its_lines(browser, spread_page):
    browser.open(spread_page, "#fusion")
    browser.click("#part-fusion g.hit")
    side = browser.ask("document.querySelector('#part-fusion .side').textContent")
    assert "gelu" in side and "softmax" in side and "saves 16.0 KiB" in side and "graph output" in side
    browser.click("#part-fusion .side button")
    assert browser.ask("document.querySelector('#tabs [aria-selected=true]').textContent") == "levels"
    assert "loop.nest @n2(" in browser.ask("document.querySelector('[data-level=loop] .row.active').textContent")


def test_a_report_of_nothing(browser, spread_page, tmp_path):
    path = tmp_path / "nothing.html"
    path.write_text(html({**data_in(spread_page), "compiles": [], "events": [], "files": [], "lines": [], "places": []}), encoding="utf-8")
    browser.open(path)
    for number in range(1, len(TABS) + 1):
        browser.press(str(number))
    browser.press("]")
    assert "Nothing was compiled" in browser.ask("document.querySelector('#part-overview').textContent")
