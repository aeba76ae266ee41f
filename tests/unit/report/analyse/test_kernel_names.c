/* Shortened kernel names: never the same for two kernels of one trace. */
#include "tests/unit/report/cmocka_all.h"

#include "report/analyse/names/kernel_name.h"
#include "report/analyse/names/runtime_frames.h"

#include <stdlib.h>
#include <string.h>

/* The short name alone does not tell two of them apart. */
#define TANH                                                                                       \
    "tanh_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#"
#define LONG                                                                                       \
    "void at::native::(anonymous namespace)::elementwise_kernel<128, at::native::gpu_impl<at::"    \
    "native::Binary<float, float, float, at::native::Op<float> >, at::native::Caster<12, 7> >("    \
    "at::TensorIteratorBase&, int)::{lambda(int)#1}>(int)"

static void expect_short(const char *name, const char *wanted)
{
    char out[GV_KERNEL_NAME_BYTES];

    gv_kernel_name_short(name, out, sizeof(out));
    assert_string_equal(out, wanted);
}

static void learn(const char *const *names, size_t count)
{
    sqlite3 *trace;
    sqlite3_stmt *add;

    assert_int_equal(sqlite3_open(":memory:", &trace), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(trace, "CREATE TABLE gpu_name (name TEXT); CREATE TABLE kernel (name TEXT)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(trace, "INSERT INTO gpu_name VALUES (?)", -1, &add, NULL),
                     SQLITE_OK);
    for (size_t i = 0; i < count; i++) {
        sqlite3_bind_text(add, 1, names[i], -1, SQLITE_STATIC);
        assert_int_equal(sqlite3_step(add), SQLITE_DONE);
        sqlite3_reset(add);
    }
    sqlite3_finalize(add);
    gv_kernel_names_learn(trace);
    sqlite3_close(trace);
}

static void lambdas_are_named_by_their_function(void **state)
{
    expect_short("_ZN6detail18elementwise_kernelIZ4mainEUlfiE0_Li4EEEvT_Pf",
                 "elementwise_kernel<main::{lambda#2}, 4>");
    expect_short("void k<main::{lambda(int, std::function<void (int)>)#3}>(int)",
                 "k<main::{lambda#3}>");
    expect_short("void k<4, at::native::" TANH "7}::operator()() const::{lambda(float)#1}>(int)",
                 "k<4, tanh_kernel_cuda::{lambda#1}>");
    expect_short("void k<f()::{unnamed type#1}>()", "k<f::{unnamed type#1}>");
    /* The innermost of two, whatever came before it. */
    char out[GV_KERNEL_NAME_BYTES];
    static const char inner[] = "k<f()::{lambda(int)#1}::operator()() const::{lambda()#2}>";
    gv_kernel_name_of(inner, GV_KERNEL_NAME_LAMBDAS, out, sizeof(out));
    assert_string_equal(out, "k<f::{lambda#1}::{lambda#2}>");
    expect_short(inner, "k<f::{lambda#2}>");
    expect_short("a}::{b}", "a}::{b}");
    expect_short("k<{lambda(", "k<lambda");
    expect_short("k<a::{}>", "k<a::{}>");
}

static void wide_names_lose_their_innermost_arguments(void **state)
{
    expect_short(LONG, "elementwise_kernel<128, gpu_impl<Binary<...>, Caster<...>>::{lambda#1}>");
    expect_short(
        "void very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<4, float>(int)",
        "very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<4, float>");
    expect_short(
        "void even_very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<4, "
        "double>(int)",
        "even_very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<...>");
}

static void kernels_of_one_trace_never_look_alike(void **state)
{
    static const char *const names[] = {
        /* folded alike */
        "void even_very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<4, "
        "double>(int)",
        "void even_very_much_longer_than_it_should_be_but_it_is_what_it_is_called_kernel<8, "
        "double>(int)",
        /* in the same one of several lambdas */
        "void k<" TANH "1}::operator()() const::{lambda(float)#1}>(int)",
        "void k<" TANH "2}::operator()() const::{lambda(double)#1}>(int)",
        /* in two namespaces */
        "a::fill(int)",
        "b::fill(int)",
        /* overloaded */
        "sum(int)",
        "sum(float)",
        /* alone */
        "a::copy(int)",
    };
    char shown[sizeof(names) / sizeof(names[0])][GV_KERNEL_NAME_BYTES];

    for (int again = 0; again < 2; again++) /* a second trace with the same ones */
        learn(names, sizeof(names) / sizeof(names[0]));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        gv_kernel_name_short(names[i], shown[i], sizeof(shown[i]));
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(shown[i], shown[j]);
    }
    assert_string_equal(shown[2], "k<tanh_kernel_cuda::{lambda#2}::{lambda#1}::{lambda#1}>");
    assert_string_equal(shown[4], "a::fill");
    assert_string_equal(shown[6], "sum(int)");
    assert_string_equal(shown[8], "copy");
    expect_short("_Z3sumi", "sum(int)"); /* one spelling of both */
}

static void only_what_differs_is_kept(void **state)
{
#define NEST(last) "F<F<P<float>, P<float> >, F<P<float>, F<P<float>, " last " > > >"
    static const char *const names[] = {
        "void n::elementwise_kernel_of_some_length_and_more<n::" NEST("P<float>") ", 4>(int)",
        "void n::elementwise_kernel_of_some_length_and_more<n::" NEST("P<double>") ", 4>(int)",
        "void n::elementwise_kernel_of_some_length_and_more<n::" NEST("P<double>") ", 8>(int)",
    };

    learn(names, 3);
    expect_short(
        names[0],
        "elementwise_kernel_of_some_length_and_more<F<..., F<..., F<..., P<float>>>>, ...>");
    expect_short(
        names[1],
        "elementwise_kernel_of_some_length_and_more<F<..., F<..., F<..., P<double>>>>, ...>");
    expect_short(names[2], "elementwise_kernel_of_some_length_and_more<F<F<...>, F<...>>, 8>");
}

static void names_that_are_all_brackets_fit(void **state)
{
    char *name = malloc(GV_KERNEL_NAME_LONG * 2), out[GV_KERNEL_NAME_BYTES];
    static const char *const parts[] = {"<>", "a::{}", "<", "{lambda()#1}::", ">", "(", "::{"};

    assert_non_null(name);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        name[0] = '\0';
        for (size_t used = 0; used < GV_KERNEL_NAME_LONG; used += strlen(parts[i]))
            strcpy(name + used, parts[i]);
        for (enum gv_kernel_name_part part = 0; part <= GV_KERNEL_NAME_COMPLETE; part++)
            gv_kernel_name_of(name, part, out, sizeof(out));
        gv_kernel_name_short(name, out, sizeof(out));
        gv_function_name_short(name, out, sizeof(out));
    }
    free(name);
}

static void functions_of_the_host_keep_their_namespaces(void **state)
{
    static const struct {
        const char *name, *shown;
    } functions[] = {
        {"Pipeline::stage<long>(long)", "Pipeline::stage<long>"},
        {"Engine::execute(Pack const&, CUstream_st*) const", "Engine::execute"},
        {"at::native::embedding_backward(at::Tensor const&, long, int, bool)::{lambda()#2}::"
         "operator()() const::{lambda()#1}::operator()() const",
         "embedding_backward::{lambda#1}"},
        {"Camera::operator()(int)", "Camera::operator()"},
        {"void app::launch<__nv_dl_wrapper_t<__nv_dl_tag<int (*)(), &main, 1u>> >("
         "__nv_dl_wrapper_t<__nv_dl_tag<int (*)(), &main, 1u>>, float*)",
         "app::launch<__nv_dl_wrapper_t<__nv_dl_tag<int (*)(), &main, 1u>> >"},
    };
    char out[GV_KERNEL_NAME_BYTES];

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        gv_function_name_short(functions[i].name, out, sizeof(out));
        assert_string_equal(out, functions[i].shown);
    }
}

static void frames_of_the_runtime_are_known(void **state)
{
    static const struct {
        struct gv_runtime_frame frame;
        bool own;
    } frames[] = {
        {{"libcudart_static_4d8b33a106dceb3c07a56e26de61f2d53bb62a68", "/app", NULL}, true},
        {{"cudaMalloc", "/app", NULL}, true},
        {{"cudaMalloc", "/app", "/src/my_own.c"}, false},
        {{"cudacheck", "/app", NULL}, false},
        {{"at::cuda::cudaGraph::cudaMalloc(int)", "/lib/libtorch_cuda.so", NULL}, false},
        {{"cudaError cudaMalloc<float>(float**, unsigned long)", "/app", NULL}, true},
        {{"main", "/app", "/usr/local/cuda/include/cuda_runtime.h"}, true},
        {{"__cudaLaunchKernel_helper", "/app",
          "/opt/cuda/targets/x86_64-linux/include/crt/host_runtime.h"},
         true},
        {{"thrust::detail::sort(int)", "/app", NULL}, true},
        {{"mine(thrust::device_vector<int>)", "/app", NULL}, false},
        {{"std::unique_ptr<int, Free>::~unique_ptr()", "/app",
          "/usr/include/c++/12/bits/unique_ptr.h"},
         true},
        {{"__gthread_mutex_lock", "/app",
          "/usr/include/x86_64-linux-gnu/c++/12/bits/gthr-default.h"},
         true},
        {{"cudaMemcpy", "/site-packages/torch/lib/libcudart-d0da41ae.so.11.0", NULL}, true},
        {{NULL, "/usr/lib/libcudart.so.13", NULL}, true},
        {{NULL, "/usr/lib/libcudart_tools.so", NULL}, false},
        {{NULL, NULL, NULL}, false},
    };

    for (size_t i = 0; i < sizeof(frames) / sizeof(frames[0]); i++)
        if (gv_runtime_frame_is(&frames[i].frame) != frames[i].own)
            fail_msg("frame %zu", i);
}

static void a_kernels_function_on_the_host_is_known_by_its_stub(void **state)
{
    static const char lambda[] =
        "__device_stub__ZN6detail18elementwise_kernelIZ4mainEUnvdl0_PFivE4main1_Li4EEEvT_Pf"
        "(__nv_dl_wrapper_t<int>&, float*)";
    assert_true(
        gv_runtime_kernel_is("detail::plain(float*)", "__device_stub__ZN6detail5plainEPf(float*)"));
    assert_true(gv_runtime_kernel_is("c_kernel", "__device_stub__Z8c_kernelPf(float*)"));
    assert_true(gv_runtime_kernel_is(
        "void detail::elementwise_kernel<__nv_dl_wrapper_t<int>, 4>(int)", lambda));
    assert_true(gv_runtime_kernel_is("void d::k<int, 4>(int)",
                                     "void d::__wrapper__device_stub_k<int, 4>(int&)"));
    /* what launches it */
    assert_false(gv_runtime_kernel_is("main", lambda));
    assert_false(gv_runtime_kernel_is("main", "__device_stub__Z8mainloopPf(float*)"));
    assert_false(gv_runtime_kernel_is("detail::plain(float*, int)",
                                      "__device_stub__ZN6detail5plainEPf(float*)"));
    assert_false(gv_runtime_kernel_is("plain", "cudaLaunchKernel"));
    assert_false(gv_runtime_kernel_is("k", "__device_stub_"));
    assert_false(gv_runtime_kernel_is(NULL, NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lambdas_are_named_by_their_function),
        cmocka_unit_test(wide_names_lose_their_innermost_arguments),
        cmocka_unit_test(names_that_are_all_brackets_fit),
        cmocka_unit_test(functions_of_the_host_keep_their_namespaces),
        cmocka_unit_test(frames_of_the_runtime_are_known),
        cmocka_unit_test(a_kernels_function_on_the_host_is_known_by_its_stub),
        cmocka_unit_test(only_what_differs_is_kept),
        cmocka_unit_test(kernels_of_one_trace_never_look_alike), /* last: they stay known */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
