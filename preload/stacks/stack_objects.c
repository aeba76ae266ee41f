#include "preload/stacks/stack_objects.h"

#include "preload/base/loader.h"
#include "preload/base/objects.h"
#include "preload/base/own_memory.h"
#include "preload/base/own_process.h"

#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define NOTES_MOST   64u
#define HEADERS_MOST 24u

static struct gv_spool_stacks *stacks; /* NULL: there is no list */
static struct gv_spool_object *objects;

/* One thread at a time changes the list. Another one leaves a word, and goes on. */
enum turn { TURN_FREE, TURN_TAKEN, TURN_WANTED };
static _Atomic uint32_t turn;
static _Atomic uint32_t closing; /* threads that unload an object now */

static uint32_t used;      /* entries below this one have been in use */
static bool is_beginning;  /* nothing is listed twice, or where something was */
static _Atomic bool stale; /* something was unloaded */

static _Atomic unsigned long long changes; /* of the loader's list, when it was read as a whole */

/* The loader's last object that is listed. */
static _Atomic uintptr_t last, last_mark;

/* ---- what is known of an object ---- */

struct description {
    uintptr_t base;
    uintptr_t low;
    uintptr_t high;
    uintptr_t dynamic;
    const ElfW(Phdr) * headers;
    unsigned count;
    bool is_held; /* we have the loader's lock: it stays mapped */
};

/* Through the Linux kernel: a program header may say anything, and what is not held may be gone. */
static bool read_of(const struct description *object, void *to, uintptr_t from, size_t bytes)
{
    return object->is_held ? gv_own_memory_read_held(to, from, bytes)
                           : gv_own_memory_read(to, from, bytes);
}

static void find_ranges(struct description *object)
{
    object->low = UINTPTR_MAX;
    object->high = object->dynamic = 0;
    for (unsigned i = 0; i < object->count; i++) {
        uintptr_t start = object->base + object->headers[i].p_vaddr;

        if (object->headers[i].p_type == PT_DYNAMIC)
            object->dynamic = start;
        if (object->headers[i].p_type != PT_LOAD)
            continue;
        if (start < object->low)
            object->low = start;
        if (start + object->headers[i].p_memsz > object->high)
            object->high = start + object->headers[i].p_memsz;
    }
}

static void read_notes(const struct description *object, uintptr_t at, size_t left,
                       struct gv_spool_object *entry)
{
    for (unsigned i = 0; i < NOTES_MOST && left >= sizeof(ElfW(Nhdr)); i++) {
        struct {
            ElfW(Nhdr) head;
            char name[4];
            uint8_t text[GV_SPOOL_BUILD_ID_BYTES];
        } note = {.head.n_type = 0};
        size_t name, bytes;

        if (!read_of(object, &note, at, left < sizeof note ? left : sizeof note))
            return;
        name = ((size_t)note.head.n_namesz + 3) & ~(size_t)3;
        bytes = sizeof note.head + name + (((size_t)note.head.n_descsz + 3) & ~(size_t)3);
        if (bytes > left)
            return;
        if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == sizeof note.name &&
            memcmp(note.name, "GNU", sizeof note.name) == 0) {
            entry->build_id_bytes =
                (uint8_t)(note.head.n_descsz < sizeof note.text ? note.head.n_descsz
                                                                : sizeof note.text);
            memcpy(entry->build_id, note.text, entry->build_id_bytes);
            return;
        }
        at += bytes;
        left -= bytes;
    }
}

static void find_build_id(const struct description *object, struct gv_spool_object *entry)
{
    entry->build_id_bytes = 0;
    for (unsigned i = 0; i < object->count && !entry->build_id_bytes; i++)
        if (object->headers[i].p_type == PT_NOTE)
            read_notes(object, object->base + object->headers[i].p_vaddr,
                       object->headers[i].p_memsz, entry);
}

/* ---- the list ---- */

static bool is_mapped(const struct gv_spool_object *entry)
{
    return atomic_load_explicit(&entry->added, memory_order_relaxed) &&
           !atomic_load_explicit(&entry->removed, memory_order_relaxed);
}

/* The one that this change makes. */
static uint32_t next_generation(void)
{
    return atomic_load_explicit(&stacks->generation, memory_order_relaxed) + 1;
}

static void remove_entry(struct gv_spool_object *entry)
{
    atomic_store_explicit(&entry->removed, next_generation(), memory_order_release);
}

/* False: it is too long, or gone. */
static bool read_path(const struct description *object, char path[GV_SPOOL_OBJECT_PATH_BYTES],
                      uintptr_t from)
{
    size_t length = 0;

    while (length < GV_SPOOL_OBJECT_PATH_BYTES) {
        size_t bytes = 64 - (from + length) % 64; /* within a page */

        if (bytes > GV_SPOOL_OBJECT_PATH_BYTES - length)
            bytes = GV_SPOOL_OBJECT_PATH_BYTES - length;
        if (!read_of(object, path + length, from + length, bytes))
            return false;
        if (memchr(path + length, '\0', bytes))
            return true;
        length += bytes;
    }
    return false;
}

static bool is_there(const struct gv_spool_object *entry, const struct description *object)
{
    return is_mapped(entry) && entry->base == object->base && entry->dynamic == object->dynamic &&
           entry->high == object->high;
}

/* Small libraries often have the same layout, so that their paths tell them apart. */
static bool is_listed(const struct description *object, const char *path)
{
    for (uint32_t i = 0; i < used; i++)
        if (is_there(&objects[i], object))
            return strcmp(objects[i].path, path) == 0;
    return false;
}

/* NULL: there is no room. */
static struct gv_spool_object *free_entry(void)
{
    for (uint32_t i = 0; i < used && !is_beginning; i++)
        if (atomic_load_explicit(&objects[i].added, memory_order_acquire) == 0)
            return &objects[i];
    if (used == atomic_load_explicit(&stacks->objects_allocated, memory_order_relaxed) &&
        gv_spool_writer_add_objects(&gv_process.spool))
        return NULL;
    return &objects[used++];
}

/* What lies where it does is gone: the loader unloads what it cannot load as a whole, and what libc
 * loads for itself, without dlclose(). */
static void remove_overlapped(const struct description *object)
{
    for (uint32_t i = 0; i < used; i++)
        if (is_mapped(&objects[i]) && objects[i].low < object->high &&
            object->low < objects[i].high)
            remove_entry(&objects[i]);
}

/* dlopen("./libthing.so") keeps the path so. If the program has changed its directory, the
 * collector sees that the file is another one. */
static void make_absolute(char *path)
{
    const char *directory = gv_process.spool.header->directory;
    size_t more = strnlen(directory, sizeof gv_process.spool.header->directory) + 1;
    size_t length = strlen(path);

    if (path[0] == '/' || !strchr(path, '/') || length + more >= GV_SPOOL_OBJECT_PATH_BYTES)
        return;
    memmove(path + more, path, length + 1);
    memcpy(path, directory, more - 1);
    path[more - 1] = '/';
}

static void add(struct description *object, uintptr_t path_at)
{
    char path[GV_SPOOL_OBJECT_PATH_BYTES];
    struct gv_spool_object *entry;
    bool has_path = read_path(object, path, path_at);

    find_ranges(object);
    if (object->high <= object->low)
        return;
    if (!has_path) {
        atomic_fetch_add_explicit(&stacks->objects_missed, 1, memory_order_relaxed);
        return;
    }
    if (!path[0])
        memcpy(path, gv_process.spool.header->executable, sizeof path - 1);
    path[sizeof path - 1] = '\0';
    make_absolute(path);
    if (!is_beginning) {
        if (is_listed(object, path))
            return;
        remove_overlapped(object);
    }
    entry = free_entry();
    if (!entry) {
        atomic_fetch_add_explicit(&stacks->objects_missed, 1, memory_order_relaxed);
        return;
    }
    memcpy(entry->path, path, sizeof path);
    entry->base = object->base;
    entry->low = object->low;
    entry->high = object->high;
    entry->dynamic = object->dynamic;
    find_build_id(object, entry);
    atomic_store_explicit(&entry->removed, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->added, next_generation(), memory_order_release);
}

/* ---- the loader's list, without its lock ---- */

/* The public part of the loader's object. */
struct listed {
    uintptr_t base;
    uintptr_t path;
    uintptr_t dynamic;
    uintptr_t next;
};

/* Of libraries that start with their ELF header at their load address: all that today's linkers
 * make. */
static void add_listed(const struct listed *listed)
{
    struct {
        ElfW(Ehdr) head;
        ElfW(Phdr) headers[HEADERS_MOST];
    } file;
    struct description object = {.base = listed->base, .headers = file.headers};

    if (!listed->base || !gv_own_memory_read(&file.head, listed->base, sizeof file.head) ||
        memcmp(file.head.e_ident, ELFMAG, SELFMAG) != 0 ||
        file.head.e_phentsize != sizeof(ElfW(Phdr)))
        return;
    object.count = file.head.e_phnum < HEADERS_MOST ? file.head.e_phnum : HEADERS_MOST;
    if (!gv_own_memory_read(file.headers, listed->base + file.head.e_phoff,
                            object.count * sizeof(ElfW(Phdr))))
        return;
    add(&object, listed->path);
}

/* Its memory may be that of another one now. */
static uintptr_t mark_of(const struct listed *listed)
{
    return listed->base ^ listed->dynamic ^ listed->path;
}

/* False: the list is not as it was. Read with each stack: the kernel's copy of it took 9 us in
 * PyTorch (H100, 16 CPUs), as threads wait for each other there. */
static bool read_last(struct listed *listed)
{
    uintptr_t at = atomic_load_explicit(&last, memory_order_relaxed);

    /* While a thread unloads it, its page may go between the look and the copy. */
    return (atomic_load(&closing) ? gv_own_memory_read(listed, at, sizeof *listed)
                                  : gv_own_memory_peek(listed, at, sizeof *listed)) &&
           mark_of(listed) == atomic_load_explicit(&last_mark, memory_order_relaxed);
}

static void note_last(uintptr_t at, const struct listed *listed)
{
    atomic_store_explicit(&last, at, memory_order_relaxed);
    atomic_store_explicit(&last_mark, mark_of(listed), memory_order_relaxed);
}

/* Memory that was freed may lead in circles. */
static void add_new(void)
{
    struct listed listed;
    uintptr_t at;

    for (uint32_t i = 0; i < GV_SPOOL_OBJECTS && read_last(&listed) && listed.next; i++) {
        at = listed.next;
        if (!gv_own_memory_read(&listed, at, sizeof listed))
            return;
        add_listed(&listed);
        note_last(at, &listed);
    }
}

/* The end of the loader's list: objects that come later follow it. */
static void find_last(void)
{
    uintptr_t next = (uintptr_t)_r_debug.r_map;
    struct listed listed;

    for (uint32_t i = 0; i < 16 * GV_SPOOL_OBJECTS && next; i++) {
        uintptr_t at = next;

        if (!gv_own_memory_read(&listed, at, sizeof listed))
            return;
        note_last(at, &listed);
        next = listed.next;
    }
}

/* ---- the loader's list, with its lock ---- */

static int add_visited(struct dl_phdr_info *info, size_t size, void *context)
{
    struct description object = {.base = info->dlpi_addr,
                                 .headers = info->dlpi_phdr,
                                 .count = info->dlpi_phnum,
                                 .is_held = true};

    (void)size;
    (void)context;
    add(&object, (uintptr_t)info->dlpi_name);
    return 0;
}

struct search {
    const struct gv_spool_object *entry;
    uint32_t first;
    bool found[GV_SPOOL_OBJECTS];
};

static int note_visited(struct dl_phdr_info *info, size_t size, void *context)
{
    struct search *search = context;
    struct description object = {
        .base = info->dlpi_addr, .headers = info->dlpi_phdr, .count = info->dlpi_phnum};

    (void)size;
    find_ranges(&object);
    for (uint32_t i = 0; i < used; i++) { /* most are in the loader's order */
        uint32_t at = (search->first + i) % used;

        if (is_there(&objects[at], &object)) {
            search->found[at] = true;
            search->first = at + 1;
            break;
        }
    }
    return 0;
}

static void remove_unmapped(void)
{
    static struct search search; /* by one thread at a time */

    memset(&search, 0, sizeof search);
    gv_loader_visit(note_visited, &search);
    for (uint32_t i = 0; i < used; i++)
        if (is_mapped(&objects[i]) && !search.found[i])
            remove_entry(&objects[i]);
}

static void list_again(void)
{
    static unsigned long long unloads;
    unsigned long long now = gv_objects_unloads();

    if (now != unloads && !is_beginning)
        remove_unmapped();
    unloads = now;
    atomic_store(&changes, gv_objects_changes());
    /* First the end, then all: what comes meanwhile is in both. */
    find_last();
    gv_loader_visit(add_visited, NULL);
}

/* ---- whose turn it is ---- */

static void change(void)
{
    do {
        atomic_store(&turn, TURN_TAKEN);
        if (atomic_exchange(&stale, false))
            list_again();
        else
            add_new();
        atomic_store_explicit(&stacks->generation, next_generation(), memory_order_release);
    } while (!atomic_compare_exchange_strong(&turn, &(uint32_t){TURN_TAKEN}, TURN_FREE));
}

/* A signal handler that jumps away would keep the turn. Who has it may have read `stale` already,
 * so it must learn that it is wanted, or have given the turn back. */
static void ask(void)
{
    uint32_t now;
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    do {
        now = TURN_FREE;
        if (atomic_compare_exchange_strong(&turn, &now, TURN_TAKEN)) {
            change();
            break;
        }
    } while (now != TURN_WANTED && !atomic_compare_exchange_strong(&turn, &now, TURN_WANTED));
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void gv_stack_objects_start(void)
{
    objects = gv_process.spool.objects;
    stacks = objects ? &gv_process.spool.header->stacks : NULL;
    used = 0;
    atomic_store(&turn, TURN_FREE);
    if (!stacks)
        return;
    is_beginning = true;
    atomic_store(&stale, true);
    ask();
    is_beginning = false;
}

void gv_stack_objects_look(void)
{
    struct listed listed;

    if (!stacks)
        return;
    if (read_last(&listed)) {
        if (!listed.next)
            return;
    } else {
        /* The kernel refuses, */
        if (gv_objects_changes() == atomic_load(&changes))
            return;
        atomic_store(&stale, true); /* or the last one is gone. */
    }
    ask();
}

void gv_stack_objects_begin_close(void)
{
    atomic_fetch_add(&closing, 1);
}

void gv_stack_objects_end_close(void)
{
    atomic_fetch_sub(&closing, 1);
    if (!stacks || !gv_process_is_recording())
        return;
    atomic_store(&stale, true);
    ask();
}

uint32_t gv_stack_objects_generation(void)
{
    return stacks ? atomic_load_explicit(&stacks->generation, memory_order_acquire) : 0;
}
