"""Host programs that start kernels of a GPU, beside those in Python; what stands for CUDA's function that starts a kernel writes down what it is given."""

from __future__ import annotations

import ctypes
import sys
from unittest import mock

import pytest
import torch

from lect.backends import native_host, python_host
from lect.backends.native_host import program as program_module
from lect.backends.triton import tables
from lect.backends.triton.tables import LastLaunch
from lect.backends.triton.trampoline import LaunchInfo
from lect.dialects import make_context
from lect.ir import LectError, parse_module

STARTER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3)
TEXT = """
host.func @f(%x: !host.tensor<64xf32>, %y: !host.tensor<64xf32>) {
  %a = host.memory(%x) : !host.buffer<64xf32>
  %b = host.memory(%y) : !host.buffer<64xf32>
  %t = host.empty() : !host.tensor<8x8xf32>
  %m = host.memory(%t) : !host.buffer<64xf32>
  host.launch(%a, %m, %a) {kernel = @n0, grid = 5, target = "cuda"}
  %s = host.alloc() : !host.buffer<64xf32>
  host.launch(%m, %b, %s) {kernel = @n0, grid = 5, target = "cuda"}
  host.free(%s)
  host.return(%t)
}
"""


class Device:
    """Starts kernels by writing down how they were started; each copies what the first pointer shows to the second."""

    def __init__(self, status=0, parameters=5):
        self.parameters = parameters
        self.status, self.started, self.slowly = status, [], []
        self.starter = STARTER(self.start)
        self.info = LaunchInfo(function=0xF00, mask=15, launch=ctypes.cast(self.starter, ctypes.c_void_p).value, grid=5, threads=128, shared=640)

    def start(self, function, *rest):
        *sizes, stream, places, extra = rest
        values = [ctypes.c_uint64.from_address(place).value for place in (ctypes.c_uint64 * self.parameters).from_address(places)]
        self.started.append((function, sizes, stream, values, extra))
        return self.status

    def launch(self):
        """The function that the Python host calls."""

        def launch(stream, *pointers):
            self.slowly.append((stream, pointers))

        launch.info = ctypes.addressof(self.info)
        return launch


def program(device, launch=None, text=TEXT):
    func = parse_module(text, make_context()).body.first
    kernels = {"n0": launch or device.launch()}
    return native_host.load(func, kernels, None), python_host.load(func, kernels, None)


def aligned(count=64):
    return torch.empty(count + 4)[:count]


def test_a_kernel_is_started_with_the_addresses_of_its_tensors_and_of_no_scratch_memory():
    device = Device()
    x, y = aligned(), aligned()
    (made,) = program(device)[0].run(x, y)
    assert made.shape == (8, 8)
    first, second = device.started
    assert first == (0xF00, [5, 1, 1, 128, 1, 1, 640], None, [x.data_ptr(), made.data_ptr(), x.data_ptr(), 0, 0], None)
    assert second[3][:2] == [made.data_ptr(), y.data_ptr()]
    assert second[3][2] not in (0, x.data_ptr(), y.data_ptr(), made.data_ptr())
    assert device.slowly == []


def test_the_python_host_is_called_with_the_same_addresses():
    device = Device()
    x, y = aligned(), aligned()
    (made,) = program(device)[1].run(x, y)
    assert [pointers[:2] for _, pointers in device.slowly] == [(x.data_ptr(), made.data_ptr()), (made.data_ptr(), y.data_ptr())]


@pytest.mark.parametrize("reason", ["not loaded", "not aligned", "refused"])
def test_python_starts_what_the_quick_way_does_not(reason):
    device = Device(status=700 if reason == "refused" else 0)
    if reason == "not loaded":
        device.info.function = 0
    x, y = aligned(), aligned()
    if reason == "not aligned":
        x = torch.empty(65)[1:]
    (made,) = program(device)[0].run(x, y)
    expected = [(0, (x.data_ptr(), made.data_ptr(), x.data_ptr()))]
    assert device.slowly[:1] == expected
    assert len(device.slowly) == (1 if reason == "not aligned" else 2)
    assert len(device.started) == {"not loaded": 0, "not aligned": 1, "refused": 2}[reason]


def test_a_kernel_that_is_loaded_at_the_first_launch_is_started_quickly_from_then_on():
    device = Device()
    device.info.function = 0
    plain = device.launch()

    def launch(stream, *pointers):
        device.info.function = 0xF00
        plain(stream, *pointers)

    launch.info = plain.info
    native, _ = program(device, launch)
    native.run(aligned(), aligned())
    assert (len(device.slowly), len(device.started)) == (1, 1)


def test_what_a_launch_raises_comes_out_of_the_program():
    device = Device(status=2)

    def launch(stream, *pointers):
        raise torch.OutOfMemoryError("CUDA error: out of memory")

    launch.info = device.launch().info
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        program(device, launch)[0].run(aligned(), aligned())


def test_a_launch_without_a_native_form_is_called():
    called = []
    native, _ = program(Device(), lambda stream, *pointers: called.append(pointers))
    assert "start" not in native.text
    native.run(aligned(), aligned())
    assert len(called) == 2


def test_without_a_function_for_the_current_stream_there_is_no_native_program(monkeypatch):
    monkeypatch.setattr(program_module, "symbol_address", lambda name: None)
    text = TEXT.replace("64xf32>", '64xf32, "cuda:0">').replace("8x8xf32>", '8x8xf32, "cuda:0">')
    func = parse_module(text, make_context()).body.first
    with pytest.raises(LectError, match="which stream is current"):
        native_host.load(func, {"n0": Device().launch()}, None)


def test_the_stream_is_asked_for_once(monkeypatch):
    asked = []

    def current(device, out):
        asked.append(device)
        ctypes.c_uint64.from_address(out).value = 0x5EA
        return 0

    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(current)
    plain = program_module.symbol_address
    known = {program_module.STREAM: ctypes.cast(function, ctypes.c_void_p).value}
    monkeypatch.setattr(program_module, "symbol_address", lambda name: known.get(name) or plain(name))
    device = Device()
    writer = program_module._Writer.__init__

    def on_cuda(self, *arguments):
        writer(self, *arguments)
        self._current_stream("cuda:3")

    monkeypatch.setattr(program_module._Writer, "__init__", on_cuda)
    program(device)[0].run(aligned(), aligned())
    assert asked == [3]
    assert [started[2] for started in device.started] == [0x5EA] * 2


EMPTY = 'host.func @f() {\n  %e = host.empty() : !host.tensor<4x2xf32, "cuda:0">\n  %g = host.empty() : !host.tensor<4x2xf32, "cuda:0">\n  host.return(%e, %g)\n}\n'


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch can make memory on a GPU")
def test_memory_that_cannot_be_made_is_torchs_own_error():
    with pytest.raises(Exception) as wanted:
        torch.empty_strided((4, 2), (2, 1), device="cuda:0")
    with pytest.raises(wanted.type, match="CUDA"):
        program(Device(), text=EMPTY)[0].run()


@pytest.mark.skipif(torch.version.cuda is not None, reason="this torch can make memory on a GPU")
def test_memory_that_python_makes_instead_is_used_and_given_back(monkeypatch):
    made = []

    def empty(sizes, strides, dtype, device):
        made.append(torch.empty_strided(sizes, strides, dtype=dtype))
        return made[-1]

    plain = program_module.namespace_of
    monkeypatch.setattr(program_module, "namespace_of", lambda *given: {**plain(*given), "empty_strided": empty})
    native, _ = program(Device(), text=EMPTY)
    first, second = native.run()
    assert (first is made[0], second is made[1]) == (True, True)
    assert native.text.count("step_0") == 2  # equal memory is made by one function
    counts = [sys.getrefcount(each) for each in (first, second)]
    made.clear()
    assert [sys.getrefcount(each) for each in (first, second)] == [count - 1 for count in counts]


GROUP = """
host.func @f(%x: !host.tensor<64xf32>, %y: !host.tensor<64xf32>) {
  %a = host.memory(%x) : !host.buffer<64xf32>
  %b = host.memory(%y) : !host.buffer<64xf32>
  host.launch(%a, %b, %a) {kernel = @n0, grid = 5, target = "cuda"}
  host.return(%x)
}
"""


class Group:
    """A kernel that takes a table: Python writes down what it started, with the table 0x7AB1E0."""

    def __init__(self, device):
        self.device, self.recorded, self.asked = device, 0, []
        self.capturing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int))(self.is_capturing)
        self.last = LastLaunch(3, ctypes.addressof(device.info))

    def is_capturing(self, stream, out):
        self.asked.append(stream)
        out[0] = self.recorded
        return 0

    def launch(self):
        def launch(stream, *pointers):
            self.device.slowly.append((stream, pointers))
            with mock.patch.object(tables, "capturing_address", lambda: ctypes.cast(self.capturing, ctypes.c_void_p).value):
                self.last.write(stream, pointers, 0x7AB1E0)

        launch.last = self.last.address
        return launch


def test_launches_as_one_are_repeated_with_their_table_while_nothing_moves():
    device = Device(parameters=3)
    group = Group(device)
    native, _ = program(device, group.launch(), GROUP)
    x, y, z = aligned(), aligned(), aligned()
    for second in (y, y, y, z, z, y):
        native.run(x, second)
    assert [pointers for _, pointers in device.slowly] == [tuple([each.data_ptr() for each in (x, second, x)]) for second in (y, z, y)]
    assert device.started == [(0xF00, [5, 1, 1, 128, 1, 1, 640], None, [0x7AB1E0, 0, 0], None)] * 3
    assert group.asked == [None] * 3


@pytest.mark.parametrize("reason", ["recorded", "not loaded", "refused", "another stream", "no table"])
def test_python_starts_launches_as_one_that_the_quick_way_does_not(reason):
    device = Device(status=700 if reason == "refused" else 0, parameters=3)
    group = Group(device)
    native, _ = program(device, group.launch(), GROUP)
    x, y = aligned(), aligned()
    native.run(x, y)
    if reason == "not loaded":
        device.info.function = 0
    group.recorded = int(reason == "recorded")
    if reason in ("another stream", "no table"):
        group.last.words[tables.STREAM if reason == "another stream" else tables.TABLE] = 8 * (reason == "another stream")
    native.run(x, y)
    assert len(device.slowly) == 2
    assert len(device.started) == (1 if reason == "refused" else 0)
