/* no_memory [BEFORE [AFTER [heap]]]: uses up all memory once CUDA is set up and all threads rest,
 * or all but what is left of the heap. It launches that many kernels before and after, or 3. */
#include "e2e.h"

#include <dirent.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define RESTED_LOOKS 5 /* in a row */
#define LOOK_US      20000

static struct e2e_gpu gpu;

static bool is_asleep(const char *thread)
{
    char path[300], text[256];
    const char *state;
    size_t bytes;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%s/stat", thread);
    file = fopen(path, "r");
    REQUIRE(file);
    bytes = fread(text, 1, sizeof(text) - 1, file);
    fclose(file);
    text[bytes] = '\0';
    state = strrchr(text, ')');
    return state && state[1] && state[2] == 'S';
}

static bool others_are_asleep(void)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    bool asleep = true;

    REQUIRE(tasks);
    while ((task = readdir(tasks)))
        if (task->d_name[0] != '.' && atoi(task->d_name) != (int)getpid())
            asleep &= is_asleep(task->d_name);
    closedir(tasks);
    return asleep;
}

/* Small pieces remain, as a heap always has them. */
static void use_up_heap(void)
{
    void *volatile piece;

    for (size_t bytes = 1u << 20; bytes >= 1024; bytes /= 2)
        do
            piece = malloc(bytes);
        while (piece);
}

int main(int argc, char **argv)
{
    const struct rlimit limit = {1 << 20, 1 << 20};
    int before = argc > 1 ? atoi(argv[1]) : 3, after = argc > 2 ? atoi(argv[2]) : 3;

    e2e_open(&gpu);
    e2e_tick(&gpu, before);
    OK(cuCtxSynchronize());
    for (int rested = 0; rested < RESTED_LOOKS; usleep(LOOK_US))
        rested = others_are_asleep() ? rested + 1 : 0;
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    if (argc <= 3)
        use_up_heap();
    e2e_tick(&gpu, after);
    OK(cuCtxSynchronize());
    puts("done");
    return 0;
}
