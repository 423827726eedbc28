"""The extension module for these tests, which are skipped without it, and both ways in which other code is run."""

import pytest

from lect.runtime import frame_hook


@pytest.fixture
def fh():
    """The extension module, left as it was found."""
    if not frame_hook.available():
        pytest.skip(str(frame_hook.refusal()))
    from lect.runtime import _frame_hook

    yield _frame_hook
    assert _frame_hook.armed() is None
    assert _frame_hook.statistics()["armed threads"] == 0
    assert not _frame_hook.statistics()["installed"]


@pytest.fixture(params=["in place", "by call"])
def way(request, fh):
    """How other code is run: in the frame, or (as when the data stack is full) by a call."""
    fh.always_by_call(request.param == "by call")
    yield request.param
    fh.always_by_call(False)
