"""A compiled function is followed operation by operation.  Where that is not possible (the program asks for the elements of a tensor, writes to a
stream, calls C code of which nothing is known) the function is *cut*: the graph so far runs, that one operation runs as Python runs it, and what is
behind it is compiled in turn, when it is reached and with the values that are there.  Output, side effects, exceptions and values are those of the
uncompiled function.

    def f(x):
        y = x * 2          # graph 1
        print(y.shape)     # runs as written
        return y.relu()    # graph 2

`lect.explain(f)(x)` lists the graphs and breaks of a call with the text of each, `lect.events("graph break")` those that have happened, and
`LECT_LOG=1` prints them.  `lect.compile(f, fullgraph=True)` raises at the first one, and `options={"breaks": "eager"}` runs such a function eagerly as
a whole.

**What a cut is made of.**  The residual function of a cut frame (see the [pyframe dialect](reference/dialects/pyframe.md)) calls the graph, makes the
objects that are alive, replays the side effects so far, and calls a *step*.  The step runs the operation and passes the variables and the operand stack
to a *resume function*, the rest of the original function: one for each way on, also for the handler to which an exception goes.  Both are
`pyframe.func`s in the module of the trace, so `lect-opt --capture FILE.py:FUNCTION -p capture` shows them.  Loops, `with`, `try`, `except` and `finally`
may be open at a cut.  A function that was inlined is cut together with those around it, and each goes on in a resume function of its own.  A call that
is given no tensors runs as a whole when it cannot be followed.

**Resume functions are compiled like functions.**  They have guards and versions, four times as many as a function may have, since the rest of a loop may
see other modules each time.  An object that cannot be made again (a slot object, an exception, a lock) is made by running the operation that makes it:
the cut moves up to there.

**Loops with a break in each turn** have a fixed number of graphs.  The step asks the iterator for the next item, and the rest behind it has that item among
its parameters, up to the break; from there the next rest leads back.  Layers of one kind share a version, as their parameters are inputs of its graph.  What is
another number, text or length in each turn is computed with where arithmetic alone uses it; where it is looked at (`layers[i]`, `len(found)`, a key) there is
a version for each of the first three, and behind these a cut (LB0032), whose step looks at it, so that one version stands for all further turns.

**When the frame runs eagerly instead.**  Some places cannot be cut, such as a comprehension whose variable nested functions share: LB0029 says so.
Functions that raise out of the frame (LB0012) or compute nothing (LB0022) are run as written, which is what they need.

**What is no break.**  Hooks on gradients (see [training](training.md)), draws from a `torch.Generator` (see [random numbers](random-numbers.md)), `except*`,
copies that classes make of themselves, dispatch and caches made in the frame, JSON of plain data: these are followed, or done by the residual code.
Calls of functions with `functools.lru_cache` give what the cache holds and are made again by the residual code, so that hits are counted; where the cache
holds nothing yet, the function runs once while the frame is followed, or the frame is cut in front of it, when the function could see what the frame has
written, writes to what it has read, or would raise, which a trial apart from the frame says.

Warnings, those of torch's functions too, are effects like messages of a logger: they name the program's line, and the filters of the moment decide what
becomes of them.  Under a filter that makes errors of warnings they are breaks, and so are messages and warnings that code of the program gets (a handler,
filter or formatter of its own, a function that shows warnings), or that a handler keeps in memory, as pytest's does: the frame may read next what was
written there.

**Branches that raise.**  Of `if not valid.all(): raise ValueError(...)` the other side is followed, and the graph checks that the tensor says so, as in the
argument checks of `torch.distributions`.  When it does not, the call is made again as it is written, which raises the program's exception: the graph has
changed nothing by then.  Where a graph cannot be run again, on a GPU, and in a function that has raised in this way eight times, the branch is a break.

**Classes and functions made anew.**  A class statement or an inner function in front of a cut makes another object in each call.  When a version does not
hold for one as another one of the same name was there, the next version knows it by its shape (metaclass, bases, names, code) and reads what else
decides (values, variables around functions, defaults) along paths to it.

**Objects made anew.**  So does any object that is made in front of a cut.  Behind it, what C code made (bound methods such as `items.append`, getters of
`operator`, matches, frozensets, instances of classes that derive from numbers and texts) is known by what it holds.  Another object is this very one where
it is a key or is compared, until a version did not hold for one of the same class: from then on the guards say which of those that are compared are one and
the same.  Three things hang on the identity alone and are cut for such objects: the order of a set of them, a function with a cache, and a generator of
random numbers.  `id()` of one needs a version for each call.

**Clocks are one on purpose.**  A program that reads the time in front of and behind an operation wants to know how long that took.  So what stands in
front of the call has run when it is made.

**Lifetimes.**  A residual function and a step have returned before the next part begins, and what is alive is all that is handed on: what the program
lets go of in front of a cut is released there.  Between two cuts an object lives to the end of the piece, and the arguments of the compiled call itself
live until that returns.  A variable that lets go of an object with a finaliser is a cut of its own (LB0018).

An event has the number, the place in the program, what exactly stopped, and a hint.  These are all reasons:
"""
