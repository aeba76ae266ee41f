#include "trace/spool_writer.h"

#include "trace/futex.h"
#include "trace/spool_free_list.h"
#include "trace/spool_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE_BYTES        4096u
#define POPULATE_SEGMENTS 4    /* new segments mapped at once */
#define GROWTH_PAUSE      1000 /* requests that are refused after one failed */
/* Polls while another thread grows the file. That thread may have lost its CPU to the waiting
 * ones, or have a lower priority: yields first, then sleeps briefly, 10 ms in total. */
#define GROWTH_YIELDS   2000
#define GROWTH_SLEEPS   100
#define GROWTH_SLEEP_NS 100000
#define SHARES          16
#define REFILL_SEGMENTS 16u

static uint32_t page_aligned(size_t bytes)
{
    return (uint32_t)((bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1));
}

/* Allocates real storage: a store into a hole of a full file system would kill the program. */
static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
    int error;

    do
        error = posix_fallocate(fd, (off_t)offset, (off_t)bytes);
    while (error == EINTR);
    return -error;
}

static uint64_t segment_offset(const struct gv_spool_header *header, uint32_t segment)
{
    return header->segments_offset + (uint64_t)segment * GV_SPOOL_SEGMENT_BYTES;
}

/* A file longer than RLIMIT_FSIZE would cause a deadly SIGXFSZ. */
static uint64_t within_file_limit(uint64_t bytes)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return bytes;
    return limit.rlim_cur < bytes ? limit.rlim_cur : bytes;
}

/* Stacks come last, as they may lie behind a hole. They have no room in a file that is limited to
 * about their size. */
#define STACKS_BYTES                                                                               \
    ((uint64_t)GV_STACK_WORDS * GV_STACK_WORD_BYTES +                                              \
     (uint64_t)GV_SPOOL_OBJECTS * sizeof(struct gv_spool_object))

static void lay_out_stacks(struct gv_spool_header *header, uint64_t most_bytes)
{
    struct gv_spool_stacks *stacks = &header->stacks;
    uint64_t at =
        (segment_offset(header, header->segment_limit) + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;

    if (at + STACKS_BYTES > most_bytes)
        return;
    stacks->ring_offset = at;
    stacks->objects_offset = at + (uint64_t)GV_STACK_WORDS * GV_STACK_WORD_BYTES;
}

static void lay_out(struct gv_spool_header *header, uint64_t limit_mb, uint32_t names_count)
{
    uint64_t wanted_bytes = limit_mb << 20;
    uint64_t most_bytes = within_file_limit(wanted_bytes + STACKS_BYTES);
    uint64_t limit_bytes = most_bytes > 2 * STACKS_BYTES ? most_bytes - STACKS_BYTES : most_bytes;

    if (limit_bytes > wanted_bytes)
        limit_bytes = wanted_bytes;
    header->version = GV_SPOOL_VERSION;
    header->header_bytes = sizeof *header;
    header->names_offset = page_aligned(sizeof *header);
    header->names_count = names_count;
    header->names_bytes = names_count * (uint32_t)sizeof(struct gv_spool_name);
    header->slots_offset = page_aligned(header->names_offset + header->names_bytes);
    header->slots_count = GV_SPOOL_SLOTS;
    header->segments_offset =
        page_aligned(header->slots_offset + GV_SPOOL_SLOTS * sizeof(struct gv_spool_slot));
    header->segment_limit =
        limit_bytes < header->segments_offset
            ? 0
            : (uint32_t)((limit_bytes - header->segments_offset) / GV_SPOOL_SEGMENT_BYTES);
    header->free.head = header->empty.head = GV_SPOOL_EMPTY_LIST;
    lay_out_stacks(header, most_bytes);
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static uint32_t first_growth(const struct gv_spool_header *header)
{
    return smaller(header->segment_limit, GV_SPOOL_GROWTH_SEGMENTS);
}

static int fill_file(int fd, struct gv_spool_writer *writer, const struct gv_spool_header *plan)
{
    size_t bytes = plan->stacks.ring_offset ? plan->stacks.ring_offset + STACKS_BYTES
                                            : segment_offset(plan, plan->segment_limit);
    void *mapping;
    int error;

    if (ftruncate(fd, (off_t)bytes) < 0)
        return -errno;
    error = allocate(fd, 0, segment_offset(plan, first_growth(plan)));
    if (error)
        return error;
    mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    writer->header = mapping;
    writer->mapped_bytes = bytes;
    return 0;
}

/* How many more segments may get storage now. Tells the limit that follows from it. */
static uint32_t look_for_room(const struct gv_spool_writer *writer, uint32_t allocated)
{
    uint32_t more = writer->header->segment_limit;
    struct gv_spool_memory memory;
    char folder[GV_SPOOL_PATH_BYTES];
    int fd;

    memcpy(folder, writer->path, sizeof folder);
    if (strrchr(folder, '/'))
        strrchr(folder, '/')[1] = 0;
    fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0 && gv_spool_memory_look(fd, &memory) == 0)
        more = gv_spool_memory_segments(&memory, more);
    if (fd >= 0)
        close(fd);
    atomic_store(&writer->header->limit,
                 allocated + smaller(more, writer->header->segment_limit - allocated));
    return more;
}

int gv_spool_writer_create(struct gv_spool_writer *writer, const char *path, uint64_t limit_mb,
                           uint64_t identity, const struct gv_spool_name *names,
                           uint32_t names_count)
{
    static struct gv_spool_header plan; /* 7 kB: the caller's stack may be small */
    unsigned char *start;
    int error;
    int fd;

    memset(&plan, 0, sizeof plan);
    lay_out(&plan, limit_mb, names_count);
    if (plan.segment_limit == 0)
        return -EFBIG;
    if ((size_t)snprintf(writer->path, sizeof writer->path, "%s", path) >= sizeof writer->path)
        return -ENAMETOOLONG;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -errno;
    error = fchmod(fd, 0600) < 0 ? -errno : 0; /* undoes the umask */
    if (!error)
        error = fill_file(fd, writer, &plan);
    close(fd);
    if (error) {
        unlink(path);
        return error;
    }
    start = (unsigned char *)writer->header;
    memcpy(start, &plan, sizeof plan);
    memcpy(start + plan.names_offset, names, plan.names_bytes);
    writer->slots = (struct gv_spool_slot *)(void *)(start + plan.slots_offset);
    writer->segments = (struct gv_spool_segment *)(void *)(start + plan.segments_offset);
    if (plan.stacks.ring_offset) {
        writer->ring = start + plan.stacks.ring_offset;
        writer->objects = (struct gv_spool_object *)(void *)(start + plan.stacks.objects_offset);
    }
    writer->header->identity = identity;
    atomic_store(&writer->fresh, 0);
    atomic_store(&writer->header->segments_allocated, first_growth(&plan));
    look_for_room(writer, first_growth(&plan));
    return 0;
}

void gv_spool_writer_close(struct gv_spool_writer *writer, bool discard)
{
    struct gv_spool_header *header = writer->header;

    if (!header)
        return;
    writer->header = NULL; /* before: a child's other threads may look */
    munmap(header, writer->mapped_bytes);
    if (discard)
        unlink(writer->path);
    writer->ring = NULL;
    writer->objects = NULL;
}

static int allocate_by_name(const struct gv_spool_writer *writer, uint64_t offset, uint64_t bytes)
{
    /* Opens by name: the program could close or reuse a descriptor that stays open. */
    int fd = open(writer->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int error = fd < 0 ? -errno : allocate(fd, offset, bytes);

    if (fd >= 0)
        close(fd);
    return error;
}

/* Failures are tried again, but not for every record; on a full disk when the reader says so. */
static int add_storage(struct gv_spool_writer *writer, uint32_t allocated, uint32_t more)
{
    int error = allocate_by_name(writer, segment_offset(writer->header, allocated),
                                 (uint64_t)more * GV_SPOOL_SEGMENT_BYTES);

    if (error == -ENOSPC || error == -EDQUOT || error == -EFBIG)
        atomic_store(&writer->header->limit, allocated);
    if (!error && writer->bell)
        gv_futex_ring(writer->bell);
    return error;
}

/* Gives emptied segments storage again. The page of a segment's header never lost it. Returns how
 * many, or -errno. */
static int refill(struct gv_spool_writer *writer, uint32_t more)
{
    struct gv_spool_header *header = writer->header;
    int error = 0, count = 0;

    while (more-- > 0 && !error) {
        uint32_t segment =
            gv_spool_free_list_pop(&header->empty, writer->segments, header->segment_limit);

        if (segment == GV_SPOOL_NO_SEGMENT)
            break;
        error = allocate_by_name(writer, segment_offset(header, segment) + PAGE_BYTES,
                                 GV_SPOOL_SEGMENT_BYTES - PAGE_BYTES);
        gv_spool_free_list_push(error ? &header->empty : &header->free, writer->segments, segment);
        count += !error;
    }
    return count > 0 ? count : error;
}

/* Adds more segments. One thread at a time; the others see `growing`. */
static int grow(struct gv_spool_writer *writer)
{
    struct gv_spool_header *header = writer->header;
    uint32_t allocated = atomic_load(&header->segments_allocated);
    uint32_t more = smaller(header->segment_limit - allocated, GV_SPOOL_GROWTH_SEGMENTS);
    int error = 0;

    if (more == 0 ||
        atomic_load_explicit(&header->prepared, memory_order_relaxed) < allocated + more) {
        uint32_t room = look_for_room(writer, allocated);

        if (room == 0)
            return -ENOSPC;
        if (atomic_load_explicit(&header->empty.count, memory_order_relaxed) > 0)
            error = refill(writer, smaller(room, REFILL_SEGMENTS));
        if (error != 0)
            return error < 0 ? error : 0;
        more = smaller(room, more);
        if (more == 0)
            return -ENOSPC;
        error = add_storage(writer, allocated, more);
    }
    if (!error)
        atomic_store(&header->segments_allocated, allocated + more);
    return error;
}

/*
 * Maps the pages of several segments at once; single page faults cost three times as much. Kernels
 * before 5.14 fault one by one.
 */
static void populate(struct gv_spool_segment *segment, uint32_t count)
{
#ifdef MADV_POPULATE_WRITE
    madvise(segment, (size_t)count * GV_SPOOL_SEGMENT_BYTES, MADV_POPULATE_WRITE);
#else
    (void)segment;
    (void)count;
#endif
}

/* Of prepared pages, the kernel maps 64 KB for one that is read, ten times faster. That would also
 * map some that were to leave the program's memory. */
static bool map_prepared(const struct gv_spool_writer *writer, uint32_t segment, uint32_t count)
{
    if (segment >= GV_SPOOL_RESIDENT_SEGMENTS ||
        atomic_load_explicit(&writer->header->prepared, memory_order_relaxed) < segment + count)
        return false;
    for (uint32_t i = 0; i < count; i++)
        atomic_load_explicit(&writer->segments[segment + i].state, memory_order_relaxed);
    return true;
}

/* New segments are taken one after the other, by any thread. */
static void populate_fresh(struct gv_spool_writer *writer, uint32_t segment)
{
    uint32_t left = atomic_load(&writer->header->segments_allocated) - segment;
    uint32_t count = smaller(left, POPULATE_SEGMENTS);

    if (segment % POPULATE_SEGMENTS == 0 && !map_prepared(writer, segment, count))
        populate(&writer->segments[segment], count);
}

static uint32_t take_fresh(struct gv_spool_writer *writer)
{
    uint32_t fresh = atomic_load(&writer->fresh);

    while (fresh < atomic_load(&writer->header->segments_allocated))
        if (atomic_compare_exchange_weak(&writer->fresh, &fresh, fresh + 1))
            return fresh;
    return GV_SPOOL_NO_SEGMENT;
}

static void wait_for_growth(int look)
{
    if (look < GROWTH_YIELDS)
        sched_yield();
    else
        gv_pause_ns(GROWTH_SLEEP_NS);
}

static uint32_t take_any(struct gv_spool_writer *writer)
{
    struct gv_spool_header *header = writer->header;

    for (int look = 0; look < GROWTH_YIELDS + GROWTH_SLEEPS; look++) {
        uint32_t segment =
            gv_spool_free_list_pop(&header->free, writer->segments, header->segment_limit);
        uint32_t idle = 0;

        if (segment != GV_SPOOL_NO_SEGMENT) {
            if (segment >= GV_SPOOL_RESIDENT_SEGMENTS)
                populate(&writer->segments[segment], 1);
            return segment;
        }
        segment = take_fresh(writer);
        if (segment != GV_SPOOL_NO_SEGMENT) {
            populate_fresh(writer, segment);
            return segment;
        }
        if (atomic_load(&header->segments_allocated) >= atomic_load(&header->limit) &&
            atomic_load_explicit(&header->empty.count, memory_order_relaxed) == 0)
            return GV_SPOOL_NO_SEGMENT;
        if (atomic_compare_exchange_strong(&header->growing, &idle, 1)) {
            int error = grow(writer);

            atomic_store(&writer->refusals, error ? GROWTH_PAUSE : 0);
            atomic_store(&header->growing, 0);
            if (error)
                return GV_SPOOL_NO_SEGMENT;
        } else {
            wait_for_growth(look);
        }
    }
    return GV_SPOOL_NO_SEGMENT;
}

int gv_spool_writer_add_word(struct gv_spool_writer *writer, uint32_t word)
{
    uint32_t allocated = atomic_load(&writer->header->segments_allocated);

    if (!writer->ring ||
        look_for_room(writer, allocated) < GV_STACK_WORD_BYTES / GV_SPOOL_SEGMENT_BYTES)
        return -ENOSPC;
    return allocate_by_name(
        writer, writer->header->stacks.ring_offset + (uint64_t)word * GV_STACK_WORD_BYTES,
        GV_STACK_WORD_BYTES);
}

int gv_spool_writer_add_objects(struct gv_spool_writer *writer)
{
    struct gv_spool_stacks *stacks = &writer->header->stacks;
    uint32_t allocated = atomic_load_explicit(&stacks->objects_allocated, memory_order_relaxed);
    int error;

    if (!writer->objects || allocated + GV_SPOOL_OBJECTS_GROWTH > GV_SPOOL_OBJECTS)
        return -ENOSPC;
    error = allocate_by_name(
        writer, stacks->objects_offset + (uint64_t)allocated * sizeof(struct gv_spool_object),
        GV_SPOOL_OBJECTS_GROWTH * sizeof(struct gv_spool_object));
    if (!error)
        atomic_store_explicit(&stacks->objects_allocated, allocated + GV_SPOOL_OBJECTS_GROWTH,
                              memory_order_release);
    return error;
}

uint32_t gv_spool_writer_left(const struct gv_spool_writer *writer)
{
    const struct gv_spool_header *header = writer->header;
    uint32_t limit = atomic_load_explicit(&header->limit, memory_order_relaxed);
    uint32_t allocated = atomic_load_explicit(&header->segments_allocated, memory_order_relaxed);
    uint32_t fresh = atomic_load_explicit(&writer->fresh, memory_order_relaxed);
    uint32_t free_count = atomic_load_explicit(&header->free.count, memory_order_relaxed);
    uint32_t empty_count = atomic_load_explicit(&header->empty.count, memory_order_relaxed);

    if (limit < allocated)
        limit = allocated;
    return free_count + empty_count + (limit > fresh ? limit - fresh : 0);
}

static bool is_open_to(struct gv_spool_writer *writer, enum gv_spool_room room)
{
    uint32_t limit = atomic_load_explicit(&writer->header->limit, memory_order_relaxed);

    return gv_spool_writer_left(writer) > (uint32_t)room * (limit / SHARES);
}

bool gv_spool_writer_is_full(struct gv_spool_writer *writer, enum gv_spool_room room)
{
    uint32_t refusals = atomic_load_explicit(&writer->refusals, memory_order_relaxed);

    if (refusals && atomic_load_explicit(&writer->header->free.count, memory_order_relaxed) == 0) {
        /* Unless another thread has grown the file meanwhile. */
        atomic_compare_exchange_strong(&writer->refusals, &refusals, refusals - 1);
        return true;
    }
    return !is_open_to(writer, room);
}

struct gv_spool_segment *gv_spool_writer_take(struct gv_spool_writer *writer,
                                              enum gv_spool_room room, enum gv_spool_room *open_to,
                                              const struct gv_spool_owner *owner)
{
    struct gv_spool_segment *segment;
    uint32_t number;

    if (!is_open_to(writer, room))
        return NULL;
    for (*open_to = GV_ROOM_REST; *open_to > room && !is_open_to(writer, *open_to);)
        --*open_to;
    number = take_any(writer);
    if (number == GV_SPOOL_NO_SEGMENT)
        return NULL;
    segment = &writer->segments[number];
    segment->thread = owner->thread;
    segment->tid = owner->tid;
    segment->first_record = owner->first_record;
    segment->sequence = owner->sequence;
    memcpy(segment->comm, owner->comm, sizeof segment->comm);
    atomic_store_explicit(&segment->published, 0, memory_order_relaxed);
    atomic_store_explicit(&segment->state, GV_SEGMENT_OPEN, memory_order_release);
    return segment;
}

void gv_spool_writer_leave(struct gv_spool_writer *writer, struct gv_spool_segment *segment)
{
    atomic_store_explicit(&segment->state, GV_SEGMENT_CLOSED, memory_order_release);
    if (segment >= writer->segments + GV_SPOOL_RESIDENT_SEGMENTS)
        madvise(segment, GV_SPOOL_SEGMENT_BYTES, MADV_DONTNEED);
}

uint32_t gv_spool_text_bytes(const char *text)
{
    return text ? (uint32_t)strnlen(text, GV_RECORD_TEXT_LIMIT) : 0;
}

void gv_spool_text_piece(union gv_record *record, const char *text, uint32_t at, uint32_t bytes,
                         bool more)
{
    static const char cut[] = "...";
    uint32_t left = bytes - at;
    uint32_t piece = left < GV_RECORD_TEXT_BYTES ? left : GV_RECORD_TEXT_BYTES;

    memset(record, 0, sizeof *record);
    record->head.kind = GV_RECORD_TEXT;
    record->head.flags = piece < left || more ? GV_RECORD_MORE : 0;
    record->head.api = (uint16_t)piece;
    memcpy(record->text.text, text + at, piece);
    if (piece == left && bytes == GV_RECORD_TEXT_LIMIT && text[bytes])
        memcpy(record->text.text + piece - (sizeof cut - 1), cut, sizeof cut - 1);
}

/* A reader of any of it sees that the slot has another owner. */
static void describe(struct gv_spool_slot *slot, const struct gv_spool_owner *owner)
{
    uint64_t comm[GV_SPOOL_COMM_BYTES / sizeof(uint64_t)];

    memcpy(comm, owner->comm, sizeof comm);
    atomic_store_explicit(&slot->tid, owner->tid, memory_order_release);
    for (size_t i = 0; i < sizeof comm / sizeof comm[0]; i++)
        atomic_store_explicit(&slot->comm[i], comm[i], memory_order_release);
}

struct gv_spool_slot *gv_spool_writer_slot(struct gv_spool_writer *writer,
                                           const struct gv_spool_owner *owner)
{
    for (uint32_t i = 0; i < GV_SPOOL_SLOTS; i++) {
        struct gv_spool_slot *slot = &writer->slots[(owner->thread + i) % GV_SPOOL_SLOTS];
        uint64_t nobody = 0;

        if (atomic_load_explicit(&slot->thread, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&slot->thread, &nobody, owner->thread)) {
            describe(slot, owner);
            return slot;
        }
    }
    return NULL;
}
