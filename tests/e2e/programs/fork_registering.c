/* A process forks while another of its threads registers the kernels of a large library. */
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFunction(void **binary, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid,
                            int *warp);

static char host_functions[1000];
static void *binary_of_its_own[2];

static void register_some(unsigned rounds)
{
    static char name[] = "kernel";

    while (rounds--)
        for (unsigned i = 0; i < sizeof host_functions; i++)
            __cudaRegisterFunction(binary_of_its_own, &host_functions[i], name, name, -1, NULL,
                                   NULL, NULL, NULL, NULL);
}

static void *register_all_the_time(void *unused)
{
    (void)unused;
    register_some(100);
    return NULL;
}

int main(void)
{
    int status, finished = 0;
    pthread_t thread;

    register_some(1); /* so that no child has to look the call up: that takes the loader's lock */
    if (pthread_create(&thread, NULL, register_all_the_time, NULL))
        return 90;
    for (int i = 0; i < 30; i++) {
        pid_t child = fork();

        if (child == 0) {
            alarm(10); /* a child that spins is one that failed */
            register_some(1);
            _exit(0);
        }
        waitpid(child, &status, 0);
        finished += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    pthread_join(thread, NULL);
    printf("%d children finished\n", finished);
    return 0;
}
