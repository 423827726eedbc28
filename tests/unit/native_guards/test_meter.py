"""The checker of a process is made once, however many threads ask for it at once."""

import threading
import time

from lect.ir import LectError
from lect.runtime import native_guards
from lect.runtime.native_guards import Meter


def asked_by_threads(meter, count=4):
    answers, begin = [], threading.Barrier(count)

    def ask():
        begin.wait()
        answers.append((meter.ready(1, True, None), meter.checker))

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers


def test_threads_share_one_checker(monkeypatch):
    made = []

    def slowly(store):
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    monkeypatch.setattr(native_guards, "make_checker", slowly)
    answers = asked_by_threads(Meter())
    assert len(made) == 1
    assert answers == [(True, made[0])] * 4


def test_threads_share_a_refusal(monkeypatch):
    tried = []

    def refuse(store):
        time.sleep(0.05)
        tried.append(store)
        raise LectError("no such symbol")

    monkeypatch.setattr(native_guards, "make_checker", refuse)
    meter = Meter()
    assert asked_by_threads(meter) == [(False, None)] * 4
    assert (len(tried), meter.refused) == (1, "no such symbol")
