/* The advice for stalls, and shortened kernel names. */
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/stalls/advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void expect_names(const char *name, const char *qualified, const char *short_name)
{
    char out[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_qualified(name, out, sizeof(out));
    assert_string_equal(out, qualified);
    gv_kernel_name_short(name, out, sizeof(out));
    assert_string_equal(out, short_name);
}

static void names_lose_what_nobody_says(void **state)
{
    expect_names("spin", "spin", "spin");
    expect_names("void saxpy(int, float const*)", "saxpy", "saxpy");
    expect_names("void at::native::(anonymous namespace)::sum<4, at::Op(int)>(int, f(g))",
                 "at::native::(anonymous namespace)::sum<4, at::Op(int)>", "sum<4, Op>");
    expect_names("void at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda("
                 "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::"
                 "operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >(int)",
                 "at::native::vectorized_elementwise_kernel<4, at::native::tanh_kernel_cuda("
                 "at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::"
                 "operator()() const::{lambda(float)#1}, std::array<char*, 2ul> >",
                 "vectorized_elementwise_kernel<4, tanh_kernel_cuda::{lambda#1}, array<...>>");
    expect_names("__main__::spin[abi:v1][abi:cw51](long long)", "__main__::spin[abi:v1][abi:cw51]",
                 "spin");
    expect_names("a<float const*, b<c>::d>", "a<float const*, b<c>::d>", "a<float const*, d>");
    expect_names("a{b", "a{b", "ab");
    expect_names("(anonymous namespace)::sum<4>(int)", "(anonymous namespace)::sum<4>", "sum<4>");
    expect_names("(anonymous namespace)", "(anonymous namespace)", "(anonymous namespace)");
    expect_names("unbalanced)", "unbalanced)", "unbalanced)");
    expect_names("()", "()", "()");
    expect_names("a::", "a::", "a::");
    expect_names(NULL, "", "");
}

static void names_are_cut_between_characters(void **state)
{
    char out[4];

    gv_kernel_name_short("ab\xe2\x82\xac", out, sizeof(out));
    assert_string_equal(out, "ab");
}

static void expect_in(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in: %s", part, text);
}

static void expect_not_in(const char *text, const char *part)
{
    if (strstr(text, part))
        fail_msg("'%s' is in: %s", part, text);
}

static void code_that_was_loaded_again_is_to_be_kept(void **state)
{
    struct gv_advice_facts facts = {.call = "cuModuleLoadData", .where = "a.c:2"};
    char text[GV_ADVICE_BYTES];

    for (int again = 0; again < 2; again++) {
        facts.again = again;
        gv_advice_write(&facts, GV_CAUSE_MODULE_LOAD, text);
        expect_not_in(text, "same code");
    }
    facts.again = 5;
    facts.again_ns = 1000000000;
    gv_advice_write(&facts, GV_CAUSE_MODULE_LOAD, text);
    expect_in(text,
              " The same code was loaded 5 times, 1.00 s together: load it once, and keep it.");
    gv_advice_write(&facts, GV_CAUSE_JIT, text);
    expect_in(text, "loaded 5 times, 1.00 s together");
}

static void late_kernels_can_be_pasted(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaLaunchKernel",
                                    .kernel = "void first(int)",
                                    .waited_kernel = "void busy(float)",
                                    .drained = 38,
                                    .where = "train.cu:31",
                                    .eager_count = 412,
                                    .eager_ns = 1900000000};
    char text[GV_ADVICE_BYTES];

    gv_advice_remember(&facts, "void first(int)");
    gv_advice_remember(&facts, "void other<4, float>(int)");
    gv_advice_remember(&facts, "void of<f()::{lambda(int)#1}>(int)");
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "Its first use, cudaLaunchKernel at train.cu:31, waited");
    expect_in(text, "waited for busy, the last of 38 operations.");
    expect_in(text, " To paste: cudaFuncGetAttributes(&attributes, first);"
                    " cudaFuncGetAttributes(&attributes, other<4, float>);");
    expect_in(text, "Also loaded late: of<f::{lambda#1}>.");
    expect_in(text,
              "CUDA_MODULE_LOADING=EAGER (adds about 1.90 s at the start, judging by 412 lazy");
    facts.eager_count = 1;
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "(adds about 1.90 s at the start, judging by one lazy load)");
}

static void a_late_kernel_of_nccl_is_loaded_by_a_collective(void **state)
{
    struct gv_advice_facts facts = {.call = "ncclAllReduce",
                                    .kernel = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)",
                                    .where = "train.cu:31"};
    char text[GV_ADVICE_BYTES];

    gv_advice_remember(&facts, facts.kernel);
    gv_advice_remember(&facts, "void first(int)");
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "Run one collective of the same kind");
    assert_null(strstr(text, "cudaFuncGetAttributes"));
    facts.call = "cudaLaunchKernel";
    facts.kernel = "void first(int)";
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "cudaFuncGetAttributes(&attributes, first);");
    assert_null(strstr(text, "attributes, nccl"));
}

static void a_python_program_is_told_its_line(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaLaunchKernel",
                                    .kernel = "void of<f()::{lambda(int)#1}>(int)",
                                    .where = "train.py:31"};
    char text[GV_ADVICE_BYTES];

    gv_advice_remember(&facts, facts.kernel);
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, " The simplest way: run the code at train.py:31 once, on little data.");
    expect_not_in(text, "To paste");
    expect_not_in(text, "Loaded late");
}

static void a_driver_program_gets_driver_calls(void **state)
{
    struct gv_advice_facts facts = {.call = "cuLaunchKernel", .kernel = "second_empty"};
    char text[GV_ADVICE_BYTES];

    gv_advice_remember(&facts, "second_empty");
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "cuLibraryGetKernel(&kernel, library, \"second_empty\");"
                    " cuKernelGetFunction(&function, kernel);");
}

static void many_late_kernels_are_counted(void **state)
{
    struct gv_advice_facts facts = {.call = "cuLaunchKernel", .kernel = "k0"};
    char text[GV_ADVICE_BYTES], name[16];

    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "k%d", i);
        gv_advice_remember(&facts, name);
    }
    gv_advice_write(&facts, GV_CAUSE_LAZY_LOAD, text);
    expect_in(text, "\"k11\"");
    expect_not_in(text, "\"k12\"");
    expect_in(text, " and 8 more were loaded late.");
}

static void a_lock_names_the_call_that_held_it(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaMemcpyAsync",
                                    .where = "a.c:7",
                                    .blocker = "cuModuleLoadData",
                                    .blocker_cause = "module-load",
                                    .blocker_where = "loader.c:12",
                                    .waited_kernel = "spin"};
    char text[GV_ADVICE_BYTES];

    gv_advice_write(&facts, GV_CAUSE_LOCK, text);
    expect_in(text, "Change cuModuleLoadData of another thread at loader.c:12, which had");
    expect_in(text, "cudaMemcpyAsync at a.c:7 is not the problem.");
    expect_in(text, "That call waited for spin.");
}

/* Every cause has advice, and every word of its table a meaning. */
static void every_cause_has_advice(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaFree",
                                    .kernel = "k",
                                    .waited_kernel = "spin",
                                    .where = "a.c:7",
                                    .jit_ns = 5000000,
                                    .arch = 90};
    char text[GV_ADVICE_BYTES];

    for (int cause = 0; cause < GV_CAUSE_COUNT; cause++) {
        gv_advice_write(&facts, (enum gv_cause)cause, text);
        expect_not_in(text, "{");
        if (gv_cause_is_expected((enum gv_cause)cause))
            continue;
        assert_true(strlen(text) > 40);
        if (cause == GV_CAUSE_UNKNOWN || cause == GV_CAUSE_DESCHEDULED)
            continue; /* the program's line is not the reason */
        expect_in(text, "a.c:7");
        if (cause != GV_CAUSE_JIT && cause != GV_CAUSE_LAUNCH_BLOCKING &&
            cause != GV_CAUSE_OTHER_PROCESS && cause != GV_CAUSE_POOL)
            expect_in(text, "spin");
    }
}

static void another_process_is_named_with_what_it_did(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaMalloc",
                                    .where = "a.c:7",
                                    .blocker = "cudaFree",
                                    .blocker_where = "b.c:9",
                                    .other_pid = 42,
                                    .other_name = "train",
                                    .other_did = "call"};
    char text[GV_ADVICE_BYTES];

    gv_advice_write(&facts, GV_CAUSE_OTHER_PROCESS, text);
    expect_in(text, "Process 42 (train) was in cudaFree at b.c:9: cudaMalloc at a.c:7 is not the");
    facts.other_did = "end";
    gv_advice_write(&facts, GV_CAUSE_OTHER_PROCESS, text);
    expect_in(text, "Process 42 (train) ended: ");
    facts = (struct gv_advice_facts){.call = "cudaMalloc", .other_did = "use"};
    gv_advice_write(&facts, GV_CAUSE_OTHER_PROCESS, text);
    expect_in(text, "Another process used the GPU: cudaMalloc is not the problem");
}

/* Each in the advice where it matters, if it has a value that matters. */
static void variables_change_the_advice(void **state)
{
    static const struct {
        enum gv_cause cause;
        enum gv_environment variable;
        const char *value, *other, *part;
    } cases[] = {
        {GV_CAUSE_JIT, GV_ENVIRONMENT_CUDA_CACHE_DISABLE, "=1", "=0",
         " CUDA_CACHE_DISABLE keeps the driver from storing what it compiles: unset it."},
        {GV_CAUSE_QUEUE_FULL, GV_ENVIRONMENT_CUDA_DEVICE_MAX_CONNECTIONS, "=1", "=8",
         "With CUDA_DEVICE_MAX_CONNECTIONS=1,"},
        {GV_CAUSE_FREE, GV_ENVIRONMENT_PYTORCH_NO_CUDA_MEMORY_CACHING, "=1", "=0",
         "PYTORCH_NO_CUDA_MEMORY_CACHING makes PyTorch free memory at once"},
        {GV_CAUSE_LAZY_LOAD, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "=LAZY", "=EAGER",
         "Or start with CUDA_MODULE_LOADING=EAGER instead of LAZY"},
        {GV_CAUSE_MODULE_LOAD, GV_ENVIRONMENT_CUDA_MODULE_LOADING, "=EAGER", "=LAZY",
         "With CUDA_MODULE_LOADING=EAGER, as here, the call waits"},
    };
    char text[GV_ADVICE_BYTES];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gv_advice_facts facts = {.call = "cuLibraryLoadData", .in_library = true};
        gv_advice_write(&facts, cases[i].cause, text);
        expect_not_in(text, cases[i].part);
        strcpy(facts.environment[cases[i].variable], cases[i].other);
        gv_advice_write(&facts, cases[i].cause, text);
        expect_not_in(text, cases[i].part);
        strcpy(facts.environment[cases[i].variable], cases[i].value);
        gv_advice_write(&facts, cases[i].cause, text);
        expect_in(text, cases[i].part);
        facts.in_library = false;
        gv_advice_write(&facts, cases[i].cause, text);
        if (cases[i].cause == GV_CAUSE_FREE)
            expect_not_in(text, cases[i].part);
    }
}

/* The call to make is one that the program can: the driver's, the runtime's or CuPy's. */
static void a_pool_is_told_to_keep_its_memory(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaMallocAsync", .where = "a.c:7"};
    char text[GV_ADVICE_BYTES];

    facts.pool_count = 1;
    gv_advice_write(&facts, GV_CAUSE_POOL, text);
    expect_in(text, "cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes)");
    expect_in(text, "; cudaDeviceGetMemPool gives the device's pool.");
    expect_not_in(text, "allocations");
    facts.call = "cuMemAllocAsync";
    facts.pool_count = 9;
    facts.pool_ns = 108000000;
    gv_advice_write(&facts, GV_CAUSE_POOL, text);
    expect_in(text, "cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &bytes)");
    expect_in(text, "That saves 108 ms in 9 allocations.");
    facts.where = "train.py:12";
    gv_advice_write(&facts, GV_CAUSE_POOL, text);
    expect_in(text, "cupy.cuda.runtime.memPoolSetAttribute");
}

/* The explanation is not advice. */
static void advice_is_more_than_the_reason(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaLaunchKernel"};
    char text[GV_ADVICE_BYTES];

    gv_advice_write(&facts, GV_CAUSE_UNKNOWN, text);
    expect_in(text, "Nothing recorded points to a cause in the program");
    expect_not_in(text, "Nothing recorded explains it");
}

/* Host-only, pinned and pageable memory look alike. */
static void a_copy_whose_memory_was_not_seen_is_said_to_be_so(void **state)
{
    struct gv_advice_facts facts = {.call = "cudaMemcpyAsync", .waited_kernel = "spin"};
    char text[GV_ADVICE_BYTES];

    gv_advice_write(&facts, GV_CAUSE_PAGEABLE_COPY, text);
    expect_not_in(text, "was not seen");
    facts.waited_kernel = NULL;
    facts.presumed = "spin";
    gv_advice_write(&facts, GV_CAUSE_PAGEABLE_COPY, text);
    expect_in(text, "presumably spin. Whether its memory is already pinned is unknown.");
}

/* docs/stalls.md has a row for each cause. */
static void every_cause_is_documented(void **state)
{
    char path[4096], row[64];
    static char text[65536];
    FILE *file;

    snprintf(path, sizeof(path), "%s/docs/stalls.md", getenv("GPUVERIFY_SOURCE"));
    file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    for (int cause = 0; cause < GV_CAUSE_COUNT; cause++) {
        snprintf(row, sizeof(row), "\n| `%s` |", gv_cause_name((enum gv_cause)cause));
        expect_in(text, row);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_lose_what_nobody_says),
        cmocka_unit_test(names_are_cut_between_characters),
        cmocka_unit_test(code_that_was_loaded_again_is_to_be_kept),
        cmocka_unit_test(late_kernels_can_be_pasted),
        cmocka_unit_test(a_late_kernel_of_nccl_is_loaded_by_a_collective),
        cmocka_unit_test(a_python_program_is_told_its_line),
        cmocka_unit_test(a_driver_program_gets_driver_calls),
        cmocka_unit_test(many_late_kernels_are_counted),
        cmocka_unit_test(a_lock_names_the_call_that_held_it),
        cmocka_unit_test(every_cause_has_advice),
        cmocka_unit_test(another_process_is_named_with_what_it_did),
        cmocka_unit_test(variables_change_the_advice),
        cmocka_unit_test(a_pool_is_told_to_keep_its_memory),
        cmocka_unit_test(advice_is_more_than_the_reason),
        cmocka_unit_test(a_copy_whose_memory_was_not_seen_is_said_to_be_so),
        cmocka_unit_test(every_cause_is_documented),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
