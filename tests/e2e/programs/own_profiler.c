/*
 * own_profiler LIBCUPTI [gives-up|signals-first|signals-just-before]: profiles itself, as
 * torch.profiler does. If somebody else has the callbacks, it continues without them, or gives up.
 * It asks for records of kernels. Prints its work, and on stderr what it saw of it. With
 * `signals-first` it has survived a signal before that; with `signals-just-before` after all its
 * work so far.
 */
#include "e2e.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define BUFFERS      64
#define BUFFER_BYTES 65536u
#define KERNELS      10 /* CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL */

static int (*next_record)(uint8_t *, size_t, void *);
static uint8_t buffers[BUFFERS][BUFFER_BYTES] __attribute__((aligned(8)));
static unsigned given, seen;

static void give(uint8_t **buffer, size_t *bytes, size_t *records)
{
    REQUIRE(given < BUFFERS);
    *buffer = buffers[given++];
    *bytes = BUFFER_BYTES;
    *records = 0;
}

static void take(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    void *record = NULL;

    (void)context, (void)stream, (void)bytes;
    if (buffer < buffers[0] || buffer >= buffers[0] + sizeof buffers)
        return; /* not ours */
    while (next_record(buffer, valid, &record) == 0)
        seen++;
}

static void ignore(void *user, int domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

/* Everything in CUPTI is fetched, and recording continues. */
static void outlive_a_signal(void)
{
    sigset_t terms;
    int number;

    sigemptyset(&terms);
    sigaddset(&terms, SIGTERM);
    sigprocmask(SIG_BLOCK, &terms, NULL);
    kill(getpid(), SIGTERM);
    REQUIRE(!sigwait(&terms, &number));
}

int main(int argc, char **argv)
{
    struct e2e_gpu gpu;
    void *library, *subscriber = NULL;

    REQUIRE(argc == 2 || argc == 3);
    e2e_open(&gpu);
    if (argc == 3 && strcmp(argv[2], "signals-first") == 0)
        outlive_a_signal();
    e2e_tick(&gpu, 5);
    OK(cuCtxSynchronize());
    library = dlopen(argv[1], RTLD_NOW);
    REQUIRE(library);
    *(void **)&next_record = dlsym(library, "cuptiActivityGetNextRecord");
    int (*subscribe)(void **, void (*)(void *, int, uint32_t, const void *), void *);
    int (*callbacks)(void *, void *);
    int (*enable)(int), (*disable)(int), (*flush)(uint32_t);
    *(void **)&subscribe = dlsym(library, "cuptiSubscribe");
    *(void **)&callbacks = dlsym(library, "cuptiActivityRegisterCallbacks");
    *(void **)&enable = dlsym(library, "cuptiActivityEnable");
    *(void **)&disable = dlsym(library, "cuptiActivityDisable");
    *(void **)&flush = dlsym(library, "cuptiActivityFlushAll");
    REQUIRE(next_record && subscribe && callbacks && enable && disable && flush);
    int refused = subscribe(&subscriber, ignore, NULL);
    fprintf(stderr, "cuptiSubscribe: %d\n", refused);
    if (refused && argc == 3 && strcmp(argv[2], "gives-up") == 0) {
        e2e_tick(&gpu, 2005);
        OK(cuCtxSynchronize());
        printf("2010 launches\n");
        return 0;
    }
    if (argc == 3 && strcmp(argv[2], "signals-just-before") == 0)
        outlive_a_signal();
    OK(callbacks((void *)give, (void *)take));
    OK(enable(KERNELS));
    e2e_tick(&gpu, 2000);
    OK(cuCtxSynchronize());
    OK(flush(1));
    OK(disable(KERNELS));
    e2e_tick(&gpu, 5);
    OK(cuCtxSynchronize());
    printf("2010 launches\n");
    fprintf(stderr, "records: %u\n", seen);
    return 0;
}
