"""What README.md shows is what the tools print."""

from tests.meta.readme import README, refreshed


def test_commands_print_what_the_readme_shows():
    text = README.read_text(encoding="utf-8")
    assert refreshed(text) == text, "README.md shows old output; run `python -m tests.meta.readme`"


def test_a_wrong_output_is_found():
    assert refreshed("```console\n$ echo right\nwrong\n```\n") == "```console\n$ echo right\nright\n```\n"
