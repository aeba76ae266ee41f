/*
 * What a program says to gpuverify: ranges and marks for its trace, and what is to be recorded.
 *
 *     #include <gpuverify.h>
 *
 *     gv_range_push("load the model");
 *     ...
 *     gv_range_pop();
 *     gv_mark("epoch 2");
 *
 *     gv_stop(); // record no more calls of this process, until
 *     gv_start();
 *
 * C (99 or later) and C++. Nothing to link with: the functions are looked up once, and do nothing
 * where the program does not run under gpuverify. A range ends with the pop of the same thread.
 * Any thread, also in signal handlers after a first call outside of one.
 *
 * This file may be copied into your program, under gpuverify's licence (MIT).
 */
#ifndef GPUVERIFY_H
#define GPUVERIFY_H

#include <dlfcn.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*gpuverify_function)(void);

static inline void gpuverify_nothing(void)
{
}

/* NULL: RTLD_DEFAULT, which some compilers' settings hide. */
static inline gpuverify_function gpuverify_find(gpuverify_function *known, const char *name)
{
    gpuverify_function found = __atomic_load_n(known, __ATOMIC_ACQUIRE);

    if (!found) {
        *(void **)&found = dlsym((void *)0, name);
        if (!found)
            found = gpuverify_nothing;
        __atomic_store_n(known, found, __ATOMIC_RELEASE);
    }
    return found;
}

static inline void gv_range_push(const char *message)
{
    static gpuverify_function known;
    gpuverify_function found = gpuverify_find(&known, "gv_range_push");

    if (found != gpuverify_nothing)
        ((void (*)(const char *))found)(message);
}

static inline void gv_range_pop(void)
{
    static gpuverify_function known;

    gpuverify_find(&known, "gv_range_pop")();
}

static inline void gv_mark(const char *message)
{
    static gpuverify_function known;
    gpuverify_function found = gpuverify_find(&known, "gv_mark");

    if (found != gpuverify_nothing)
        ((void (*)(const char *))found)(message);
}

static inline void gv_start(void)
{
    static gpuverify_function known;

    gpuverify_find(&known, "gv_start")();
}

static inline void gv_stop(void)
{
    static gpuverify_function known;

    gpuverify_find(&known, "gv_stop")();
}

#ifdef __cplusplus
}
#endif

#endif
