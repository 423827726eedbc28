"""Messages that a compiled function logs: in order, at every call, under the levels of the moment."""

import functools
import logging

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
    LOGGER.removeHandler(handler)
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
    assert (stops(), versions()) == ([], 1)


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
