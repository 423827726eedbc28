"""Random nests as native code against the reference: shapes, strides, element types, one or two reductions, several outputs."""

import random

import pytest

from tests.unit.kernel.nests import compare, contiguous, linear, nest_text, run_many, run_reference, sample, sizes_text

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24, 31, 33, 40, 65, 70)
FLOATS = ("f32", "f32", "f32", "f64", "bf16", "f16")
UNARY = ("neg", "abs", "tanh", "exp", "sigmoid", "floor", "erf")
BINARY = ("add", "sub", "mul", "maximum", "minimum")


class RandomNest:
    """A graph of one random nest, with inputs that fit it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.rank = self.random.randint(0, 4)
        self.sizes = [self.random.choice(SIZES) for _ in range(self.rank)]
        while product(self.sizes) > 40000:
            self.sizes[self.random.randrange(self.rank)] = 2
        self.lines, self.inputs, self.buffers = [], [], []
        over = sorted(self.random.sample(range(self.rank), self.random.randint(1, self.rank))) if self.rank and self.random.random() < 0.6 else []
        self.over = over
        self.text, self.loose = self.build()

    def value(self, text):
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def strides(self, sizes):
        """Strides of a buffer over all dims of the space: a permutation, or some dims left out, or with gaps."""
        order = list(range(len(sizes)))
        if self.random.random() < 0.5:
            self.random.shuffle(order)
        missing = {k for k in order if self.random.random() < 0.2}
        strides, step = [0] * len(sizes), 1 if self.random.random() < 0.8 else 2
        for k in reversed(order):
            if k not in missing and sizes[k] != 1:
                strides[k] = step
                step *= sizes[k]
        return strides, max(step, 1) + 3

    def load(self):
        element = self.random.choice(FLOATS)
        strides, numel = self.strides(self.sizes)
        name = f"x{len(self.inputs)}"
        self.inputs.append(sample([numel], element, self.random.randint(0, 999), special=self.random.random() < 0.1))
        self.buffers.append((name, f"{numel}x{element}"))
        found = self.value(f"loop.load(%{name}) MAP({linear(strides)}) : {element}")
        return found if element == "f32" else self.value(f"loop.cast({found}) : f32")

    def some_operations(self, values):
        for _ in range(self.random.randint(0, 4)):
            if self.random.random() < 0.4:
                values.append(self.value(f"loop.{self.random.choice(UNARY)}({self.random.choice(values)}) : f32"))
            else:
                values.append(self.value(f"loop.{self.random.choice(BINARY)}({self.random.choice(values)}, {self.random.choice(values)}) : f32"))

    def build(self):
        values = [self.load() for _ in range(self.random.randint(1, 3))]
        self.some_operations(values)
        reduced, loose = [], False
        for _ in range(self.random.randint(1, 2) if self.over else 0):
            kind = self.random.choice(("sum", "max", "min"))
            loose = loose or kind == "sum"
            found = self.value(f'loop.reduce({values[-1]}) {{kind = "{kind}", over = {self.over}}} : f32')
            reduced.append(found)
            if kind == "sum":
                scale = self.value("loop.const() {value = 0.01} : f32")
                found = self.value(f"loop.mul({found}, {scale}) : f32")
            values.append(self.value(f"loop.sub({self.random.choice(values)}, {found}) : f32"))
            self.some_operations(values)
        outputs = []
        for number, (value, dims) in enumerate([(values[-1], list(range(self.rank)))] + [(found, self.kept()) for found in reduced[:1]]):
            outputs.append(self.store(value, dims, number))
        names = [(f"y{number}", type) for number, type in enumerate(outputs)]
        return nest_text(self.sizes, self.buffers, names, "\n".join(self.lines)), loose

    def kept(self):
        return [k for k in range(self.rank) if k not in self.over]

    def store(self, value, dims, number):
        order = list(dims)
        if self.random.random() < 0.3:
            self.random.shuffle(order)
        sizes = [self.sizes[k] for k in order]
        steps = dict(zip(order, contiguous(sizes)))
        element = self.random.choice(FLOATS)
        if element != "f32":
            value = self.value(f"loop.cast({value}) : {element}")
        to = f"{{to = {number}, " if number else "{"
        text = f"    loop.store({value}) MAP({linear([steps.get(k, 0) for k in range(self.rank)])})"
        self.lines.append(text.replace("MAP", "MAP") if not number else text + to)
        return sizes_text(sizes, element)


def product(sizes):
    count = 1
    for size in sizes:
        count *= size
    return count


def fixed(text):
    """`to` stands in the same braces as the map."""
    return text.replace("}{to = 1, ", ", to = 1}")


def run(seeds):
    nests = [RandomNest(seed) for seed in seeds]
    texts = [fixed(nest.text) for nest in nests]
    found = run_many(texts, [nest.inputs for nest in nests])
    for seed, nest, text, have in zip(seeds, nests, texts, found):
        want = run_reference(text, nest.inputs)
        try:
            tolerance = 2e-2 if any(t.dtype.itemsize == 2 for t in want) else 2e-4
            compare(want, have, tolerance, tolerance, what=f"seed {seed}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{text}") from None


@pytest.mark.parametrize("start", range(0, 60, 15))
def test_random_nests(start):
    run(range(start, start + 15))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 2000, 20))
def test_many_random_nests(start):
    run(range(start, start + 20))
