/* lect.runtime._frame_hook: a frame evaluation function (PEP 523) for CPython 3.11, 3.12 and 3.13.
 *
 * A thread is *armed* with a Trigger. While it is, each Python function that starts in it is looked up (_records.h): the trigger may run it as
 * written, disarm below it, run other code in its place when a guard holds, or ask its callback. Nothing changes in other threads.
 *
 * Other code runs in the very frame that CPython has pushed and not yet started (_frames.h), so none of CPython's handling of frames is repeated
 * here, and the function's own globals, builtins, closure and caller are those of that frame.
 */
#include "_records.h"
#include <stddef.h>

PER_THREAD Trigger *armed; /* a strong reference, or NULL */
static Py_ssize_t armed_threads = 0; /* the hook is installed while this is not 0; guarded by the GIL */

static PyObject *hook(PyThreadState *, _PyInterpreterFrame *, int);

/* ---- arming ------------------------------------------------------------------------------------------------------------------------------ */
static void uninstall(PyThreadState *ts)
{
    if (_PyInterpreterState_GetEvalFrameFunc(ts->interp) == hook)
        _PyInterpreterState_SetEvalFrameFunc(ts->interp, _PyEval_EvalFrameDefault);
}

/* Arm the thread, which is not armed; takes the reference. Only where no other hook is: two hooks that call each other never end, and to
 * take the place of another (a debugger's, another compiler's) would switch it off. False: refused. */
static bool arm(PyThreadState *ts, Trigger *trigger)
{
    _PyFrameEvalFunction now = _PyInterpreterState_GetEvalFrameFunc(ts->interp);
    if (now != hook) {
        if (now != _PyEval_EvalFrameDefault) {
            Py_DECREF(trigger);
            return false;
        }
        _PyInterpreterState_SetEvalFrameFunc(ts->interp, hook);
    }
    armed = trigger;
    armed_threads++;
    return true;
}

/* Disarm the thread, which is armed; gives the reference. */
static Trigger *disarm(PyThreadState *ts)
{
    Trigger *trigger = armed;
    armed = NULL;
    if (--armed_threads == 0)
        uninstall(ts);
    return trigger;
}

/* Arm with what `disarm` gave, or leave disarmed when that was nothing, whatever ran meanwhile. */
static void rearm(PyThreadState *ts, Trigger *trigger)
{
    if (armed != NULL)
        Py_DECREF(disarm(ts));
    if (trigger != NULL)
        (void)arm(ts, trigger);
}

static PyObject *evaluate_disarmed(PyThreadState *ts, _PyInterpreterFrame *f)
{
    Trigger *trigger = disarm(ts);
    PyObject *result = evaluate(ts, f, 0);
    rearm(ts, trigger);
    return result;
}

/* ---- looking up -------------------------------------------------------------------------------------------------------------------------- */
/* A guard returns the int -1 when all holds, else another int (the number of what fails). 1 holds, 0 does not, -1 raised. */
static int holds(PyObject *guard, PyObject *const *arguments, Py_ssize_t count)
{
    PyObject *result = PyObject_Vectorcall(guard, arguments, (size_t)count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    if (result == NULL)
        return -1;
    int answer = -1;
    if (PyLong_CheckExact(result)) {
        int overflow;
        answer = PyLong_AsLongAndOverflow(result, &overflow) == -1 && !overflow;
    } else {
        PyErr_Format(PyExc_TypeError, "a guard returns an int, got %.100s", Py_TYPE(result)->tp_name);
    }
    Py_DECREF(result);
    return answer;
}

/* The entry whose guard has just been found to hold is asked first from here on. */
static void to_front(Record *record, Py_ssize_t place, PyObject *guard)
{
    if (place == 0 || place >= record->count || record->entries[place].guard != guard)
        return;
    Entry entry = record->entries[place];
    memmove(record->entries + 1, record->entries, (size_t)place * sizeof(Entry));
    record->entries[0] = entry;
}

#define FEW_ARGUMENTS 16

/* Find the first entry that holds: 1 and *code is a new reference, or NULL for the function as written; 0 none; -1 raised. */
static int look_up(_PyInterpreterFrame *f, Record *record, PyCodeObject **code)
{
    PyObject *function = (PyObject *)FRAME_FUNCTION(f), *few[FEW_ARGUMENTS + 2], **arguments = NULL;
    Py_ssize_t count = flat_count(FRAME_CODE(f));
    Trigger *trigger = armed;
    int found = 0;
    record->running++; /* a guard may change or forget this record */
    for (Py_ssize_t i = 0; found == 0 && i < record->count; i++) {
        Entry entry = record->entries[i];
        Py_INCREF(entry.guard);
        Py_XINCREF(entry.code);
        armed = NULL; /* a guard is never compiled; the hook stays installed, as guards are short */
        if (entry.native != NULL) {
            found = entry.native(entry.context, function, f->localsplus);
        } else {
            if (arguments == NULL) {
                arguments = count <= FEW_ARGUMENTS ? few : PyMem_New(PyObject *, (size_t)count + 2);
                if (arguments != NULL) {
                    arguments[1] = function;
                    memcpy(arguments + 2, f->localsplus, (size_t)count * sizeof(PyObject *));
                } else {
                    PyErr_NoMemory();
                }
            }
            found = arguments != NULL ? holds(entry.guard, arguments + 1, count + 1) : -1;
        }
        armed = trigger;
        if (found == 1) {
            *code = (PyCodeObject *)Py_XNewRef(entry.code);
            to_front(record, i, entry.guard);
        }
        Py_DECREF(entry.guard);
        Py_XDECREF(entry.code);
    }
    if (--record->running == 0 && record->dead)
        PyMem_Free(record);
    if (arguments != few)
        PyMem_Free(arguments);
    return found;
}

/* ---- the hook ---------------------------------------------------------------------------------------------------------------------------- */
static PyObject *ask(PyThreadState *ts, _PyInterpreterFrame *f)
{
    Py_ssize_t count = flat_count(FRAME_CODE(f));
    PyObject *arguments = PyTuple_New(count), *outcome = NULL;
    if (arguments == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(arguments, i, Py_NewRef(f->localsplus[i]));
    Trigger *trigger = disarm(ts);
    if (trigger->callback != NULL) /* NULL once the garbage collector has cleared the trigger */
        outcome = PyObject_CallFunctionObjArgs(trigger->callback, (PyObject *)FRAME_CODE(f), (PyObject *)FRAME_FUNCTION(f), arguments, NULL);
    else
        outcome = Py_NewRef(Py_None);
    rearm(ts, trigger);
    Py_DECREF(arguments);
    return outcome;
}

/* Do what the callback says (see the docstring of Trigger), or raise what it raised when that is NULL. */
static PyObject *follow(PyThreadState *ts, _PyInterpreterFrame *f, Trigger *trigger, PyObject *outcome)
{
    PyCodeObject *about = FRAME_CODE(f);
    if (outcome == NULL) {
        dispose(ts, f);
        return NULL;
    }
    if (outcome == Py_None)
        return evaluate(ts, f, 0);
    if (PyCode_Check(outcome) && check_contract(about, outcome) == 0)
        return run_in_place(ts, f, (PyCodeObject *)outcome);
    if (PyUnicode_Check(outcome) && set_state(trigger, about, outcome) == 0)
        return record_of(word_of(about), trigger)->state == SKIP && armed != NULL ? evaluate_disarmed(ts, f) : evaluate(ts, f, 0);
    if (PyTuple_CheckExact(outcome) && PyTuple_GET_SIZE(outcome) == 1) {
        dispose(ts, f);
        return Py_NewRef(PyTuple_GET_ITEM(outcome, 0));
    }
    if (PyTuple_CheckExact(outcome) && PyTuple_GET_SIZE(outcome) == 2) {
        PyObject *code = PyTuple_GET_ITEM(outcome, 1);
        if (add_entry(trigger, about, PyTuple_GET_ITEM(outcome, 0), code) == 0)
            return code == Py_None ? evaluate(ts, f, 0) : run_in_place(ts, f, (PyCodeObject *)code);
    }
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_TypeError, "the callback of a trigger returned %R", outcome);
    dispose(ts, f);
    return NULL;
}

static PyObject *hook(PyThreadState *ts, _PyInterpreterFrame *f, int throwing)
{
    if (armed == NULL || throwing || f->owner != FRAME_OWNED_BY_THREAD) {
        if (armed_threads == 0)
            uninstall(ts); /* left behind by somebody who put back what he had found */
        return evaluate(ts, f, throwing);
    }
    PyCodeObject *about = FRAME_CODE(f), *code = NULL;
    if (about == passing) {
        passing = NULL;
        return evaluate(ts, f, 0);
    }
    void *word = word_of(about);
    Record *record = record_of(word, armed);
    State state = IS_TAG(word) ? (State)(uintptr_t)word : record != NULL ? record->state : ASK;
    if (state == SKIP || room() == ROOM_LOW)
        return evaluate_disarmed(ts, f); /* with little C stack, a deep recursion goes on as without a hook */
    if (state == DEFAULT)
        return evaluate(ts, f, 0);
    if (watched(ts) || !is_plain(f))
        return evaluate(ts, f, 0);
    int found = record != NULL && record->count != 0 ? look_up(f, record, &code) : 0;
    if (found < 0) {
        dispose(ts, f);
        return NULL;
    }
    PyObject *result;
    if (found == 0 && state == SETTLED) {
        result = evaluate(ts, f, 0);
    } else if (found == 0) {
        Trigger *trigger = (Trigger *)Py_NewRef(armed);
        PyObject *outcome = ask(ts, f);
        result = follow(ts, f, trigger, outcome);
        Py_XDECREF(outcome);
        Py_DECREF(trigger);
    } else {
        result = code != NULL ? run_in_place(ts, f, code) : evaluate(ts, f, 0);
        Py_XDECREF(code);
    }
    return result;
}

/* ---- Trigger ----------------------------------------------------------------------------------------------------------------------------- */
PyDoc_STRVAR(trigger_doc,
"Trigger(callback, refused=None)\n--\n\n"
"What happens with the Python functions that start while a thread is armed with it.  `callback(code, function, arguments)` is asked for a call of\n"
"which nothing is known; `arguments` is the tuple of the flat arguments.  The callback runs disarmed and returns\n\n"
"    None            run the function as written, and ask again next time\n"
"    'default'       run the function as written, always\n"
"    'skip'          the same, and disarm below it\n"
"    'settled'       the same for all calls for which no guard holds: the entries stay, and nothing is asked any more\n"
"    code            run this code in its place, and ask again next time\n"
"    (guard, code)   the same, and again whenever guard(function, *arguments) returns -1; code None is the function as written\n"
"    (value,)        do not run the function: this is what it returns\n\n"
"`refused(reason)` is called when a thread cannot be armed.  An exception of the callback or of a guard leaves the call.");

/* Call with the thread armed with `trigger`, or disarmed (NULL). */
static PyObject *call_armed(Trigger *trigger, PyObject *callable, PyObject *const *arguments, size_t count, PyObject *names)
{
    PyThreadState *ts = PyThreadState_Get();
    Trigger *before = armed != NULL ? disarm(ts) : NULL;
    PyObject *result = NULL;
    bool ready = true;
    if (trigger != NULL && !arm(ts, (Trigger *)Py_NewRef(trigger)) && trigger->refused != NULL && trigger->refused != Py_None) {
        PyObject *told = PyObject_CallFunction(trigger->refused, "s", "another frame evaluation function is installed");
        ready = told != NULL;
        Py_XDECREF(told);
    }
    if (ready)
        result = PyObject_Vectorcall(callable, arguments, count, names);
    rearm(ts, before);
    return result;
}

static PyObject *trigger_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"callback", "refused", NULL};
    PyObject *callback, *refused = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:Trigger", names, &callback, &refused))
        return NULL;
    Trigger *self = (Trigger *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callback = Py_NewRef(callback);
        self->refused = Py_NewRef(refused);
    }
    return (PyObject *)self;
}

static int trigger_traverse(Trigger *self, visitproc visit, void *arg)
{
    Py_VISIT(self->callback);
    Py_VISIT(self->refused);
    for (Record *record = self->records; record != NULL; record = record->next)
        for (Py_ssize_t i = 0; i < record->count; i++) {
            Py_VISIT(record->entries[i].guard);
            Py_VISIT(record->entries[i].code);
        }
    return 0;
}

static int trigger_clear_all(Trigger *self)
{
    while (self->records != NULL)
        forget(self->records);
    return 0;
}

static int trigger_tp_clear(Trigger *self)
{
    trigger_clear_all(self);
    Py_CLEAR(self->callback);
    Py_CLEAR(self->refused);
    return 0;
}

static void trigger_dealloc(Trigger *self)
{
    PyObject_GC_UnTrack(self);
    trigger_tp_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *trigger_call(Trigger *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "call() takes the callable and its arguments");
        return NULL;
    }
    return call_armed(self, args[0], args + 1, (size_t)count - 1, names);
}

static PyObject *trigger_add(Trigger *self, PyObject *args)
{
    PyObject *about, *guard, *code;
    if (!PyArg_ParseTuple(args, "O!OO:add", &PyCode_Type, &about, &guard, &code) || add_entry(self, (PyCodeObject *)about, guard, code) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *trigger_set(Trigger *self, PyObject *args)
{
    PyObject *about, *state;
    if (!PyArg_ParseTuple(args, "O!O:set", &PyCode_Type, &about, &state))
        return NULL;
    if (state == Py_None) {
        Record *record = record_of(word_of((PyCodeObject *)about), self);
        if (record != NULL)
            forget(record);
    } else if (set_state(self, (PyCodeObject *)about, state) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *name_of_state(State state)
{
    return PyUnicode_FromString(state_names[state]);
}

static PyObject *trigger_get(Trigger *self, PyObject *about)
{
    if (!PyCode_Check(about))
        return PyErr_Format(PyExc_TypeError, "a code object is expected, got %.100s", Py_TYPE(about)->tp_name);
    Record *record = record_of(word_of((PyCodeObject *)about), self);
    if (record == NULL)
        Py_RETURN_NONE;
    if (record->state == DEFAULT || record->state == SKIP)
        return name_of_state(record->state);
    PyObject *list = PyList_New(record->count);
    for (Py_ssize_t i = 0; list != NULL && i < record->count; i++) {
        Entry *entry = record->entries + i;
        PyObject *pair = PyTuple_Pack(2, entry->guard, entry->code != NULL ? (PyObject *)entry->code : Py_None);
        if (pair == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, pair);
    }
    return list;
}

static PyObject *trigger_clear(Trigger *self, PyObject *Py_UNUSED(ignored))
{
    trigger_clear_all(self);
    Py_RETURN_NONE;
}

static PyMethodDef trigger_methods[] = {
    {"call", (PyCFunction)(void *)trigger_call, METH_FASTCALL | METH_KEYWORDS, "call(callable, *args, **kwargs): call with this thread armed."},
    {"add", (PyCFunction)trigger_add, METH_VARARGS, "add(code, guard, other): while the guard holds, run `other` (None: the function as written)."},
    {"set", (PyCFunction)trigger_set, METH_VARARGS, "set(code, 'default' | 'skip' | 'settled' | None): what to do with a code object; None forgets all of it."},
    {"get", (PyCFunction)trigger_get, METH_O, "get(code): what is known, None, 'default', 'skip' or the list of (guard, code) in the order of asking."},
    {"clear", (PyCFunction)trigger_clear, METH_NOARGS, "Forget everything."},
    {NULL},
};

static PyTypeObject TriggerType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lect.runtime._frame_hook.Trigger",
    .tp_doc = trigger_doc,
    .tp_basicsize = sizeof(Trigger),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = trigger_new,
    .tp_dealloc = (destructor)trigger_dealloc,
    .tp_traverse = (traverseproc)trigger_traverse,
    .tp_clear = (inquiry)trigger_tp_clear,
    .tp_methods = trigger_methods,
};

/* ---- Region ------------------------------------------------------------------------------------------------------------------------------ */
/* Region(callable, trigger): the callable, called with the thread armed (or, with None, disarmed). */
typedef struct {
    PyObject_HEAD
    PyObject *callable, *trigger;
    vectorcallfunc vectorcall;
} Region;

static PyObject *region_vectorcall(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    PyObject *trigger = ((Region *)self)->trigger;
    return call_armed(trigger == Py_None ? NULL : (Trigger *)trigger, ((Region *)self)->callable, args, count, names);
}

static PyObject *region_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"callable", "trigger", NULL};
    PyObject *callable, *trigger;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:Region", names, &callable, &trigger))
        return NULL;
    if (trigger != Py_None && Py_TYPE(trigger) != &TriggerType)
        return PyErr_Format(PyExc_TypeError, "a Trigger or None is expected, got %.100s", Py_TYPE(trigger)->tp_name);
    Region *self = (Region *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callable = Py_NewRef(callable);
        self->trigger = Py_NewRef(trigger);
        self->vectorcall = region_vectorcall;
    }
    return (PyObject *)self;
}

static int region_traverse(Region *self, visitproc visit, void *arg)
{
    Py_VISIT(self->callable);
    Py_VISIT(self->trigger);
    return 0;
}

static void region_dealloc(Region *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->callable);
    Py_CLEAR(self->trigger);
    Py_TYPE(self)->tp_free(self);
}

static PyMemberDef region_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Region, callable), READONLY, "What is called."},
    {"trigger", T_OBJECT, offsetof(Region, trigger), READONLY, "What the thread is armed with."},
    {NULL},
};

/* Without a tp_clear: its references never change, and any cycle through it also goes through its trigger or callable. */
static PyTypeObject RegionType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "lect.runtime._frame_hook.Region",
    .tp_doc = PyDoc_STR("Region(callable, trigger)\n--\n\nThe callable, called with the thread armed with the trigger (None: disarmed)."),
    .tp_basicsize = sizeof(Region),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Region, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = region_new,
    .tp_dealloc = (destructor)region_dealloc,
    .tp_traverse = (traverseproc)region_traverse,
    .tp_members = region_members,
};

/* ---- the module -------------------------------------------------------------------------------------------------------------------------- */
static PyObject *module_swap(PyObject *Py_UNUSED(module), PyObject *trigger)
{
    if (trigger != Py_None && Py_TYPE(trigger) != &TriggerType)
        return PyErr_Format(PyExc_TypeError, "a Trigger or None is expected, got %.100s", Py_TYPE(trigger)->tp_name);
    PyThreadState *ts = PyThreadState_Get();
    PyObject *before = armed != NULL ? (PyObject *)disarm(ts) : Py_NewRef(Py_None);
    if (trigger != Py_None && !arm(ts, (Trigger *)Py_NewRef(trigger))) {
        rearm(ts, before == Py_None ? NULL : (Trigger *)before);
        PyErr_SetString(PyExc_RuntimeError, "another frame evaluation function is installed");
        return NULL;
    }
    return before;
}

static PyObject *module_armed(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(armed != NULL ? (PyObject *)armed : Py_None);
}

static PyObject *module_mark(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *about, *name;
    if (!PyArg_ParseTuple(args, "O!O:mark", &PyCode_Type, &about, &name))
        return NULL;
    int state = name == Py_None ? ASK : state_named(name, SKIP);
    if (state < 0 || SET_EXTRA(about, extra_index, TAG(state)) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static PyObject *module_marked(PyObject *Py_UNUSED(module), PyObject *about)
{
    if (!PyCode_Check(about))
        return PyErr_Format(PyExc_TypeError, "a code object is expected, got %.100s", Py_TYPE(about)->tp_name);
    void *word = word_of((PyCodeObject *)about);
    if (word == NULL || !IS_TAG(word))
        Py_RETURN_NONE;
    return name_of_state((State)(uintptr_t)word);
}

static PyObject *module_statistics(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyThreadState *ts = PyThreadState_Get();
    PyObject *installed = _PyInterpreterState_GetEvalFrameFunc(ts->interp) == hook ? Py_True : Py_False;
    return Py_BuildValue("{snsnsnsO}", "in place", count_in_place, "by call", count_by_call, "armed threads", armed_threads, "installed", installed);
}

static PyObject *module_always_by_call(PyObject *Py_UNUSED(module), PyObject *value)
{
    int truth = PyObject_IsTrue(value);
    if (truth < 0)
        return NULL;
    never_in_place = truth;
    Py_RETURN_NONE;
}

/* Of all threads only the one that forked is left. */
static PyObject *module_after_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    armed_threads = armed != NULL;
    if (armed == NULL)
        uninstall(PyThreadState_Get());
    Py_RETURN_NONE;
}

static int always(void *Py_UNUSED(context), PyObject *Py_UNUSED(function), PyObject *const *Py_UNUSED(arguments))
{
    return 1;
}

static PyMethodDef module_methods[] = {
    {"swap", module_swap, METH_O, "Arm this thread with a Trigger, or disarm it (None); returns what it was armed with.  RuntimeError: refused."},
    {"armed", module_armed, METH_NOARGS, "What this thread is armed with, or None."},
    {"mark", module_mark, METH_VARARGS, "mark(code, 'default' | 'skip' | None): for all triggers; forgets what they know of the code."},
    {"marked", module_marked, METH_O, "The mark of a code object, or None."},
    {"statistics", module_statistics, METH_NOARGS, "Counts since the start: frames changed in place and by a call, armed threads, whether the hook is installed."},
    {"always_by_call", module_always_by_call, METH_O, "For tests: run other code by a call, as when the data stack is full."},
    {"after_fork", module_after_fork, METH_NOARGS, "To be called in a forked child."},
    {NULL},
};

static int module_exec(PyObject *module)
{
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError, "lect's frame hook works in the main interpreter only");
        return -1;
    }
    if (extra_index < 0 && (extra_index = REQUEST_EXTRA(free_word)) < 0) {
        PyErr_SetString(PyExc_ImportError, "CPython has no room for another co_extra");
        return -1;
    }
    if (prepare_frames() < 0 || PyModule_AddType(module, &TriggerType) < 0 || PyModule_AddType(module, &RegionType) < 0)
        return -1;
    return PyModule_AddObject(module, "always", PyCapsule_New((void *)always, NATIVE_GUARD, NULL));
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, (void *)module_exec},
#if PY_VERSION_HEX >= 0x030C0000
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "lect.runtime._frame_hook",
    .m_doc = PyDoc_STR("The frame evaluation function of lect; see lect.runtime.frame_hook for what to use of it."),
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC PyInit__frame_hook(void)
{
    return PyModuleDef_Init(&definition);
}
