#include "preload/idle/children.h"

#include "preload/base/clock.h"
#include "preload/idle/tasks.h"
#include "trace/proc_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define CHILDREN_BYTES 2048
#define TASKS_MOST     256u /* of one process */
#define TICK_NS        10000000u
#define WHOLE_EVERY    5u
#define WHOLE_OF_1000  1u /* of the time */
#define WORKS_OF_100   2u /* of the time */

static struct gv_child known[GV_CHILDREN_MOST];
static unsigned known_count;
static uint32_t parents[GV_CHILDREN_MOST]; /* threads of this process that have children */
static unsigned parent_count, searches;
static uint64_t whole_again_ns;

void gv_children_start_over(void)
{
    known_count = parent_count = searches = 0;
    whole_again_ns = 0;
}

bool gv_children_exist(void)
{
    siginfo_t info = {0};

    return syscall(SYS_waitid, P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0;
}

unsigned gv_children_parse(const char *text, uint32_t *pids, unsigned count, unsigned most)
{
    while (count < most) {
        char *end;
        unsigned long pid;

        while (*text == ' ')
            text++;
        if (*text < '0' || *text > '9')
            break;
        pid = strtoul(text, &end, 10);
        text = end;
        if (pid > 0 && pid <= INT32_MAX)
            pids[count++] = (uint32_t)pid;
    }
    return count;
}

/* Each thread has its own children. A program may have hundreds of threads, which take half a
 * millisecond, so most searches look only at those of its threads that had some. Without any they
 * would take all the time that looks may take. */
static unsigned list_own_tasks(uint32_t pid, uint64_t now_ns, uint32_t tids[TASKS_MOST],
                               bool *is_whole)
{
    *is_whole = now_ns >= whole_again_ns && (parent_count == 0 || searches++ % WHOLE_EVERY == 0);
    if (*is_whole)
        return gv_tasks_list(pid, tids, TASKS_MOST);
    memcpy(tids, parents, parent_count * sizeof parents[0]);
    return parent_count;
}

static unsigned find_pids(uint32_t except, uint32_t pids[GV_CHILDREN_MOST])
{
    static uint32_t tids[TASKS_MOST];
    uint32_t self = (uint32_t)syscall(SYS_getpid);
    uint64_t start_ns = gv_clock_now_ns();
    char text[CHILDREN_BYTES];
    unsigned count = 0, tasks;
    bool is_whole = false;

    for (unsigned next = 0; next <= count; next++) {
        uint32_t pid = next == 0 ? self : pids[next - 1];
        unsigned before = count;

        tasks = next == 0 ? list_own_tasks(pid, start_ns, tids, &is_whole)
                          : gv_tasks_list(pid, tids, TASKS_MOST);
        if (next == 0 && is_whole)
            parent_count = 0;
        for (unsigned i = 0; i < tasks; i++) {
            unsigned had = count;

            if (gv_proc_read(text, sizeof text, "/proc/%u/task/%u/children", pid, tids[i]) > 0)
                count = gv_children_parse(text, pids, count, GV_CHILDREN_MOST);
            if (next == 0 && is_whole && count > had && parent_count < GV_CHILDREN_MOST)
                parents[parent_count++] = tids[i];
        }
        if (next == 0 && is_whole) {
            uint64_t now_ns = gv_clock_now_ns();

            whole_again_ns = now_ns + (now_ns - start_ns) * 1000 / WHOLE_OF_1000;
        }
        for (unsigned i = before; i < count;)
            if (pids[i] == except)
                pids[i] = pids[--count];
            else
                i++;
    }
    return count;
}

/* Data loaders and pools of processes wait for their next piece of work in these. */
static bool waits_for_work(const struct gv_child *child)
{
    const struct gv_thread_state *state = &child->state;
    char path[64];

    if (state->call == GV_THREAD_NO_CALL || gv_thread_state_is_futex(state) ||
        gv_thread_state_is_wait(state) || gv_thread_state_is_poll(state))
        return true;
    return gv_thread_state_target(child->pid, child->pid, state, NULL, NULL, path, sizeof path) ==
           GV_IDLE_TARGET_PIPE;
}

/* False: it has ended. */
static bool describe(struct gv_child *child, uint32_t pid, const struct gv_child *before,
                     uint64_t span_ns)
{
    memset(child, 0, sizeof *child);
    child->pid = pid;
    if (gv_process_state_read(pid, &child->state))
        return false;
    if (before && (before->state.ticks > child->state.ticks ||
                   before->state.delay_ns > child->state.delay_ns))
        before = NULL; /* another process */
    child->ran_ns = (child->state.ticks - (before ? before->state.ticks : 0)) * TICK_NS;
    child->delay_ns = child->state.delay_ns - (before ? before->state.delay_ns : 0);
    if (before) {
        child->is_python = before->is_python;
        child->stack = before->stack;
    }
    child->works = child->state.state == 'R' || child->state.state == 'D' ||
                   child->ran_ns > span_ns / 100 * WORKS_OF_100 || !waits_for_work(child);
    return true;
}

unsigned gv_children_search(uint64_t span_ns, uint32_t except, struct gv_child **children)
{
    static struct gv_child found[GV_CHILDREN_MOST];
    uint32_t pids[GV_CHILDREN_MOST];
    unsigned pid_count = find_pids(except, pids), count = 0;

    for (unsigned i = 0; i < pid_count; i++) {
        const struct gv_child *before = NULL;

        for (unsigned k = 0; k < known_count && !before; k++)
            if (known[k].pid == pids[i])
                before = &known[k];
        count += describe(&found[count], pids[i], before, span_ns);
    }
    memcpy(known, found, count * sizeof known[0]);
    known_count = count;
    *children = known;
    return count;
}
