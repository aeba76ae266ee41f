/* What the calls of the probe, and what became of them, are called. */
#include "report/probe/probe.h"

const char *const gv_probe_mode_names[GV_PROBE_MODES] = {"LAZY", "EAGER"};

const struct gv_probe_subject gv_probe_subjects[GV_PROBE_CALLS] = {
#define GV_PROBE_CALL(beside, cause, call, what, prepare, act, clean)                              \
    {GV_PROBE_BESIDE_##beside, cause, call, what},
#include "report/probe/calls.def"
};

const char *const gv_probe_beside_names[GV_PROBE_BESIDES] = {
#define GV_PROBE_BESIDE(name, text, prepare, act, clean) text,
#include "report/probe/calls.def"
};

const struct gv_probe_status_word gv_probe_status_words[] = {
    [-GV_PROBE_MEASURED] = {"measured", ""},
    [-GV_PROBE_NOT_REACHED] = {"not reached", "not measured: time ran out"},
    [-GV_PROBE_NOT_HERE] = {"not here", "not on this machine"},
    [-GV_PROBE_HUNG] = {"hung", "did not return"},
    [-GV_PROBE_DIED] = {"died", "ended the process"},
    [-GV_PROBE_UNCLEAR] = {"unclear", "unclear: the other thread's call was too short"},
};
