# RUN: lect-opt --decode %s:attend | filecheck %s --check-prefix=ATTEND
# RUN: lect-opt --decode %s:chained | filecheck %s --check-prefix=CHAINED
# RUN: lect-opt --decode %s:either | filecheck %s --check-prefix=EITHER
# RUN: lect-opt --decode %s:items | filecheck %s --check-prefix=ITEMS
# RUN: lect-opt --decode %s:text | filecheck %s --check-prefix=TEXT
"""Straight-line code reads as the Python it came from, and equal on each Python."""


# ATTEND-LABEL: pyframe.func @attend() {code_name = "attend", args = ["self", "x"], locals = ["h"]
# ATTEND-NEXT: %F = pyframe.load_global() {id = "F"}
# ATTEND-NEXT: %gelu = pyframe.load_attr(%F) {attr = "gelu"}
# ATTEND-NEXT: %x = pyframe.load_local() {id = "x"}
# ATTEND-NEXT: %self = pyframe.load_local() {id = "self"}
# ATTEND-NEXT: %w = pyframe.load_attr(%self) {attr = "w"}
# ATTEND-NEXT: %0 = pyframe.binary(%x, %w) {operator = "@"}
# ATTEND-NEXT: %tanh = pyframe.load_const() {value = "tanh"}
# ATTEND-NEXT: %h = pyframe.call(%gelu, %0, %tanh) {keywords = ["approximate"]}
# ATTEND-NEXT: pyframe.store_local(%h) {id = "h"}
# ATTEND-NEXT: %self_1 = pyframe.load_local() {id = "self"}
# ATTEND-NEXT: %calls = pyframe.load_attr(%self_1) {attr = "calls"}
# ATTEND-NEXT: %c1 = pyframe.load_const() {value = 1}
# ATTEND-NEXT: %1 = pyframe.binary(%calls, %c1) {operator = "+="}
# ATTEND-NEXT: pyframe.store_attr(%self_1, %1) {attr = "calls"}
# ATTEND-NEXT: %h_1 = pyframe.load_local() {id = "h"}
# ATTEND-NEXT: pyframe.return(%h_1)
# ATTEND-NEXT: }
def attend(self, x):
    h = F.gelu(x @ self.w, approximate="tanh")  # noqa: F821
    self.calls += 1
    return h


# CHAINED: %[[AB:.*]] = pyframe.compare(%a, %b) {operator = "<"}
# CHAINED-NEXT: pyframe.cond_branch(%[[AB]])[^[[MORE:.*]](%b), ^[[STOP:.*]](%b, %[[AB]])]
# CHAINED: ^[[MORE]](%[[B:.*]]: !pyframe.object):
# CHAINED-NEXT: %c = pyframe.load_local() {id = "c"}
# CHAINED-NEXT: %[[BC:.*]] = pyframe.compare(%[[B]], %c) {operator = "<="}
# CHAINED-NEXT: pyframe.{{branch|return}}{{.*}}(%[[BC]])
# CHAINED: ^[[STOP]](%[[DEAD:.*]]: !pyframe.object, %[[R:.*]]: !pyframe.object):
# CHAINED-NEXT: pyframe.drop(%[[DEAD]])
# CHAINED-NEXT: pyframe.{{branch|return}}{{.*}}(%[[R]])
def chained(a, b, c):
    return a < b <= c


# EITHER: pyframe.cond_branch(%a)[^{{.*}}(%a), ^[[SECOND:.*]]]
# EITHER: ^[[SECOND]]:
# EITHER-NEXT: %b = pyframe.load_local() {id = "b"}
# EITHER: pyframe.return(%{{.*}})
def either(a, b):
    return a or b


# ITEMS: %[[SLICE:.*]] = pyframe.build_slice(%c1, %c3)
# ITEMS-NEXT: %[[PART:.*]] = pyframe.load_item(%x, %[[SLICE]])
# ITEMS: pyframe.store_item(%y, %i, %{{.*}})
# ITEMS: pyframe.delete_item(%{{.*}}, %{{.*}})
# ITEMS: %[[A:.*]], %[[REST:.*]] = pyframe.unpack_ex(%{{.*}}) {before = 1, after = 0}
def items(x, y, i):
    part = x[1:3]
    y[i] += part
    del y[0]
    first, *rest = y
    return first, rest


# TEXT: %[[V:.*]] = pyframe.convert_value(%x) {conversion = "repr"}
# TEXT-NEXT: %[[F:.*]] = pyframe.format_value(%[[V]])
# TEXT: pyframe.format_value(%{{.*}}, %text{{.*}})
# TEXT: pyframe.build_string
def text(x):
    return f"{x!r}: {x:.3f}"
