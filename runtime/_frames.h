/* CPython's frames: what the frame hook does with them, and what differs between 3.11, 3.12 and 3.13. Included by _frame_hook.c alone.
 *
 * A frame is handed to an evaluation function when it is pushed and not yet started, on top of the thread's data stack. It can be evaluated as
 * it is, be turned into a frame of other code, or be disposed of; each is done with what CPython exports, and the same interpreter loop clears
 * and pops it as ever.
 */
#ifndef LECT_FRAMES_H
#define LECT_FRAMES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#undef _PyGC_FINALIZED /* 3.12: defined again by the internal headers */
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#include <internal/pycore_code.h>
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE
#include <opcode.h>
#include <stdbool.h>
#include <structmember.h>
#if defined(__GLIBC__) || defined(__APPLE__)
#  include <pthread.h>
#endif

/* ---- differences between versions -------------------------------------------------------------------------------------------------------- */
#if PY_VERSION_HEX < 0x030B0000 || PY_VERSION_HEX >= 0x030E0000
#  error "frames have another layout in this CPython"
#endif
#ifdef Py_GIL_DISABLED
#  error "the tables of the hook are guarded by the GIL"
#endif
#if PY_VERSION_HEX >= 0x030D0000
#  define FRAME_CODE(f)        ((PyCodeObject *)(f)->f_executable)
#  define SET_FRAME_CODE(f, c) ((f)->f_executable = (PyObject *)(c))
#  define FRAME_FUNCTION(f)    ((PyFunctionObject *)(f)->f_funcobj)
#  define REWIND(f, c)         ((f)->instr_ptr = _PyCode_CODE(c))
#elif PY_VERSION_HEX >= 0x030C0000
#  define FRAME_CODE(f)        ((f)->f_code)
#  define SET_FRAME_CODE(f, c) ((f)->f_code = (c))
#  define FRAME_FUNCTION(f)    ((PyFunctionObject *)(f)->f_funcobj)
#  define REWIND(f, c)         ((f)->prev_instr = _PyCode_CODE(c) - 1)
#else
#  define FRAME_CODE(f)        ((f)->f_code)
#  define SET_FRAME_CODE(f, c) ((f)->f_code = (c))
#  define FRAME_FUNCTION(f)    ((f)->f_func)
#  define REWIND(f, c)         ((f)->prev_instr = _PyCode_CODE(c) - 1)
#endif
#if PY_VERSION_HEX >= 0x030C0000
#  define CALLEE_CLEARS_FRAME  1
#  define FRAME_SLOTS(c)       ((c)->co_framesize)
#  define GET_EXTRA            PyUnstable_Code_GetExtra
#  define SET_EXTRA            PyUnstable_Code_SetExtra
#  define REQUEST_EXTRA        PyUnstable_Eval_RequestCodeExtraIndex
#else
#  define CALLEE_CLEARS_FRAME  0
#  define FRAME_SLOTS(c)       ((int)((c)->co_nlocalsplus + (c)->co_stacksize + FRAME_SPECIALS_SIZE))
#  define GET_EXTRA            _PyCode_GetExtra
#  define SET_EXTRA            _PyCode_SetExtra
#  define REQUEST_EXTRA        _PyEval_RequestCodeExtraIndex
#endif
#if defined(__GLIBC__) && defined(__GNUC__)
#  define PER_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
#else
#  define PER_THREAD static _Thread_local
#endif

/* ---- the C stack ------------------------------------------------------------------------------------------------------------------------- */
/* Under a hook each Python call takes C stack (0.4 to 0.8 KB), which it does not otherwise. */
typedef enum {
    ROOM_UNKNOWN, /* no statement about this thread */
    ROOM_AMPLE,   /* more than half of the stack is free: the rest is for what C code below may need */
    ROOM_LOW,
    ROOM_NONE     /* less than STACK_LEAST */
} Room;

#define STACK_LEAST (48 * 1024)

PER_THREAD char *stack_low, *stack_high;

static void find_stack(char *here)
{
#if defined(__GLIBC__)
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        pthread_attr_getstack(&attributes, &low, &size);
        pthread_attr_destroy(&attributes);
    }
    stack_low = low;
    stack_high = (char *)low + size;
#elif defined(__APPLE__)
    stack_high = pthread_get_stackaddr_np(pthread_self());
    stack_low = stack_high - pthread_get_stacksize_np(pthread_self());
#endif
    if (stack_high == NULL)
        stack_low = stack_high = here;
}

static Room room(void)
{
    char here;
    if (stack_high == NULL)
        find_stack(&here);
    if (&here <= stack_low || &here >= stack_high)
        return ROOM_UNKNOWN;
    size_t left = (size_t)(&here - stack_low);
    return left < STACK_LEAST ? ROOM_NONE : left < (size_t)(stack_high - stack_low) / 2 ? ROOM_LOW : ROOM_AMPLE;
}

/* ---- frames ----------------------------------------------------------------------------------------------------------------------------- */
/* The number of arguments of a function when * and ** count as one each: these are its first locals. */
static int flat_count(PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) + !!(code->co_flags & CO_VARKEYWORDS);
}

static Py_ssize_t count_in_place = 0, count_by_call = 0;
static bool never_in_place = false; /* for tests of the other way */
PER_THREAD PyCodeObject *passing;   /* the next frame of this code is the hook's own call */
#if CALLEE_CLEARS_FRAME
static PyCodeObject *return_none = NULL; /* made by prepare_frames() */
#endif

/* Get rid of a frame that shall not run. */
static void dispose(PyThreadState *ts, _PyInterpreterFrame *f)
{
#if CALLEE_CLEARS_FRAME
    /* Who evaluates a frame pops it, and 3.12 exports no function for that. So evaluate it as one instruction, RETURN_CONST None: without a
     * RESUME there is no trace event and no signal handler, and the frame is in no traceback. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < f->stacktop; i++)
        Py_CLEAR(f->localsplus[i]);
    PyCodeObject *old = FRAME_CODE(f);
    SET_FRAME_CODE(f, (PyCodeObject *)Py_NewRef(return_none));
    REWIND(f, return_none);
    f->stacktop = 0;
    ts->datastack_top = (PyObject **)f + FRAME_SLOTS(return_none);
    Py_XDECREF(_PyEval_EvalFrameDefault(ts, f, 0));
    Py_DECREF(old);
    PyErr_Restore(type, value, traceback);
#else
    (void)ts, (void)f; /* the caller of the evaluation function clears */
#endif
}

/* Evaluate a frame as it is.
 *
 * 3.12 and later count calls that take C stack, 2 units for each entry to the evaluator, and allow few (1500 units in 3.12.1). A recursion of
 * Python functions would fail at half of that only because a hook sees it, so the units are given back while there is ample stack. */
static PyObject *evaluate(PyThreadState *ts, _PyInterpreterFrame *f, int throwing)
{
    Room left = room();
    if (left == ROOM_NONE && !throwing && f->owner == FRAME_OWNED_BY_THREAD) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the C stack of this thread is used up");
        dispose(ts, f);
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030C0000
    int units = left == ROOM_AMPLE ? 2 : 0;
    ts->c_recursion_remaining += units;
    PyObject *result = _PyEval_EvalFrameDefault(ts, f, throwing);
    ts->c_recursion_remaining -= units;
    return result;
#else
    return _PyEval_EvalFrameDefault(ts, f, throwing);
#endif
}

/* Run `code` by a call, for when the data stack has no room to grow the frame. */
static PyObject *run_by_call(PyThreadState *ts, _PyInterpreterFrame *f, PyCodeObject *code)
{
    count_by_call++;
    PyFunctionObject *function = FRAME_FUNCTION(f);
    PyObject *result = NULL, *made = PyFunction_New((PyObject *)code, function->func_globals);
    if (made != NULL) {
        if (code->co_nfreevars) {
            Py_XINCREF(function->func_closure);
            Py_XSETREF(((PyFunctionObject *)made)->func_closure, function->func_closure);
        }
        Py_INCREF(function->func_builtins);
        Py_SETREF(((PyFunctionObject *)made)->func_builtins, function->func_builtins);
        passing = code;
        result = PyObject_Vectorcall(made, f->localsplus, flat_count(FRAME_CODE(f)), NULL);
        passing = NULL;
        Py_DECREF(made);
    }
    dispose(ts, f);
    return result;
}

/* The frame is fresh and on top of the data stack, and its arguments are as the caller passed them (cells are made by the code's own
 * first instructions), so it may become a frame of any code with the same arguments. */
static PyObject *run_in_place(PyThreadState *ts, _PyInterpreterFrame *f, PyCodeObject *code)
{
    PyCodeObject *old = FRAME_CODE(f);
    PyObject **base = (PyObject **)f, **top = base + FRAME_SLOTS(code);
    if (never_in_place || top >= ts->datastack_limit || base + FRAME_SLOTS(old) != ts->datastack_top)
        return run_by_call(ts, f, code);
    count_in_place++;
    ts->datastack_top = top;
    for (int i = flat_count(old); i < code->co_nlocalsplus; i++)
        f->localsplus[i] = NULL;
    f->stacktop = code->co_nlocalsplus;
    SET_FRAME_CODE(f, (PyCodeObject *)Py_NewRef(code));
    REWIND(f, code);
    Py_DECREF(old);
    return evaluate(ts, f, 0);
}

/* True while somebody watches the lines of this thread, who shall see the program as it is written: a trace function (debuggers, coverage),
 * or a tool of sys.monitoring that calls itself a debugger (0) or coverage (1). */
static bool watched(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (ts->interp->monitoring_tool_names[0] != NULL || ts->interp->monitoring_tool_names[1] != NULL)
        return true;
#endif
    return ts->c_tracefunc != NULL;
}

/* True for the frame of a plain function: not of a generator or coroutine (whose frame moves to the heap), a class body or a module. */
static bool is_plain(_PyInterpreterFrame *f)
{
    const int refused = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR, needed = CO_OPTIMIZED | CO_NEWLOCALS;
    return (FRAME_CODE(f)->co_flags & (refused | needed)) == needed && f->f_locals == NULL;
}

/* What `code` must be to run in a frame of `old`: its first locals are the flat arguments of `old`, and it has no other parameters; its free
 * variables are those of `old`, or none (the frame keeps the function, whose closure they are). -1 with an exception when it is not. */
static int check_contract(PyCodeObject *old, PyObject *given)
{
    if (!PyCode_Check(given)) {
        PyErr_Format(PyExc_TypeError, "a code object is expected, got %.100s", Py_TYPE(given)->tp_name);
        return -1;
    }
    PyCodeObject *code = (PyCodeObject *)given;
    const int needed = CO_OPTIMIZED | CO_NEWLOCALS;
    const int refused = CO_VARARGS | CO_VARKEYWORDS | CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    const char *why = NULL;
    if (code == old)
        why = "it is the code itself";
    else if (code->co_argcount != flat_count(old) || code->co_kwonlyargcount)
        why = "it takes other arguments";
    else if ((code->co_flags & (needed | refused)) != needed)
        why = "it is not the code of a function with positional parameters alone";
    else if (code->co_nfreevars != 0 && code->co_nfreevars != old->co_nfreevars)
        why = "it has other free variables";
    if (why == NULL)
        return 0;
    PyErr_Format(PyExc_ValueError, "%U cannot run in a frame of %U: %s", code->co_qualname, old->co_qualname, why);
    return -1;
}

/* Make what the functions above need; -1 with an exception when that fails. */
static int prepare_frames(void)
{
#if CALLEE_CLEARS_FRAME
    if (return_none != NULL)
        return 0;
    PyCodeObject *empty = PyCode_NewEmpty("<lect>", "<no frame>", 1);
    PyObject *replace = empty != NULL ? PyObject_GetAttrString((PyObject *)empty, "replace") : NULL;
    const char instruction[] = {(char)RETURN_CONST, 0};
    const char no_lines[] = {(char)0xE8, 0};
    PyObject *changes = Py_BuildValue("{sy#s(O)sy#}", "co_code", instruction, (Py_ssize_t)2, "co_consts", Py_None, "co_linetable", no_lines, (Py_ssize_t)2);
    PyObject *nothing = PyTuple_New(0);
    if (replace != NULL && changes != NULL && nothing != NULL)
        return_none = (PyCodeObject *)PyObject_Call(replace, nothing, changes);
    Py_XDECREF(empty);
    Py_XDECREF(replace);
    Py_XDECREF(changes);
    Py_XDECREF(nothing);
    return return_none != NULL ? 0 : -1;
#else
    return 0;
#endif
}

#endif
