#include "preload/stacks/python_threads.h"

#include "preload/base/own_memory.h"
#include "preload/stacks/python_take.h"
#include "preload/stacks/stacks.h"

#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define INTERPRETERS_MOST 16u
#define THREADS_MOST      512u /* of an interpreter */
/* Looks at an interpreter that nobody trusts yet, until no more are made. */
#define LOOKS_IN_DOUBT 32u

#define LONGEST_INTERVAL_US 1000000000u

static struct {
    struct gv_python python; /* its addresses and its memory are those of the process */
    uint32_t pid;            /* 0: this one */
    uintptr_t interpreters[INTERPRETERS_MOST]; /* the main one comes last */
    unsigned interpreter_count;
} look;

static bool read_pointer(uintptr_t from, uintptr_t *value)
{
    return gv_python_memory_pointer(look.python.memory, from, value);
}

/* ---- another process with the same interpreter ---- */

/* How far its interpreter is from where ours is. */
struct child {
    uint32_t pid;  /* 0: free */
    uint32_t wait; /* looks until its mappings are read again; it may start Python later */
    uintptr_t shift;
};
#define CHILDREN       128u
#define LOOKS_TO_WAIT  16u
#define MAPS_LINE_MOST 8192u

/* A type object behind its references, as far as it is needed. */
struct type_head {
    uintptr_t type, size, name;
};

/* Whether the interpreter is there: a type points where ours does. */
static bool is_at(uint32_t pid, uintptr_t shift)
{
    struct type_head ours, theirs;
    uintptr_t at = look.python.code_type + look.python.layout.type;

    return gv_own_memory_read(&ours, at, sizeof ours) &&
           gv_other_memory_read(pid, &theirs, at + shift, sizeof theirs) &&
           ours.type + shift == theirs.type && ours.name + shift == theirs.name;
}

struct mapping {
    uintptr_t low, high, offset;
    uint64_t major, minor, inode;
};

/* The number at *text, behind which it leaves *text. sscanf() takes longer than the Linux kernel
 * takes to write the line. */
static uint64_t next_number(char **text, int base)
{
    *text += strcspn(*text, "0123456789abcdef");
    return strtoull(*text, text, base);
}

/* "7f0c8c021000-7f0c8c1a9000 r-xp 00021000 08:01 1311 /usr/lib/python": "x" is no number. */
static void parse_mapping(char *line, struct mapping *mapping)
{
    mapping->low = next_number(&line, 16);
    mapping->high = next_number(&line, 16);
    line += strcspn(line, " ");
    line += strspn(line, " ");
    line += strcspn(line, " ");
    mapping->offset = next_number(&line, 16);
    mapping->major = next_number(&line, 16);
    mapping->minor = next_number(&line, 16);
    mapping->inode = next_number(&line, 10);
}

/* The first mapping of a process that has `address` or, if that is 0, shows the same part of the
 * same file as `same`. */
static bool find_mapping(uint32_t pid, uintptr_t address, const struct mapping *same,
                         struct mapping *found)
{
    static char text[MAPS_LINE_MOST];
    size_t used = 0;
    bool has = false;
    ssize_t bytes;
    char path[32];
    int fd;

    snprintf(path, sizeof path, "/proc/%u/maps", pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    while (!has && (bytes = read(fd, text + used, sizeof text - 1 - used)) > 0) {
        char *line = text, *end;

        text[used += (size_t)bytes] = '\0';
        for (; !has && (end = strchr(line, '\n')); line = end + 1) {
            *end = '\0';
            parse_mapping(line, found);
            has = address ? address >= found->low && address < found->high
                          : found->inode == same->inode && found->major == same->major &&
                                found->minor == same->minor && found->offset == same->offset;
        }
        used -= (size_t)(line - text);
        memmove(text, line, used);
    }
    close(fd);
    return has;
}

/* Ours stays where it is; in a process with thousands of mappings it takes milliseconds to find. */
static bool search(uint32_t pid, uintptr_t *shift)
{
    static struct mapping ours;
    struct mapping theirs;
    uintptr_t at = look.python.code_type;

    if ((at < ours.low || at >= ours.high) && !find_mapping((uint32_t)getpid(), at, NULL, &ours))
        return false;
    if (!ours.inode || !find_mapping(pid, 0, &ours, &theirs))
        return false;
    *shift = theirs.low - ours.low;
    return is_at(pid, *shift);
}

/* A forked child has it where we have it. */
static bool find_shift(uint32_t pid, uintptr_t *shift)
{
    static struct child children[CHILDREN];
    struct child *child = &children[pid % CHILDREN];

    if (child->pid != pid)
        *child = (struct child){.pid = pid};
    *shift = child->shift;
    if (is_at(pid, *shift))
        return true;
    if (child->wait) {
        child->wait--;
        return false;
    }
    child->wait = LOOKS_TO_WAIT;
    if (!search(pid, shift))
        return false;
    child->shift = *shift;
    return true;
}

static bool move_to(uint32_t pid)
{
    struct gv_python *python = &look.python;
    uintptr_t shift;

    if (!find_shift(pid, &shift))
        return false;
    python->runtime += shift;
    python->code_type += shift;
    python->text_type += shift;
    python->bytes_type += shift;
    python->low += shift;
    python->high += shift;
    return true;
}

/* ---- threads ---- */

/* Where glibc has a thread's number, from what pthread_self() returns; 0: not found. The caller is
 * no main thread, so that its number is not that of the process. */
static size_t find_number_at(void)
{
    static size_t found;
    int32_t words[256];

    if (found || !gv_own_memory_read(words, (uintptr_t)pthread_self(), sizeof words))
        return found;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && !found; i++)
        if (words[i] == (int32_t)syscall(SYS_gettid))
            found = i * sizeof words[0];
    return found;
}

/* The number of the thread with this state. 0: not known */
static uint32_t number_of(const struct gv_python *python, uintptr_t state)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t value;
    int32_t number;

    if (layout->native_id != GV_PYTHON_NONE)
        return gv_python_memory_pointer(python->memory, state + layout->native_id, &value)
                   ? (uint32_t)value
                   : 0;
    return find_number_at() &&
                   gv_python_memory_pointer(python->memory, state + layout->thread_id, &value) &&
                   gv_python_memory_read(python->memory, &number, value + find_number_at(),
                                         sizeof number)
               ? (uint32_t)number
               : 0;
}

static bool read_interpreters(void)
{
    const struct gv_python_layout *layout = &look.python.layout;
    uintptr_t at;

    look.interpreter_count = 0;
    if (!read_pointer(look.python.runtime + layout->interpreters, &at))
        return false;
    while (at && look.interpreter_count < INTERPRETERS_MOST) {
        look.interpreters[look.interpreter_count++] = at;
        if (!read_pointer(at + layout->next_interpreter, &at))
            return false;
    }
    return look.interpreter_count && !at;
}

/* 0: it is not of an interpreter that is known */
static uintptr_t interpreter_of(uintptr_t state)
{
    uintptr_t found;

    if (!state || !read_pointer(state + look.python.layout.interpreter, &found))
        return 0;
    for (unsigned i = 0; i < look.interpreter_count; i++)
        if (look.interpreters[i] == found)
            return found;
    return 0;
}

/* The states of all threads, one at a time; 0: there are no more. A thread that comes or goes
 * meanwhile may end the list too early. */
struct walk {
    unsigned interpreters, threads; /* how many are left; how many were taken of this one */
    uintptr_t state;
};

static uintptr_t next_state(struct walk *walk)
{
    const struct gv_python_layout *layout = &look.python.layout;

    if (!look.python.memory)
        return 0; /* without a look: it would be read directly */
    for (;; walk->threads = 0) {
        uintptr_t at = walk->state, from = at + layout->next_thread;

        if (!walk->threads) {
            if (!walk->interpreters)
                return 0;
            from = look.interpreters[--walk->interpreters] + layout->threads;
        }
        if (walk->threads++ < THREADS_MOST && read_pointer(from, &walk->state) &&
            interpreter_of(walk->state) == look.interpreters[walk->interpreters])
            return walk->state;
    }
}

static uintptr_t find_state(uint32_t tid)
{
    struct walk walk = {.interpreters = look.interpreter_count};
    bool is_last = gv_python_last_state_counts(&look.python.layout);
    uintptr_t state, found = 0;

    while ((!found || is_last) && (state = next_state(&walk)))
        if (number_of(&look.python, state) == tid)
            found = state;
    return found;
}

unsigned gv_python_look_threads(uint32_t *tids, unsigned most)
{
    struct walk walk = {.interpreters = look.interpreter_count};
    unsigned count = 0;
    uintptr_t state;

    while (count < most && (state = next_state(&walk)))
        if ((tids[count] = number_of(&look.python, state)))
            count++;
    return count;
}

/* ---- the GIL ---- */

static bool find_gil(uintptr_t *at)
{
    const struct gv_python_layout *layout = &look.python.layout;
    int32_t is_used;

    *at = look.python.runtime + layout->gil;
    if (layout->minor >= GV_PYTHON_GIL_OF_INTERPRETER &&
        !read_pointer(look.interpreters[look.interpreter_count - 1] + layout->gil, at))
        return false;
    if (!layout->is_free_threaded)
        return true;
    *at += GV_PYTHON_GIL_WORD_BYTES;
    return gv_python_memory_read(look.python.memory, &is_used, *at - GV_PYTHON_GIL_WORD_BYTES,
                                 sizeof is_used) &&
           is_used;
}

static void read_gil(struct gv_python_gil *to)
{
    const struct gv_python_layout *layout = &look.python.layout;
    uintptr_t at, interpreter;
    int32_t collecting = 0;
    struct gv_python_gil_state gil;

    if (!find_gil(&at) ||
        !gv_python_memory_read(look.python.memory, &gil, at,
                               offsetof(struct gv_python_gil_state, cond)) ||
        gil.interval_us == 0 || gil.interval_us > LONGEST_INTERVAL_US || gil.locked < -1 ||
        gil.locked > 1)
        return;
    to->is_known = true;
    to->low = at;
    to->high = at + sizeof gil;
    interpreter = gil.locked == 1 ? interpreter_of(gil.last_holder) : 0;
    if (!interpreter)
        return;
    to->holder = number_of(&look.python, gil.last_holder);
    to->collects =
        to->holder &&
        gv_python_memory_read(look.python.memory, &collecting,
                              interpreter + layout->gc + layout->collecting, sizeof collecting) &&
        collecting == 1;
}

/* ---- a look ---- */

bool gv_python_look_begin(uint32_t pid, struct gv_python_gil *gil)
{
    struct gv_python *python = &look.python;

    memset(gil, 0, sizeof *gil);
    look.pid = pid;
    if (!gv_python_runtime_find(python) || !python->runtime || (pid && !move_to(pid)))
        return false;
    python->pid = pid;
    python->memory = gv_python_memory_take(pid, 0, GV_PYTHON_THREADS);
    if (!python->memory)
        return false;
    if (!read_interpreters()) {
        gv_python_look_end();
        return false;
    }
    read_gil(gil);
    return true;
}

static bool is_trusted(const struct gv_python *python, const struct gv_python_frame *frames,
                       unsigned count)
{
    static unsigned doubts;

    if (python->trusted)
        return true;
    if (doubts == LOOKS_IN_DOUBT)
        return false;
    if (!gv_python_frames_look_right(python, frames, count)) {
        doubts++;
        return false;
    }
    gv_python_runtime_trust();
    return true;
}

/* Their memories are separate because frames are read several times. */
static unsigned take_frames(uintptr_t state, uint32_t tid, struct gv_python_frame *frames)
{
    struct gv_python python = look.python;
    unsigned count = 0;

    python.memory = gv_python_memory_take(look.pid, tid, GV_PYTHON_OTHER_FRAMES);
    if (!python.memory)
        return 0;
    if (!gv_python_frames_of_other(&python, state, frames, &count) ||
        number_of(&python, state) != tid)
        count = 0;
    gv_python_memory_give_back(python.memory);
    return count;
}

uint32_t gv_python_look_stack(struct gv_thread *writer, uint32_t tid)
{
    struct gv_python_position position[GV_STACK_POSITIONS];
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    struct gv_python python = look.python;
    uintptr_t state = tid ? find_state(tid) : 0;
    uint32_t number = 0;
    unsigned count;

    if (!state)
        return 0;
    count = take_frames(state, tid, frames);
    if (!count)
        return 0;
    python.memory = gv_python_memory_take(look.pid, tid, GV_PYTHON_OTHER_CODE);
    if (!python.memory)
        return 0;
    if (is_trusted(&python, frames, count) &&
        gv_python_positions(writer, &python, frames, count, position))
        number = gv_stacks_write_positions(writer, position, count);
    gv_python_memory_give_back(python.memory);
    return number;
}

void gv_python_look_end(void)
{
    gv_python_memory_give_back(look.python.memory);
    look.python.memory = NULL;
}
