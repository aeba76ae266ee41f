/*
 * The libc functions that we wrap, without us: the next definition, which may be another preloaded
 * library's.
 */
#ifndef GV_BIND_LIBC_CALLS_H
#define GV_BIND_LIBC_CALLS_H

#define GV_LIBC_CALLS(CALL)                                                                        \
    CALL(longjmp)                                                                                  \
    CALL(_longjmp)                                                                                 \
    CALL(siglongjmp)                                                                               \
    CALL(__longjmp_chk)                                                                            \
    CALL(kill)                                                                                     \
    CALL(raise)                                                                                    \
    CALL(abort)                                                                                    \
    CALL(__assert_fail)                                                                            \
    CALL(_exit)                                                                                    \
    CALL(_Exit)                                                                                    \
    CALL(dlclose)

#define GV_LIBC_NUMBER(name) GV_LIBC_##name,
enum gv_libc_call { GV_LIBC_CALLS(GV_LIBC_NUMBER) GV_LIBC_COUNT };
#undef GV_LIBC_NUMBER

/* Looks all of them up. From the constructor, because they may be called where only system calls
 * are safe. */
void gv_libc_calls_find(void);

/* NULL: this libc lacks the function. Any thread, also before our constructor. */
void *gv_libc_call(enum gv_libc_call which);

#endif
