"""dce over block graphs: arguments, cycles of arguments, operand segments, effects."""

from lect.passes.common.dce import Dce
from tests.unit.passes.cf import make_context, run


def test_argument_that_only_feeds_itself_goes():
    out = run(Dce(), """
        cf.func @f(%x: f32) {
          cf.branch()[^head(%x, %x)]
        ^head(%live: f32, %idle: f32):
          cf.choose(%live)[^head(%live, %idle), ^end(%live)]
        ^end(%result: f32):
          cf.return(%result)
        }
    """)
    assert "^head(%live: f32):" in out
    assert "cf.choose(%live)[^head(%live), ^end(%live)]" in out
    assert "cf.branch()[^head(%x)]" in out


def test_swapped_arguments_stay():
    text = """
        cf.func @f(%x: f32, %y: f32) {
          cf.branch()[^head(%x, %y)]
        ^head(%a: f32, %b: f32):
          cf.choose(%a)[^head(%b, %a), ^end]
        ^end:
          cf.return()
        }
    """
    assert run(Dce(), text) == run(Dce(), text.replace("  ", " "))
    assert "^head(%a: f32, %b: f32):" in run(Dce(), text)


def test_what_only_feeds_a_removed_argument_goes_too():
    out = run(Dce(), """
        cf.func @f(%x: f32) {
          %0 = cf.add(%x, %x) : f32
          cf.branch()[^end(%0)]
        ^end(%unused: f32):
          cf.return()
        }
    """)
    assert "cf.add" not in out
    assert "^end:" in out


def test_dead_operations_in_a_circle_go():
    out = run(Dce(), """
        cf.func @f(%x: f32) {
          cf.branch()[^head(%x)]
        ^head(%a: f32):
          %0 = cf.add(%a, %x) : f32
          cf.choose(%x)[^head(%0), ^end]
        ^end:
          cf.return()
        }
    """)
    assert "cf.add" not in out
    assert "cf.choose(%x)[^head, ^end]" in out


def test_writes_stay_and_reads_without_users_go():
    out = run(Dce(), """
        cf.func @f(%m: f32) {
          %0 = cf.load(%m) : f32
          %1 = cf.alloc() : f32
          %2 = cf.zero() : f32
          cf.store(%m, %2)
          cf.return()
        }
    """)
    assert "cf.load" not in out
    assert "cf.alloc" not in out
    assert "cf.store(%m, %0)" in out


def test_region_without_effects_goes_as_a_whole():
    # a loop has no result, so nothing can need it: it stays only for its effects
    kept = run(Dce(), "cf.func @f(%m: f32) {\n cf.loop() {\n %0 = cf.zero() : f32\n cf.store(%m, %0)\n cf.return()\n }\n cf.return()\n }")
    assert "cf.store" in kept
    gone = run(Dce(), "cf.func @f(%m: f32) {\n cf.loop() {\n %0 = cf.zero() : f32\n cf.return()\n }\n cf.return()\n }")
    assert "cf.loop" not in gone


def test_unreachable_blocks_that_use_each_other_go():
    out = run(Dce(), """
        cf.func @f(%x: f32) {
          cf.return(%x)
        ^lost:
          %0 = cf.add(%x, %x) : f32
          cf.branch()[^lost_too(%0)]
        ^lost_too(%1: f32):
          cf.branch()[^lost]
        }
    """)
    assert "^" not in out


def test_long_chains_of_blocks_do_not_exhaust_the_stack():
    blocks = "".join(f"^b{i}(%a{i}: f32):\n cf.branch()[^b{i + 1}(%a{i})]\n" for i in range(3000))
    out = run(Dce(), f"cf.func @f(%x: f32) {{\n cf.branch()[^b0(%x)]\n{blocks}^b3000(%r: f32):\n cf.return(%r)\n}}")
    assert out.count("cf.branch") == 3001


def test_counts():
    ctx = make_context()
    run(Dce(), "cf.func @f(%x: f32) {\n %0 = cf.zero() : f32\n cf.branch()[^e(%x)]\n^e(%u: f32):\n cf.return()\n^lost:\n cf.return()\n}", ctx)
    assert ctx.statistics == {"blocks removed": 1, "operations removed": 1, "arguments removed": 1}
