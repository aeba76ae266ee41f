#include "verdict_fixture.h"

#include <string.h>

struct gv_run_facts facts;
struct gv_verdict verdict;

/* A second of a program that keeps the GPU busy. */
int setup(void **state)
{
    (void)state;
    memset(&facts, 0, sizeof(facts));
    facts.calls = 1000;
    facts.window_ns = facts.known_ns = 1000000000;
    facts.processes = facts.seen_processes = 1;
    facts.gpu_seen = facts.gpu_whole = facts.gpu_known = true;
    facts.complete = facts.whole = true;
    facts.launch_calls = facts.kernels_run = facts.operations = 500;
    facts.launched_kernels = facts.kernel_names = facts.devices_used = 1;
    facts.kernel_time_ns = facts.blocks_known_ns = facts.filled_ns = 900000000;
    facts.kernel_ns = facts.seen_kernel_ns = facts.busy_ns = 900000000;
    facts.multiprocessors = 132;
    facts.least_blocks = 1000;
    facts.thread_ns = 800000000;
    facts.launch_median_ns = 5000;
    strcpy(facts.top_kernel, "gemm");
    return 0;
}

bool is_told(enum gv_verdict_class class)
{
    gv_verdict_make(&facts, &verdict);
    for (size_t i = 0; i < verdict.count; i++)
        if (verdict.findings[i].class == class)
            return true;
    return false;
}

void set_busy(int64_t ns)
{
    facts.busy_ns = facts.kernel_ns = facts.seen_kernel_ns = facts.kernel_time_ns = ns;
    facts.blocks_known_ns = facts.filled_ns = ns;
}
