/*
 * Feeds records to a collector as fast as it takes them, and prints its memory; scripts/bench runs
 * it.
 *
 *    bench_records GPUVERIFY SPOOL_FOLDER TRACE RECORDS THREADS [APART_NS]
 *
 * A process of ours writes a spool as a program would: launches of THREADS threads and their GPU
 * operations, with waits, copies, allocations and frees, modules with their own kernels that come
 * and go, and threads that end and start. One launch in 512 is lost and counted. When the spool is
 * full, it waits for room. APART_NS: the time between two launches, as the records say: months pass
 * in minutes. With GPUVERIFY_GPU=off it writes no operations. Prints `name value` lines. Memory is
 * the collector's own (RssAnon): shared pages of the spool are the program's, and others are file
 * pages, which the system can take back.
 */
#include "trace/session.h"
#include "trace/session_id.h"
#include "trace/spool_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SPOOL_MB    64
#define THREADS_MAX 64
#define LOOK_US     10000

/* How often something happens, in launches. */
#define LOST_EVERY   512
#define WAIT_EVERY   300
#define MEMORY_EVERY 40
#define MODULE_EVERY 2000
#define THREAD_EVERY 500000
#define PACED_EVERY  8  /* if months pass: some 7000 launches a second */
#define KERNELS      64 /* kernel names on the GPU side, without those of modules */
#define ADDRESSES    20000
#define BEHIND       3000 /* launches by which the GPU is behind */

enum api { LAUNCH, ALLOC, RELEASE, WAIT, LOAD, UNLOAD, APIS };

static const struct gv_spool_name names[APIS] = {
    [LAUNCH] = {5, "launch", "cuLaunchKernel"}, [ALLOC] = {6, "alloc", "cuMemAlloc_v2"},
    [RELEASE] = {7, "free", "cuMemFree_v2"},    [WAIT] = {8, "sync", "cuStreamSynchronize"},
    [LOAD] = {2, "load", "cuModuleLoadData"},   [UNLOAD] = {3, "unload", "cuModuleUnload"},
};

struct thread {
    struct gv_spool_segment *segment;
    uint64_t serial, records;
    uint32_t used, sequence;
};

struct feed {
    struct gv_spool_writer writer;
    struct thread threads[THREADS_MAX + 1]; /* the last is the GPU's side */
    unsigned thread_count;
    uint64_t serials, written, lost, now_ns, apart_ns;
    uint32_t module, kernel;
    bool has_gpu;
};

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static uint64_t clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void leave_segment(struct feed *feed, struct thread *thread)
{
    if (thread->segment)
        gv_spool_writer_leave(&feed->writer, thread->segment);
    thread->segment = NULL;
}

static void take_segment(struct feed *feed, struct thread *thread)
{
    struct gv_spool_owner owner = {.thread = thread->serial,
                                   .first_record = thread->records,
                                   .tid = (uint32_t)(thread->serial & 0xffffff),
                                   .sequence = thread->sequence++,
                                   .comm = "worker"};
    enum gv_spool_room open_to;

    leave_segment(feed, thread);
    thread->used = 0;
    while (!(thread->segment = gv_spool_writer_take(&feed->writer, GV_ROOM_CODE, &open_to, &owner)))
        usleep(1000);
}

static void put(struct feed *feed, struct thread *thread, const union gv_record *record)
{
    if (!thread->segment || thread->used == GV_SPOOL_SEGMENT_RECORDS)
        take_segment(feed, thread);
    thread->segment->records[thread->used++] = *record;
    thread->records++;
    feed->written++;
    atomic_store_explicit(&thread->segment->published, thread->used, memory_order_release);
}

static void put_text(struct feed *feed, struct thread *thread, const char *text)
{
    union gv_record record = {
        .text = {.head = {.kind = GV_RECORD_TEXT, .api = (uint16_t)strlen(text)}}};

    memcpy(record.text.text, text, strlen(text));
    put(feed, thread, &record);
}

static void put_call(struct feed *feed, struct thread *thread, enum api api, uint64_t duration_ns,
                     uint64_t object, uint32_t correlation)
{
    union gv_record record = {.call = {.head = {.kind = GV_RECORD_CALL, .api = (uint16_t)api},
                                       .start_ns = feed->now_ns,
                                       .duration_ns = duration_ns,
                                       .stream = 0x1000 + (thread->serial & 7),
                                       .context = 0xc0,
                                       .bytes = 4096,
                                       .object = object,
                                       .kernel = api == LAUNCH ? feed->kernel : 0,
                                       .correlation = correlation}};

    record.head.flags = GV_RECORD_HAS_CONTEXT;
    if (api == LAUNCH || api == WAIT)
        record.head.flags |= GV_RECORD_HAS_STREAM;
    if (api == ALLOC)
        record.head.flags |= GV_RECORD_HAS_BYTES;
    put(feed, thread, &record);
    feed->now_ns += duration_ns;
}

/* Loads another module with one kernel, and unloads the one before. */
static void put_module(struct feed *feed, struct thread *thread)
{
    char name[GV_RECORD_TEXT_BYTES];
    union gv_record record = {
        .unload = {.head = {.kind = GV_RECORD_UNLOAD, .flags = GV_RECORD_MORE, .api = UNLOAD},
                   .at_ns = feed->now_ns,
                   .module = feed->module}};

    if (feed->module) {
        put(feed, thread, &record);
        put_call(feed, thread, UNLOAD, 2000, 0, 0);
    }
    feed->module++;
    feed->kernel++;
    record = (union gv_record){.load = {.head = {.kind = GV_RECORD_LOAD,
                                                 .flags = GV_RECORD_MORE | GV_RECORD_HAS_BYTES,
                                                 .api = LOAD},
                                        .start_ns = feed->now_ns,
                                        .duration_ns = 150000,
                                        .bytes = 1000,
                                        .hash = feed->module,
                                        .outer_start_ns = feed->now_ns,
                                        .module = feed->module,
                                        .image_kind = GV_IMAGE_CUBIN}};
    put(feed, thread, &record);
    put_call(feed, thread, LOAD, 150000, 0, 0);
    snprintf(name, sizeof(name), "kernel_%u", feed->kernel % KERNELS);
    record = (union gv_record){.name = {.head = {.kind = GV_RECORD_NAME, .flags = GV_RECORD_MORE},
                                        .at_ns = feed->now_ns,
                                        .kernel = feed->kernel,
                                        .module = feed->module,
                                        .text_bytes = (uint32_t)strlen(name)}};
    put(feed, thread, &record);
    put_text(feed, thread, name);
}

static void put_operation(struct feed *feed, uint32_t correlation)
{
    union gv_record record = {.gpu_op = {.head = {.kind = GV_RECORD_GPU_OP, .api = GV_GPU_KERNEL},
                                         .start_ns = feed->now_ns,
                                         .duration_ns = 900,
                                         .context = 1,
                                         .stream = 7 + (correlation & 7),
                                         .correlation = correlation,
                                         .shape = 1 + correlation % KERNELS}};

    put(feed, &feed->threads[feed->thread_count], &record);
}

static void put_shapes(struct feed *feed)
{
    struct thread *gpu = &feed->threads[feed->thread_count];

    for (uint32_t i = 1; i <= KERNELS; i++) {
        char name[GV_RECORD_TEXT_BYTES];
        snprintf(name, sizeof(name), "kernel_%u", i - 1);
        union gv_record record = {
            .gpu_name = {.head = {.kind = GV_RECORD_GPU_NAME, .flags = GV_RECORD_MORE},
                         .number = i,
                         .text_bytes = (uint32_t)strlen(name)}};
        put(feed, gpu, &record);
        put_text(feed, gpu, name);
        record = (union gv_record){.gpu_shape = {.head = {.kind = GV_RECORD_GPU_SHAPE},
                                                 .number = i,
                                                 .name = i,
                                                 .grid = {i, 1, 1},
                                                 .block = {128, 1, 1}}};
        put(feed, gpu, &record);
    }
}

/* One launch, and sometimes something else. */
static void launch(struct feed *feed, uint64_t number)
{
    struct thread *thread = &feed->threads[number / 64 % feed->thread_count];
    uint64_t address = 0x7000000000u + number / MEMORY_EVERY / 2 % ADDRESSES * 4096;

    if (number % THREAD_EVERY == THREAD_EVERY - 1) {
        leave_segment(feed, thread);
        *thread = (struct thread){.serial = ++feed->serials};
    }
    if (number % MODULE_EVERY == 0)
        put_module(feed, thread);
    if (number % MEMORY_EVERY == 0)
        put_call(feed, thread, number / MEMORY_EVERY % 2 ? RELEASE : ALLOC, 700, address, 0);
    if (number % WAIT_EVERY == 0)
        put_call(feed, thread, WAIT, 200000, 0, 0);
    if (number % LOST_EVERY)
        put_call(feed, thread, LAUNCH, 1000, 0, (uint32_t)number);
    else
        feed->lost++;
    if (number > BEHIND && feed->has_gpu)
        put_operation(feed, (uint32_t)(number - BEHIND));
    feed->now_ns += feed->apart_ns;
    if (feed->apart_ns && number % PACED_EVERY == 0)
        usleep(1000);
}

static void describe(struct gv_spool_header *header, const char *session, uint64_t epoch_ns,
                     bool has_gpu)
{
    uint64_t ticks = 0;

    snprintf(header->session, sizeof(header->session), "%s", session);
    header->pid = (uint32_t)getpid();
    gv_session_read_start_ticks(header->pid, &ticks);
    header->process_start_ticks = ticks;
    header->clock.kind = GV_CLOCK_MONOTONIC;
    header->clock.epoch_ns = header->attached_ns = epoch_ns;
    header->driver_version = 13000;
    strcpy(header->program, "bench_records");
    strcpy(header->executable, "/bench_records");
    strcpy(header->directory, "/");
    atomic_store(&header->gpu.cupti_version, has_gpu ? 130001 : 0);
    atomic_store(&header->gpu.state, has_gpu ? GV_GPU_SEEN : GV_GPU_OFF);
    memcpy(header->magic, GV_SPOOL_MAGIC, sizeof(GV_SPOOL_MAGIC));
}

/* The recording process; tells `ready` when its spool exists. */
static void record(const char *folder, uint64_t records, unsigned threads, uint64_t apart_ns,
                   int ready)
{
    static struct feed feed;
    char session[GV_SESSION_ID_BYTES], path[1024];

    if (gv_session_id_make(session))
        fail("session");
    snprintf(path, sizeof(path), "%s/%s.%d.%016x%s", folder, session, (int)getpid(), 1,
             GV_SPOOL_SUFFIX);
    if (gv_spool_writer_create(&feed.writer, path, SPOOL_MB, 1, names, APIS))
        fail(path);
    feed.now_ns = clock_ns();
    feed.apart_ns = apart_ns;
    const char *gpu = getenv("GPUVERIFY_GPU");
    feed.has_gpu = !gpu || strcmp(gpu, "off") != 0;
    describe(feed.writer.header, session, feed.now_ns, feed.has_gpu);
    feed.thread_count = threads;
    for (unsigned i = 0; i < threads; i++)
        feed.threads[i].serial = ++feed.serials;
    feed.threads[threads].serial = GV_SPOOL_GPU_THREAD;
    if (write(ready, session, sizeof(session)) != sizeof(session))
        fail("pipe");
    if (feed.has_gpu)
        put_shapes(&feed);
    uint64_t number = 1;
    for (; feed.written < records; number++)
        launch(&feed, number);
    for (uint64_t last = number; number < last + BEHIND && feed.has_gpu; number++)
        put_operation(&feed, (uint32_t)(number - BEHIND));
    for (unsigned i = 0; i <= threads; i++)
        leave_segment(&feed, &feed.threads[i]);
    atomic_store(&feed.writer.header->lost.calls[names[LAUNCH].class_index], feed.lost);
    atomic_store(&feed.writer.header->gpu.finished, 1);
    atomic_store(&feed.writer.header->ends, 1);
    atomic_store(&feed.writer.header->state, GV_PROCESS_EXITING);
    while (!atomic_load(&feed.writer.header->drained))
        usleep(1000);
    printf("records %llu\nlost %llu\n", (unsigned long long)feed.written,
           (unsigned long long)feed.lost);
}

static void write_session(const char *folder, const char *trace, const char *session, char *path,
                          size_t size)
{
    static struct gv_session_file file;

    memcpy(file.magic, GV_SESSION_MAGIC, sizeof(GV_SESSION_MAGIC));
    gv_session_id_parse(session, &file.root_pid, &file.root_start_ticks);
    file.clock = (struct gv_clock){.kind = GV_CLOCK_MONOTONIC, .epoch_ns = clock_ns()};
    snprintf(file.session, sizeof(file.session), "%s", session);
    snprintf(file.trace_path, sizeof(file.trace_path), "%s", trace);
    file.ready = 1;
    snprintf(path, size, "%s/%s%s", folder, session, GV_SESSION_SUFFIX);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0 || write(fd, &file, sizeof(file)) != sizeof(file) || flock(fd, LOCK_EX) < 0)
        fail(path);
    if (fd == GV_SESSION_LOCK_FD)
        return;
    if (dup2(fd, GV_SESSION_LOCK_FD) < 0)
        fail("dup2");
    close(fd);
}

/* Kilobytes, or 0 when the process is gone. */
static unsigned long memory_of(pid_t pid, const char *name)
{
    char path[64], line[256];
    unsigned long value = 0;

    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof(line), status))
        if (strncmp(line, name, strlen(name)) == 0)
            value = strtoul(line + strlen(name) + 1, NULL, 10);
    if (status)
        fclose(status);
    return value;
}

static int watch(pid_t recorder, pid_t collector)
{
    unsigned long storing_kb = 0, ending_kb = 0, whole_kb = 0, now_kb;
    uint64_t begun_ns = clock_ns(), stored_ns = 0;
    int status;

    while (waitpid(collector, &status, WNOHANG) == 0) {
        if (!stored_ns && waitpid(recorder, NULL, WNOHANG) == recorder)
            stored_ns = clock_ns();
        now_kb = memory_of(collector, "RssAnon");
        unsigned long *most_kb = stored_ns ? &ending_kb : &storing_kb;
        *most_kb = now_kb > *most_kb ? now_kb : *most_kb;
        now_kb = memory_of(collector, "VmHWM");
        whole_kb = now_kb > whole_kb ? now_kb : whole_kb;
        usleep(LOOK_US);
    }
    printf("storing_kb %lu\nending_kb %lu\nwhole_kb %lu\nstoring_s %.2f\nending_s %.2f\n",
           storing_kb, ending_kb, whole_kb, (double)(stored_ns - begun_ns) / 1e9,
           (double)(clock_ns() - stored_ns) / 1e9);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
    char session[GV_SESSION_ID_BYTES], path[1024];
    int ready[2];

    if (argc != 6 && argc != 7)
        return 2;
    unsigned threads = (unsigned)strtoul(argv[5], NULL, 10);
    if (threads == 0 || threads > THREADS_MAX || pipe(ready) < 0)
        return 2;
    pid_t recorder = fork();
    if (recorder == 0) {
        record(argv[2], strtoull(argv[4], NULL, 10), threads,
               argc == 7 ? strtoull(argv[6], NULL, 10) : 0, ready[1]);
        return 0;
    }
    if (recorder < 0 || read(ready[0], session, sizeof(session)) != sizeof(session))
        fail("the process that records");
    close(ready[0]);
    close(ready[1]);
    write_session(argv[2], argv[3], session, path, sizeof(path));
    pid_t collector = fork();
    if (collector == 0) {
        execl(argv[1], argv[1], "collect", path, (char *)NULL);
        fail(argv[1]);
    }
    close(GV_SESSION_LOCK_FD);
    if (collector < 0)
        fail("fork");
    return watch(recorder, collector);
}
