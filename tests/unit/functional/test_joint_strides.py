"""fx-build-joint for gradients that are given in another layout than the results'."""

import pytest

from lect.dialects import make_context
from lect.ir import LectError, parse_module, print_module
from lect.passes.manager import PassManager

GRAPH = """
fx.graph @f(%x: !fx.tensor<2x3xf32, requires_grad>) {
  %0 = fx.call(%x) {target = @operator.mul, args = [#fx.operand<0>, 2]} : !fx.tensor<2x3xf32, requires_grad>
  fx.return(%0)
}
"""


def joint(options: str) -> str:
    ctx = make_context()
    module = parse_module(GRAPH, ctx)
    PassManager.parse(f"fx-build-joint{options}").run(module, ctx)
    return print_module(module)


def test_a_gradient_that_is_given_in_columns_has_its_own_in_columns():
    text = joint("{strides=1,2}")
    assert "%tangent: !functional.tensor<2x3xf32, strides [1, 2]>" in text
    assert "functional.mul(%tangent) {other = 2} : !functional.tensor<2x3xf32, strides [1, 2]>" in text
    assert "strides" not in joint("")


def test_another_number_of_dims_is_refused():
    with pytest.raises(LectError, match="have 2 dims together, got 1 strides"):
        joint("{strides=1}")
