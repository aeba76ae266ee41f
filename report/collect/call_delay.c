#include "report/collect/call_delay.h"

#include "trace/schedstat.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

/* What is left when all that does not belong to the call is taken off. */
static uint64_t gv_delay_less(uint64_t delay_ns, uint64_t other_ns)
{
    return delay_ns > other_ns ? delay_ns - other_ns : 0;
}

uint64_t gv_call_delay_least(uint64_t start_ns, uint64_t end_ns, const struct gv_delay_reading *end,
                             const struct gv_delay_reading *earlier, uint64_t inside_ns)
{
    uint64_t behind_ns = end->before_ns - end_ns, least_ns = 0;

    if (end_ns < start_ns || end->before_ns < end_ns)
        return 0;
    if (inside_ns <= end->delay_ns)
        least_ns = gv_delay_less(end->delay_ns - inside_ns, behind_ns);
    if (earlier && earlier->after_ns <= start_ns && earlier->delay_ns <= end->delay_ns) {
        uint64_t before_ns = start_ns - earlier->after_ns;
        uint64_t since_ns =
            gv_delay_less(gv_delay_less(end->delay_ns - earlier->delay_ns, behind_ns), before_ns);
        least_ns = since_ns > least_ns ? since_ns : least_ns;
    }
    /* The kernel's clock and ours may differ by a little. */
    return least_ns < end_ns - start_ns ? least_ns : end_ns - start_ns;
}

bool gv_call_delay_read(uint32_t pid, uint32_t tid, uint64_t *delay_ns)
{
    char path[64], text[GV_SCHEDSTAT_BYTES + 1];
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof(path), "/proc/%u/task/%u/schedstat", pid, tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = '\0';
    return gv_schedstat_delay(text, delay_ns);
}
