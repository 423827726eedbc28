"""What a person may set for a compile: arguments of `lect.compile`, checked once, and what the environment says."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lect.ir import LectError
from lect.runtime.store import LIMIT

MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
BACKENDS: Mapping[str, str | None] = MappingProxyType({"lect": None, "inductor": None, "eager": "fx", "aot_eager": "functional"})  # name -> level
TRIGGERS = ("function", "hook")
GUARDS = ("native", "python", "both")
LEVELS = ("native", "loop", "functional", "fx")
# Option -> (allowed values or None, what it does).
OPTIONS: Mapping[str, tuple[tuple[Any, ...] | None, str]] = MappingProxyType(
    {
        "level": (LEVELS, "the level at which graphs run: native code, or a reference interpreter for finding out which level is wrong"),
        "host": (("native", "python"), "the form of the host program: native code, or Python, which is the reference and can be stepped through"),
        "numerics": (
            ("eager", "fused"),
            "values are rounded where eager rounds them, or 16-bit floats stay f32 inside of a kernel and patterns of operations become one",
        ),
        "rng": (("counter", "eager"), "random numbers in native code: lect's own stream of eager's distributions, or eager's numbers by calls of torch"),
        "autograd": (("compiled", "torch"), "who runs graphs that need gradients: forward and backward are compiled, or torch runs and records their calls"),
        "memory_budget": (None, "what a forward keeps for its backward: the part, from 0 to 1, between the least possible and what it keeps by itself"),
        "trigger": (TRIGGERS, "what is compiled: the function itself, or with the frame hook also functions called in a frame that runs eagerly"),
        "breaks": (("resume", "eager"), "what happens where a frame cannot be followed: it is cut there and goes on behind, or runs eagerly as a whole"),
        "cache": ((True, False), "graphs that were lowered before, in this process or another, are taken from the cache on disk"),
        "guards": (GUARDS, "who checks guards: native code with Python behind it, Python alone, or both, which raises when they differ"),
        "dump": (None, "a folder for the text of every level, and behind every pass that changed something"),
        "override": (None, "a folder with edited texts, each of which is used from its level on"),
        "tuning": (None, "a file of tuning records, which go before those of the cache"),
        "autotune": ((True, False), 'kernels that no record of tuning knows are measured in several forms, and records are written: `mode="max-autotune"`'),
        "tuning_budget": (None, "the seconds that a process measures at most, else 60; what is left then has no record, and the next process goes on"),
        "check": (("", "eager"), "each graph is compared with eager at each call; a difference is searched for and raised"),
        "round_trip": (
            ("", "levels", "passes"),
            "what is printed is read back and compared, at the end of each level or behind each pass: for tests of lect itself",
        ),
        "graphs": (
            ("auto", "off", "device", "simulated"),
            "device work is recorded and started again as one: where a GPU is measured to wait for the host, never, on GPUs (mode='reduce-overhead'), or on the"
            " CPU too, for tests of lect itself",
        ),
        "seed_bug": (("", "fusion"), "a wrong fusion on purpose, to try the tools that look for one"),
        "version_limit": (None, "the number of versions of one function before it runs eagerly"),
    }
)


def level_of(backend: Any) -> str | None:
    """The level at which graphs run for a name that `torch.compile` knows as a backend; None for native code, which is lect's own.

    Raises `LectError` for a backend of somebody else.
    """
    if backend is None:
        return None
    if not isinstance(backend, str) or backend not in BACKENDS:
        raise LectError(f"there is no backend {backend!r}; it is one of {', '.join(BACKENDS)}", hint="leave `backend` out for lect's own native code")
    return BACKENDS[backend]


@dataclass(frozen=True)
class Settings:
    """The arguments of one `lect.compile`."""

    fullgraph: bool = False
    dynamic: bool | None = None
    mode: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def check(cls, fullgraph: bool, dynamic: bool | None, mode: str, options: Mapping[str, Any] | None) -> Settings:
        """Settings from user input.  Raises `LectError` that names what is allowed."""
        if mode not in MODES:
            raise LectError(f"mode is one of {', '.join(MODES)}, got {mode!r}")
        if dynamic is not None and type(dynamic) is not bool:
            raise LectError(f"dynamic is True, False or None, got {dynamic!r}")
        if options is not None and not isinstance(options, Mapping):
            raise LectError(f"options is a mapping of names to values, got {options!r}")
        given = dict(options or {})
        for name, value in list(given.items()):
            if name not in OPTIONS:
                raise LectError(f"there is no option {name!r}; options are {', '.join(OPTIONS)}")
            allowed = OPTIONS[name][0]
            if allowed is not None and value not in allowed:
                raise LectError(f"option {name!r} is one of {', '.join([str(each) or repr(each) for each in allowed])}, got {value!r}")
            if name == "version_limit" and (type(value) is not int or value < 1):
                raise LectError(f"option 'version_limit' is a positive integer, got {value!r}")
            if name in ("dump", "override") and value is not None:
                given[name] = _folder(name, value)
            if name == "tuning" and value is not None:
                given[name] = _records(value)
            if name == "tuning_budget" and (type(value) not in (int, float) or not value >= 0):
                raise LectError(f"option 'tuning_budget' is a number of seconds, got {value!r}")
            if name == "memory_budget":
                if type(value) not in (int, float) or not 0 <= value <= 1:
                    raise LectError(f"option 'memory_budget' is a number between 0 and 1, got {value!r}")
                given[name] = float(value)
        if mode == "reduce-overhead":
            given.setdefault("graphs", "device")
        if given.get("dump") and given.get("dump") == given.get("override"):
            raise LectError("options 'dump' and 'override' name one folder, in which edited texts would be replaced", hint="write the new texts elsewhere")
        if mode.startswith("max-autotune"):
            given.setdefault("autotune", True)
        if mode == "max-autotune-no-cudagraphs":
            given.setdefault("graphs", "off")
        return cls(bool(fullgraph), dynamic, mode, MappingProxyType(given))


def own_name(path: str) -> str:
    """A path with the number of this process in the place of `%p`."""
    return path.replace("%p", str(os.getpid()))


def _folder(name: str, value: Any) -> str:
    """The absolute path of a folder for texts.  Raises `LectError` when it is no path, or edited texts are looked for where there is no folder."""
    if not isinstance(value, str | Path):
        raise LectError(f"option {name!r} is the path of a folder, got {value!r}")
    if "\0" in str(value):
        raise LectError(f"option {name!r} is the path of a folder, got {value!r}")
    path = Path(own_name(str(value))).expanduser().absolute()
    if name == "override" and not path.is_dir():
        raise LectError(f"option 'override' names a folder with edited texts; '{path}' is none")
    return str(path)


def _records(value: Any) -> str:
    """The absolute path of a file of tuning records.  Raises `LectError` when it is no path, and names file and line of what is no record in it."""
    from lect.runtime.tuning_records import read_records

    if not isinstance(value, str | Path):
        raise LectError(f"option 'tuning' is the path of a file, got {value!r}")
    path = Path(value).expanduser().absolute()
    read_records(path)
    return str(path)


@dataclass(frozen=True)
class Environment:
    """What the environment variables say, read once when the runtime starts."""

    disabled: bool = False
    log: str = ""
    log_file: Path | None = None
    progress: str = ""
    dump: str | None = None
    trigger: str = "function"
    cache: Path | None = None
    cache_limit: int = LIMIT
    guards: str | None = None
    override: str | None = None
    round_trip: str | None = None
    check: str | None = None
    tuning: str | None = None
    report: Path | None = None

    @classmethod
    def read(cls, variables: Mapping[str, str]) -> Environment:
        """The settings for these variables.  Raises `LectError` for a trigger or a kind of guards that does not exist, and for a limit that is no number.

        LECT_DISABLE runs everything eagerly; LECT_LOG, LECT_LOG_JSON and LECT_PROGRESS are those of `reporting`; LECT_TRIGGER, LECT_GUARDS, LECT_DUMP,
        LECT_OVERRIDE, LECT_TUNING, LECT_CHECK and LECT_ROUND_TRIP are the defaults of the options of these names.  LECT_CACHE_DIR is the folder of the cache,
        LECT_CACHE_LIMIT its size in megabytes, and LECT_CACHE=0 does without.  LECT_REPORT names the file of a report that is written when the process
        ends.
        """
        trigger = variables.get("LECT_TRIGGER") or "function"
        if trigger not in TRIGGERS:
            raise LectError(f"LECT_TRIGGER is one of {', '.join(TRIGGERS)}, got {trigger!r}")
        cache = None if variables.get("LECT_CACHE") == "0" else cache_folder(variables)
        guards = variables.get("LECT_GUARDS") or None
        if guards is not None and guards not in GUARDS:
            raise LectError(f"LECT_GUARDS is one of {', '.join(GUARDS)}, got {guards!r}")
        return cls(
            disabled=variables.get("LECT_DISABLE", "0") not in ("", "0"),
            log=variables.get("LECT_LOG", ""),
            log_file=Path(variables["LECT_LOG_JSON"]) if variables.get("LECT_LOG_JSON") else None,
            progress=variables.get("LECT_PROGRESS", ""),
            dump=own_name(variables.get("LECT_DUMP", "")) or None,
            trigger=trigger,
            cache=cache,
            cache_limit=_limit(variables),
            guards=guards,
            override=variables.get("LECT_OVERRIDE") or None,
            round_trip=variables.get("LECT_ROUND_TRIP") or None,
            check=variables.get("LECT_CHECK") or None,
            tuning=variables.get("LECT_TUNING") or None,
            report=Path(variables["LECT_REPORT"]).absolute() if variables.get("LECT_REPORT") else None,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The options of a compile that have a default here."""
        named = {"guards": self.guards, "dump": self.dump, "override": self.override, "round_trip": self.round_trip, "check": self.check}
        named["tuning"] = self.tuning
        return {name: value for name, value in named.items() if value is not None}


def cache_folder(variables: Mapping[str, str]) -> Path:
    """The folder of the cache that environment variables name, else one among the user's caches."""
    named = variables.get("LECT_CACHE_DIR")
    if named:
        return Path(named).expanduser()
    return Path(variables.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "lect"


def _limit(variables: Mapping[str, str]) -> int:
    megabytes = variables.get("LECT_CACHE_LIMIT") or str(LIMIT // 2**20)
    if not megabytes.isdecimal():
        raise LectError(f"LECT_CACHE_LIMIT is a number of megabytes, got {megabytes!r}")
    return int(megabytes) * 2**20
