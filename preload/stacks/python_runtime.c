#include "preload/stacks/python_runtime.h"

#include "preload/base/await.h"
#include "preload/base/loader_lock.h"
#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/own_memory.h"
#include "preload/base/own_work.h"
#include "preload/stacks/stack_objects.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In a type object, from the type's type on, in all versions on 64-bit Linux. */
#define GV_PYTHON_TYPE_FLAGS 160
#define GV_PYTHON_TYPE_READY (UINT64_C(1) << 12)

#define GV_PYTHON_TRIES 5

enum gv_python_state {
    GV_PYTHON_UNKNOWN = 0, /* none so far; it may be loaded later */
    GV_PYTHON_LOOKING = 1,
    GV_PYTHON_FOUND = 2,
    GV_PYTHON_TRUSTED = 3,
    GV_PYTHON_FOREIGN = 4, /* of an unknown version */
    GV_PYTHON_DISTRUSTED = 5,
};

static _Atomic uint32_t state;
static _Atomic bool is_there; /* the interpreter `python` is mapped */
static _Atomic int inside;    /* threads between enter and leave */
static _Atomic int closing;   /* threads in dlclose() */
static struct gv_python python;
static struct gv_object home;     /* the object that it is in */
static _Atomic uint32_t searched; /* gv_stack_objects_generation() plus one, when one was sought */
static _Atomic bool is_starting;  /* one was found then that was not initialised */

#define GV_PYTHON_DISAGREED UINT32_MAX
static _Atomic uint32_t agreed; /* stacks that were the same both ways */
static _Atomic uint32_t main_tid;

static bool read_own(void *unused, void *to, uintptr_t from, size_t bytes)
{
    (void)unused;
    return gv_own_memory_read(to, from, bytes);
}

/* "3.11.2 (main, ...)" */
static long minor_version(const struct gv_object *object)
{
    const char *(*get_version)(void);

    *(void **)&get_version = gv_object_symbol(object, "Py_GetVersion");
    const char *version = get_version ? get_version() : NULL;
    return version && strncmp(version, "3.", 2) == 0 ? strtol(version + 2, NULL, 10) : -1;
}

static bool find_layout(const struct gv_object *object, struct gv_python_layout *layout)
{
    uintptr_t runtime = (uintptr_t)gv_object_symbol(object, "_PyRuntime");

    return gv_python_layout_find(minor_version(object), runtime, read_own, NULL, layout);
}

/* Another thread may just load it: its code can be called once it has prepared its types. */
static bool is_initialised(const struct gv_object *object)
{
    uintptr_t type = (uintptr_t)gv_object_symbol(object, "PyCode_Type");
    uintptr_t runtime = (uintptr_t)gv_object_symbol(object, "_PyRuntime");
    uint64_t flags;
    bool is_ready;

    if (!type || !runtime)
        return false;
    is_ready = gv_own_memory_read(&flags,
                                  type + gv_python_layout_type_at(runtime, read_own, NULL) +
                                      GV_PYTHON_TYPE_FLAGS,
                                  sizeof flags) &&
               flags & GV_PYTHON_TYPE_READY;
    atomic_store(&is_starting, !is_ready);
    return is_ready;
}

/* An interpreter that is initialised is relocated. */
static bool is_python(const struct gv_object *object, void *unused)
{
    (void)unused;
    if (!is_initialised(object))
        return false;
    python.runtime = (uintptr_t)gv_object_symbol(object, "_PyRuntime");
    *(void **)&python.thread_state = gv_object_symbol(object, "PyGILState_GetThisThreadState");
    python.code_type = (uintptr_t)gv_object_symbol(object, "PyCode_Type");
    python.text_type = (uintptr_t)gv_object_symbol(object, "PyUnicode_Type");
    python.bytes_type = (uintptr_t)gv_object_symbol(object, "PyBytes_Type");
    python.low = object->low;
    python.high = object->high;
    home = *object;
    return python.thread_state && python.code_type && python.text_type && python.bytes_type;
}

static uint32_t look(void)
{
    struct gv_object object;

    atomic_store(&is_starting, false);
    if (!gv_objects_visit(is_python, NULL))
        return GV_PYTHON_UNKNOWN;
    atomic_store(&main_tid, (uint32_t)getpid());
    if (!gv_objects_at(python.code_type, &object) || !find_layout(&object, &python.layout)) {
        gv_log_info("no Python frames: the version of this interpreter is not supported");
        return GV_PYTHON_FOREIGN;
    }
    return GV_PYTHON_FOUND;
}

static bool go_in(void)
{
    atomic_fetch_add(&inside, 1);
    if (atomic_load(&closing) == 0)
        return true;
    atomic_fetch_sub(&inside, 1);
    return false;
}

static void look_again(void)
{
    uint32_t looking = GV_PYTHON_LOOKING, found = GV_PYTHON_UNKNOWN;
    uint32_t generation = gv_stack_objects_generation();

    if (!atomic_compare_exchange_strong(&state, &found, GV_PYTHON_LOOKING))
        return;
    if (go_in()) {
        found = look();
        atomic_store(&searched, generation + 1);
        atomic_store(&is_there, found != GV_PYTHON_UNKNOWN);
        gv_python_runtime_leave();
    }
    /* It may have lost our trust meanwhile, which is final. */
    atomic_compare_exchange_strong(&state, &looking, found);
}

/* One that nobody looked at since objects were loaded. Never waits for a thread that loads one. */
static bool may_be_new(void)
{
    return (atomic_load(&is_starting) ||
            atomic_load(&searched) != gv_stack_objects_generation() + 1) &&
           !gv_loader_is_busy();
}

/* A thread's frames may be freed by another one that ends the interpreter, unless that is the main
 * thread. Without the GIL, copies of instructions are freed too. */
static enum gv_python_way way_of(uint32_t tid)
{
    uint32_t same = atomic_load_explicit(&agreed, memory_order_relaxed);

    if (tid == 0 || tid != atomic_load_explicit(&main_tid, memory_order_relaxed) ||
        same == GV_PYTHON_DISAGREED || python.layout.is_free_threaded)
        return GV_PYTHON_THROUGH_KERNEL;
    return same < GV_PYTHON_MUST_AGREE ? GV_PYTHON_BOTH_WAYS : GV_PYTHON_DIRECTLY;
}

bool gv_python_runtime_enter(struct gv_python *copy, uint32_t tid)
{
    for (int tries = 0; tries < GV_PYTHON_TRIES; tries++) {
        uint32_t now;

        if (!go_in())
            return false;
        now = atomic_load(&state);
        if (now >= GV_PYTHON_FOUND && atomic_load(&is_there)) {
            *copy = python;
            copy->is_readable = now == GV_PYTHON_FOUND || now == GV_PYTHON_TRUSTED;
            copy->trusted = now == GV_PYTHON_TRUSTED;
            copy->way = copy->trusted ? way_of(tid) : GV_PYTHON_THROUGH_KERNEL;
            return true;
        }
        gv_python_runtime_leave();
        if (now == GV_PYTHON_LOOKING)
            sched_yield();
        else if (now == GV_PYTHON_UNKNOWN && tries == 0 && may_be_new())
            look_again();
        else
            return false;
    }
    return false;
}

bool gv_python_runtime_find(struct gv_python *copy)
{
    if (!gv_python_runtime_enter(copy, 0))
        return false;
    gv_python_runtime_leave();
    return copy->is_readable;
}

void gv_python_runtime_leave(void)
{
    atomic_fetch_sub(&inside, 1);
}

void gv_python_runtime_start_over(void)
{
    uint32_t looking = GV_PYTHON_LOOKING;

    atomic_store(&inside, 0);
    atomic_store(&closing, 0);
    atomic_store(&main_tid, (uint32_t)getpid());
    atomic_compare_exchange_strong(&state, &looking, GV_PYTHON_UNKNOWN);
}

void gv_python_runtime_trust(void)
{
    uint32_t found = GV_PYTHON_FOUND;

    atomic_compare_exchange_strong(&state, &found, GV_PYTHON_TRUSTED);
}

void gv_python_runtime_distrust(void)
{
    if (atomic_exchange(&state, GV_PYTHON_DISTRUSTED) != GV_PYTHON_DISTRUSTED)
        gv_log_info("no Python frames: the interpreter does not look as expected");
}

void gv_python_runtime_agrees(bool agrees)
{
    if (!agrees)
        atomic_store(&agreed, GV_PYTHON_DISAGREED);
    else if (atomic_load(&agreed) < GV_PYTHON_MUST_AGREE) /* by one thread only */
        atomic_fetch_add(&agreed, 1);
}

void gv_python_runtime_begin_close(void)
{
    atomic_fetch_add(&closing, 1);
    if (atomic_load(&inside) == 0 ||
        (atomic_load(&state) == GV_PYTHON_DISTRUSTED && !atomic_load(&is_there)))
        return;
    int saved_errno = gv_own_work_begin();
    /* A thread does not leave: nobody goes in any more, and no more waiting. */
    if (!gv_await(&inside, 0)) {
        gv_python_runtime_distrust();
        atomic_store(&is_there, false);
    }
    gv_own_work_end(saved_errno);
}

/* It was closed: another one may come. */
static void forget(void)
{
    uint32_t known = atomic_load(&state);

    atomic_store(&is_there, false);
    if (known != GV_PYTHON_DISTRUSTED)
        atomic_compare_exchange_strong(&state, &known, GV_PYTHON_UNKNOWN);
    atomic_store(&searched, 0);
    if (atomic_load(&agreed) != GV_PYTHON_DISAGREED)
        atomic_store(&agreed, 0);
}

void gv_python_runtime_end_close(void)
{
    /* Nobody is inside, and nobody looks for one. */
    if (atomic_load(&is_there) && !gv_objects_mapped(&home))
        forget();
    atomic_fetch_sub(&closing, 1);
}
