#include "report/look/processes.h"

#include "report/look/apart.h"
#include "report/show/format.h"
#include "trace/futex.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEEN_MOST 32768u      /* processes of this machine */
#define LEVELS    64u         /* from a process to its ancestor */
#define WATCH_NS  5000000000u /* beyond the looks, for one */
#define FIND_NS   1000000000u /* for the first that does not answer; less for each later one */
#define FIND_LESS 200000000u

/* ---- which ---- */

static bool uses_cuda(uint32_t pid)
{
    char path[64], *line = NULL;
    bool found = false;
    size_t size = 0;

    snprintf(path, sizeof(path), "/proc/%u/maps", gv_outside_reader(pid));
    FILE *maps = fopen(path, "re");
    while (maps && !found && getline(&line, &size, maps) > 0)
        found = strstr(line, "/libcuda.so") != NULL;
    free(line);
    if (maps)
        fclose(maps);
    return found;
}

static bool descends(uint32_t pid, uint32_t root)
{
    struct gv_outside_status status;

    for (unsigned level = 0; level < LEVELS && pid > 1; level++) {
        if (pid == root)
            return true;
        if (gv_outside_status(pid, &status))
            return false;
        pid = status.parent;
    }
    return pid == root;
}

static int64_t rank_of(uint32_t pid)
{
    static const char *const names[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"};
    char value[32];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (gv_outside_variable(gv_outside_reader(pid), names[i], value, sizeof(value)) &&
            isdigit((unsigned char)value[0]))
            return strtol(value, NULL, 10);
    return -1;
}

static int by_rank(const void *one, const void *other)
{
    const struct gv_look_process *first = one, *second = other;

    if (first->rank != second->rank)
        return first->rank < second->rank ? -1 : 1;
    return (first->pid > second->pid) - (first->pid < second->pid);
}

/* What is done apart, as any process may keep who reads it. */
static struct work {
    uint32_t at; /* in `pid`, or the processes found */
    uint32_t root;
    const struct gv_look_gpus *gpus;
    uint32_t pid[SEEN_MOST];
    size_t pids;
    unsigned looks; /* at each */
    int64_t step_ns;
    struct gv_look_processes found;
} work;

static void find_each(void *result)
{
    struct work *now = result;
    struct gv_look_processes *found = &now->found;

    for (; now->at < now->pids && found->count < GV_LOOK_PROCESSES; now->at++) {
        uint32_t pid = now->pid[now->at];
        struct gv_look_process *process = &found->process[found->count];
        bool is_user = false;

        *process = (struct gv_look_process){.pid = pid, .rank = -1, .bytes = -1};
        for (uint32_t k = 0; k < now->gpus->count; k++) {
            int64_t bytes = -1;
            is_user |= gv_look_gpu_is_of(&now->gpus->gpu[k], pid, &bytes);
            if (bytes >= 0)
                process->bytes = (process->bytes < 0 ? 0 : process->bytes) + bytes;
        }
        process->busy = gv_look_gpus_busy(now->gpus, pid);
        process->start = gv_outside_start(pid, pid);
        if ((now->root && !descends(pid, now->root)) || (!is_user && !uses_cuda(pid)))
            continue;
        process->rank = rank_of(pid);
        gv_outside_text(gv_outside_reader(pid), "cmdline", process->command,
                        sizeof(process->command));
        found->count++;
    }
}

static void say_silent(struct gv_look_process *process)
{
    snprintf(process->said, sizeof(process->said), "does not answer: " GV_LOOK_SILENT);
}

size_t gv_look_processes_find(struct gv_look_processes *processes, uint32_t root,
                              const struct gv_look_gpus *gpus, uint64_t end_ns)
{
    struct gv_look_processes *found = &work.found;
    uint64_t patience_ns = FIND_NS;

    work.at = 0;
    work.root = root;
    work.gpus = gpus;
    work.pids = gv_outside_processes(work.pid, SEEN_MOST);
    found->count = 0;
    while (gv_apart_run(find_each, &work, sizeof(work), patience_ns, end_ns) &&
           gv_monotonic_ns() < end_ns && work.at < work.pids && found->count < GV_LOOK_PROCESSES) {
        say_silent(&found->process[found->count++]);
        patience_ns = FIND_LESS;
        work.at++;
    }
    qsort(found->process, found->count, sizeof(found->process[0]), by_rank);
    *processes = *found;
    return found->count < GV_LOOK_PROCESSES ? work.pids - work.at : 0;
}

/* ---- what each does ---- */

/* false: it has ended. */
static bool watch(struct gv_look_process *process, unsigned looks, int64_t step_ns)
{
    char advice[GV_LOOK_SAID_BYTES], why[GV_LOOK_TEXT_BYTES];
    struct gv_outside_status status;
    struct gv_look look;
    int error = gv_look_watch(&look, process->pid, looks, step_ns);
    const struct gv_look_thread *focus = error ? NULL : gv_look_focus(&look);

    if (!error) {
        gv_look_sum_up(&look, process->busy, process->said, advice);
    } else if (error == -EPERM && gv_outside_status(process->pid, &status) == 0) {
        gv_outside_refusal(process->pid, &status, why, sizeof(why));
        snprintf(process->said, sizeof(process->said), "not readable: %s", why);
    } else {
        snprintf(process->said, sizeof(process->said), "%s",
                 error == -EBUSY ? GV_LOOK_ENDING : strerror(-error));
    }
    if (focus && focus->parts) {
        gv_look_say(&look, &focus->part[0], process->did, sizeof(process->did));
        process->looks = look.looks;
        process->waits =
            focus->part[0].class == GV_CLASS_SYNC || focus->part[0].class == GV_CLASS_COLLECTIVE;
    }
    bool is_same = error || look.start == process->start;
    gv_look_free(&look);
    return error != -ESRCH && is_same;
}

static void watch_each(void *result)
{
    struct work *now = result;

    for (; now->at < now->found.count; now->at++) {
        struct gv_look_process *process = &now->found.process[now->at];
        if (!process->said[0] && !watch(process, now->looks, now->step_ns))
            process->pid = 0;
    }
}

void gv_look_processes_watch(struct gv_look_processes *processes, unsigned looks, int64_t step_ns,
                             uint64_t end_ns)
{
    unsigned each = processes->count ? looks / (unsigned)processes->count : 0;

    work.at = 0;
    work.looks = each ? each : 1;
    work.step_ns = step_ns;
    work.found = *processes;
    uint64_t patience_ns = work.looks * (uint64_t)step_ns + WATCH_NS;
    while (gv_apart_run(watch_each, &work, sizeof(work), patience_ns, end_ns) &&
           gv_monotonic_ns() < end_ns && work.at < work.found.count)
        say_silent(&work.found.process[work.at++]);
    processes->count = 0;
    for (size_t i = 0; i < work.found.count; i++) {
        struct gv_look_process *process = &work.found.process[i];
        if (i >= work.at && !process->said[0])
            snprintf(process->said, sizeof(process->said), "not looked at: there was no time");
        if (process->pid)
            processes->process[processes->count++] = *process;
    }
}

/* ---- who waits for whom ---- */

static bool is_same(const struct gv_look_process *one, const struct gv_look_process *other)
{
    return one->waits == other->waits && strcmp(one->did, other->did) == 0;
}

/* "Rank 2 may hold up the others: it is sleeping. ", "Ranks 0, 1: each waits for the GPU. " */
static void say_ranks(const struct gv_look_processes *processes, const struct gv_look_process *same,
                      char *out)
{
    char list[GV_LOOK_TEXT_BYTES] = "";
    unsigned count = 0;

    for (size_t i = 0; i < processes->count; i++)
        if (processes->process[i].rank >= 0 && is_same(&processes->process[i], same))
            gv_format_add(list, sizeof(list), "%s%lld", count++ ? ", " : "",
                          (long long)processes->process[i].rank);
    gv_format_add(out, GV_LOOK_SAID_BYTES, "%sank%s %s%s: %s %s.", out[0] ? " R" : "R",
                  gv_format_plural(count), list, same->waits ? "" : " may hold up the others",
                  count == 1 ? "it" : "each", same->did);
}

void gv_look_ranks_say(const struct gv_look_processes *processes, char out[GV_LOOK_SAID_BYTES])
{
    size_t ranks = 0, waiting = 0;

    out[0] = '\0';
    for (size_t i = 0; i < processes->count; i++) {
        const struct gv_look_process *process = &processes->process[i];
        ranks += process->rank >= 0 && process->did[0];
        waiting += process->rank >= 0 && process->waits;
    }
    if (!waiting || ranks < 2)
        return;
    if (waiting == ranks)
        snprintf(out, GV_LOOK_SAID_BYTES,
                 "All ranks wait: a collective ends when each rank has come to the same one.");
    /* Who does not wait comes first. */
    for (int wait = 0; wait < 2; wait++)
        for (size_t i = 0; i < processes->count; i++) {
            const struct gv_look_process *process = &processes->process[i];
            bool is_new = process->rank >= 0 && process->did[0] && process->waits == wait;
            for (size_t k = 0; k < i && is_new; k++)
                is_new =
                    processes->process[k].rank < 0 || !is_same(&processes->process[k], process);
            if (is_new)
                say_ranks(processes, process, out);
        }
}
