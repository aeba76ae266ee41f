#include "report/pass/sorted.h"

#include "report/store/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_BYTES     (8u << 20)
#define BUFFER_BYTES  (64u << 10) /* of one run that is read; of all together: */
#define BUFFERS_BYTES (8u << 20)

typedef uint32_t __attribute__((may_alias)) word;

/* In the file, a record is a word that has a bit for each of its own words that are not those of
 * the record before it, and these: half of them are not. */
struct run {
    struct gv_pass_key first;
    int64_t until_ns;      /* the latest end */
    size_t records, taken; /* taken: with the next one */
    off_t at, until;       /* in the file */
    off_t read;            /* up to here it is in the buffer, or was */
    char *buffer;          /* the next record, and then words */
    size_t held, used;     /* of these words */
};

struct gv_pass_sorted {
    size_t bytes;
    char *records; /* of the run that is being made; the only one: of all */
    size_t count, room, most;
    int64_t until_ns; /* the latest end of these */
    off_t written;
    int file; /* -1: none yet */
    struct run *runs;
    size_t run_count, run_room;
    int64_t from_ns;          /* runs that end before that are left out */
    size_t begun;             /* runs that are being read, or were */
    size_t *heap, heap_count; /* of runs, by their next record */
    size_t next;              /* of records, if they are all in memory */
};

int gv_pass_sorted_open(struct gv_pass_sorted **made, size_t bytes)
{
    struct gv_pass_sorted *sorted = *made = calloc(1, sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    sorted->file = -1;
    sorted->until_ns = INT64_MIN;
    sorted->bytes = bytes;
    sorted->most = RUN_BYTES / bytes;
    return 0;
}

void gv_pass_sorted_close(struct gv_pass_sorted *sorted)
{
    if (!sorted)
        return;
    for (size_t i = 0; i < sorted->run_count; i++)
        free(sorted->runs[i].buffer);
    if (sorted->file >= 0)
        close(sorted->file);
    free(sorted->runs);
    free(sorted->heap);
    free(sorted->records);
    free(sorted);
}

static int compare(const void *left, const void *right)
{
    const struct gv_pass_key *one = left, *other = right;

    if (one->at_ns != other->at_ns)
        return one->at_ns < other->at_ns ? -1 : 1;
    return one->id < other->id ? -1 : one->id > other->id;
}

static bool is_in_order(const struct gv_pass_sorted *sorted)
{
    for (size_t i = 1; i < sorted->count; i++)
        if (compare(sorted->records + (i - 1) * sorted->bytes,
                    sorted->records + i * sorted->bytes) > 0)
            return false;
    return true;
}

static void sort(struct gv_pass_sorted *sorted)
{
    if (!is_in_order(sorted))
        qsort(sorted->records, sorted->count, sorted->bytes, compare);
}

/* /tmp may be memory, so it is not the first; SQLite has the same order. */
static int open_file(void)
{
    const char *const folders[] = {getenv("SQLITE_TMPDIR"), getenv("TMPDIR"), "/var/tmp", "/tmp",
                                   "."};
    int error = -ENOENT;

    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        char path[4096];
        int file;
        if (!folders[i] || !*folders[i])
            continue;
        file = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
        if (file < 0 &&
            snprintf(path, sizeof(path), "%s/gpuverify-XXXXXX", folders[i]) < (int)sizeof(path)) {
            file = mkostemp(path, O_CLOEXEC);
            if (file >= 0)
                unlink(path);
        }
        if (file >= 0)
            return file;
        error = -errno;
    }
    return error;
}

static int write_all(int file, const char *bytes, size_t count, off_t at)
{
    while (count > 0) {
        ssize_t written = pwrite(file, bytes, count, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return written < 0 ? -errno : -EIO;
        bytes += written;
        at += written;
        count -= (size_t)written;
    }
    return 0;
}

static int read_all(int file, char *bytes, size_t count, off_t at)
{
    while (count > 0) {
        ssize_t got = pread(file, bytes, count, at);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        bytes += got;
        at += got;
        count -= (size_t)got;
    }
    return 0;
}

/* Packs records from `next` on into the words; *next: the first that was not. Returns how many
 * words. */
static size_t pack(const struct gv_pass_sorted *sorted, word *words, size_t most, size_t *next)
{
    size_t wide = sorted->bytes / sizeof(*words), used = 0;

    for (; *next < sorted->count && used + wide < most; ++*next) {
        const word *record = (const void *)(sorted->records + *next * sorted->bytes);
        word *changed = &words[used++];
        *changed = 0;
        for (size_t i = 0; i < wide; i++) {
            if (record[i] == (*next ? record[i - wide] : 0))
                continue;
            *changed |= (word)1 << i;
            words[used++] = record[i];
        }
    }
    return used;
}

static int write_run(struct gv_pass_sorted *sorted)
{
    word *words = malloc(BUFFER_BYTES);
    size_t next = 0;
    int error = words ? 0 : -ENOMEM;

    while (!error && next < sorted->count) {
        size_t bytes = sizeof(*words) * pack(sorted, words, BUFFER_BYTES / sizeof(*words), &next);
        error = write_all(sorted->file, (const char *)words, bytes, sorted->written);
        sorted->written += (off_t)bytes;
    }
    free(words);
    return error;
}

static int end_run(struct gv_pass_sorted *sorted)
{
    int error =
        gv_array_room(&sorted->runs, sorted->run_count, &sorted->run_room, sizeof(*sorted->runs));

    if (error)
        return error;
    if (sorted->file < 0) {
        sorted->file = open_file();
        if (sorted->file < 0)
            return sorted->file;
    }
    sort(sorted);
    struct run *run = &sorted->runs[sorted->run_count++];
    *run =
        (struct run){.records = sorted->count, .at = sorted->written, .until_ns = sorted->until_ns};
    memcpy(&run->first, sorted->records, sizeof(run->first));
    error = write_run(sorted);
    run->until = sorted->written;
    sorted->until_ns = INT64_MIN;
    sorted->count = 0;
    return error;
}

int gv_pass_sorted_add(struct gv_pass_sorted *sorted, const void *record)
{
    int error = sorted->count == sorted->most ? end_run(sorted) : 0;

    if (!error)
        error = gv_array_room(&sorted->records, sorted->count, &sorted->room, sorted->bytes);
    if (error)
        return error;
    memcpy(sorted->records + sorted->count++ * sorted->bytes, record, sorted->bytes);
    if (((const struct gv_pass_key *)record)->end_ns > sorted->until_ns)
        sorted->until_ns = ((const struct gv_pass_key *)record)->end_ns;
    return 0;
}

/* ---- reading ---- */

static int compare_runs(const void *left, const void *right)
{
    const struct run *one = left, *other = right;

    return compare(&one->first, &other->first);
}

static size_t buffer_words(const struct gv_pass_sorted *sorted)
{
    size_t bytes = BUFFERS_BYTES / (sorted->run_count + 1);

    bytes = bytes > BUFFER_BYTES ? BUFFER_BYTES : bytes;
    return bytes / sizeof(word) + sorted->bytes / sizeof(word) + 1;
}

/* More of the run into its buffer, after what is left there. */
static int fill(struct gv_pass_sorted *sorted, struct run *run)
{
    word *words = (void *)(run->buffer + sorted->bytes);
    size_t left = run->held - run->used, bytes;

    memmove(words, words + run->used, left * sizeof(*words));
    bytes = (buffer_words(sorted) - left) * sizeof(*words);
    if ((off_t)bytes > run->until - run->read)
        bytes = (size_t)(run->until - run->read);
    int error = read_all(sorted->file, (char *)(words + left), bytes, run->read);
    run->read += (off_t)bytes;
    run->held = left + bytes / sizeof(*words);
    run->used = 0;
    return error;
}

/* The next record; there is one. */
static int unpack(struct gv_pass_sorted *sorted, struct run *run)
{
    const word *words = (const void *)(run->buffer + sorted->bytes);
    word *record = (void *)run->buffer;
    int error = 0;

    if (run->held - run->used <= sorted->bytes / sizeof(*words) && run->read < run->until)
        error = fill(sorted, run);
    if (error)
        return error;
    for (word changed = words[run->used++]; changed; changed &= changed - 1)
        record[__builtin_ctz(changed)] = words[run->used++];
    run->taken++;
    return 0;
}

static int begin_run(struct gv_pass_sorted *sorted, struct run *run)
{
    if (!run->buffer)
        run->buffer = malloc(sorted->bytes + buffer_words(sorted) * sizeof(word));
    if (!run->buffer)
        return -ENOMEM;
    memset(run->buffer, 0, sorted->bytes);
    run->read = run->at;
    run->taken = run->held = run->used = 0;
    return unpack(sorted, run);
}

static const char *next_of(const struct gv_pass_sorted *sorted, size_t heap_at)
{
    return sorted->runs[sorted->heap[heap_at]].buffer;
}

static void sink(struct gv_pass_sorted *sorted, size_t at)
{
    for (;;) {
        size_t least = at, child = 2 * at + 1;
        for (size_t i = child; i < child + 2 && i < sorted->heap_count; i++)
            if (compare(next_of(sorted, i), next_of(sorted, least)) < 0)
                least = i;
        if (least == at)
            return;
        size_t swapped = sorted->heap[at];
        sorted->heap[at] = sorted->heap[least];
        sorted->heap[least] = swapped;
        at = least;
    }
}

static void rise(struct gv_pass_sorted *sorted, size_t at)
{
    while (at > 0 && compare(next_of(sorted, at), next_of(sorted, (at - 1) / 2)) < 0) {
        size_t swapped = sorted->heap[at];
        sorted->heap[at] = sorted->heap[(at - 1) / 2];
        sorted->heap[(at - 1) / 2] = swapped;
        at = (at - 1) / 2;
    }
}

/* Runs whose first record may be next. */
static int begin_runs(struct gv_pass_sorted *sorted)
{
    int error = 0;

    while (!error && sorted->begun < sorted->run_count &&
           (sorted->heap_count == 0 ||
            compare(&sorted->runs[sorted->begun].first, next_of(sorted, 0)) <= 0)) {
        struct run *run = &sorted->runs[sorted->begun];
        if (run->until_ns < sorted->from_ns) {
            sorted->begun++;
            continue;
        }
        error = begin_run(sorted, run);
        if (error)
            return error;
        sorted->heap[sorted->heap_count] = sorted->begun++;
        rise(sorted, sorted->heap_count++);
    }
    return error;
}

int gv_pass_sorted_begin(struct gv_pass_sorted *sorted, int64_t from_ns)
{
    int error = 0;

    sorted->next = 0;
    sorted->from_ns = from_ns;
    if (sorted->run_count == 0) {
        sort(sorted);
        return 0;
    }
    if (sorted->count > 0)
        error = end_run(sorted);
    if (!sorted->heap) {
        qsort(sorted->runs, sorted->run_count, sizeof(*sorted->runs), compare_runs);
        sorted->heap = malloc(sorted->run_count * sizeof(*sorted->heap));
        free(sorted->records);
        sorted->records = NULL;
    }
    sorted->begun = sorted->heap_count = 0;
    return error ? error : sorted->heap ? 0 : -ENOMEM;
}

/* Beyond the record that was next. */
static int step(struct gv_pass_sorted *sorted)
{
    struct run *run = &sorted->runs[sorted->heap[0]];
    int error = 0;

    if (run->taken < run->records) {
        error = unpack(sorted, run);
    } else {
        free(run->buffer);
        run->buffer = NULL;
        sorted->heap[0] = sorted->heap[--sorted->heap_count];
    }
    if (!error && sorted->heap_count > 0)
        sink(sorted, 0);
    return error;
}

int gv_pass_sorted_next(struct gv_pass_sorted *sorted, const void **record)
{
    int error = 0;

    *record = NULL;
    if (sorted->run_count == 0) {
        if (sorted->next < sorted->count)
            *record = sorted->records + sorted->next++ * sorted->bytes;
        return 0;
    }
    if (sorted->next++ > 0 && sorted->heap_count > 0)
        error = step(sorted);
    if (!error)
        error = begin_runs(sorted);
    if (!error && sorted->heap_count > 0)
        *record = next_of(sorted, 0);
    return error;
}
