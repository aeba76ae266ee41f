#include "report/look/watch.h"

#include "report/analyse/idle/looks.h"
#include "report/analyse/ledger/accounts.h"
#include "report/analyse/names/stack_text.h"
#include "report/collect/ingest_state.h"
#include "report/collect/running_stack.h"
#include "report/collect/stack_names.h"
#include "report/look/calls.h"
#include "report/look/python.h"
#include "report/store/array.h"
#include "report/store/key_map.h"
#include "report/store/row.h"
#include "trace/futex.h"
#include "trace/mix.h"
#include "trace/text.h"
#include "trace/thread_state.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STACKS_MOST       1024u /* later ones are not told apart */
#define SAMPLE_PATH_BYTES 128u
#define NAMES_NS          2000000000u /* for the names of native frames, after the looks */
#define NAMES_LEAST_NS    500000000u  /* if these took longer */
#define LOOK_MOST_NS      1000000000u
#define TRIES             3
#define OTHERS            7u
#define LET_GO_NS         20000
#define PAUSE_MOST_NS     500000000u
#define AT_NS             1000000 /* from one look to the next in the trace in memory */
#define MUTEX_OWNER       8u      /* glibc's pthread_mutex_t: lock, count, owner */
#define MUTEX_CONTENDED   2u

struct sample {
    struct gv_thread_state thread;
    enum gv_idle_target target;
    char path[SAMPLE_PATH_BYTES];
    bool is_there, waits_for_gil, has_gil, collects, in_python;
    uint32_t holder, owner; /* of the GIL; of the lock that it waits for */
    uint32_t child;
    size_t stack; /* index + 1; 0: none */
};

struct watched {
    uint64_t start;        /* another thread with its number has another */
    struct sample *sample; /* by look */
    bool is_own;           /* no stack of it was of the program */
};

struct known_stack {
    int64_t row;
    char call[GV_OUTSIDE_NAME_BYTES];
    char inside[GV_OUTSIDE_NAME_BYTES]; /* the library of the innermost frame, below libc's */
    bool is_of_cuda;                    /* nothing else is on it */
};

struct watch {
    struct gv_look *look;
    unsigned looks;           /* wanted, */
    uint64_t step_ns, end_ns; /* so far from each other, and none later */
    struct gv_outside_program program;
    struct gv_outside_objects objects;
    struct gv_unwinder *unwinder;
    uint32_t generation;
    struct gv_look_python python;
    uint32_t asked_tid; /* by its number in its own container */
    struct gv_look_calls calls;
    struct watched *watched; /* as look->thread */
    size_t room;
    struct known_stack *stack;
    size_t stacks, stack_room;
    struct gv_key_map stack_numbers, object_rows;
    struct gv_running_stack taken;
    struct gv_unwind_chain chain;
    struct gv_look_python_frame frames[GV_LOOK_PYTHON_FRAMES];
    size_t frame_count;
    uint64_t late_ns; /* a look is over then */
};

/* ---- what it has mapped ---- */

static int read_objects(struct watch *watch)
{
    int error = gv_outside_objects(watch->look->reader, &watch->objects);

    watch->generation++;
    for (size_t i = 0; i < watch->objects.count && !error; i++) {
        const struct gv_outside_object *object = &watch->objects.object[i];
        const char *name = gv_text_base(object->path);
        struct gv_unwind_object known = {.base = object->base,
                                         .low = object->low,
                                         .high = object->high,
                                         .path = object->path,
                                         .build_id_bytes = object->build_id_bytes};
        memcpy(known.build_id, object->build_id, sizeof(known.build_id));
        if (gv_unwinder_add(watch->unwinder, watch->generation, &known) == -ENOMEM)
            error = -ENOMEM;
        watch->look->uses_cuda |= name && strncmp(name, "libcuda.so", 10) == 0;
        watch->look->is_recorded |= name && strncmp(name, "libgpuverify.so", 15) == 0;
    }
    return error;
}

static int find_python(struct watch *watch)
{
    int error = gv_look_python_find(watch->look->reader, &watch->objects, &watch->python);

    watch->look->python_unknown = error == -ENOTSUP;
    return error == -ENOMEM ? error : 0;
}

/* ---- stacks ---- */

static int object_row(struct watch *watch, const struct gv_outside_object *object, int64_t *row)
{
    const struct gv_key key = {{object->base, object->high, 0}};
    char build_id[2 * GV_UNWIND_BUILD_ID + 1] = "";
    char path[GV_TEXT_REPAIRED_BYTES(GV_OUTSIDE_PATH_BYTES)];
    int error;

    *row = gv_key_map_find(&watch->object_rows, &key);
    if (*row)
        return 0;
    for (unsigned i = 0; i < object->build_id_bytes; i++)
        snprintf(build_id + 2 * i, 3, "%02x", object->build_id[i]);
    gv_text_repair(path, sizeof(path), object->path, strlen(object->path));
    error = GV_ADD(&watch->look->trace, object, .process = 1, .base = (int64_t)object->base,
                   .low = (int64_t)object->low, .high = (int64_t)object->high, .path = path,
                   .build_id = build_id[0] ? build_id : NULL);
    if (error)
        return error;
    *row = gv_database_last_id(&watch->look->trace);
    return gv_key_map_add(&watch->object_rows, &key, *row);
}

static bool is_of_libc(const char *name)
{
    return name && (strncmp(name, "libc.so", 7) == 0 || strncmp(name, "libpthread", 10) == 0 ||
                    name[0] == '[');
}

static int store_native(struct watch *watch, struct known_stack *stack, int64_t depth,
                        uint64_t address)
{
    const struct gv_outside_object *object = gv_outside_object_at(&watch->objects, address);
    const char *function = NULL, *name = object ? gv_text_base(object->path) : NULL;
    int64_t row = 0;
    int error = object ? object_row(watch, object, &row) : 0;

    if (error)
        return error;
    bool is_library = object && gv_look_is_library(object->path);
    if (is_library)
        function = gv_look_function(&watch->calls, object, address);
    stack->is_of_cuda &= is_library || is_of_libc(name);
    if (!stack->inside[0] && !is_of_libc(name))
        snprintf(stack->inside, sizeof(stack->inside), "%.63s", is_library ? name : "-");
    /* The outermost comes last. */
    if (gv_look_is_call(function))
        snprintf(stack->call, sizeof(stack->call), "%s", function);
    char repaired[GV_TEXT_REPAIRED_BYTES(GV_OUTSIDE_NAME_BYTES)] = "";
    if (function)
        gv_text_repair(repaired, sizeof(repaired), function, strnlen(function, 63));
    return GV_ADD(&watch->look->trace, frame, .stack = stack->row, .depth = depth,
                  .kind = function ? "runtime" : "native", .function = function ? repaired : NULL,
                  .library = object ? object->path : NULL, .line = GV_ROW_NULL,
                  .address = (int64_t)(object ? address - object->base : address),
                  .object = row ? row : GV_ROW_NULL);
}

static int store_frames(struct watch *watch, struct known_stack *stack)
{
    bool in_python = watch->frame_count > 0;
    int64_t outer = 0;
    int error = 0;

    stack->is_of_cuda = !in_python && watch->chain.count > 0;
    for (size_t i = 0; i < watch->frame_count && !error; i++)
        error =
            GV_ADD(&watch->look->trace, frame, .stack = stack->row,
                   .depth = GV_INGEST_PYTHON_DEPTH + (int64_t)i, .kind = "python",
                   .function = watch->frames[i].function, .file = watch->frames[i].file,
                   .line = watch->frames[i].line, .address = GV_ROW_NULL, .object = GV_ROW_NULL);
    for (size_t i = 0; i < watch->chain.count && !error; i++) {
        uint64_t address = watch->chain.address[i];
        if (in_python && address >= watch->python.low && address < watch->python.high)
            outer = GV_INGEST_OUTER_DEPTH;
        else
            error = store_native(watch, stack, outer + (int64_t)i, address);
    }
    return error;
}

/* The number of what was taken; a new one is stored. */
static int stack_number(struct watch *watch, size_t *number)
{
    struct gv_key key = {{watch->chain.count, watch->frame_count, 1}};
    struct known_stack stack = {0};
    int error;

    *number = 0;
    for (size_t i = 0; i < watch->chain.count; i++)
        key.part[0] = gv_mix(key.part[0], watch->chain.address[i]);
    for (size_t i = 0; i < watch->frame_count; i++) {
        const struct gv_look_python_frame *frame = &watch->frames[i];
        key.part[1] =
            gv_mix_bytes(key.part[1] + (uint64_t)frame->line, frame->file, strlen(frame->file));
        key.part[1] = gv_mix_bytes(key.part[1], frame->function, strlen(frame->function));
    }
    if (watch->chain.count + watch->frame_count == 0)
        return 0;
    *number = (size_t)gv_key_map_find(&watch->stack_numbers, &key);
    if (*number || watch->stacks == STACKS_MOST)
        return 0;
    error = GV_ADD(&watch->look->trace, stack, .process = 1, .number = (int64_t)watch->stacks + 1);
    stack.row = gv_database_last_id(&watch->look->trace);
    if (!error)
        error = store_frames(watch, &stack);
    if (!error)
        error = gv_array_room(&watch->stack, watch->stacks, &watch->stack_room, sizeof(stack));
    if (error)
        return error;
    watch->stack[watch->stacks] = stack;
    *number = ++watch->stacks;
    return gv_key_map_add(&watch->stack_numbers, &key, (int64_t)*number);
}

static int take_running(struct watch *watch, uint32_t tid)
{
    int error = gv_running_stack_take(watch->look->pid, tid, &watch->taken);

    /* One that ends may not be stopped either. */
    watch->look->may_not_stop |= error == -EPERM && gv_outside_is_there(watch->look->pid, tid);
    /* One that did not stop in time would stay stopped. */
    while (gv_running_stack_let_go() && gv_monotonic_ns() < watch->late_ns)
        gv_pause_ns(LET_GO_NS);
    return error;
}

static void copy_python(void *context)
{
    struct watch *watch = context;

    gv_look_python_copy(&watch->python, watch->asked_tid);
}

static void take_native(struct watch *watch, const struct gv_look_thread *thread,
                        struct sample *sample)
{
    struct gv_running_stack *taken = &watch->taken;
    uint32_t tid = thread->tid;
    int error = -EAGAIN;

    watch->asked_tid = thread->inner_tid;
    watch->chain.count = 0;
    /* Who is in a short system call at that moment is hardly in one the next time, or in a long
     * one, for which it needs no stop. */
    for (int tries = 0; gv_unwind_is_there() && error == -EAGAIN && tries < TRIES; tries++) {
        if (tries && (gv_monotonic_ns() >= watch->late_ns ||
                      gv_thread_state_read(watch->look->pid, tid, NULL, &sample->thread)))
            return;
        if (!sample->thread.sp) {
            error = take_running(watch, tid);
            continue;
        }
        memset(&taken->stack, 0, sizeof(taken->stack));
        taken->stack.pc = sample->thread.pc;
        taken->stack.sp = sample->thread.sp;
        error = gv_running_stack_copy(tid, taken);
        break;
    }
    if (error)
        return;
    taken->stack.generation = watch->generation;
    gv_unwinder_walk(watch->unwinder, &taken->stack, &watch->chain);
    /* It is where the thread is; all others are return addresses. */
    if (watch->chain.count)
        watch->chain.address[0]++;
}

/* ---- one thread at one look ---- */

static uint32_t first_child(uint32_t pid, uint32_t tid)
{
    char file[64], text[64];

    snprintf(file, sizeof(file), "task/%u/children", tid);
    return gv_outside_text(pid, file, text, sizeof(text)) ? 0 : (uint32_t)strtoul(text, NULL, 10);
}

/* 0: none. */
static uint32_t tid_of_inner(const struct gv_look *look, uint32_t inner_tid)
{
    for (size_t i = 0; i < look->threads && inner_tid; i++)
        if (look->thread[i].inner_tid == inner_tid)
            return look->thread[i].tid;
    return 0;
}

/* Who has the lock, where it is one of glibc's that knows. */
static uint32_t owner_of_lock(const struct watch *watch, uint64_t at)
{
    uint32_t words[MUTEX_OWNER / sizeof(uint32_t) + 1];

    if (!gv_outside_read(watch->look->reader, words, at, sizeof(words)) ||
        words[0] != MUTEX_CONTENDED)
        return 0;
    return tid_of_inner(watch->look, words[MUTEX_OWNER / sizeof(uint32_t)]);
}

static bool read_memory(void *context, void *to, uintptr_t from, size_t bytes)
{
    const struct watch *watch = context;

    return gv_outside_read(watch->look->reader, to, from, bytes);
}

/* What the system call that it is in is about. */
static void ask_call(struct watch *watch, uint32_t tid, struct sample *sample)
{
    const struct gv_thread_state *thread = &sample->thread;
    uint64_t at = thread->arguments[0];

    if (gv_thread_state_is_futex(thread)) {
        sample->waits_for_gil =
            watch->python.knows_gil && at >= watch->python.gil_low && at < watch->python.gil_high;
        if (!sample->waits_for_gil)
            sample->owner = owner_of_lock(watch, at);
    } else if (gv_thread_state_is_wait(thread)) {
        sample->child = first_child(watch->look->pid, tid);
    } else {
        sample->target = gv_thread_state_target(watch->look->reader, tid, thread, read_memory,
                                                watch, sample->path, sizeof(sample->path));
    }
}

static bool has_not_moved(const struct sample *before, const struct sample *now)
{
    return before->is_there && now->thread.sp && before->thread.sp == now->thread.sp &&
           before->thread.pc == now->thread.pc && before->thread.cpu_ns == now->thread.cpu_ns &&
           now->thread.cpu_ns;
}

static int take_sample(struct watch *watch, size_t i, unsigned at, bool has_time)
{
    struct gv_look_thread *thread = &watch->look->thread[i];
    struct sample *sample = &watch->watched[i].sample[at];
    int error = 0;

    if (gv_thread_state_read(watch->look->pid, thread->tid, NULL, &sample->thread))
        return 0;
    sample->is_there = true;
    sample->holder = tid_of_inner(watch->look, watch->python.holder);
    sample->has_gil = sample->holder == thread->tid;
    sample->collects = sample->has_gil && watch->python.collects;
    if (at && has_not_moved(&sample[-1], sample)) {
        sample->stack = sample[-1].stack;
        sample->in_python = sample[-1].in_python;
    } else if (has_time) {
        watch->python.copied_tid = 0;
        take_native(watch, thread, sample);
        watch->frame_count =
            watch->python.low
                ? gv_look_python_frames(&watch->python, thread->inner_tid, watch->frames)
                : 0;
        sample->in_python = watch->frame_count > 0;
        error = stack_number(watch, &sample->stack);
    }
    ask_call(watch, thread->tid, sample);
    return error;
}

/* ---- all threads ---- */

static int find_thread(struct watch *watch, uint32_t tid, uint64_t start, size_t *index)
{
    struct gv_look *look = watch->look;
    int error;

    for (*index = 0; *index < look->threads; ++*index)
        if (look->thread[*index].tid == tid && watch->watched[*index].start == start)
            return 0;
    if (look->threads == GV_OUTSIDE_THREADS)
        return 0;
    error = gv_array_room(&look->thread, look->threads, &look->room, sizeof(look->thread[0]));
    if (!error)
        error =
            gv_array_room(&watch->watched, look->threads, &watch->room, sizeof(watch->watched[0]));
    if (error)
        return error;
    struct sample *samples = calloc(watch->looks, sizeof(*samples));
    if (!samples)
        return -ENOMEM;
    watch->watched[look->threads] =
        (struct watched){.start = start, .sample = samples, .is_own = true};
    look->thread[look->threads] =
        (struct gv_look_thread){.tid = tid, .inner_tid = gv_outside_inner_tid(look->pid, tid)};
    gv_outside_name(look->pid, tid, look->thread[look->threads].name);
    look->threads++;
    return 0;
}

/* Whether the process is still the one that it was, and can be read. 0; -ESRCH: it has ended;
 * -ESTALE: it has begun another program. */
static int check_it(struct watch *watch)
{
    struct gv_outside_program program;
    struct gv_look *look = watch->look;

    look->reader = gv_outside_reader(look->pid);
    watch->python.pid = watch->calls.pid = look->reader;
    look->has_ended =
        !look->reader || gv_outside_status(look->pid, &look->status) ||
        (look->reader == look->pid && gv_outside_start(look->pid, look->pid) != look->start);
    if (look->has_ended)
        return -ESRCH;
    gv_outside_program(look->reader, &program);
    return memcmp(&program, &watch->program, sizeof(program)) == 0 ? 0 : -ESTALE;
}

static int look_once(struct watch *watch, unsigned at)
{
    static uint32_t tids[GV_OUTSIDE_THREADS], inner[GV_OUTSIDE_THREADS];
    static size_t index[GV_OUTSIDE_THREADS];
    struct gv_look *look = watch->look;
    size_t count = gv_outside_threads(look->pid, tids, GV_OUTSIDE_THREADS), known = 0;
    int error = check_it(watch);

    if (!error && at % 8 == 7)
        error = read_objects(watch); /* libraries come while it starts */
    if (!error && at % 8 == 7 && !watch->python.low)
        error = find_python(watch);
    for (size_t i = 0; i < count && !error; i++) {
        error = find_thread(watch, tids[i], gv_outside_start(look->pid, tids[i]), &index[i]);
        if (!error && index[i] < look->threads)
            inner[known++] = look->thread[index[i]].inner_tid;
    }
    gv_look_python_threads(&watch->python, inner, known);
    watch->late_ns = gv_monotonic_ns() + LOOK_MOST_NS;
    for (size_t i = 0; i < count && !error; i++) {
        /* If there is no time for all stacks, it is for others at the next look. */
        size_t next = i ? 1 + (i + at * OTHERS) % (count - 1) : 0;
        if (index[next] < look->threads)
            error =
                take_sample(watch, index[next], at, i == 0 || gv_monotonic_ns() < watch->late_ns);
    }
    /* What was read meanwhile may be another one's. */
    return error ? error : check_it(watch);
}

static int look_often(struct watch *watch)
{
    uint64_t start_ns = gv_monotonic_ns(), step_ns = watch->step_ns;
    struct gv_look *look = watch->look;
    int error = 0;

    for (look->looks = 0; look->looks < watch->looks && !error;) {
        uint64_t next_ns = start_ns + look->looks * step_ns, now_ns = gv_monotonic_ns();
        /* Where looking takes long, there are fewer. */
        if (look->looks && now_ns > watch->end_ns)
            break;
        for (; now_ns < next_ns; now_ns = gv_monotonic_ns())
            gv_pause_ns(next_ns - now_ns < PAUSE_MOST_NS ? next_ns - now_ns : PAUSE_MOST_NS);
        error = look_once(watch, look->looks);
        look->looks += !error;
    }
    look->seconds = (double)(gv_monotonic_ns() - start_ns) / 1e9;
    return error == -ESRCH && look->looks ? 0 : error;
}

/* In a thread of its own: if one of the process has not stopped by the end, because it gets no
 * CPU, the Linux kernel lets it go when who asked it to stop ends. */
static void *look_in_thread(void *watch)
{
    return (void *)(intptr_t)look_often(watch);
}

static int run_looks(struct watch *watch)
{
    pthread_t thread;
    void *result = NULL;
    int error = pthread_create(&thread, NULL, look_in_thread, watch);

    if (error) /* no thread is left for it */
        return look_often(watch);
    pthread_join(thread, &result);
    return (int)(intptr_t)result;
}

/* ---- what was seen, as a trace ---- */

static size_t stack_of_thread(const struct watch *watch, uint32_t tid, unsigned at)
{
    for (size_t i = 0; i < watch->look->threads; i++)
        if (watch->look->thread[i].tid == tid)
            return watch->watched[i].sample[at].stack;
    return 0;
}

static int64_t row_of(const struct watch *watch, size_t stack)
{
    return stack ? watch->stack[stack - 1].row : GV_ROW_NULL;
}

static int store_sample(struct watch *watch, size_t index, unsigned at)
{
    const struct sample *sample = &watch->watched[index].sample[at], *before = sample - 1;
    const char state[] = {sample->thread.state, '\0'};
    char child[GV_OUTSIDE_NAME_BYTES] = "", path[GV_TEXT_REPAIRED_BYTES(GV_OUTSIDE_PATH_BYTES)];
    bool knows_times = at && before->is_there;
    int64_t about = sample->waits_for_gil ? GV_IDLE_GIL
                    : sample->child       ? GV_IDLE_CHILD
                                          : GV_IDLE_SELF;
    int64_t other = sample->waits_for_gil ? sample->holder : sample->child;
    size_t other_stack = sample->waits_for_gil ? stack_of_thread(watch, sample->holder, at) : 0;

    if (sample->child)
        gv_outside_name(sample->child, sample->child, child);
    gv_text_repair(path, sizeof(path), child[0] ? child : sample->path,
                   strlen(child[0] ? child : sample->path));
    return GV_ADD(
        &watch->look->trace, idle_sample, .process = 1, .thread = (int64_t)index + 1,
        .at_ns = (int64_t)(at + 1) * AT_NS, .span_ns = AT_NS, .about = about, .state = state,
        .system_call = sample->thread.call == GV_THREAD_NO_CALL ? GV_ROW_NULL : sample->thread.call,
        .target = sample->target,
        .signs = (sample->in_python ? GV_IDLE_IN_PYTHON : 0) |
                 (sample->has_gil ? GV_IDLE_HAS_GIL : 0) |
                 (watch->python.knows_gil ? GV_IDLE_KNOWS_GIL : 0) |
                 (sample->collects ? GV_IDLE_COLLECTS : 0),
        .pid_or_tid = other ? other : GV_ROW_NULL, .stack = row_of(watch, sample->stack),
        .other_stack = row_of(watch, other_stack),
        .delay_ns = knows_times ? (int64_t)(sample->thread.delay_ns - before->thread.delay_ns)
                                : GV_ROW_NULL,
        .cpu_ns =
            knows_times ? (int64_t)(sample->thread.cpu_ns - before->thread.cpu_ns) : GV_ROW_NULL,
        .text = path[0] && (child[0] || sample->target == GV_IDLE_TARGET_FILE) ? path : NULL);
}

static int store_samples(struct watch *watch)
{
    struct gv_look *look = watch->look;
    int error = 0;

    for (size_t i = 0; i < look->threads && !error; i++) {
        char name[GV_TEXT_REPAIRED_BYTES(GV_OUTSIDE_NAME_BYTES)];
        gv_text_repair(name, sizeof(name), look->thread[i].name, strlen(look->thread[i].name));
        error = GV_ADD(&look->trace, thread, .id = (int64_t)i + 1, .process = 1,
                       .serial = (int64_t)i, .tid = look->thread[i].tid, .name = name);
        for (unsigned at = 0; at < look->looks && !error; at++) {
            const struct sample *sample = &watch->watched[i].sample[at];
            if (!sample->is_there)
                continue;
            look->thread[i].looks++;
            look->thread[i].runs_python |= sample->in_python;
            look->thread[i].with_gil += sample->has_gil;
            error = store_sample(watch, i, at);
        }
    }
    return error;
}

/* ---- what each thread did ---- */

/* A static libcudart exports nothing, but its file may have names. */
static int find_static_call(void *context, sqlite3_stmt *row)
{
    struct known_stack *stack = context;
    const char *function = (const char *)sqlite3_column_text(row, 0);

    if (function && gv_api_find(function) != GV_API_UNKNOWN)
        snprintf(stack->call, sizeof(stack->call), "%s", function);
    return 0;
}

static int find_static_calls(struct watch *watch)
{
    static const char sql[] =
        "SELECT function FROM frame WHERE stack = ?1 AND kind <> 'python' ORDER BY depth";
    int error = 0;

    for (size_t i = 0; i < watch->stacks && !error; i++)
        if (!watch->stack[i].call[0])
            error = gv_database_each(watch->look->trace.handle, sql, &watch->stack[i].row, 1,
                                     find_static_call, &watch->stack[i]);
    return error;
}

static void add_part(struct gv_look_thread *thread, const struct gv_look_part *part)
{
    for (size_t i = 0; i < thread->parts; i++) {
        struct gv_look_part *known = &thread->part[i];
        if (strcmp(known->call, part->call) == 0 && known->what == part->what &&
            strcmp(known->where, part->where) == 0 && strcmp(known->detail, part->detail) == 0) {
            known->looks++;
            known->in_driver += part->in_driver;
            known->waits_for = part->waits_for;
            return;
        }
    }
    if (thread->parts < GV_LOOK_PARTS)
        thread->part[thread->parts++] = *part;
}

static int take_look(void *context, const struct gv_idle_look *seen)
{
    struct watch *watch = context;
    size_t index = (size_t)seen->thread - 1;
    unsigned at = (unsigned)(seen->at_ns / AT_NS) - 1;
    struct gv_look_part part = {.class = GV_CLASS_COUNT, .what = seen->what, .looks = 1};

    if (seen->thread < 1 || index >= watch->look->threads || at >= watch->look->looks)
        return 0;
    struct gv_look_thread *thread = &watch->look->thread[index];
    const struct sample *sample = &watch->watched[index].sample[at];
    const struct known_stack *stack = sample->stack ? &watch->stack[sample->stack - 1] : NULL;
    part.stack = stack ? stack->row : 0;
    part.waits_for = sample->waits_for_gil ? sample->holder : sample->owner;
    watch->watched[index].is_own &= stack && stack->is_of_cuda && !stack->call[0];
    const char *call = !stack                                                 ? ""
                       : stack->call[0]                                       ? stack->call
                       : stack->is_of_cuda || strcmp(stack->inside, "-") == 0 ? ""
                                                                              : stack->inside;
    if (call[0]) {
        int api = gv_api_find(call);
        snprintf(part.call, sizeof(part.call), "%s", call);
        part.what = GV_ACCOUNT_UNKNOWN;
        part.class = api == GV_API_UNKNOWN ? GV_CLASS_COUNT : gv_api_rows[api].class;
        gv_stack_where(watch->look->trace.handle, stack->row, part.where, sizeof(part.where));
        part.in_driver = strncmp(stack->inside, "libcuda.so", 10) == 0;
        thread->in_calls++;
    } else {
        snprintf(part.detail, sizeof(part.detail), "%s", seen->detail ? seen->detail : "");
        snprintf(part.where, sizeof(part.where), "%s", seen->where ? seen->where : "");
    }
    add_part(thread, &part);
    return 0;
}

/* Who gets no CPU at a line at which it else runs, runs there. */
static void join_without_cpu(struct gv_look_thread *thread)
{
    for (size_t i = 0; i < thread->parts; i++) {
        struct gv_look_part *waits = &thread->part[i];
        for (size_t k = 0; k < thread->parts && waits->what == GV_ACCOUNT_NO_CPU; k++) {
            struct gv_look_part *runs = &thread->part[k];
            if ((runs->what != GV_ACCOUNT_NATIVE && runs->what != GV_ACCOUNT_PYTHON) ||
                strcmp(runs->where, waits->where) != 0)
                continue;
            runs->looks += waits->looks;
            runs->without_cpu += waits->looks;
            *waits = thread->part[--thread->parts];
            i--;
            break;
        }
    }
}

static int by_looks(const void *one, const void *other)
{
    unsigned first = ((const struct gv_look_part *)one)->looks,
             second = ((const struct gv_look_part *)other)->looks;

    return (first < second) - (first > second);
}

static int judge(struct watch *watch)
{
    struct gv_look *look = watch->look;
    struct gv_idle_looks *looks = NULL;
    uint64_t names_ns = watch->end_ns + NAMES_NS, least_ns = gv_monotonic_ns() + NAMES_LEAST_NS;
    int error = store_samples(watch);

    if (!error)
        error = gv_stack_names_find_until(&look->trace, names_ns > least_ns ? names_ns : least_ns);
    if (!error)
        error = find_static_calls(watch);
    if (!error)
        error = gv_idle_looks_open(look->trace.handle, &looks);
    if (!error)
        error = gv_idle_looks_read(looks, 0, INT64_MAX, take_look, watch);
    gv_idle_looks_close(looks);
    for (size_t i = 0; i < look->threads; i++) {
        struct gv_look_thread *thread = &look->thread[i];
        qsort(thread->part, thread->parts, sizeof(thread->part[0]), by_looks);
        join_without_cpu(thread);
        qsort(thread->part, thread->parts, sizeof(thread->part[0]), by_looks);
        thread->is_own = watch->watched[i].is_own && thread->looks && thread->tid != look->pid;
    }
    return error;
}

/* ---- the whole ---- */

static int open_watch(struct watch *watch)
{
    struct gv_look *look = watch->look;
    int error = gv_outside_status(look->pid, &look->status);

    if (error)
        return error;
    look->pid = look->status.process; /* a thread's number will do */
    look->start = gv_outside_start(look->pid, look->pid);
    look->reader = gv_outside_reader(look->pid);
    if (!look->reader)
        return -ESRCH;
    gv_outside_program(look->reader, &watch->program);
    error = gv_outside_try(look->reader);
    if (error)
        return error;
    gv_outside_text(look->reader, "cmdline", look->command, sizeof(look->command));
    if (!look->command[0])
        snprintf(look->command, sizeof(look->command), "%s", look->status.name);
    look->age_ns = gv_outside_age_ns(look->start);
    watch->calls.pid = look->reader;
    watch->unwinder = gv_unwinder_open();
    if (!watch->unwinder)
        return -ENOMEM;
    error = gv_database_open_output(&look->trace, ":memory:");
    if (!error)
        error = GV_ADD(&look->trace, process, .id = 1, .identity = 1, .pid = look->pid);
    if (!error)
        error = read_objects(watch);
    return error ? error : find_python(watch);
}

static void close_watch(struct watch *watch)
{
    for (size_t i = 0; i < watch->look->threads; i++)
        free(watch->watched[i].sample);
    free(watch->watched);
    free(watch->stack);
    gv_key_map_free(&watch->stack_numbers);
    gv_key_map_free(&watch->object_rows);
    gv_look_calls_free(&watch->calls);
    gv_outside_objects_free(&watch->objects);
    gv_unwinder_close(watch->unwinder);
    free(watch);
}

/* -ESTALE: it has begun another program; `left` looks are left for that. */
static int watch_one(struct gv_look *look, unsigned *left, uint64_t step_ns, uint64_t end_ns)
{
    struct watch *watch = calloc(1, sizeof(*watch));
    int error;

    if (!watch)
        return -ENOMEM;
    watch->look = look;
    watch->looks = *left;
    watch->step_ns = step_ns;
    watch->end_ns = end_ns;
    watch->taken.while_stopped = copy_python;
    watch->taken.context = watch;
    error = open_watch(watch);
    if (!error)
        error = run_looks(watch);
    *left -= look->looks;
    look->has_changed |= error == -ESTALE;
    if (error == -ESTALE && gv_monotonic_ns() >= end_ns && look->looks)
        error = 0;
    if (!error)
        error = judge(watch);
    close_watch(watch);
    return error;
}

int gv_look_watch(struct gv_look *look, uint32_t pid, unsigned looks, int64_t step_ns)
{
    uint64_t end_ns = gv_monotonic_ns() + looks * (uint64_t)step_ns;
    bool again = false;
    int error, tries = 0;

    memset(look, 0, sizeof(*look));
    do {
        gv_look_free(look);
        look->pid = pid;
        look->has_changed = again;
        error = watch_one(look, &looks, (uint64_t)step_ns, end_ns);
        again = error == -ESTALE;
    } while (again && (++tries < TRIES || gv_monotonic_ns() < end_ns));
    return error;
}

void gv_look_free(struct gv_look *look)
{
    if (look->trace.handle)
        gv_database_close(&look->trace);
    free(look->thread);
    memset(look, 0, sizeof(*look));
}
