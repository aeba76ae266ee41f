#include "trace/spool_reader.h"

#include "trace/session_id.h"
#include "trace/spool_free_list.h"
#include "trace/spool_hold.h"
#include "trace/stack_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* More names than any version has: limits what a hostile file can cause. */
#define GV_READER_NAMES_LIMIT 8192u
#define GV_READER_ALIGNMENT   64u
#define GV_READER_PAGE_BYTES  4096u
/* As many segments are prepared or free as are in use, and no more than these 4 MB. */
#define GV_READER_AHEAD_SEGMENTS 256u
#define GV_READER_SEGMENT_LIMIT  (65536ull * (1u << 20) / GV_SPOOL_SEGMENT_BYTES)

static struct gv_spool_header *reader_header(const struct gv_spool_reader *reader)
{
    return (struct gv_spool_header *)(void *)reader->base;
}

static struct gv_spool_segment *reader_segment(const struct gv_spool_reader *reader, uint32_t index)
{
    size_t offset = reader->segments_offset + (size_t)index * GV_SPOOL_SEGMENT_BYTES;

    return (struct gv_spool_segment *)(void *)(reader->base + offset);
}

/* Copies a text that may lack its NUL. */
static void reader_copy_text(char *out, const char *text, size_t bytes)
{
    memcpy(out, text, bytes);
    out[bytes - 1] = '\0';
}

static bool reader_range_fits(uint64_t offset, uint64_t bytes, uint64_t lowest, uint64_t size)
{
    return offset >= lowest && offset <= size && bytes <= size - offset;
}

/* A file that was cut has none. */
static void reader_check_stacks(struct gv_spool_reader *reader)
{
    const struct gv_spool_stacks *stacks = &reader_header(reader)->stacks;
    uint64_t ring = stacks->ring_offset, objects = stacks->objects_offset;

    if (ring % GV_READER_PAGE_BYTES == 0 && objects % GV_READER_PAGE_BYTES == 0 &&
        reader_range_fits(ring, (uint64_t)GV_STACK_WORDS * GV_STACK_WORD_BYTES,
                          reader->segments_offset, reader->mapped_bytes) &&
        reader_range_fits(objects, (uint64_t)GV_SPOOL_OBJECTS * sizeof(struct gv_spool_object),
                          reader->segments_offset, reader->mapped_bytes)) {
        reader->ring_offset = ring;
        reader->objects_offset = objects;
    }
}

/* Reads the geometry from the header once, and refuses an impossible one. */
static int reader_check(struct gv_spool_reader *reader)
{
    static const char none[8];
    const struct gv_spool_header *header = reader_header(reader);
    uint64_t size = reader->mapped_bytes;

    if (memcmp(header->magic, none, sizeof(none)) == 0)
        return -EAGAIN;
    atomic_thread_fence(memory_order_acquire);
    if (memcmp(header->magic, GV_SPOOL_MAGIC, sizeof(header->magic)) != 0 ||
        header->version != GV_SPOOL_VERSION || header->header_bytes != sizeof(*header))
        return -EPROTO;
    reader->names_count = header->names_count;
    reader->names_offset = header->names_offset;
    reader->slots_count = header->slots_count;
    reader->slots_offset = header->slots_offset;
    reader->segments_offset = header->segments_offset;
    reader->segment_limit = header->segment_limit;
    if (reader->names_count > GV_READER_NAMES_LIMIT || reader->slots_count > GV_SPOOL_SLOTS ||
        reader->segment_limit > GV_READER_SEGMENT_LIMIT)
        return -EUCLEAN;
    if (reader->slots_offset % GV_READER_ALIGNMENT != 0 ||
        reader->segments_offset % GV_READER_ALIGNMENT != 0)
        return -EUCLEAN;
    if (!reader_range_fits(reader->names_offset,
                           (uint64_t)reader->names_count * sizeof(struct gv_spool_name),
                           sizeof(*header), size) ||
        !reader_range_fits(reader->slots_offset,
                           (uint64_t)reader->slots_count * sizeof(struct gv_spool_slot),
                           sizeof(*header), size) ||
        !reader_range_fits(reader->segments_offset, 0, sizeof(*header), size))
        return -EUCLEAN;
    reader_check_stacks(reader);
    return 0;
}

static int reader_map(struct gv_spool_reader *reader, size_t bytes)
{
    int access = reader->peeks ? PROT_READ : PROT_READ | PROT_WRITE;
    void *base = mmap(NULL, bytes, access, MAP_SHARED, reader->fd, 0);

    if (base == MAP_FAILED)
        return -errno;
    if (reader->base)
        munmap(reader->base, reader->mapped_bytes);
    reader->base = base;
    reader->mapped_bytes = bytes;
    return 0;
}

/* A file shorter than a header: -EAGAIN, or -EUCLEAN if it was longer before. The writer writes
 * the magic last. */
static int reader_check_short(int fd)
{
    char magic[sizeof(GV_SPOOL_MAGIC)];
    ssize_t got = pread(fd, magic, sizeof(magic), 0);

    if (got < 0)
        return -errno;
    return got > 0 && memcmp(magic, GV_SPOOL_MAGIC, (size_t)got) == 0 ? -EUCLEAN : -EAGAIN;
}

static int reader_attach(struct gv_spool_reader *reader)
{
    struct stat status;
    int result;

    if (fstat(reader->fd, &status) < 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || status.st_uid != geteuid())
        return -EPERM;
    if (status.st_size < (off_t)sizeof(struct gv_spool_header))
        return reader_check_short(reader->fd);
    if (!reader->peeks && flock(reader->fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    result = reader_map(reader, (size_t)status.st_size);
    if (result < 0)
        return result;
    result = reader_check(reader);
    if (result < 0 || reader->peeks)
        return result;
    atomic_store(&reader_header(reader)->opened, 1);
    return gv_spool_reader_refresh(reader);
}

static int reader_open(struct gv_spool_reader *reader, int directory_fd, const char *name,
                       bool peeks)
{
    int result;

    memset(reader, 0, sizeof(*reader));
    reader->peeks = peeks;
    reader->fd = openat(directory_fd, name,
                        (peeks ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (reader->fd < 0)
        return -errno;
    result = reader_attach(reader);
    if (result < 0)
        gv_spool_reader_close(reader);
    return result;
}

int gv_spool_reader_open(struct gv_spool_reader *reader, int directory_fd, const char *name)
{
    return reader_open(reader, directory_fd, name, false);
}

int gv_spool_reader_peek(struct gv_spool_reader *reader, int directory_fd, const char *name)
{
    return reader_open(reader, directory_fd, name, true);
}

void gv_spool_reader_close(struct gv_spool_reader *reader)
{
    if (reader->base)
        munmap(reader->base, reader->mapped_bytes);
    if (reader->fd >= 0)
        close(reader->fd);
    reader->base = NULL;
    reader->fd = -1;
}

bool gv_spool_reader_process_lives(const struct gv_spool_reader *reader)
{
    const struct gv_spool_header *header = reader_header(reader);
    int held = header->held ? gv_spool_is_held(reader->fd) : -ENOTSUP;
    uint64_t ticks;

    if (held > 0)
        return true;
    /* An exec lets go of the spool, too. */
    if (held == 0 && gv_session_read_start_ticks(header->pid, &ticks) < 0)
        return false;
    return gv_session_process_life(header->pid, header->process_start_ticks) == GV_SESSION_ALIVE;
}

bool gv_spool_reader_is_discarded(const struct gv_spool_reader *reader)
{
    struct stat status;

    return fstat(reader->fd, &status) == 0 && status.st_nlink == 0;
}

int gv_spool_reader_refresh(struct gv_spool_reader *reader)
{
    struct gv_spool_header *header = reader_header(reader);
    struct stat status;
    int result;

    if (fstat(reader->fd, &status) < 0)
        return -errno;
    if ((size_t)status.st_size < reader->mapped_bytes)
        return -EPROTO;
    uint64_t allocated = atomic_load_explicit(&header->segments_allocated, memory_order_acquire);
    uint64_t whole = ((uint64_t)status.st_size - reader->segments_offset) / GV_SPOOL_SEGMENT_BYTES;
    if (allocated > reader->segment_limit)
        allocated = reader->segment_limit;
    reader->segments_cut = allocated > whole ? (uint32_t)(allocated - whole) : 0;
    allocated -= reader->segments_cut;
    size_t needed = reader->segments_offset + (size_t)allocated * GV_SPOOL_SEGMENT_BYTES;
    if (needed > reader->mapped_bytes) {
        result = reader_map(reader, (size_t)status.st_size);
        if (result < 0)
            return result;
    }
    reader->segments = (uint32_t)allocated;
    return 0;
}

void gv_spool_reader_facts(const struct gv_spool_reader *reader, struct gv_spool_facts *facts)
{
    const struct gv_spool_header *header = reader_header(reader);

    reader_copy_text(facts->session, header->session, sizeof(facts->session));
    facts->identity = header->identity;
    facts->pid = header->pid;
    facts->parent_pid = header->parent_pid;
    facts->process_start_ticks = header->process_start_ticks;
    facts->attached_ns = header->attached_ns;
    facts->forked = header->forked != 0;
    facts->clock = header->clock;
    facts->arguments_bytes = header->arguments_bytes;
    if (facts->arguments_bytes > GV_SPOOL_ARGUMENTS_BYTES)
        facts->arguments_bytes = GV_SPOOL_ARGUMENTS_BYTES;
    memcpy(facts->arguments, header->arguments, GV_SPOOL_ARGUMENTS_BYTES);
    facts->arguments[GV_SPOOL_ARGUMENTS_BYTES] = '\0';
    reader_copy_text(facts->executable, header->executable, sizeof(facts->executable));
    reader_copy_text(facts->directory, header->directory, sizeof(facts->directory));
    reader_copy_text(facts->program, header->program, sizeof(facts->program));
    facts->rank = header->rank;
    reader_copy_text(facts->rank.job, header->rank.job, GV_RANK_TEXT_BYTES);
    reader_copy_text(facts->rank.host, header->rank.host, GV_RANK_TEXT_BYTES);
    reader_copy_text(facts->rank.container, header->rank.container, GV_RANK_TEXT_BYTES);
}

void gv_spool_reader_status(const struct gv_spool_reader *reader, struct gv_spool_status *status)
{
    struct gv_spool_header *header = reader_header(reader);

    uint32_t state = atomic_load_explicit(&header->state, memory_order_acquire);

    status->exiting = state == GV_PROCESS_EXITING || state == GV_PROCESS_DYING;
    status->dying = state == GV_PROCESS_DYING;
    status->ends = atomic_load_explicit(&header->ends, memory_order_acquire);
    status->exit_code_known =
        atomic_load_explicit(&header->exit_code_known, memory_order_acquire) != 0;
    status->exit_code = atomic_load_explicit(&header->exit_code, memory_order_relaxed);
    status->exit_signal = atomic_load_explicit(&header->exit_signal, memory_order_relaxed);
    status->driver_version = atomic_load_explicit(&header->driver_version, memory_order_relaxed);
    status->environment_reads =
        atomic_load_explicit(&header->environment_reads, memory_order_acquire);
    status->ended_ns = atomic_load_explicit(&header->ended_ns, memory_order_relaxed);
    status->threads_seen = atomic_load_explicit(&header->threads_seen, memory_order_relaxed);
    for (uint32_t i = 0; i < GV_SPOOL_CLASSES; i++)
        status->lost_calls[i] = atomic_load_explicit(&header->lost.calls[i], memory_order_relaxed);
    status->lost_names = atomic_load_explicit(&header->lost.names, memory_order_relaxed);
    status->lost_loads = atomic_load_explicit(&header->lost.loads, memory_order_relaxed);
    status->lost_threads = atomic_load_explicit(&header->lost.threads, memory_order_relaxed);
    status->lost_stacks = atomic_load_explicit(&header->lost.stacks, memory_order_relaxed);
    status->stacks_not_taken =
        atomic_load_explicit(&header->stacks.not_taken, memory_order_relaxed);
    status->lost_python_stacks =
        atomic_load_explicit(&header->lost.python_stacks, memory_order_relaxed);
    status->lost_host_functions =
        atomic_load_explicit(&header->lost.host_functions, memory_order_relaxed);
    status->lost_ranges = atomic_load_explicit(&header->lost.ranges, memory_order_relaxed);
    status->lost_graph_nodes =
        atomic_load_explicit(&header->lost.graph_nodes, memory_order_relaxed);
    status->changes = atomic_load_explicit(&header->control.changes, memory_order_relaxed);
    status->gpu = atomic_load_explicit(&header->gpu.state, memory_order_acquire);
    status->cupti_version = atomic_load_explicit(&header->gpu.cupti_version, memory_order_relaxed);
    status->gpu_dropped = atomic_load_explicit(&header->gpu.dropped, memory_order_relaxed);
    status->gpu_lost = atomic_load_explicit(&header->gpu.lost, memory_order_relaxed);
    status->gpu_started_ns = atomic_load_explicit(&header->gpu.started_ns, memory_order_relaxed);
    status->gpu_whole_graphs =
        atomic_load_explicit(&header->gpu.whole_graphs, memory_order_relaxed) != 0;
    status->gpu_flushed_ns = atomic_load_explicit(&header->gpu.flushed_ns, memory_order_relaxed);
    status->gpu_unloaded_ns = atomic_load_explicit(&header->gpu.unloaded_ns, memory_order_relaxed);
    status->gpu_failed = atomic_load_explicit(&header->gpu.failed, memory_order_relaxed) != 0;
    status->gpu_finished = atomic_load_explicit(&header->gpu.finished, memory_order_relaxed) != 0;
    for (int i = 0; i < GV_OWN_COST_COUNT; i++)
        gv_spool_reader_own_cost(reader, (enum gv_own_cost)i, &status->own_cost[i]);
}

void gv_spool_reader_own_cost(const struct gv_spool_reader *reader, enum gv_own_cost what,
                              struct gv_own_cost_counts *counts)
{
    const struct gv_own_cost_total *total = &reader_header(reader)->own_cost[what];

    *counts = (struct gv_own_cost_counts){
        .count = atomic_load_explicit(&total->count, memory_order_relaxed),
        .total_ns = atomic_load_explicit(&total->total_ns, memory_order_relaxed),
        .spared = atomic_load_explicit(&total->spared, memory_order_relaxed),
    };
}

void gv_spool_reader_variable(const struct gv_spool_reader *reader, enum gv_environment variable,
                              char value[GV_SPOOL_VARIABLE_BYTES])
{
    reader_copy_text(value, reader_header(reader)->environment[variable], GV_SPOOL_VARIABLE_BYTES);
}

void gv_spool_reader_gpu(const struct gv_spool_reader *reader, char why[GV_SPOOL_WHY_BYTES],
                         char library[GV_SPOOL_PATH_BYTES])
{
    const struct gv_spool_header *header = reader_header(reader);

    reader_copy_text(why, header->gpu.why, GV_SPOOL_WHY_BYTES);
    reader_copy_text(library, header->gpu.library, GV_SPOOL_PATH_BYTES);
}

static const struct gv_spool_name *reader_name(const struct gv_spool_reader *reader, uint32_t api)
{
    return (const struct gv_spool_name *)(const void *)(reader->base + reader->names_offset) + api;
}

void gv_spool_reader_name(const struct gv_spool_reader *reader, uint32_t api, char name[65],
                          char class_name[16])
{
    if (api >= reader->names_count) {
        strcpy(name, "?");
        strcpy(class_name, "?");
        return;
    }
    const struct gv_spool_name *from = reader_name(reader, api);
    memcpy(name, from->name, 64);
    name[64] = '\0';
    memcpy(class_name, from->class_name, 15);
    class_name[15] = '\0';
}

bool gv_spool_reader_class(const struct gv_spool_reader *reader, uint32_t class_index,
                           char class_name[16])
{
    for (uint32_t api = 0; api < reader->names_count; api++) {
        const struct gv_spool_name *name = reader_name(reader, api);
        if (name->class_index != class_index)
            continue;
        memcpy(class_name, name->class_name, 15);
        class_name[15] = '\0';
        return true;
    }
    return false;
}

bool gv_spool_reader_look(const struct gv_spool_reader *reader, uint32_t index,
                          struct gv_spool_view *view)
{
    const struct gv_spool_segment *segment = reader_segment(reader, index);

    if (atomic_load_explicit(&segment->state, memory_order_acquire) == GV_SEGMENT_FREE)
        return false;
    view->index = index;
    view->sequence = segment->sequence;
    view->thread = segment->thread;
    view->first_record = segment->first_record;
    view->tid = segment->tid;
    reader_copy_text(view->comm, segment->comm, sizeof(view->comm));
    return true;
}

uint32_t gv_spool_reader_published(const struct gv_spool_reader *reader, uint32_t index,
                                   bool *closed)
{
    const struct gv_spool_segment *segment = reader_segment(reader, index);

    /* Read the state first: what a closed segment has published is final. */
    *closed = atomic_load_explicit(&segment->state, memory_order_acquire) == GV_SEGMENT_CLOSED;
    uint32_t published = atomic_load_explicit(&segment->published, memory_order_acquire);
    return published < GV_SPOOL_SEGMENT_RECORDS ? published : GV_SPOOL_SEGMENT_RECORDS;
}

void gv_spool_reader_record(const struct gv_spool_reader *reader, uint32_t index, uint32_t record,
                            union gv_record *out)
{
    union gv_record *from = &reader_segment(reader, index)->records[record];
    uint64_t count;

    if (from->head.kind != GV_RECORD_POLL) {
        memcpy(out, from, sizeof(*out));
        return;
    }
    count = atomic_fetch_or_explicit(&from->poll.count, GV_POLL_TAKEN, memory_order_acq_rel);
    out->poll = (struct gv_record_poll){
        .head = from->poll.head,
        .start_ns = from->poll.start_ns,
        .span_ns = atomic_load_explicit(&from->poll.span_ns, memory_order_relaxed),
        .total_ns = atomic_load_explicit(&from->poll.total_ns, memory_order_relaxed),
        .stream = from->poll.stream,
        .context = from->poll.context,
        .object = from->poll.object,
        .count = count & ~GV_POLL_TAKEN,
    };
}

static uint32_t reader_free_count(const struct gv_spool_reader *reader)
{
    return atomic_load_explicit(&reader_header(reader)->free.count, memory_order_relaxed);
}

/* Keeps the page with the segment's header, which the writer may look at. */
static int reader_punch(const struct gv_spool_reader *reader, uint32_t index)
{
    size_t offset = reader->segments_offset + (size_t)index * GV_SPOOL_SEGMENT_BYTES;

    return fallocate(reader->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     (off_t)(offset + GV_READER_PAGE_BYTES),
                     GV_SPOOL_SEGMENT_BYTES - GV_READER_PAGE_BYTES);
}

static void reader_empty(struct gv_spool_reader *reader, uint32_t count)
{
    struct gv_spool_header *header = reader_header(reader);
    struct gv_spool_segment *segments = reader_segment(reader, 0);
    int error = 0;

    while (count-- > 0 && !error) {
        uint32_t index = gv_spool_free_list_pop(&header->free, segments, reader->segments);

        if (index == GV_SPOOL_NO_SEGMENT)
            return;
        error = reader_punch(reader, index);
        gv_spool_free_list_push(error ? &header->free : &header->empty, segments, index);
    }
}

void gv_spool_reader_share(struct gv_spool_reader *reader, const struct gv_spool_memory *memory)
{
    struct gv_spool_header *header = reader_header(reader);
    uint32_t backed = atomic_load_explicit(&header->segments_allocated, memory_order_relaxed);
    uint32_t most = reader->segment_limit, spare = reader->free_least;

    if (gv_spool_reader_refresh(reader) < 0)
        return;
    if (backed < reader->prepared)
        backed = reader->prepared;
    if (backed < most)
        most = backed + gv_spool_memory_segments(memory, most - backed);
    atomic_store_explicit(&header->limit, most, memory_order_relaxed);
    if (spare > reader->segments)
        spare = reader->segments;
    if (memory->bytes >= 0)
        spare = spare > GV_SPOOL_GROWTH_SEGMENTS ? (spare - GV_SPOOL_GROWTH_SEGMENTS) / 2 : 0;
    reader_empty(reader, spare);
    reader->free_least = reader_free_count(reader);
}

void gv_spool_reader_prepare(struct gv_spool_reader *reader)
{
    struct gv_spool_header *header = reader_header(reader);
    uint32_t allocated = atomic_load_explicit(&header->segments_allocated, memory_order_relaxed);
    uint32_t limit = atomic_load_explicit(&header->limit, memory_order_relaxed);
    uint32_t free_count = reader_free_count(reader);
    uint32_t idle = free_count + atomic_load_explicit(&header->empty.count, memory_order_relaxed);
    uint32_t used = idle < allocated ? allocated - idle : 0;
    uint32_t ahead = used < GV_READER_AHEAD_SEGMENTS ? used : GV_READER_AHEAD_SEGMENTS;
    uint32_t from = reader->prepared, to = from + GV_SPOOL_GROWTH_SEGMENTS;
    size_t start = reader->segments_offset + (size_t)from * GV_SPOOL_SEGMENT_BYTES, end;

    if (free_count < reader->free_least)
        reader->free_least = free_count;
    if (limit > reader->segment_limit)
        limit = reader->segment_limit;
    if (to > limit)
        to = limit;
    end = reader->segments_offset + (size_t)to * GV_SPOOL_SEGMENT_BYTES;
    if (from >= to || (uint64_t)from + free_count >= (uint64_t)allocated + ahead ||
        gv_spool_reader_refresh(reader) < 0 || end > reader->mapped_bytes)
        return;
    if (posix_fallocate(reader->fd, (off_t)start, (off_t)(end - start)) != 0) {
        reader->prepared = UINT32_MAX - GV_SPOOL_GROWTH_SEGMENTS; /* not tried again */
        return;
    }
    /* The writer may be using some of them. */
    for (size_t at = start; at < end; at += GV_READER_PAGE_BYTES)
        atomic_load_explicit((_Atomic uint32_t *)(void *)(reader->base + at), memory_order_relaxed);
    reader->prepared = to;
    atomic_store_explicit(&header->prepared, to, memory_order_relaxed);
}

void gv_spool_reader_give_back(struct gv_spool_reader *reader, uint32_t index)
{
    struct gv_spool_segment *segment = reader_segment(reader, index);

    atomic_store_explicit(&segment->state, GV_SEGMENT_FREE, memory_order_relaxed);
    gv_spool_free_list_push(&reader_header(reader)->free, reader_segment(reader, 0), index);
}

static const struct gv_spool_slot *reader_slot(const struct gv_spool_reader *reader, uint32_t index)
{
    return (const struct gv_spool_slot *)(const void *)(reader->base + reader->slots_offset) +
           index;
}

uint32_t gv_spool_reader_objects(const struct gv_spool_reader *reader, uint32_t *count)
{
    const struct gv_spool_stacks *stacks = &reader_header(reader)->stacks;
    uint32_t generation = atomic_load_explicit(&stacks->generation, memory_order_acquire);

    *count = reader->objects_offset
                 ? atomic_load_explicit(&stacks->objects_allocated, memory_order_acquire)
                 : 0;
    if (*count > GV_SPOOL_OBJECTS)
        *count = GV_SPOOL_OBJECTS;
    return generation;
}

static struct gv_spool_object *reader_object(const struct gv_spool_reader *reader, uint32_t index)
{
    return (struct gv_spool_object *)(void *)(reader->base + reader->objects_offset) + index;
}

bool gv_spool_reader_object(const struct gv_spool_reader *reader, uint32_t index,
                            struct gv_spool_object *object)
{
    const struct gv_spool_object *entry = reader_object(reader, index);
    uint32_t added = atomic_load_explicit(&entry->added, memory_order_acquire);

    if (!added)
        return false;
    memcpy(object, entry, sizeof(*object));
    object->added = added;
    object->removed = atomic_load_explicit(&entry->removed, memory_order_acquire);
    if (object->build_id_bytes > sizeof(object->build_id))
        object->build_id_bytes = 0;
    object->path[sizeof(object->path) - 1] = '\0';
    return true;
}

void gv_spool_reader_free_object(const struct gv_spool_reader *reader, uint32_t index)
{
    atomic_store_explicit(&reader_object(reader, index)->added, 0, memory_order_release);
}

/* Where a copy is, and its chunks; NULL: there is none with this serial number. */
static struct gv_stack_copy *reader_stack(const struct gv_spool_reader *reader, uint32_t chunk,
                                          uint64_t serial, uint32_t *bytes)
{
    struct gv_stack_copy *copy =
        (struct gv_stack_copy *)(void *)(reader->base + reader->ring_offset +
                                         (size_t)chunk * GV_STACK_CHUNK_BYTES);

    if (!reader->ring_offset || chunk >= GV_STACK_WORDS * GV_STACK_WORD_CHUNKS || serial == 0 ||
        atomic_load_explicit(&copy->serial, memory_order_acquire) != serial)
        return NULL;
    *bytes = copy->bytes;
    return *bytes <= GV_STACK_COPY_MOST && gv_stack_ring_chunks(*bytes) <=
                                               GV_STACK_WORD_CHUNKS - chunk % GV_STACK_WORD_CHUNKS
               ? copy
               : NULL;
}

bool gv_spool_reader_stack(const struct gv_spool_reader *reader, uint32_t chunk, uint64_t serial,
                           struct gv_stack_copy *copy)
{
    uint32_t bytes;
    const struct gv_stack_copy *from = reader_stack(reader, chunk, serial, &bytes);

    if (!from)
        return false;
    memcpy(copy, from, sizeof(*copy));
    memcpy(copy->stack, from->stack, bytes);
    copy->bytes = bytes;
    atomic_thread_fence(memory_order_acquire);
    return copy->position_count <= GV_STACK_POSITIONS &&
           atomic_load_explicit(&from->serial, memory_order_relaxed) == serial;
}

void gv_spool_reader_free_stack(const struct gv_spool_reader *reader, uint32_t chunk,
                                uint64_t serial)
{
    uint32_t bytes;
    struct gv_stack_copy *copy = reader_stack(reader, chunk, serial, &bytes);

    if (!copy || !gv_stack_ring_claim(copy, serial))
        return;
    /* It has the program's data. */
    memset(copy->value, 0, sizeof(copy->value));
    memset(copy->stack, 0, bytes);
    gv_stack_ring_free(&reader_header(reader)->stacks, chunk, gv_stack_ring_chunks(bytes));
}

bool gv_spool_reader_has_idle_stacks(const struct gv_spool_reader *reader)
{
    return atomic_load_explicit(&reader_header(reader)->stacks.used[GV_STACK_WORD_OF_IDLE],
                                memory_order_relaxed) != 0;
}

void gv_spool_reader_slot_counts(const struct gv_spool_reader *reader,
                                 struct gv_spool_slot_counts *counts)
{
    *counts = (struct gv_spool_slot_counts){0};
    for (uint32_t i = 0; i < reader->slots_count; i++) {
        const struct gv_spool_slot *slot = reader_slot(reader, i);

        counts->unrecorded += atomic_load_explicit(&slot->unrecorded, memory_order_relaxed);
        counts->stacks_spared += atomic_load_explicit(&slot->stacks_spared, memory_order_relaxed);
    }
}

bool gv_spool_reader_flight(const struct gv_spool_reader *reader, uint32_t index,
                            struct gv_spool_flight *flight)
{
    const struct gv_spool_slot *slot = reader_slot(reader, index);
    uint64_t thread = atomic_load_explicit(&slot->thread, memory_order_acquire);
    uint32_t api = atomic_load_explicit(&slot->api_plus_one, memory_order_acquire);
    uint64_t comm[GV_SPOOL_COMM_BYTES / sizeof(uint64_t)];

    if (api == 0 || thread == 0)
        return false;
    flight->thread = thread;
    flight->api = api - 1;
    flight->start_ns = atomic_load_explicit(&slot->start_ns, memory_order_acquire);
    flight->detail = atomic_load_explicit(&slot->detail, memory_order_acquire);
    flight->stream = atomic_load_explicit(&slot->stream, memory_order_acquire);
    flight->tid = atomic_load_explicit(&slot->tid, memory_order_acquire);
    for (size_t i = 0; i < sizeof(comm) / sizeof(comm[0]); i++)
        comm[i] = atomic_load_explicit(&slot->comm[i], memory_order_acquire);
    reader_copy_text(flight->comm, (const char *)comm, sizeof(flight->comm));
    /* Read the start last: `api` may belong to a next call of the same function. */
    return atomic_load_explicit(&slot->thread, memory_order_relaxed) == thread &&
           atomic_load_explicit(&slot->api_plus_one, memory_order_acquire) == api &&
           atomic_load_explicit(&slot->start_ns, memory_order_relaxed) == flight->start_ns;
}

void gv_spool_reader_set_drained(struct gv_spool_reader *reader,
                                 const struct gv_spool_status *status)
{
    struct gv_spool_header *header = reader_header(reader);
    uint32_t ends = status->ends;

    if (atomic_exchange_explicit(&header->drained, ends, memory_order_release) != ends)
        syscall(SYS_futex, &header->drained, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

bool gv_spool_reader_is_waiting(const struct gv_spool_reader *reader)
{
    struct gv_spool_header *header = reader_header(reader);

    return atomic_load(&header->drained) != atomic_load(&header->ends);
}

/* ---- the control ---- */

bool gv_spool_reader_note(const struct gv_spool_reader *reader, uint32_t index,
                          struct gv_spool_note *note)
{
    const struct gv_spool_note *from = &reader_header(reader)->control.notes[index];

    if (atomic_load_explicit(&from->state, memory_order_acquire) != GV_NOTE_FULL)
        return false;
    note->change = from->change;
    note->at_ns = from->at_ns;
    memcpy(note->text, from->text, sizeof(note->text));
    note->text[sizeof(note->text) - 1] = '\0';
    return true;
}

void gv_spool_reader_give_note_back(const struct gv_spool_reader *reader, uint32_t index)
{
    atomic_store_explicit(&reader_header(reader)->control.notes[index].state, GV_NOTE_FREE,
                          memory_order_release);
}
