#include "report/collect/live_page.h"

#include "trace/futex.h"
#include "trace/session.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIVE_MAGIC "GVLIVE1"
/* A page is written in a fraction of that. */
#define LIVE_PAUSE_NS INT64_C(1000000)
#define LIVE_TRIES    20
#define LIVE_MOST     (INT64_C(1) << 61)
#define LIVE_HEAD     offsetof(struct gv_live_page, rows)

static int page_path(char path[GV_SESSION_PATH_BYTES], const char *directory, const char *session)
{
    int length =
        snprintf(path, GV_SESSION_PATH_BYTES, "%s/%s%s", directory, session, GV_LIVE_SUFFIX);

    return length < 0 || (size_t)length >= GV_SESSION_PATH_BYTES ? -ENAMETOOLONG : 0;
}

int gv_live_page_open(const char *directory, const char *session, int makes)
{
    const int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK;
    char path[GV_SESSION_PATH_BYTES];
    int error = page_path(path, directory, session);

    if (error)
        return error;
    int fd = open(path, makes ? O_RDWR | O_CREAT | flags : O_RDONLY | flags, 0600);
    return fd < 0 ? -errno : fd;
}

void gv_live_page_remove(const char *directory, const char *session)
{
    char path[GV_SESSION_PATH_BYTES];

    if (page_path(path, directory, session) == 0)
        unlink(path);
}

static int write_at(int fd, const void *data, size_t bytes, size_t at)
{
    ssize_t written = pwrite(fd, data, bytes, (off_t)at);

    return written < 0 ? -errno : (size_t)written == bytes ? 0 : -ENOSPC;
}

int gv_live_page_write(int fd, struct gv_live_page *page)
{
    int error;

    memcpy(page->magic, LIVE_MAGIC, sizeof(page->magic));
    page->sequence |= 1;
    error = write_at(fd, page, LIVE_HEAD, 0);
    if (!error)
        error = write_at(fd, page->rows, page->count * sizeof(page->rows[0]), LIVE_HEAD);
    page->sequence++;
    return error ? error : write_at(fd, page, LIVE_HEAD, 0);
}

static int64_t bounded(int64_t number)
{
    return number < 0 ? 0 : number > LIVE_MOST ? LIVE_MOST : number;
}

static void bound(struct gv_live_page *page)
{
    int64_t *const times[] = {&page->now_ns,  &page->before_ns, &page->clock_ns,
                              &page->call_ns, &page->look_ns,   &page->gpu_ns};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
        *times[i] = bounded(*times[i]);
    for (uint32_t i = 0; i < page->count; i++) {
        struct gv_live_row *row = &page->rows[i];
        int64_t *const numbers[] = {&row->count, &row->ns, &row->before_count, &row->before_ns,
                                    &row->at_ns};

        row->kind[sizeof(row->kind) - 1] = '\0';
        row->one[sizeof(row->one) - 1] = row->two[sizeof(row->two) - 1] = '\0';
        for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++)
            *numbers[k] = bounded(*numbers[k]);
    }
}

/* 1: it is whole; 0: it was being written, or is not there yet. */
static int read_once(int fd, struct gv_live_page *page)
{
    uint64_t before;
    ssize_t bytes = pread(fd, &before, sizeof(before), offsetof(struct gv_live_page, sequence));

    if (bytes < 0)
        return -errno;
    if (bytes != sizeof(before) || before == 0 || before & 1)
        return 0;
    memset(page, 0, sizeof(*page));
    bytes = pread(fd, page, sizeof(*page), 0);
    if (bytes < 0)
        return -errno;
    if ((size_t)bytes < LIVE_HEAD || page->sequence != before)
        return 0;
    if (memcmp(page->magic, LIVE_MAGIC, sizeof(page->magic)) != 0 || page->count > GV_LIVE_ROWS)
        return -EPROTO;
    bytes = pread(fd, &before, sizeof(before), offsetof(struct gv_live_page, sequence));
    return bytes == sizeof(before) && page->sequence == before;
}

int gv_live_page_read(int fd, struct gv_live_page *page)
{
    int whole = read_once(fd, page);

    for (int i = 1; whole == 0 && i < LIVE_TRIES; i++) {
        gv_pause_ns(LIVE_PAUSE_NS);
        whole = read_once(fd, page);
    }
    if (whole > 0)
        bound(page);
    return whole < 0 ? whole : whole ? 0 : -EAGAIN;
}

const struct gv_live_row *gv_live_page_find(const struct gv_live_page *page, const char *kind,
                                            const char *one, const struct gv_live_row *after)
{
    for (const struct gv_live_row *row = after ? after + 1 : page->rows;
         row < page->rows + page->count; row++)
        if (strcmp(row->kind, kind) == 0 && (!one || strcmp(row->one, one) == 0))
            return row;
    return NULL;
}
