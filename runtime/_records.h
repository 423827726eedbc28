/* What triggers know of code objects, and who owns it. Included by _frame_hook.c alone.
 *
 * What is known of a code object is one word in its co_extra: a tag (the same for all triggers), or a list of Records, one for each trigger.
 * A trigger owns its records and shows them to the garbage collector: co_extra is invisible to it and code objects are not tracked, so that
 * references held there would make cycles (guard, function, code) which nobody collects. Records go with the code object, too.
 */
#ifndef LECT_RECORDS_H
#define LECT_RECORDS_H

#include "_frames.h"

/* A guard in native code, given as a capsule of this name: 1 holds, 0 does not, -1 raised. */
#define NATIVE_GUARD "lect.native_guard"
typedef int (*NativeGuard)(void *context, PyObject *function, PyObject *const *arguments);

/* While `guard` holds, a call runs `code` (NULL: the function as written). */
typedef struct {
    PyObject *guard;
    PyCodeObject *code;
    NativeGuard native;
    void *context;
} Entry;

typedef enum {
    ASK = 0,     /* for what no entry is for */
    DEFAULT = 1, /* as written */
    SKIP = 2,    /* as written, and disarmed below */
    SETTLED = 3  /* what no entry is for runs as written; for records only */
} State;

/* What one trigger knows of one code object. Both are borrowed: whichever goes first takes the record out of the other's list. */
typedef struct Record {
    struct Trigger *owner;
    struct Record *next_of_code;
    struct Record *previous, *next; /* of the owner */
    PyCodeObject *about;
    State state;
    bool dead; /* freed as soon as no guard of it runs */
    int running;
    Py_ssize_t count, room;
    Entry *entries;
} Record;

typedef struct Trigger {
    PyObject_HEAD
    PyObject *callback;
    PyObject *refused;
    Record *records;
} Trigger;

#define TAG(state)   ((void *)(uintptr_t)(state))
#define IS_TAG(word) ((uintptr_t)(word) <= SKIP)

static Py_ssize_t extra_index = -1; /* of the word */
static bool keep_word = false;      /* while the word of a code object is moved, and not freed */
static void *word_of(PyCodeObject *code)
{
    void *word = NULL;
    GET_EXTRA((PyObject *)code, extra_index, &word);
    return word;
}

static Record *record_of(void *word, Trigger *owner)
{
    Record *record = IS_TAG(word) ? NULL : word;
    while (record != NULL && record->owner != owner)
        record = record->next_of_code;
    return record;
}

static void drop_entries(Record *record)
{
    Entry *entries = record->entries;
    Py_ssize_t count = record->count;
    record->entries = NULL; /* what is dropped may run Python code, which must find the record whole */
    record->count = record->room = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_DECREF(entries[i].guard);
        Py_XDECREF(entries[i].code);
    }
    PyMem_Free(entries);
}

static void leave_owner(Record *record)
{
    if (record->previous != NULL)
        record->previous->next = record->next;
    else if (record->owner != NULL)
        record->owner->records = record->next;
    if (record->next != NULL)
        record->next->previous = record->previous;
    record->owner = NULL;
    record->previous = record->next = NULL;
}

/* Free a record that is in no list. */
static void free_record(Record *record)
{
    record->dead = true;
    record->running++;
    drop_entries(record);
    if (--record->running == 0)
        PyMem_Free(record);
}

/* The code object goes, or gets another word. What is dropped may run Python code, so first no owner knows any of the records. */
static void free_word(void *word)
{
    Record *first = IS_TAG(word) || keep_word ? NULL : word;
    for (Record *record = first; record != NULL; record = record->next_of_code)
        leave_owner(record);
    while (first != NULL) {
        Record *record = first;
        first = record->next_of_code;
        free_record(record);
    }
}

/* Take a record out of the list of its code object. */
static void leave_code(Record *record)
{
    Record *first = word_of(record->about);
    if (first == record) {
        keep_word = true;
        SET_EXTRA((PyObject *)record->about, extra_index, record->next_of_code); /* fails only when it has to allocate */
        keep_word = false;
        return;
    }
    while (first->next_of_code != record)
        first = first->next_of_code;
    first->next_of_code = record->next_of_code;
}

static void forget(Record *record)
{
    leave_code(record);
    leave_owner(record);
    free_record(record);
}

static Record *need_record(Trigger *owner, PyCodeObject *code)
{
    void *word = word_of(code);
    Record *record = record_of(word, owner);
    if (record != NULL)
        return record;
    record = PyMem_Calloc(1, sizeof(Record));
    if (record == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    if (IS_TAG(word)) {
        if (SET_EXTRA((PyObject *)code, extra_index, record) < 0) {
            PyMem_Free(record);
            return NULL;
        }
    } else {
        record->next_of_code = ((Record *)word)->next_of_code;
        ((Record *)word)->next_of_code = record;
    }
    record->about = code;
    record->owner = owner;
    record->next = owner->records;
    if (owner->records != NULL)
        owner->records->previous = record;
    owner->records = record;
    return record;
}

static int add_entry(Trigger *owner, PyCodeObject *about, PyObject *guard, PyObject *code)
{
    if (code != Py_None && check_contract(about, code) < 0)
        return -1;
    Record *record = need_record(owner, about);
    if (record == NULL)
        return -1;
    if (record->count == record->room) {
        Py_ssize_t room = 2 * record->room + 1;
        Entry *entries = PyMem_Realloc(record->entries, (size_t)room * sizeof(Entry));
        if (entries == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        record->entries = entries;
        record->room = room;
    }
    Entry *entry = record->entries + record->count++;
    entry->guard = Py_NewRef(guard);
    entry->code = code == Py_None ? NULL : (PyCodeObject *)Py_NewRef(code);
    bool native = PyCapsule_IsValid(guard, NATIVE_GUARD);
    entry->native = native ? (NativeGuard)PyCapsule_GetPointer(guard, NATIVE_GUARD) : NULL;
    entry->context = native ? PyCapsule_GetContext(guard) : NULL;
    record->state = ASK;
    return 0;
}

static const char *const state_names[] = {"ask", "default", "skip", "settled"};

/* The state of a name, from DEFAULT to `last`; -1 with an exception for anything else. */
static int state_named(PyObject *name, State last)
{
    for (State state = DEFAULT; PyUnicode_Check(name) && state <= last; state++)
        if (PyUnicode_CompareWithASCIIString(name, state_names[state]) == 0)
            return state;
    PyErr_Format(PyExc_TypeError, "%R is not %s", name, last == SKIP ? "'default' or 'skip'" : "'default', 'skip' or 'settled'");
    return -1;
}

static int set_state(Trigger *owner, PyCodeObject *about, PyObject *name)
{
    int state = state_named(name, SETTLED);
    Record *record = state < 0 ? NULL : need_record(owner, about);
    if (record == NULL)
        return -1;
    record->state = state;
    if (state != SETTLED)
        drop_entries(record);
    return 0;
}

#endif
