#include "report/collect/running_stack.h"

#include "trace/futex.h"
#include "trace/proc_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)

typedef struct user_regs_struct machine_registers;

/* By DWARF's number. */
static const size_t register_at[] = {
    offsetof(machine_registers, rax), offsetof(machine_registers, rdx),
    offsetof(machine_registers, rcx), offsetof(machine_registers, rbx),
    offsetof(machine_registers, rsi), offsetof(machine_registers, rdi),
    offsetof(machine_registers, rbp), offsetof(machine_registers, rsp),
    offsetof(machine_registers, r8),  offsetof(machine_registers, r9),
    offsetof(machine_registers, r10), offsetof(machine_registers, r11),
    offsetof(machine_registers, r12), offsetof(machine_registers, r13),
    offsetof(machine_registers, r14), offsetof(machine_registers, r15),
};
#define REGISTER_PC offsetof(machine_registers, rip)
#define REGISTER_SP offsetof(machine_registers, rsp)

static bool is_in_system_call(uint32_t tid, const machine_registers *registers)
{
    (void)tid;
    return (long long)registers->orig_rax >= 0;
}

/* They end with EINTR if their thread is stopped, and have done nothing then. All others go on by
 * themselves, or may not be made twice: of close(), the file is closed. */
static bool may_begin_again(long long call)
{
    static const short calls[] = {
        SYS_epoll_wait,    SYS_epoll_pwait,    SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait,
        SYS_io_getevents,  SYS_io_uring_enter, SYS_read,    SYS_readv,      SYS_write,
        SYS_writev,        SYS_recvfrom,       SYS_recvmsg, SYS_recvmmsg,   SYS_sendto,
        SYS_sendmsg,       SYS_accept,         SYS_accept4, SYS_connect,
#ifdef SYS_epoll_pwait2
        SYS_epoll_pwait2,
#endif
#ifdef SYS_io_pgetevents
        SYS_io_pgetevents,
#endif
    };

    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
        if (calls[i] == call)
            return true;
    return false;
}

/* What the Linux kernel's calls return to begin again, unless a handler of a signal runs: the same
 * in all versions, not in a header. */
#define RESTART_NO_HANDLER 514L

static void begin_call_again(uint32_t tid)
{
    machine_registers registers;
    struct iovec space = {&registers, sizeof(registers)};

    if (ptrace(PTRACE_GETREGSET, (pid_t)tid, NT_PRSTATUS, &space) == 0 &&
        space.iov_len == sizeof(registers) && (long long)registers.rax == -EINTR &&
        may_begin_again((long long)registers.orig_rax))
        (void)ptrace(PTRACE_POKEUSER, (pid_t)tid, offsetof(struct user, regs.rax),
                     (void *)-RESTART_NO_HANDLER);
}

#elif defined(__aarch64__)

typedef struct user_regs_struct machine_registers;

#define AT(number) offsetof(machine_registers, regs[number])
static const size_t register_at[] = {
    AT(0),  AT(1),  AT(2),  AT(3),  AT(4),  AT(5),  AT(6),  AT(7),  AT(8),  AT(9),  AT(10),
    AT(11), AT(12), AT(13), AT(14), AT(15), AT(16), AT(17), AT(18), AT(19), AT(20), AT(21),
    AT(22), AT(23), AT(24), AT(25), AT(26), AT(27), AT(28), AT(29), AT(30),
};
#undef AT
#define REGISTER_PC offsetof(machine_registers, pc)
#define REGISTER_SP offsetof(machine_registers, sp)

static bool is_in_system_call(uint32_t tid, const machine_registers *registers)
{
    int number = 0;
    struct iovec space = {&number, sizeof(number)};

    (void)registers;
    return ptrace(PTRACE_GETREGSET, (pid_t)tid, NT_ARM_SYSTEM_CALL, &space) < 0 || number >= 0;
}

/* The Linux kernel has forgotten the call's first argument at the stop. */
static void begin_call_again(uint32_t tid)
{
    (void)tid;
}

#endif

/* ---- before the stop ---- */

static int may_stop(uint32_t pid, uint32_t tid)
{
    char text[4096];
    int length = gv_proc_read(text, sizeof(text), "/proc/%u/task/%u/status", pid, tid);
    const char *tracer = strstr(text, "\nTracerPid:");

    if (tracer && strtoul(tracer + strlen("\nTracerPid:"), NULL, 10) != 0)
        return -EBUSY;
    if (length > 0)
        length = gv_proc_read(text, sizeof(text), "/proc/%u/task/%u/syscall", pid, tid);
    if (length <= 0)
        return length == -EPERM || length == -EACCES ? -EPERM : -EAGAIN;
    /* -1: blocked, but not in one */
    return strncmp(text, "running", 7) == 0 || strncmp(text, "-1 ", 3) == 0 ? 0 : -EAGAIN;
}

/* ---- the stop ---- */

#define STOP_MOST_NS 5000000
#define STOP_LOOK_NS 20000
/* Who sleeps on a machine with much to do gets no CPU for some milliseconds, for which the thread
 * would be stopped. */
#define STOP_SPIN_NS 300000

/* It was asked to stop, and has not yet, or was killed while it was stopped; 0: none. */
static uint32_t late_tid;

/* Whether it has stopped or ended. */
static bool has_stopped(uint32_t tid, int *status)
{
    pid_t changed = waitpid((pid_t)tid, status, __WALL | WNOHANG);

    if (changed < 0 && errno != EINTR)
        *status = 0; /* it is not ours any more */
    return changed == (pid_t)tid || (changed < 0 && errno != EINTR);
}

/* If it was a signal that stopped it, it gets that now. If it was killed meanwhile, its parent
 * learns that only after we have: the next has_stopped() does. */
static void let_go(uint32_t tid, int status)
{
    bool by_signal = status >> 16 == 0;

    late_tid = 0;
    if (WIFSTOPPED(status))
        begin_call_again(tid);
    if (WIFSTOPPED(status) && ptrace(PTRACE_DETACH, (pid_t)tid, NULL,
                                     (void *)(intptr_t)(by_signal ? WSTOPSIG(status) : 0)) < 0)
        late_tid = tid;
}

static int stop(uint32_t tid, int *status)
{
    uint64_t start_ns = gv_monotonic_ns(), now_ns;

    if (ptrace(PTRACE_SEIZE, (pid_t)tid, NULL, NULL) < 0)
        return errno == EPERM ? -EPERM : -EAGAIN;
    late_tid = tid;
    if (ptrace(PTRACE_INTERRUPT, (pid_t)tid, NULL, NULL) < 0)
        return -EAGAIN;
    while (!has_stopped(tid, status)) {
        now_ns = gv_monotonic_ns();
        if (now_ns > start_ns + STOP_MOST_NS)
            return -EAGAIN;
        if (now_ns > start_ns + STOP_SPIN_NS)
            gv_pause_ns(STOP_LOOK_NS);
    }
    late_tid = 0;
    return WIFSTOPPED(*status) ? 0 : -EAGAIN;
}

bool gv_running_stack_let_go(void)
{
    int status;

    if (late_tid && has_stopped(late_tid, &status))
        let_go(late_tid, status);
    return late_tid != 0;
}

/* ---- the copy ---- */

/* Up to the end of the mapping: one piece per page, because a piece is copied whole or not. */
#define PAGE   4096u
#define PIECES (GV_RUNNING_STACK_BYTES / PAGE)

int gv_running_stack_copy(uint32_t tid, struct gv_running_stack *taken)
{
    uint64_t sp = taken->stack.sp;
    struct iovec to = {taken->bytes, GV_RUNNING_STACK_BYTES}, from[PIECES + 1];
    size_t pieces = 0, done = 0;

    while (done < GV_RUNNING_STACK_BYTES) {
        size_t piece = PAGE - (sp + done) % PAGE;
        if (piece > GV_RUNNING_STACK_BYTES - done)
            piece = GV_RUNNING_STACK_BYTES - done;
        from[pieces++] = (struct iovec){(void *)(uintptr_t)(sp + done), piece};
        done += piece;
    }
    ssize_t got = process_vm_readv((pid_t)tid, &to, 1, from, pieces, 0);
    taken->stack.bytes = taken->bytes;
    taken->stack.size = got > 0 ? (size_t)got : 0;
    return got > 0 ? 0 : -EAGAIN;
}

static int copy(uint32_t tid, struct gv_running_stack *taken)
{
    machine_registers registers;
    struct iovec space = {&registers, sizeof(registers)};
    struct gv_unwind_stack *stack = &taken->stack;

    if (ptrace(PTRACE_GETREGSET, (pid_t)tid, NT_PRSTATUS, &space) < 0 ||
        space.iov_len != sizeof(registers) || is_in_system_call(tid, &registers))
        return -EAGAIN;
    memset(stack, 0, sizeof(*stack));
    memcpy(&stack->pc, (const char *)&registers + REGISTER_PC, sizeof(stack->pc));
    memcpy(&stack->sp, (const char *)&registers + REGISTER_SP, sizeof(stack->sp));
    for (size_t i = 0; i < sizeof(register_at) / sizeof(register_at[0]); i++) {
        memcpy(&stack->value[i], (const char *)&registers + register_at[i], sizeof(uint64_t));
        stack->known |= 1u << i;
    }
    return gv_running_stack_copy(tid, taken);
}

int gv_running_stack_try(void)
{
    int status = 0, error;
    pid_t program = fork();

    if (program < 0)
        return -errno;
    if (program == 0) { /* as preload/idle does */
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        raise(SIGSTOP);
    }
    if (program == 0)
        for (;;)
            pause();
    while (waitpid(program, NULL, WUNTRACED) < 0 && errno == EINTR)
        continue;
    pid_t collector = fork();
    if (collector == 0)
        _exit(ptrace(PTRACE_SEIZE, program, NULL, NULL) < 0 ? errno : 0);
    error = collector < 0 ? -errno : 0;
    while (!error && waitpid(collector, &status, 0) < 0 && errno == EINTR)
        continue;
    kill(program, SIGKILL);
    while (waitpid(program, NULL, 0) < 0 && errno == EINTR)
        continue;
    return error ? error : WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM;
}

/* A signal that ends us while the thread is stopped, such as that of Ctrl-C, waits. */
int gv_running_stack_take(uint32_t pid, uint32_t tid, struct gv_running_stack *taken)
{
    int status, error = gv_running_stack_let_go() ? -EAGAIN : may_stop(pid, tid);
    sigset_t all, before;

    if (error)
        return error;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = stop(tid, &status);
    if (!error) {
        error = copy(tid, taken);
        if (!error && taken->while_stopped)
            taken->while_stopped(taken->context);
        let_go(tid, status);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}
