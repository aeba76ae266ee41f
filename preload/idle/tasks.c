#include "preload/idle/tasks.h"

#include "trace/proc_file.h"
#include "trace/thread_state.h"

#include <stdlib.h>
#include <string.h>

#define LIST_BYTES 4096
#define STAT_BYTES 1024
#define OURS_MOST  4u /* the main thread and ours */

struct entry { /* of getdents64() */
    uint64_t inode;
    int64_t offset;
    unsigned short bytes;
    unsigned char type;
    char name[];
};

unsigned gv_tasks_list(uint32_t pid, uint32_t *tids, unsigned most)
{
    _Alignas(uint64_t) char list[LIST_BYTES];
    char path[64];
    unsigned count = 0;
    long fd, bytes = 0;

    snprintf(path, sizeof path, "/proc/%u/task", pid);
    fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    while (count < most && (bytes = syscall(SYS_getdents64, fd, list, sizeof list)) > 0)
        for (long at = 0; at < bytes && count < most;) {
            const struct entry *entry = (const void *)(list + at);

            if (entry->name[0] >= '0' && entry->name[0] <= '9')
                tids[count++] = (uint32_t)strtoul(entry->name, NULL, 10);
            at += entry->bytes;
        }
    syscall(SYS_close, fd);
    return count;
}

static bool is_ours(uint32_t pid, uint32_t tid)
{
    char text[64];

    return tid == (uint32_t)syscall(SYS_gettid) ||
           (gv_proc_read(text, sizeof text, "/proc/%u/task/%u/comm", pid, tid) > 0 &&
            (strcmp(text, "gpuverify-gpu\n") == 0 || strcmp(text, "gpuverify-files\n") == 0));
}

bool gv_tasks_are_ours(void)
{
    uint32_t pid = (uint32_t)syscall(SYS_getpid), tids[OURS_MOST + 1];
    struct gv_thread_state state;
    char text[STAT_BYTES];
    unsigned count;

    if (gv_proc_read(text, sizeof text, "/proc/%u/task/%u/stat", pid, pid) <= 0 ||
        !gv_thread_state_parse_stat(text, &state) || state.state != 'Z')
        return false;
    count = gv_tasks_list(pid, tids, OURS_MOST + 1);
    for (unsigned i = 0; i < count; i++)
        if (tids[i] != pid && !is_ours(pid, tids[i]))
            return false;
    return count > 0 && count <= OURS_MOST;
}
