"""`mode="max-autotune"`: kernels are measured in several forms, and what was the fastest becomes a record of tuning.

In front of the stage `loop` the matrix products that a nest could do are measured with what stands behind them, by the library and by tiles of our own.
Pairs of nests of which it is in doubt whether one is faster than two are measured as both.  In front of the stage `kernel` each different nest is measured in
the forms of `passes/kernel/candidates.py`.  A kernel that has a record is not measured, so a second compile, in this process or another, measures nothing.

What costs time is left out: a kernel that moves its memory at the rate of a copy in the form of the estimate, or takes no longer than a launch, has no
other forms; others are compiled side by side; and one that must be slower than what was measured is not compiled.  What takes longer is looked at once.
A process measures for so many seconds (`tuning_budget`), the kernels with the most work first; what is left has no record, and the next process goes on there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lect.backends.compile_pool import compile_pool
from lect.dialects import make_context
from lect.dialects.loop.ops import ExternOp, FuncOp, NestOp
from lect.dialects.tuning.ops import RecordOp
from lect.ir import Context, LectError, Operation
from lect.passes.kernel.candidates import COPY_RATE, candidates, least_time
from lect.passes.loop.loop_choose_kernel import LoopChooseKernel
from lect.passes.loop.loop_fuse_vertical import LoopFuseVertical
from lect.passes.loop.nests import functions
from lect.passes.manager import PassManager
from lect.passes.targets import is_gpu
from lect.passes.tuning import TUNING, is_tunable, kernel_of_nest, name_of, nest_alone, product_alone, text_of, traffic_of
from lect.runtime.events import EventLog, Tuning, TuningBegins, TuningProblem, TuningStopped
from lect.runtime.linking import module_of
from lect.runtime.timers import DeviceTimer, Timer, Trial
from lect.runtime.tuning_records import UNTUNED, CompileRecords, choices_text

FIRST_CHOICE = "kernel-choose-gpu-tiles"
NEAR = 1.04  # times the least time that is possible, where nothing is left to gain
LAUNCH = 1.3  # microseconds between the end of a kernel and the begin of the next, in a graph of the device
SHORT = 2.5  # microseconds, of which a launch is most
BUDGET = 60.0  # seconds that a process measures, where nobody says otherwise
AT_ONCE = 32  # kernels that are measured before the clock is looked at
MARGIN = 0.98  # of the time of the estimate's form, which another must be below


@dataclass
class Job:
    """A kernel to be measured: its canonical name and text, its nest, the device, and the trials with their times."""

    kernel: str
    text: str
    name: str
    make: Callable[[Mapping[str, Any]], Operation]
    forms: list[Mapping[str, Any]]
    least: Callable[[Mapping[str, Any]], float]
    count: int = 1
    asks_host: bool = False
    times: list[tuple[Mapping[str, Any], float]] = field(default_factory=list)
    hosts: dict[int, float] = field(default_factory=dict)  # of the forms, by their numbers
    started: float = field(default_factory=time.perf_counter)

    @property
    def weight(self) -> float:
        """The least time that its calls take: what is worth being measured first."""
        return self.least(self.forms[0]) * self.count

    @property
    def best(self) -> tuple[Mapping[str, Any], float]:
        """The fastest form; the first one unless another is clearly faster."""
        fastest = min(self.times, key=lambda each: each[1])
        first = next((each for each in self.times if each[0] == self.forms[0]), fastest)
        return fastest if fastest[1] < first[1] * MARGIN else first


def weigh_host(jobs: list[Job]) -> None:
    """Where the host takes longer to start products than the device to make them, a form takes at least the time that the host does: so a kernel of lect
    may take longer than the library's, which costs the host several times as much."""
    asked = [job for job in jobs if job.asks_host and job.times]
    host = sum(job.hosts.get(0, 0.0) * job.count for job in asked)
    device = sum(job.times[0][1] * job.count for job in asked)
    if host > device:
        for job in asked:
            job.times = [(form, max(each, job.hosts.get(job.forms.index(form), 0.0))) for form, each in job.times]


@dataclass
class Tuner:
    """What measures the kernels of one compile, of the function `name`."""

    name: str
    ctx: Context
    log: EventLog
    records: CompileRecords
    timer: Timer

    @classmethod
    def of(cls, name: str, ctx: Context, log: EventLog, device: str) -> Tuner | None:
        """The tuner of a compile, if its options ask for one."""
        records = ctx.resources.get(TUNING)
        if not ctx.options.get("autotune") or records is None or records.store is None or _is_recorded(device):
            return None
        return cls(name, ctx, log, records, records.store.timer or DeviceTimer(device))

    def before(self, stage: str, module: Operation) -> None:
        """Measure what the passes of a stage choose of; records are there when this returns.  What cannot be measured is told and left to the estimate."""
        try:
            if stage == "loop":
                self._products(module)
                self._fusions(module)
            elif stage == "kernel":
                self._nests(module)
        except Exception as error:  # what the device or a backend raises for a form must not stop the program
            self.ctx.resources[UNTUNED] = True
            self._problem(error)

    def _problem(self, error: Exception) -> None:
        detail = error.message if isinstance(error, LectError) else f"{type(error).__name__}: {error}"
        self.log.add(TuningProblem(self.name, f"not measured: {detail}"))

    # ---- nests -------------------------------------------------------------------------------------------------------

    def _nests(self, module: Operation) -> None:
        """Measure the nests of a module in front of the stage `kernel`."""
        copy = module.clone({})
        self._run("kernel", copy, until=FIRST_CHOICE)
        jobs: dict[str, Job] = {}
        for func in functions(copy):
            for nest in [op for op in func.body if isinstance(op, NestOp) and is_tunable(op) and "tiles" not in op.attrs]:
                kernel = kernel_of_nest(nest)
                if kernel is not None and kernel not in jobs and self.records.record(kernel) is None:
                    jobs[kernel] = self._job(kernel, nest, func.device)
        self._measure([job for job in jobs.values() if len(job.forms) > 1])

    def _job(self, kernel: str, nest: NestOp, device: str) -> Job:
        target = self.ctx.target

        def make(choices: Mapping[str, Any]) -> Operation:
            func = _of_device(nest_alone(nest), device)
            (inner,) = [op for op in func.body if isinstance(op, NestOp)]
            inner.attrs.pop("in_place", None)  # parameters of a function lend their memory to nobody
            inner.attrs.update({"sym_name": nest.sym_name, **choices})
            module = module_of(func)
            self._run("kernel", module, since=FIRST_CHOICE)
            return module

        alone = nest_alone(nest)
        assert alone is not None
        return Job(kernel, text_of(alone), nest.sym_name, make, candidates(nest, target), lambda choices: least_time(nest, choices, target))

    # ---- products ----------------------------------------------------------------------------------------------------

    def _products(self, module: Operation) -> None:
        """Measure the products of a module in front of the stage `loop` with what stands behind them."""
        copy = module.clone({})
        passes = LoopChooseKernel()
        ctx = self._run("loop", copy, until=passes.name)
        jobs: dict[str, Job] = {}
        for func in functions(copy):
            for call, choices in [(op, passes.choices(op, ctx)) for op in func.body if isinstance(op, ExternOp)]:
                if not choices:
                    continue
                kernel = name_of(product_alone(call))
                if kernel in jobs:
                    jobs[kernel].count += 1
                elif kernel is not None and self.records.record(kernel) is None:
                    jobs[kernel] = self._product_job(kernel, call, choices, func.device)
        self._measure(list(jobs.values()))

    def _product_job(self, kernel: str, call: ExternOp, forms: Sequence[Mapping[str, Any]], device: str) -> Job:
        def make(choices: Mapping[str, Any]) -> Operation:
            module = module_of(_of_device(product_alone(call), device))
            self._run("loop", module, {kernel: choices}, since=LoopChooseKernel.name)
            self._nests(module)  # its own tiles are to be good ones
            self._run("kernel", module)
            return module

        alone = product_alone(call)
        assert alone is not None
        return Job(kernel, text_of(alone), call.sym_name, make, list(forms), lambda choices: 0.0, asks_host=True)

    # ---- fusions -----------------------------------------------------------------------------------------------------

    def _fusions(self, module: Operation) -> None:
        """Measure pairs of nests of a module, in front of the stage `loop`, as one nest and as two."""
        device, offers = next((func.device for func in functions(module)), "cpu"), dict[str, FuncOp]()
        self._run("loop", module.clone({}), offers=offers)
        jobs = [self._fusion_job(kernel, pair, device) for kernel, pair in offers.items() if self.records.record(kernel) is None]
        self._measure(jobs)

    def _fusion_job(self, kernel: str, pair: FuncOp, device: str) -> Job:
        producer, consumer = [op for op in pair.body if isinstance(op, NestOp)]
        moved, saved = traffic_of(producer, consumer)
        target = self.ctx.target
        rate, start = (int(target["copy_rate"]), LAUNCH) if is_gpu(target) else (COPY_RATE * int(target.get("threads", 1)), 0.0)

        def make(choices: Mapping[str, Any]) -> Operation:
            func = pair.clone({})
            assert isinstance(func, FuncOp)
            module = module_of(_of_device(func, device))
            self._run("loop", module, {kernel: choices}, since=LoopFuseVertical.name)
            self._nests(module)  # its own tiles are to be good ones
            self._run("kernel", module)
            return module

        def least(choices: Mapping[str, Any]) -> float:
            return (moved - saved) / rate if choices["fused"] else moved / rate + start

        return Job(kernel, text_of(pair), consumer.sym_name, make, [{"fused": True}, {"fused": False}], least)

    # ---- measuring ---------------------------------------------------------------------------------------------------

    def _measure(self, jobs: list[Job]) -> None:
        """Measure kernels and write their records: first the estimate's form of all, then the others of those that could gain by one."""
        if not jobs:
            return
        self.log.add(TuningBegins(self.name, len(jobs), self.records.device))
        store = self.records.store
        assert store is not None
        measured: list[Job] = []
        with store.clock.running():
            left = sorted(jobs, key=lambda job: job.weight, reverse=True)
            while left and store.clock.seconds < self.budget:
                some, left = left[:AT_ONCE], left[AT_ONCE:]
                measured += self._measure_some(some)
        if self.ctx.options.get("graphs", "auto") in ("auto", "off"):  # a graph that is started again costs the host next to nothing
            weigh_host(measured)
        for job in measured:
            self._keep(job)
        if len(measured) < len(jobs):
            self.ctx.resources[UNTUNED] = True
        if store.clock.seconds >= self.budget and len(measured) < len(jobs):
            self.log.add(TuningStopped(self.name, len(jobs) - len(measured), store.clock.seconds))

    @property
    def budget(self) -> float:
        """The seconds that this process may measure."""
        given = self.ctx.options.get("tuning_budget")
        return BUDGET if given is None else float(given)

    def _measure_some(self, jobs: Sequence[Job]) -> list[Job]:
        """Measure the forms of some kernels; those of which all were tried that may be the fastest, as far as time was left."""
        self._try([(job, job.forms[0]) for job in jobs])
        again = []
        for job in jobs:
            now = job.times[0][1] if job.times else float("inf")
            short = now < SHORT or now < job.least(job.forms[0]) * NEAR
            again += [] if short else [(job, form) for form in job.forms[1:] if job.least(form) < now]
        assert self.records.store is not None
        if self.records.store.clock.seconds < self.budget:
            self._try(again)
            again = []
        unfinished = {id(job) for job, _ in again}
        return [job for job in jobs if job.times and id(job) not in unfinished]

    def _try(self, wanted: list[tuple[Job, Mapping[str, Any]]]) -> None:
        """Compile forms side by side, then measure them one by one; what does not compile or run is no form."""
        made: list[tuple[Job, Trial]] = []
        for job, form in wanted:
            try:
                made.append((job, Trial(job.name, form, job.make(form), self._context(), asks_host=job.asks_host)))
            except LectError as error:
                self._problem(error)

        def prepare(number: int) -> int | None:
            job, trial = made[number]
            try:
                self.timer.prepare(trial)
                return number
            except Exception as error:
                if len(job.forms) < 3 or trial.choices == job.forms[0]:
                    self._problem(error)
                return None

        ready = set(compile_pool().each(prepare, range(len(made))))
        for number, (job, trial) in enumerate(made):
            if number in ready:
                self._time(job, trial)

    def _time(self, job: Job, trial: Trial) -> None:
        limit = min([each for _, each in job.times], default=float("inf"))
        try:
            job.times.append((trial.choices, self.timer.microseconds(trial, limit)))
            job.hosts[job.forms.index(trial.choices)] = trial.host
        except Exception as error:
            self._problem(error)

    def _keep(self, job: Job) -> None:
        choices, best = job.best
        first = next((each for form, each in job.times if form == job.forms[0]), best)
        measured = tuple([(dict(form), round(each, 3)) for form, each in sorted(job.times, key=lambda each: each[1])])
        attributes = {"sym_name": job.name, "kernel": job.kernel, "device": self.records.device, "choices": dict(choices), "measured": measured}
        record = RecordOp.create((), (), attributes)
        assert isinstance(record, RecordOp)
        assert self.records.store is not None
        self.records.store.keep(record, job.text)
        table = tuple([(choices_text(form), each) for form, each in measured])
        seconds = time.perf_counter() - job.started
        self.log.add(Tuning(self.name, job.name, job.kernel, self.records.device, choices_text(choices), best, first, table, seconds))

    # ---- lowering ----------------------------------------------------------------------------------------------------

    def _context(self, told: Mapping[str, Mapping[str, Any]] | None = None, offers: dict[str, FuncOp] | None = None) -> Context:
        """A context like that of the compile, with other records in front of its own."""
        ctx = make_context(options=self.ctx.options)
        ctx.target.update(self.ctx.target)
        ctx.resources[TUNING] = _Told(told or {}, self.records, offers)
        ctx.resources["code_store"] = self.ctx.resources.get("code_store")
        return ctx

    def _run(
        self,
        stage: str,
        module: Operation,
        told: Mapping[str, Mapping[str, Any]] | None = None,
        since: str = "",
        until: str = "",
        offers: dict[str, FuncOp] | None = None,
    ) -> Context:
        """Run the passes of a stage on a module, from one on or up to one; `offers` takes in the pairs of nests that may be one or two."""
        ctx, manager = self._context(told, offers), PassManager.parse(stage).configured(self.ctx.options)
        names = [each.name for each in manager.passes]
        chosen = manager.passes[names.index(since) if since else 0 : names.index(until) if until else None]
        PassManager(chosen).run(module, ctx)
        return ctx


@dataclass(frozen=True)
class _Told:
    """What one trial is to choose, in front of records."""

    told: Mapping[str, Mapping[str, Any]]
    records: CompileRecords
    offers: dict[str, FuncOp] | None = None

    def asked(self, kernel: str, pair: FuncOp) -> None:
        """A pair of nests that may be one or two."""
        if self.offers is not None:
            self.offers.setdefault(kernel, pair)

    def find(self, kernel: str) -> Mapping[str, Any] | None:
        """The choices for a kernel."""
        if kernel in self.told:
            return self.told[kernel]
        record = self.records.record(kernel)
        return None if record is None else record.choices

    def refuse(self, kernel: str, error: LectError) -> None:
        """A form that does not fit is an error of the trial."""
        raise error


def _of_device(func: FuncOp | None, device: str) -> FuncOp:
    assert func is not None
    if device != "cpu":
        func.attrs["device"] = device
    return func


def _is_recorded(device: str) -> bool:
    """Whether a CUDA graph is being recorded, in which nothing else may be started."""
    import torch

    return device.startswith("cuda") and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing()
