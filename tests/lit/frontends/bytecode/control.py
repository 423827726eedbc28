# RUN: lect-opt --decode %s:loop | filecheck %s --check-prefix=LOOP
# RUN: lect-opt --decode %s:guarded | filecheck %s --check-prefix=GUARDED
# RUN: lect-opt --decode %s:managed | filecheck %s --check-prefix=MANAGED
# RUN: lect-opt --decode %s:patterns | filecheck %s --check-prefix=PATTERNS
"""Blocks carry what was on the stack; each names where its exceptions go."""


# LOOP-LABEL: pyframe.func @loop
# LOOP: %iter = pyframe.get_iter(%xs)
# LOOP-NEXT: pyframe.branch()[^for_1(%iter)]
# LOOP-NEXT: ^for_1(%[[I:.*]]: !pyframe.object):
# LOOP-NEXT: pyframe.for_iter(%[[I]])[^[[BODY:.*]](%[[I]]), ^[[DONE:.*]]]
# LOOP-NEXT: ^[[BODY]](%[[J:.*]]: !pyframe.object, %x: !pyframe.object):
# LOOP-NEXT: pyframe.store_local(%x) {id = "x"}
# LOOP: pyframe.branch()[^for_1(%{{.*}})]
# LOOP: ^[[DONE]]:
# LOOP-NEXT: %total{{.*}} = pyframe.load_local() {id = "total"}
def loop(xs):
    total = 0
    for x in xs:
        if x is None:
            continue
        total += x
    return total


# GUARDED-LABEL: pyframe.func @guarded
# GUARDED: %[[R:.*]] = pyframe.call(%f)
# GUARDED-NEXT: pyframe.return(%[[R]])[^except_1]
# GUARDED-NEXT: ^except_1(%exc: !pyframe.object):
# GUARDED-NEXT: %previous = pyframe.push_exc(%exc)
# GUARDED-NEXT: %ValueError = pyframe.load_global() {id = "ValueError"}
# GUARDED-NEXT: %matches = pyframe.match_exc(%exc, %ValueError)
# GUARDED-NEXT: pyframe.cond_branch(%matches)[^[[YES:.*]](%previous, %exc), ^[[NO:.*]](%previous, %exc), ^except_2(%previous)]
# GUARDED: ^[[YES]]
# GUARDED: pyframe.pop_exc(%{{.*}})
# GUARDED: ^[[NO]](%[[P:.*]]: !pyframe.object, %[[E:.*]]: !pyframe.object):
# GUARDED-NEXT: pyframe.reraise(%[[E]])[^except_2(%[[P]])]
# GUARDED-NEXT: ^except_2(%[[Q:.*]]: !pyframe.object, %place: !pyframe.place, %[[X:.*]]: !pyframe.object):
# GUARDED-NEXT: pyframe.pop_exc(%[[Q]])
# GUARDED-NEXT: pyframe.reraise(%[[X]], %place)
def guarded(f):
    try:
        return f()
    except ValueError:
        return None


# MANAGED-LABEL: pyframe.func @managed
# MANAGED: %exit, %{{.*}} = pyframe.with_enter(%m)
# MANAGED: pyframe.call(%exit{{.*}}, %None{{.*}}, %None{{.*}}, %None{{.*}})
# MANAGED: ^except_1(%[[EXIT:.*]]: !pyframe.object, %place: !pyframe.place, %exc: !pyframe.object):
# MANAGED-NEXT: %previous = pyframe.push_exc(%exc)
# MANAGED-NEXT: %swallow = pyframe.with_exit(%[[EXIT]], %exc)
# MANAGED-NEXT: pyframe.cond_branch(%swallow)
def managed(m):
    with m as value:
        print(value)


# PATTERNS: pyframe.match_sequence(%x)
# PATTERNS: pyframe.get_len
# PATTERNS: pyframe.match_mapping
# PATTERNS: pyframe.match_keys
# PATTERNS: pyframe.match_class(%{{.*}}, %int, %{{.*}}) {count = 1}
def patterns(x):
    match x:
        case [a, b]:
            return a, b
        case {"k": v}:
            return v
        case int(n):
            return n
