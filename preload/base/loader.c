#include "preload/base/loader.h"

#include "preload/base/await.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#define MOST_TRIES 10 /* of a look-up, while forks follow each other */

static _Atomic int visitors; /* threads */
static _Atomic int forks;    /* in progress */
static _Thread_local int depth __attribute__((tls_model("initial-exec")));
/* This is a forked child, and a thread that does not exist here has the lock of
 * dl_iterate_phdr(). */
static _Atomic bool orphaned;

static void enter_first(void)
{
    for (int tries = 0;; tries++) {
        atomic_fetch_add(&visitors, 1);
        /* A fork that starts after this sees the visitor. */
        if (!atomic_load(&forks) || tries == MOST_TRIES)
            return;
        atomic_fetch_sub(&visitors, 1);
        gv_await(&forks, 0);
    }
}

void gv_loader_enter(void)
{
    if (depth++ == 0)
        enter_first();
}

void gv_loader_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&visitors, 1);
}

/*
 * A signal handler that comes here would wait for a lock that its own thread is about to have: a
 * recursive mutex knows its owner only some instructions after it was taken. Signals raised by an
 * instruction are not blocked: they do not come from here, and would end the program.
 */
static void block_signals(sigset_t *before)
{
    static const int raised[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};
    sigset_t others;

    sigfillset(&others);
    for (size_t i = 0; i < sizeof(raised) / sizeof(raised[0]); i++)
        sigdelset(&others, raised[i]);
    pthread_sigmask(SIG_BLOCK, &others, before);
}

/* ---- without the loader's lock ---- */

/* Such a child loads and unloads nothing, because that takes the lock too. What was half loaded
 * or half unloaded at the fork is left out. */

#define PAGE_BYTES 4096u

/* Asks the Linux kernel, because the memory may not exist. */
static bool is_mapped(uintptr_t address, size_t bytes)
{
    uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
    int saved_errno = errno;
    bool mapped = msync((void *)page, address + bytes - page, MS_ASYNC) == 0;

    errno = saved_errno;
    return mapped;
}

/* The program may be linked to a fixed address, with its ELF header not mapped. */
static bool read_main(struct dl_phdr_info *info)
{
    info->dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
    return info->dlpi_phdr != NULL;
}

/* For a library that starts with its ELF header at its load address: all that today's linkers
 * make. */
static bool read_library(const struct link_map *map, struct dl_phdr_info *info)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
    size_t bytes;

    if (!map->l_addr || !map->l_ld || !is_mapped(map->l_addr, sizeof *header) ||
        !is_mapped((uintptr_t)map->l_ld, sizeof *map->l_ld) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    bytes = (size_t)header->e_phnum * sizeof(ElfW(Phdr));
    if (header->e_phentsize != sizeof(ElfW(Phdr)) ||
        !is_mapped(map->l_addr + header->e_phoff, bytes))
        return false;
    info->dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff);
    info->dlpi_phnum = header->e_phnum;
    return true;
}

static int visit_list(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                      void *context)
{
    int result = 0;

    for (const struct link_map *map = _r_debug.r_map; map && !result; map = map->l_next) {
        struct dl_phdr_info info = {.dlpi_addr = map->l_addr, .dlpi_name = map->l_name};

        if (map == _r_debug.r_map ? read_main(&info) : read_library(map, &info))
            result = visit(&info, sizeof info, context);
    }
    return result;
}

/* ---- with the loader's lock ---- */

int gv_loader_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                    void *context)
{
    sigset_t before;
    int result;

    if (atomic_load_explicit(&orphaned, memory_order_relaxed))
        return visit_list(visit, context);
    block_signals(&before);
    gv_loader_enter();
    result = dl_iterate_phdr(visit, context);
    gv_loader_leave();
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return result;
}

void gv_loader_hold_visits(void)
{
    atomic_fetch_add(&forks, 1);
    gv_await(&visitors, depth > 0); /* a handler may have interrupted a visit to fork */
}

void gv_loader_release_visits(void)
{
    atomic_fetch_sub(&forks, 1);
}

void gv_loader_start_over(bool is_orphaned)
{
    atomic_store(&visitors, depth > 0);
    atomic_store(&forks, 0);
    atomic_store(&orphaned, is_orphaned);
}
