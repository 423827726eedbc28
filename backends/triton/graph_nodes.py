"""The kernels of a captured CUDA graph, by the driver's documented interface: which parameters are addresses in given memory, and changing them.

Kernels of lect take eight bytes a parameter, addresses first.  The driver keeps a copy of the parameters with the graph's node, which is edited in place and
given to the executable graph; launches that are under way keep the old ones.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from lect.backends.triton.driver import check, library

KERNEL_NODE = 0  # CU_GRAPH_NODE_TYPE_KERNEL
POINTER = ctypes.c_void_p


class KernelNodeParams(ctypes.Structure):
    """CUDA_KERNEL_NODE_PARAMS_v2."""

    _fields_ = [
        ("function", POINTER),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint),
        ("parameters", ctypes.POINTER(POINTER)),
        ("extra", POINTER),
        ("kernel", POINTER),
        ("context", POINTER),
    ]


class Place(NamedTuple):
    """A kernel of a graph with parameters that lie in an argument: the node, all its parameters, and for each such parameter its address in the driver's copy
    and how many bytes behind the begin of the argument it points."""

    node: int
    params: KernelNodeParams
    slots: tuple[tuple[int, int], ...]


@cache
def graph_library() -> Any:
    """libcuda with the types of what is called for graphs.  Raises `OSError` when there is none."""
    lib = library()
    lib.cuGraphGetNodes.argtypes = [POINTER, ctypes.POINTER(POINTER), ctypes.POINTER(ctypes.c_size_t)]
    lib.cuGraphNodeGetType.argtypes = [POINTER, ctypes.POINTER(ctypes.c_int)]
    lib.cuGraphKernelNodeGetParams_v2.argtypes = [POINTER, ctypes.POINTER(KernelNodeParams)]
    lib.cuGraphExecKernelNodeSetParams_v2.argtypes = [POINTER, POINTER, ctypes.POINTER(KernelNodeParams)]
    lib.cuFuncGetParamInfo.argtypes = [POINTER, ctypes.c_size_t, ctypes.POINTER(ctypes.c_size_t), ctypes.POINTER(ctypes.c_size_t)]
    return lib


def nodes_of(graph: int) -> list[int]:
    """The nodes of a graph."""
    lib, count = graph_library(), ctypes.c_size_t()
    check("counting the nodes of a graph", lib.cuGraphGetNodes(graph, None, ctypes.byref(count)))
    found = (POINTER * count.value)()
    if count.value:
        check("asking for the nodes of a graph", lib.cuGraphGetNodes(graph, found, ctypes.byref(count)))
    return [int(node or 0) for node in found]


def node_count(graph: int) -> int:
    """How many nodes a graph has."""
    return len(nodes_of(graph))


def kernel_places(graph: int, spans: Mapping[int, tuple[int, int]]) -> dict[int, list[Place]]:
    """For each argument, given as the addresses of its first byte and behind its last, the kernels with parameters in it.

    Arguments that overlap one another, or are empty, are left out.
    """
    apart = _apart(spans)
    found: dict[int, list[Place]] = {number: [] for number in apart}
    if not apart:
        return found
    lib = graph_library()
    for node in nodes_of(graph):
        kind = ctypes.c_int()
        check("asking for the type of a node", lib.cuGraphNodeGetType(node, ctypes.byref(kind)))
        if kind.value != KERNEL_NODE:
            continue
        params = KernelNodeParams()
        check("asking for the parameters of a kernel", lib.cuGraphKernelNodeGetParams_v2(node, ctypes.byref(params)))
        values = _words(params)
        for number, (begin, end) in apart.items():
            slots = tuple([(address, value - begin) for address, value in values if begin <= value < end])
            if slots:
                found[number].append(Place(node, params, slots))
    return found


def _apart(spans: Mapping[int, tuple[int, int]]) -> dict[int, tuple[int, int]]:
    """The spans that are not empty and overlap no other."""
    given = [(number, span) for number, span in spans.items() if span[0] < span[1]]
    return {a: span for a, span in given if not any(a != b and span[0] < other[1] and other[0] < span[1] for b, other in given)}


def _words(params: KernelNodeParams) -> list[tuple[int, int]]:
    """The parameters of eight bytes of a kernel: the addresses of the driver's copies, and their values."""
    lib, found, number = graph_library(), [], 0
    if not params.parameters or not params.function:
        return []
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    while not lib.cuFuncGetParamInfo(params.function, number, ctypes.byref(offset), ctypes.byref(size)):
        place = params.parameters[number]
        if size.value == ctypes.sizeof(ctypes.c_uint64) and place:
            found.append((int(place), ctypes.c_uint64.from_address(place).value))
        number += 1
    return found


def set_address(executable: int, place: Place, address: int) -> None:
    """Let a kernel of an executable graph find an argument at another address."""
    for slot, behind in place.slots:
        ctypes.c_uint64.from_address(slot).value = address + behind
    check("patching a kernel", graph_library().cuGraphExecKernelNodeSetParams_v2(executable, place.node, ctypes.byref(place.params)))
