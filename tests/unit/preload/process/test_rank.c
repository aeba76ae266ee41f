/* Which rank of a job a process is, from the environment that its launcher gave it. */
#include "preload/process/rank.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static struct gv_rank read_from(char *const *environment)
{
    struct gv_rank rank;

    environ = (char **)(uintptr_t)environment;
    gv_process_rank_read(&rank);
    return rank;
}
#define READ(...) read_from((char *const[]){__VA_ARGS__, NULL})

static void assert_rank(struct gv_rank rank, int number, int local, int size, const char *job)
{
    assert_int_equal(rank.rank, number);
    assert_int_equal(rank.local_rank, local);
    assert_int_equal(rank.world_size, size);
    assert_string_equal(rank.job, job);
}

static void each_launcher_is_understood(void **state)
{
    (void)state;
    assert_rank(READ("RANK=3", "LOCAL_RANK=1", "WORLD_SIZE=8", "TORCHELASTIC_RUN_ID=train"), 3, 1,
                8, "train");
    assert_rank(READ("RANK=3", "WORLD_SIZE=8", "RAY_JOB_ID=01000000"), 3, -1, 8, "01000000");
    assert_rank(READ("OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_LOCAL_RANK=0",
                     "OMPI_COMM_WORLD_SIZE=2", "PMIX_NAMESPACE=77@1"),
                0, 0, 2, "77@1");
    assert_rank(READ("PMI_RANK=5", "PMI_SIZE=6", "MPI_LOCALRANKID=2"), 5, 2, 6, "");
    assert_rank(READ("SLURM_PROCID=9", "SLURM_LOCALID=1", "SLURM_NTASKS=16", "SLURM_JOB_ID=4711"),
                9, 1, 16, "4711");
    assert_rank(READ("JAX_PROCESS_ID=1", "JAX_PROCESS_COUNT=2"), 1, -1, 2, "");
}

static void the_innermost_launcher_counts_and_the_scheduler_names_the_job(void **state)
{
    (void)state;
    assert_rank(READ("SLURM_PROCID=0", "SLURM_NTASKS=2", "SLURM_JOB_ID=4711", "RANK=11",
                     "LOCAL_RANK=3", "WORLD_SIZE=16", "TORCHELASTIC_RUN_ID=none"),
                11, 3, 16, "4711");
    assert_string_equal(READ("SLURMD_NODENAME=gpu07").host, "gpu07");
}

static void what_is_no_rank_is_unknown(void **state)
{
    (void)state;
    assert_rank(READ("HOME=/"), -1, -1, -1, "");
    assert_rank(READ("RANK=3"), -1, -1, -1, "");
    assert_rank(READ("RANK=admiral", "WORLD_SIZE=8"), -1, -1, -1, "");
    assert_rank(READ("RANK=8", "WORLD_SIZE=8"), -1, -1, -1, "");
    assert_rank(READ("RANK=99999999999", "WORLD_SIZE=8"), -1, -1, -1, "");
    assert_rank(READ("RANK=", "WORLD_SIZE="), -1, -1, -1, "");
    assert_string_not_equal(READ("HOME=/").host, "");
}

/* As while another thread changes it: its array was freed, or a text. */
static void what_is_gone_is_not_read(void **state)
{
    size_t page = (size_t)getpagesize();
    char *two = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char **last = (char **)(void *)(two + page) - 3;

    (void)state;
    assert_ptr_not_equal(two, MAP_FAILED);
    assert_int_equal(munmap(two + page, page), 0);
    last[0] = two + page; /* nothing is there */
    last[1] = strcpy(two, "SLURM_JOB_ID=4711");
    last[2] = strcpy(two + 100, "SLURMD_NODENAME=gpu07");
    struct gv_rank rank = read_from(last);
    READ("HOME=/"); /* what follows may look for variables */
    munmap(two, page);
    assert_string_equal(rank.job, "4711");
    assert_string_equal(rank.host, "gpu07");
}

static void a_long_value_is_cut(void **state)
{
    char job[4096] = "SLURM_JOB_ID=";

    (void)state;
    memset(job + strlen(job), 'j', sizeof job - strlen(job) - 1);
    job[sizeof job - 1] = 0;
    assert_int_equal(strlen(READ(job).job), GV_RANK_TEXT_BYTES - 1);
}

static void a_container_is_known_by_its_id(void **state)
{
    const char *const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    char text[256], out[GV_RANK_TEXT_BYTES] = "";

    (void)state;
    strcpy(text, "12:pids:/docker/");
    assert_true(gv_process_rank_container_id(strcat(strcat(text, id), "\n"), out));
    assert_string_equal(out, "0123456789ab");
    assert_false(gv_process_rank_container_id("0::/user.slice/user-1000.slice\n", out));
    strcpy(text, id);
    assert_false(gv_process_rank_container_id(strcat(text, "0"), out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_launcher_is_understood),
        cmocka_unit_test(the_innermost_launcher_counts_and_the_scheduler_names_the_job),
        cmocka_unit_test(what_is_no_rank_is_unknown),
        cmocka_unit_test(what_is_gone_is_not_read),
        cmocka_unit_test(a_long_value_is_cut),
        cmocka_unit_test(a_container_is_known_by_its_id),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
