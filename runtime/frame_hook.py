"""The frame hook as the rest of lect sees it: which Python functions are seen inside a region, and what becomes of them.

    hook = Hook(lookup, report)                 # lookup(code, function, arguments) -> outcome, report(event)
    hook.call(fn, *args, **kwargs)              # fn runs with this thread armed
    with hook.armed(): ...                      # the same for a block
    run = hook.region(fn)                       # a callable that arms around each of its calls

While a thread is armed, `lookup` is asked for each call of a Python function of which nothing is known, however the function was reached: from
bytecode, or from C code such as `map`, `sorted(key=...)` or a callback of a library.  Functions of lect, of the import machinery, of the standard
library and of torch are not asked for (`rules`).  `lookup` runs disarmed, an exception that it raises becomes an event, and its outcome is one of

    None            run the function as written, and ask again next time
    DEFAULT         run it as written, always
    SKIP            the same, and disarm below it
    SETTLED         run it as written whenever no guard holds, without asking
    code            run this code in its frame; the code takes the flat arguments, see `flatten`
    (guard, code)   the same, and again whenever `guard(function, *flat)` returns -1; code None is the function as written
    answer(x)       do not run it: the call returns x

The extension module is optional: without it `available()` is false, `refusal()` says why, and only functions that were given to `lect.compile`
are compiled.  Nothing here imports torch.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType, TracebackType
from typing import Any, ClassVar

from lect.runtime.events import Event

DEFAULT = "default"
SKIP = "skip"
SETTLED = "settled"
Outcome = Any
Lookup = Callable[[CodeType, FunctionType, tuple[Any, ...]], Outcome]
Report = Callable[[Event], Any]

# Names of the reasons why functions inside a region are not seen -> what that means.
REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "no extension": "the extension module lect.runtime._frame_hook was not built or cannot be loaded",
        "python version": "the layout of frames is known for CPython 3.11, 3.12 and 3.13",
        "free threading": "the tables of the hook are guarded by the GIL",
        "subinterpreter": "the hook works in the main interpreter only",
        "foreign hook": "another frame evaluation function (a debugger's, another compiler's) is installed, and two of them do not go together",
        "lookup failed": "the look-up of a function raised, which is a bug of lect; the function runs as written",
    }
)


@dataclass(frozen=True)
class HookRefused(Event):
    """Functions called inside of `function` are not seen by the frame hook: `reason` is a key of `REFUSALS`."""

    kind: ClassVar[str] = "hook refused"
    reason: str = ""
    detail: str = ""

    def text(self) -> str:
        return f"{self.reason}: {self.detail or REFUSALS[self.reason]}"


@cache
def _load() -> tuple[ModuleType | None, str, str]:
    """The extension module, or the reason why there is none and the details."""
    if sys.implementation.name != "cpython" or not (3, 11) <= sys.version_info[:2] <= (3, 13):
        return None, "python version", f"{REFUSALS['python version']}; this is {sys.implementation.name} {sys.version.split()[0]}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return None, "free threading", ""
    try:
        module = import_module("lect.runtime._frame_hook")
    except ImportError as error:
        reason = "subinterpreter" if "interpreter" in str(error) else "no extension"
        return None, reason, str(error)
    os.register_at_fork(after_in_child=module.after_fork)
    for function in (Armed.__enter__, Armed.__exit__):  # not SKIP: a skipped frame is armed again behind it, whatever it did
        module.mark(function.__code__, DEFAULT)
    return module, "", ""


def available() -> bool:
    """True when the extension module is there for this Python."""
    return _load()[0] is not None


def refusal(function: str = "") -> HookRefused | None:
    """The event that says why the hook is not available; None when it is."""
    module, reason, detail = _load()
    return None if module is not None else HookRefused(function, reason=reason, detail=detail)


def answer(value: Any) -> Outcome:
    """The outcome by which a call returns `value` and the function does not run."""
    return (value,)


# ---- code that takes a frame --------------------------------------------------------------------------------------------------------------------


def flat_count(code: CodeType) -> int:
    """The number of flat arguments of a function: positional, keyword-only, then the tuple of `*` and the dictionary of `**` if it has them."""
    return code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)


def flatten(code: CodeType) -> CodeType:
    """`code` with its flat arguments as plain positional parameters, which is the signature that code for another frame must have.

    The variables stay in their places, since flat arguments are a function's first locals anyway.
    """
    return code.replace(
        co_argcount=flat_count(code),
        co_posonlyargcount=0,
        co_kwonlyargcount=0,
        co_flags=code.co_flags & ~(CO_VARARGS | CO_VARKEYWORDS),
    )


def call_arguments(code: CodeType, flat: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The `(args, kwargs)` of a call that binds to these flat arguments."""
    first_keyword = code.co_argcount
    end = first_keyword + code.co_kwonlyargcount
    args, kwargs = flat[:first_keyword], dict(zip(code.co_varnames[first_keyword:end], flat[first_keyword:end]))
    if code.co_flags & CO_VARARGS:
        args += flat[end]
        end += 1
    if code.co_flags & CO_VARKEYWORDS:
        kwargs.update(flat[end])
    return args, kwargs


# ---- which functions are asked for ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rule:
    """What becomes of functions whose file name starts with `prefix`: `state` is `DEFAULT`, `SKIP`, or empty for those that are asked for."""

    prefix: str
    state: str
    reason: str

    def covers(self, code: CodeType) -> bool:
        """True for code that the rule is about."""
        return code.co_filename.startswith(self.prefix)


def _folder(path: str | Path) -> str:
    return str(path).rstrip(os.sep) + os.sep


@cache
def rules() -> tuple[Rule, ...]:
    """The rules for functions that are nobody's program, in the order of asking."""
    package = Path(__file__).parent.parent
    ours = {_folder(package), *(_folder(entry.resolve()) for entry in package.iterdir() if entry.is_dir() and entry.is_symlink())}
    paths = sysconfig.get_paths()
    libraries = {_folder(paths[name]) for name in ("purelib", "platlib")}
    torch = find_spec("torch")
    found = [Rule(folder, SKIP, "lect itself, and what it has compiled") for folder in sorted(ours)]
    found += [Rule("<lect ", SKIP, "code that lect made"), Rule("<guards of ", SKIP, "guards of lect")]
    found += [Rule("<frozen importlib", SKIP, "importing a module"), Rule("<frozen ", DEFAULT, "the standard library")]
    if torch is not None and torch.origin is not None:
        found.append(Rule(_folder(Path(torch.origin).parent / "_dynamo"), SKIP, "what torch.compiler.disable or another compiler stands around"))
        found.append(Rule(_folder(Path(torch.origin).parent), DEFAULT, "torch's own functions; what they call back is seen"))
    found += [Rule(folder, "", "installed libraries are programs like any other") for folder in sorted(libraries)]
    standard = {_folder(paths["stdlib"]), _folder(paths["platstdlib"])}
    found += [Rule(folder, DEFAULT, "the standard library; what it calls back is seen") for folder in sorted(standard)]
    return tuple(found)


# Functions of torch that are programs of their own: they only call other modules.
COMPOSITES = frozenset({"container.py", "transformer.py"})


@lru_cache(maxsize=4096)
def _state_of_file(name: str) -> str:
    for rule in rules():
        if name.startswith(rule.prefix):
            return rule.state
    return ""


def state_of(code: CodeType) -> str:
    """`DEFAULT` or `SKIP` for functions that the rules leave alone, else the empty string."""
    state = _state_of_file(code.co_filename)
    if state == DEFAULT and code.co_name == "forward" and os.path.basename(code.co_filename) in COMPOSITES:
        return ""
    return state


# ---- arming ------------------------------------------------------------------------------------------------------------------------------------------


class Armed:
    """A block during which this thread is armed; see `Hook.armed`."""

    def __init__(self, hook: Hook | None) -> None:
        self._hook = hook
        self._before: Any = None
        self._swapped = False

    def __enter__(self) -> None:
        module = _load()[0]
        if module is None:
            return
        try:
            self._before = module.swap(self._hook.trigger if self._hook is not None else None)
            self._swapped = True
        except RuntimeError as error:
            if self._hook is not None:
                self._hook.refused(str(error))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None) -> None:
        module = _load()[0]
        if module is not None and self._swapped:
            module.swap(self._before)


class Hook:
    """What happens with functions that start while a thread is armed with it.

    `name` is the compiled function, for events; `rules` are asked before those that hold for every hook.
    """

    def __init__(self, lookup: Lookup, report: Report, name: str = "", rules: tuple[Rule, ...] = ()) -> None:
        self.lookup = lookup
        self.report = report
        self.name = name
        self.rules = rules
        self._told: set[str] = set()
        module = _load()[0]
        self.trigger = module.Trigger(self._ask, self.refused) if module is not None else None

    def call(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """`fn(*args, **kwargs)` with this thread armed."""
        return fn(*args, **kwargs) if self.trigger is None else self.trigger.call(fn, *args, **kwargs)

    def region(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        """A callable that runs `fn` with the thread armed; `fn` itself without the extension."""
        module = _load()[0]
        return fn if module is None else module.Region(fn, self.trigger)

    def armed(self) -> Armed:
        """A context manager: functions called in the block are seen."""
        return Armed(self)

    def set(self, code: CodeType, state: str | None) -> None:
        """What to do with a code object from here on: `DEFAULT`, `SKIP`, `SETTLED`, or None to forget what is known."""
        if self.trigger is not None:
            self.trigger.set(code, state)

    def entries(self, code: CodeType) -> Any:
        """What is known of a code object: None, `DEFAULT`, `SKIP` or the list of (guard, code)."""
        return None if self.trigger is None else self.trigger.get(code)

    def clear(self) -> None:
        """Forget everything."""
        self._told.clear()
        if self.trigger is not None:
            self.trigger.clear()

    def refused(self, detail: str) -> None:
        """Tell of a refusal, once."""
        self._tell("foreign hook", detail)

    def _tell(self, reason: str, detail: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self.report(HookRefused(self.name, reason=reason, detail=f"{REFUSALS[reason]} ({detail})" if detail else ""))

    def _ask(self, code: CodeType, function: FunctionType, arguments: tuple[Any, ...]) -> Outcome:
        own = next((rule.state for rule in self.rules if rule.covers(code)), None)
        state = state_of(code) if own is None else own
        if state:
            return state
        try:
            return self.lookup(code, function, arguments)
        except Exception as error:  # the program must never see an error of lect
            self._tell("lookup failed", f"{code.co_qualname}: {type(error).__name__}: {error}")
            return DEFAULT


class CallbackHook(Hook):
    """For an interpreter of Python frames that runs a C function for real, while the Python functions which that calls shall come back to it.

    `lookup` is asked for every function but lect's own, wherever it is from, and whatever it raises leaves the call, so that a break or an exception of
    the program goes through the C function as CPython would have it.  It usually runs the function itself and gives `answer(value)`; arm again around
    the C calls in there.
    """

    def _ask(self, code: CodeType, function: FunctionType, arguments: tuple[Any, ...]) -> Outcome:
        return SKIP if state_of(code) == SKIP else self.lookup(code, function, arguments)


def disarmed() -> Armed:
    """A context manager: functions called in the block are not seen."""
    return Armed(None)


def statistics() -> Mapping[str, Any]:
    """Counts since the start of the process; empty without the extension."""
    module = _load()[0]
    return {} if module is None else module.statistics()
