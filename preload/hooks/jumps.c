#include "preload/hooks/jumps.h"

#include "preload/base/clock.h"
#include "preload/base/objects.h"
#include "preload/base/thread.h"
#include "preload/bind/entry_points.h"

#include <stdlib.h>

typedef void (*jump)(void *environment, int value) __attribute__((noreturn));

#define GV_JUMPS(JUMP)                                                                             \
    JUMP(longjmp)                                                                                  \
    JUMP(_longjmp)                                                                                 \
    JUMP(siglongjmp)                                                                               \
    JUMP(__longjmp_chk)

#define GV_JUMP_NUMBER(name) JUMP_##name,
enum { GV_JUMPS(GV_JUMP_NUMBER) JUMP_COUNT };

static void *real_jumps[JUMP_COUNT];

void gv_jumps_find_real(void)
{
#define GV_JUMP_NAME(name) #name,
    static const char *const names[] = {GV_JUMPS(GV_JUMP_NAME)};

    for (int i = 0; i < JUMP_COUNT; i++)
        real_jumps[i] = gv_objects_next((uintptr_t)gv_plt_slots, names[i], NULL);
}

/* The thread's next hooked call ends the one that was left, if it was (preload/hooks/calls.c): a
 * jump inside a callback leaves nothing. */
static void note_jump(void)
{
    struct gv_thread *thread = &gv_thread;

    if (thread->depth)
        thread->jumped_ns = gv_clock_now_ns();
}

__attribute__((noreturn)) static void jump_on(int which, void *environment, int value)
{
    note_jump();
    if (!real_jumps[which]) /* before our constructor */
        gv_jumps_find_real();
    if (real_jumps[which])
        ((jump)real_jumps[which])(environment, value);
    abort(); /* a libc without the function that it was linked with: cannot be */
}

#define GV_JUMP(name)                                                                              \
    __attribute__((visibility("default"), noreturn)) void gv_##name(void *environment,             \
                                                                    int value) __asm__(#name);     \
    void gv_##name(void *environment, int value)                                                   \
    {                                                                                              \
        jump_on(JUMP_##name, environment, value);                                                  \
    }
GV_JUMPS(GV_JUMP)
