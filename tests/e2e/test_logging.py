"""Messages that a compiled function logs: in order, at every call, under the levels of the moment."""

import collections
import functools
import io
import logging
import logging.handlers

import pytest
import torch

import lect
from tests.e2e.support import same, stops, versions

LOGGER = logging.getLogger("lect.tests.logging")
NOTES = []


@functools.cache
def once(logger, text):
    logger.warning(text)


class Notes(logging.Handler):
    """Keeps each message with how many notes the program had made by then."""

    def emit(self, record):
        self.messages.append((record.levelname, record.getMessage(), len(NOTES), record.lineno))


@pytest.fixture(autouse=True)
def messages():
    lect.reset()
    NOTES.clear()
    once.cache_clear()
    handler = Notes()
    handler.messages = []
    LOGGER.addHandler(handler)
    LOGGER.setLevel(logging.INFO)
    LOGGER.propagate = False
    yield handler.messages
    LOGGER.handlers.clear()
    lect.reset()


def noisy(x):
    LOGGER.info("shape %s of %d", str(x.shape), 1)
    NOTES.append(1)
    LOGGER.debug("hidden")
    LOGGER.warning(f"{x.dtype} twice")
    NOTES.append(2)
    LOGGER.log(logging.ERROR, "done")
    return x + 1


def test_messages_are_logged_in_order_at_every_call(messages):
    compiled = lect.compile(noisy, options={"level": "fx"})
    x = torch.randn(3)
    for level in (logging.INFO, logging.INFO, logging.DEBUG, logging.ERROR):
        LOGGER.setLevel(level)
        NOTES.clear()
        messages.clear()
        noisy(x)
        want = list(messages)
        NOTES.clear()
        messages.clear()
        same(x + 1, compiled(x))
        assert messages == want
    assert set(stops()) == {"LB0013"}, "a handler of the program, which might write to what the function reads, gets them where they are logged"


def test_messages_that_no_code_of_the_program_gets_are_no_breaks(messages):
    written = io.StringIO()
    LOGGER.handlers[:] = [logging.StreamHandler(written)]
    LOGGER.handlers[0].setFormatter(logging.Formatter("%(levelname)s %(message)s %(lineno)d"))
    compiled = lect.compile(noisy, options={"level": "fx"})
    x = torch.randn(3)
    for level in (logging.INFO, logging.INFO, logging.DEBUG, logging.ERROR):
        LOGGER.setLevel(level)
        noisy(x)
        want = written.getvalue()
        written.seek(written.truncate(0))
        same(x + 1, compiled(x))
        assert written.getvalue() == want
        written.seek(written.truncate(0))
    assert (stops(), versions()) == ([], 1)


def how_often_kept(x):
    LOGGER.warning("one")
    y = x * len(LOGGER.handlers[0].buffer)
    LOGGER.info("two")
    return y + len(LOGGER.handlers[0].buffer)


@pytest.mark.parametrize("kind", [logging.handlers.BufferingHandler, logging.handlers.MemoryHandler])
def test_what_a_handler_of_the_library_keeps_is_read_behind_the_message(kind):
    kept = kind(100)
    LOGGER.handlers[:] = [kept]
    compiled = lect.compile(how_often_kept)
    for level in (logging.INFO, logging.WARNING, logging.ERROR, logging.INFO):
        LOGGER.setLevel(level)
        kept.buffer.clear()
        want = how_often_kept(torch.ones(2))
        kept.buffer.clear()
        same(want, compiled(torch.ones(2)))
    assert set(stops()) == {"LB0013"}


def test_what_a_handler_puts_into_a_queue_is_read_behind_the_message():
    messages = collections.deque()
    handler = logging.handlers.QueueHandler(messages)
    handler.enqueue = messages.append
    LOGGER.handlers[:] = [handler]

    def program(x):
        LOGGER.warning("one")
        return x * len(messages)

    compiled = lect.compile(program)
    for _ in range(2):
        messages.clear()
        want = program(torch.ones(2))
        messages.clear()
        same(want, compiled(torch.ones(2)))


def how_often_heard(x):
    LOGGER.warning("one")
    y = x * len(LOGGER.handlers[0].messages)
    LOGGER.info("two")
    return y + len(LOGGER.handlers[0].messages)


def test_what_a_handler_has_written_is_read_behind_the_message(messages):
    compiled = lect.compile(how_often_heard)
    for level in (logging.INFO, logging.WARNING, logging.ERROR, logging.INFO):
        LOGGER.setLevel(level)
        messages.clear()
        want = how_often_heard(torch.ones(2))
        messages.clear()
        same(want, compiled(torch.ones(2)))


def test_handler_that_comes_later_is_noticed(messages):
    own = LOGGER.handlers[0]
    LOGGER.handlers[:] = [logging.NullHandler()]
    LOGGER.handlers[0].messages = messages
    compiled = lect.compile(how_often_heard)
    same(how_often_heard(torch.ones(2)), compiled(torch.ones(2)))
    LOGGER.handlers[:] = [own]
    want = how_often_heard(torch.ones(2))
    messages.clear()
    same(want, compiled(torch.ones(2)))


def test_message_that_is_logged_once(messages):
    def program(x):
        once(LOGGER, "just once")
        return x + 1

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(3)
    for _ in range(3):
        same(x + 1, compiled(x))
    assert [text for _, text, _, _ in messages] == ["just once"]
    assert stops() == []


def test_message_with_a_tensor_is_logged_too(messages):
    def program(x):
        LOGGER.info("sum %s", x.sum())
        return x + 1

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.ones(3)
    same(x + 1, compiled(x))
    assert [text for _, text, _, _ in messages] == ["sum tensor(3.)"]


def test_message_that_is_logged_once_behind_another(messages):
    def program(x):
        LOGGER.info("first")
        once(LOGGER, "second")
        LOGGER.info("third")
        return x + 1

    compiled = lect.compile(program, options={"level": "fx"})
    x = torch.randn(3)
    same(x + 1, compiled(x))
    same(x + 1, compiled(x))
    assert [text for _, text, _, _ in messages] == ["first", "second", "third", "first", "third"]
