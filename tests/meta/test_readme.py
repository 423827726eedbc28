"""What README.md and other pages show is what the tools print."""

import pytest

from tests.meta.readme import PAGES, refreshed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_shows(page):
    text = page.read_text(encoding="utf-8")
    assert refreshed(text) == text, f"{page.name} shows old output; run `python -m tests.meta.readme`"


def test_a_wrong_output_is_found():
    assert refreshed("```console\n$ echo right\nwrong\n```\n") == "```console\n$ echo right\nright\n```\n"
