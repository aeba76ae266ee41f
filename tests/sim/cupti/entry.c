/*
 * Runs before each call of a client: it may fail or hang on request, and detects what would break
 * the program with the real library. Any thread. Settings are read when the library is loaded.
 */
#include "tests/sim/cupti/cupti_sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FAILURES_MAX 16

struct gv_cupti_settings gv_cupti_settings;

static struct failure {
    char name[64];
    unsigned long at; /* 0: always */
    CUptiResult result;
    _Atomic unsigned long seen;
} failures[FAILURES_MAX];
static int failure_count;
static const char *hangs;
static volatile bool forked;
static volatile bool ended;

void gv_cupti_complain(const char *what)
{
    fprintf(stderr, "gpuverify simulator: libcupti: %s\n", what);
}

void gv_cupti_die(const char *what)
{
    gv_cupti_complain(what);
    abort();
}

/* "cuptiSubscribe=39,cuptiActivityEnable:3=15" */
static void read_failures(const char *text)
{
    while (*text && failure_count < FAILURES_MAX) {
        struct failure *f = &failures[failure_count];
        size_t length = strcspn(text, ":=,");
        char *end = (char *)text + length;
        unsigned long result = 0;
        if (*end == ':')
            f->at = strtoul(end + 1, &end, 10);
        if (*end == '=')
            result = strtoul(end + 1, &end, 10);
        if (!length || length >= sizeof f->name || !result || (*end && *end != ',')) {
            fprintf(stderr, "gpuverify simulator: GV_SIM_CUPTI_FAIL: cannot read '%s'\n", text);
            return;
        }
        memcpy(f->name, text, length);
        f->result = (CUptiResult)result;
        failure_count++;
        text = *end ? end + 1 : end;
    }
}

static uint64_t number(const char *name)
{
    const char *text = getenv(name);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void in_child(void)
{
    forked = true;
}

/* The real library has freed its memory by then. */
static void end(void)
{
    const char *text = getenv("GV_SIM_CUPTI_AFTER_EXIT");

    ended = text && strcmp(text, "complain") == 0;
}

__attribute__((constructor)) static void settings_read(void)
{
    const char *text = getenv("GV_SIM_CUPTI_FAIL");
    if (text)
        read_failures(text);
    text = getenv("GV_SIM_CUPTI_HANG");
    hangs = text && *text ? text : NULL;
    text = getenv("GV_SIM_CUPTI_OWNER");
    gv_cupti_settings.owner = text && *text ? text : NULL;
    gv_cupti_settings.shared = number("GV_SIM_CUPTI_SHARED") != 0;
    text = getenv("GV_SIM_CUPTI_LOG");
    gv_cupti_settings.log_path = text && *text ? text : NULL;
    gv_cupti_settings.late_ns = number("GV_SIM_CUPTI_LATE_MS") * 1000000u;
    gv_cupti_settings.ask_us = number("GV_SIM_CUPTI_ASK_US");
    gv_cupti_settings.flush_ns = number("GV_SIM_CUPTI_FLUSH_US") * 1000u;
    gv_cupti_settings.version = (uint32_t)number("GV_SIM_CUPTI_VERSION");
    gv_cupti_settings.drop_every = number("GV_SIM_CUPTI_DROP");
    gv_cupti_settings.lose_every = number("GV_SIM_CUPTI_LOSE");
    gv_cupti_settings.start_us = (unsigned)number("GV_SIM_CUPTI_START_MS") * 1000;
    if (atexit(end))
        gv_cupti_complain("atexit failed");
    if (pthread_atfork(NULL, NULL, in_child))
        gv_cupti_complain("pthread_atfork failed");
}

CUptiResult gv_cupti_enter(const char *name)
{
    if (ended)
        fprintf(stderr, "gpuverify simulator: libcupti: %s was called after exit\n", name);
    if (forked) {
        fprintf(stderr, "gpuverify simulator: libcupti: %s was called in a forked child\n", name);
        abort();
    }
    while (hangs && !strcmp(hangs, name))
        pause();
    for (int i = 0; i < failure_count; i++) {
        struct failure *f = &failures[i];
        if (strcmp(f->name, name) != 0)
            continue;
        unsigned long seen = atomic_fetch_add(&f->seen, 1) + 1;
        if (!f->at || f->at == seen)
            return f->result;
    }
    return CUPTI_SUCCESS;
}
