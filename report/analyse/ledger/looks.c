/* What the looks at threads say, in the order of time. */
#include "report/analyse/ledger/run.h"

#include "report/analyse/idle/run.h"
#include "report/store/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const uint32_t accounts[GV_REASONS] = {
    [GV_REASON_PYTHON] = GV_ACCOUNT_PYTHON,
    [GV_REASON_NATIVE] = GV_ACCOUNT_NATIVE,
    [GV_REASON_GIL] = GV_ACCOUNT_GIL,
    [GV_REASON_GC] = GV_ACCOUNT_GC,
    [GV_REASON_IMPORT] = GV_ACCOUNT_IMPORT,
    [GV_REASON_COMPILE] = GV_ACCOUNT_COMPILE,
    [GV_REASON_DATA] = GV_ACCOUNT_DATA,
    [GV_REASON_IO] = GV_ACCOUNT_IO,
    [GV_REASON_LOCK] = GV_ACCOUNT_THREAD_LOCK,
    [GV_REASON_SLEEP] = GV_ACCOUNT_SLEEP,
    [GV_REASON_CHILD] = GV_ACCOUNT_CHILD,
    [GV_REASON_NETWORK] = GV_ACCOUNT_NETWORK,
    [GV_REASON_BENCHMARK] = GV_ACCOUNT_BENCHMARK,
    [GV_REASON_TRACEBACK] = GV_ACCOUNT_TRACEBACK,
    [GV_REASON_NO_REQUEST] = GV_ACCOUNT_NO_REQUEST,
    [GV_REASON_DESCHEDULED] = GV_ACCOUNT_NO_CPU,
    [GV_REASON_START] = GV_ACCOUNT_UNKNOWN,
    [GV_REASON_END] = GV_ACCOUNT_UNKNOWN,
    [GV_REASON_CUDA] = GV_ACCOUNT_GPUVERIFY,
    [GV_REASON_UNKNOWN] = GV_ACCOUNT_UNKNOWN,
};

static int take_verdicts(struct gv_ledger *ledger, struct gv_idle_run *run)
{
    for (size_t i = 0; i < run->verdict_count; i++) {
        int error = gv_array_room(&ledger->verdicts, ledger->verdict_count, &ledger->verdict_room,
                                  sizeof(*ledger->verdicts));
        if (error)
            return error;
        ledger->verdicts[ledger->verdict_count++] = (struct gv_ledger_verdict){
            .what = accounts[run->verdicts[i].reason], .detail = run->verdicts[i].detail};
        run->verdicts[i].detail = NULL; /* it is ours now */
    }
    return 0;
}

int gv_ledger_looks_read(struct gv_ledger *ledger)
{
    struct gv_idle_run *run;
    int error = gv_idle_run_open(ledger->trace, &run);

    if (!run)
        return error;
    if (!error)
        error = gv_idle_samples_read(run);
    if (!error)
        error = take_verdicts(ledger, run);
    if (!error)
        error = gv_pass_sorted_open(&ledger->looks, sizeof(struct gv_ledger_look));
    for (size_t i = 0; i < run->sample_count && !error; i++) {
        const struct gv_idle_sample *sample = &run->samples[i];
        int64_t stack = sample->stack ? sample->stack : run->verdicts[sample->verdict].stack;
        const struct gv_ledger_look look = {
            .key = {sample->at_ns, (int64_t)i, sample->at_ns},
            .thread = sample->thread > 0 ? (uint32_t)sample->thread : UINT32_MAX,
            .stack = (uint32_t)stack,
            .verdict = sample->verdict,
        };
        error = gv_pass_sorted_add(ledger->looks, &look);
    }
    gv_idle_run_close(run);
    return error;
}

/* Loading code, allocating and launching are a part of these, and so is waiting for them. */
static bool is_purpose(uint32_t what)
{
    return what == GV_ACCOUNT_COMPILE || what == GV_ACCOUNT_BENCHMARK || what == GV_ACCOUNT_IMPORT;
}

int gv_ledger_purpose(struct gv_ledger *ledger, uint32_t stack, uint32_t *what)
{
    const struct gv_key key = {{stack, 0, 0}};
    int64_t known = stack ? gv_key_map_find(&ledger->stack_reasons, &key) : 1 + GV_REASONS;
    enum gv_idle_reason reason = (enum gv_idle_reason)(known - 1);
    int error = 0;

    if (!known) {
        error = gv_idle_stack_reason(ledger->trace, stack, &reason);
        if (!error)
            error = gv_key_map_add(&ledger->stack_reasons, &key, reason + 1);
    }
    if (!error && reason < GV_REASONS && is_purpose(accounts[reason]))
        *what = accounts[reason];
    return error;
}
