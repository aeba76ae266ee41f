/* Chains of copied stacks of this program, compared with what glibc says at the same place. */
#include "tests/unit/report/cmocka_all.h"

#include "report/unwind/mapped_file.h"
#include "report/unwind/walk.h"
#include "tests/unit/report/unwind/copied_stack.h"

#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static struct copied_stack copied;

static struct gv_unwinder *open_unwinder(void)
{
    struct gv_unwinder *unwinder = gv_unwinder_open();

    assert_non_null(unwinder);
    copied_stack_add_objects(unwinder, 0, NULL);
    return unwinder;
}

static void print_chain(const struct copied_stack *stack, const struct gv_unwind_chain *chain)
{
    for (size_t i = 0; i < chain->count || i < (size_t)stack->glibc_count; i++)
        fprintf(stderr, "%2zu %16lx %16lx\n", i, i < chain->count ? chain->address[i] : 0,
                i < (size_t)stack->glibc_count ? (uintptr_t)stack->glibc[i] : 0);
}

/* The whole chain is as glibc's. */
static void assert_same(const struct copied_stack *stack, const struct gv_unwind_chain *chain)
{
    if (copied_stack_common(stack, chain) != (size_t)stack->glibc_count)
        print_chain(stack, chain);
    assert_int_equal(chain->count, stack->glibc_count);
    assert_int_equal(copied_stack_common(stack, chain), stack->glibc_count);
    assert_int_equal(chain->end, GV_UNWIND_COMPLETE);
}

static void check_copied(void)
{
    struct gv_unwinder *unwinder = open_unwinder();
    struct gv_unwind_chain chain;

    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    gv_unwinder_close(unwinder);
}

static int compare(const void *left, const void *right)
{
    (void)left, (void)right;
    copied_stack_take(&copied);
    return 0;
}

static void call_back(void)
{
    int numbers[2] = {1, 2};

    qsort(numbers, 2, sizeof(numbers[0]), compare);
}

static void a_callback_has_its_callers(void **state)
{
    (void)state;
    call_back();
    check_copied();
}

__attribute__((noinline)) static void allocate(int depth)
{
    volatile char *more = alloca((size_t)depth * 100 + 16);

    more[0] = 1;
    if (depth > 0)
        allocate(depth - 1);
    else
        call_back();
    more[1] = 1;
}

static void functions_with_variable_frames_do_too(void **state)
{
    (void)state;
    allocate(20);
    check_copied();
}

static void on_signal(int number)
{
    (void)number;
    call_back();
}

static void a_signal_handler_has_what_it_interrupted(void **state)
{
    (void)state;
#ifdef __aarch64__ /* an emulator may have no vdso, whose tables lead out of a handler */
    if (!getauxval(AT_SYSINFO_EHDR))
        skip();
#endif
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
    check_copied();
}

static void on_cleanup(void *context)
{
    (void)context;
    call_back();
}

static void *run_thread(void *context)
{
    /* As C++ does for a destructor: its frame has a personality. */
    int guarded __attribute__((cleanup(on_cleanup))) = 0;

    pthread_cleanup_push(on_cleanup, NULL);
    if (context)
        pthread_exit(&guarded);
    pthread_cleanup_pop(1);
    return NULL;
}

static void a_thread_has_its_start_also_while_it_is_unwound(void **state)
{
    pthread_t thread;

    (void)state;
    for (uintptr_t exits = 0; exits < 2; exits++) {
        assert_int_equal(pthread_create(&thread, NULL, run_thread, (void *)exits), 0);
        pthread_join(thread, NULL);
        check_copied();
    }
}

#ifdef __x86_64__

/* ---- each instruction ---- */

static struct gv_unwinder *stepper; /* NULL: it has ended */
static unsigned steps, steps_wrong;

#define TRAP_FLAG 0x100

static void on_step(int number, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];
    struct gv_unwind_chain chain;

    (void)number, (void)info;
    *flags = stepper ? *flags | TRAP_FLAG : *flags & ~TRAP_FLAG;
    if (!stepper)
        return;
    copied_stack_take(&copied);
    gv_unwinder_walk(stepper, &copied.stack, &chain);
    steps++;
    if (copied_stack_common(&copied, &chain) == (size_t)copied.glibc_count)
        return;
    if (steps_wrong++ == 0)
        print_chain(&copied, &chain);
}

static int compare_text(const void *left, const void *right)
{
    return strcmp(left, right);
}

__attribute__((unused)) static void each_instruction_has_its_callers(void **state)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    char texts[3][16] = {"c", "b", "a"}, text[64];
    struct timespec now;

    (void)state;
    copied_stack_take(&copied); /* the first time needs the loader */
    struct gv_unwinder *unwinder = stepper = open_unwinder();
    sigaction(SIGTRAP, &action, NULL);
    raise(SIGTRAP);
    qsort(texts, 3, sizeof(texts[0]), compare_text);
    snprintf(text, sizeof(text), "%s %d", texts[0], 1);
    allocate(0);
    clock_gettime(CLOCK_MONOTONIC, &now); /* in the vdso */
    stepper = NULL;
    raise(SIGTRAP);
    signal(SIGTRAP, SIG_DFL);
    gv_unwinder_close(unwinder);
    assert_in_range(steps, 1000, 1000000);
    assert_int_equal(steps_wrong, 0);
}

/* ---- code without tables ---- */

int jit_call(int (*callback)(void *), void *context);
__asm__(".pushsection .text\n"
        ".type jit_call, @function\n"
        "jit_call: sub $8, %rsp\n"
        "mov %rdi, %rax\n"
        "mov %rsi, %rdi\n"
        "call *%rax\n"
        "add $8, %rsp\n"
        "ret\n"
        ".size jit_call, . - jit_call\n"
        ".popsection\n");

static int take(void *context)
{
    copied_stack_take(context);
    return 0;
}

static void a_chain_stops_at_code_without_tables(void **state)
{
    struct gv_unwinder *unwinder = open_unwinder();
    struct gv_unwind_chain chain;

    (void)state;
    assert_int_equal(jit_call(take, &copied), 0);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_int_equal(chain.count, 3); /* copied_stack_take(), take(), jit_call() */
    assert_int_equal(copied_stack_common(&copied, &chain), 3);
    assert_int_equal(chain.end, GV_UNWIND_STOPPED);
    gv_unwinder_close(unwinder);
}

#else

static int take(void *context)
{
    copied_stack_take(context);
    return 0;
}

#endif

/* ---- the copy ---- */

static void a_part_of_a_stack_has_a_part_of_the_chain(void **state)
{
    struct gv_unwinder *unwinder = open_unwinder();
    size_t before = 1, whole;
    struct gv_unwind_chain chain;

    (void)state;
    allocate(20);
    whole = copied.stack.size;
    for (copied.stack.size = 0; copied.stack.size < whole; copied.stack.size += 40) {
        gv_unwinder_walk(unwinder, &copied.stack, &chain);
        assert_true(chain.count >= before);
        before = chain.count;
        assert_int_equal(copied_stack_common(&copied, &chain), chain.count);
        assert_int_equal(chain.end, chain.count == (size_t)copied.glibc_count
                                        ? GV_UNWIND_COMPLETE
                                        : GV_UNWIND_TRUNCATED);
    }
    assert_int_equal(before, copied.glibc_count);
    gv_unwinder_close(unwinder);
}

/* Whether the word of the copied stack is a return address. */
static bool returns_at(size_t at, uint64_t *word)
{
    bool returns = false;

    memcpy(word, copied.bytes + at, sizeof(*word));
    for (int i = 1; i < copied.glibc_count; i++)
        returns |= gv_walk_address(*word) - (uintptr_t)copied.glibc[i] <= 1;
    return returns;
}

/* What unwinding needs beside the return addresses is overwritten. */
static void a_chain_that_was_seen_needs_no_unwinding(void **state)
{
    struct gv_unwinder *unwinder = open_unwinder();
    struct gv_unwind_chain chain;
    uint64_t word;

    (void)state;
    allocate(3);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    copied.stack.known = 0;
    for (size_t at = 0; at + 8 <= copied.stack.size; at += 8) {
        if (!returns_at(at, &word))
            memset(copied.bytes + at, 0xff, 8);
    }
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    copied.stack.generation++; /* nothing was removed */
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    copied.stack.size -= 8; /* another depth */
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_true(chain.count < (size_t)copied.glibc_count);
    gv_unwinder_close(unwinder);
}

#ifdef __ARM_FEATURE_PAC_DEFAULT

static void a_signed_return_address_is_that_of_its_caller(void **state)
{
    int is_signed = 0;
    uint64_t word;

    (void)state;
    if (!(getauxval(AT_HWCAP) & HWCAP_PACA))
        skip();
    allocate(20);
    for (size_t at = 0; at + 8 <= copied.stack.size; at += 8) {
        is_signed += returns_at(at, &word) && gv_walk_address(word) != word;
    }
    assert_true(is_signed > 20); /* each level of allocate() has one */
    check_copied();
}

#endif

/* ---- files ---- */

static char folder[] = "/tmp/gpuverify-unwind-XXXXXX";

static void copy_file(const char *from, const char *to, long bytes)
{
    char command[1200];

    snprintf(command, sizeof(command), "head -c %ld '%s' > '%s.new' && mv '%s.new' '%s'", bytes,
             from, to, to, to);
    assert_int_equal(system(command), 0);
}

#define WHOLE (1L << 30)

static const char *source_of(int number)
{
    const char *const paths[] = {getenv("UNWIND_LIBRARY_0"), getenv("UNWIND_LIBRARY_1"),
                                 getenv("UNWIND_LIBRARY_2")};

    assert_non_null(paths[number]);
    return paths[number];
}

/* A copied stack inside a library of this name. Returns its path. */
static void *take_inside(int number, const char *name, char path[256])
{
    int (*call)(int (*)(void *), void *);

    snprintf(path, 256, "%s/%s", folder, name);
    copy_file(source_of(number), path, WHOLE);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    call = (int (*)(int (*)(void *), void *))dlsym(library, "library_call");
    assert_non_null(call);
    assert_int_equal(call(take, &copied), 0);
    return library;
}

#define INSIDE 3 /* frames: copied_stack_take(), take(), library_call() */

/* The chain ends at the library, because its file is something else. */
static void check_stops(struct gv_unwinder *unwinder)
{
    struct gv_unwind_chain chain;

    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_int_equal(copied_stack_common(&copied, &chain), chain.count);
    assert_in_range(chain.count, INSIDE - 1,
                    INSIDE); /* with the frame in it, if no part of it is used */
    assert_int_equal(chain.end, GV_UNWIND_STOPPED);
}

static void a_file_that_is_not_what_was_mapped_is_not_used(void **state)
{
    char path[256];
    struct gv_unwinder *unwinder;
    void *library;

    (void)state;
    library = take_inside(0, "whole.so", path);
    check_copied();
    for (int damage = 0; damage < 6; damage++) {
        unwinder = open_unwinder();
        if (damage == 0)
            copy_file(source_of(1), path, WHOLE);
        else if (damage == 1) /* without a build id */
            copy_file(source_of(2), path, WHOLE);
        else if (damage == 2)
            copy_file(source_of(0), path, 1000);
        else if (damage == 3)
            copy_file(source_of(0), path, 0);
        else
            assert_int_equal(remove(path), 0);
        if (damage == 4)
            assert_int_equal(mkfifo(path, 0600), 0);
        check_stops(unwinder);
        gv_unwinder_close(unwinder);
    }
    dlclose(library);
    library = take_inside(2, "none.so", path);
    check_copied();
    unwinder = open_unwinder();
    copy_file(source_of(0), path, WHOLE);
    check_stops(unwinder);
    gv_unwinder_close(unwinder);
    dlclose(library);
    remove(path);
}

static void without_a_free_descriptor_the_next_walk_is_right(void **state)
{
    struct gv_unwinder *unwinder = open_unwinder();
    struct rlimit limit, none;
    struct gv_unwind_chain chain;

    (void)state;
    call_back();
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    none = (struct rlimit){.rlim_cur = 0, .rlim_max = limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(chain.count, 1);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    gv_unwinder_close(unwinder);
}

static void a_file_that_is_replaced_later_is_not_read(void **state)
{
    struct gv_mapped_pages *pages = gv_mapped_pages_open();
    struct gv_mapped_file *file;
    unsigned char build_id[1], byte;
    char path[256];

    (void)state;
    snprintf(path, sizeof(path), "%s/later.so", folder);
    copy_file(source_of(2), path, WHOLE);
    gv_mapped_pages_begin(pages);
    assert_int_equal(gv_mapped_file_open(pages, path, build_id, 0, &file), 0);
    gv_mapped_pages_rest(pages);
    copy_file(source_of(0), path, WHOLE);
    assert_int_equal(gv_mapped_file_read(file, 0, &byte, 1), 1); /* with the headers */
    assert_int_equal(gv_mapped_file_read(file, file->segment[1].address, &byte, 1), 0);
    assert_int_equal(gv_mapped_pages_failures(pages), 1);
    gv_mapped_file_close(file);
    gv_mapped_pages_close(pages);
    remove(path);
}

/* What of it was read before is still right. */
static void a_file_that_is_truncated_later_does_no_harm(void **state)
{
    struct gv_unwinder *unwinder = gv_unwinder_open();
    struct gv_unwind_chain chain;
    char path[256];
    void *library = take_inside(0, "later.so", path);

    (void)state;
    copied_stack_add_objects(unwinder, 0, NULL);
    dlclose(library);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    copied.stack.size -= 8; /* is not the stack that was seen */
    assert_int_equal(truncate(path, 1), 0);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_int_equal(copied_stack_common(&copied, &chain), chain.count);
    gv_unwinder_close(unwinder);
    remove(path);
}

static void a_library_at_the_address_of_another_is_told_apart_by_generation(void **state)
{
    static struct copied_stack first;
    struct gv_unwinder *unwinder = gv_unwinder_open();
    struct gv_unwind_chain chain;
    const struct gv_unwind_object *object;
    char path[2][256];
    void *library;
    uint64_t base;

    (void)state;
    library = take_inside(0, "first.so", path[0]);
    copied_stack_add_objects(unwinder, 1, NULL);
    first = copied;
    first.stack.bytes = first.bytes;
    first.stack.generation = 1;
    object = gv_unwinder_object(unwinder, 1, (uintptr_t)first.glibc[2]);
    assert_non_null(object);
    assert_string_equal(object->path, path[0]);
    base = object->base;
    dlclose(library);
    gv_unwinder_remove(unwinder, 2, base);
    library = take_inside(1, "second.so", path[1]);
    copied_stack_add_objects(unwinder, 3, NULL);
    copied.stack.generation = 3;
    object = gv_unwinder_object(unwinder, 3, (uintptr_t)copied.glibc[2]);
    assert_non_null(object);
    assert_string_equal(object->path, path[1]);
#ifdef __x86_64__ /* the emulator of another gives each library an address of its own */
    assert_int_equal(object->base, base); /* otherwise this tests little */
#endif
    for (int i = 0; i < 3; i++) {
        gv_unwinder_walk(unwinder, &copied.stack, &chain);
        assert_same(&copied, &chain);
        gv_unwinder_walk(unwinder, &first.stack, &chain);
        assert_same(&first, &chain);
    }
    gv_unwinder_forget(unwinder, 2);
    assert_null(gv_unwinder_object(unwinder, 1, (uintptr_t)first.glibc[2]));
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_same(&copied, &chain);
    gv_unwinder_close(unwinder);
    dlclose(library);
    remove(path[0]);
    remove(path[1]);
}

/* Another thread was listing it when the stack was copied. */
static void a_library_that_is_listed_a_little_later_has_its_frames(void **state)
{
    static const struct {
        uint32_t listed;
        bool found;
    } cases[] = {{6, true}, {7, true}, {8, false}};
    struct gv_unwind_chain chain;
    char path[256];
    void *library = take_inside(0, "late.so", path);

    (void)state;
    copied.stack.generation = 5;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct gv_unwinder *unwinder = gv_unwinder_open();

        copied_stack_add_objects(unwinder, 5, "late.so");
        copied_stack_add_objects(unwinder, cases[i].listed, NULL);
        gv_unwinder_walk(unwinder, &copied.stack, &chain);
        if (cases[i].found)
            assert_same(&copied, &chain);
        else
            assert_in_range(chain.count, INSIDE - 1, INSIDE);
        gv_unwinder_close(unwinder);
    }
    dlclose(library);
    remove(path);
}

static void a_chain_ends_where_a_coroutine_began(void **state)
{
    struct gv_unwinder *unwinder = gv_unwinder_open();
    struct gv_unwind_chain chain;
    char path[256];
    void *library = take_inside(0, "_greenlet.so", path);

    (void)state;
    copied_stack_add_objects(unwinder, 0, NULL);
    gv_unwinder_walk(unwinder, &copied.stack, &chain);
    assert_int_equal(chain.count, INSIDE);
    assert_int_equal(chain.end, GV_UNWIND_STOPPED);
    gv_unwinder_close(unwinder);
    dlclose(library);
    remove(path);
}

/* ---- anything ---- */

static void random_stacks_end(void **state)
{
    static uint64_t words[COPIED_BYTES / 8];
    struct gv_unwinder *unwinder = open_unwinder();
    struct gv_unwind_chain chain;

    (void)state;
    call_back();
    srandom(1);
    for (int round = 0; round < 1000; round++) {
        struct gv_unwind_stack stack = copied.stack;
        stack.size = (size_t)random() % sizeof(words);
        stack.bytes = (const unsigned char *)words;
        for (size_t i = 0; i < stack.size / 8; i++) {
            uint64_t code = (uintptr_t)copied.glibc[random() % copied.glibc_count];
            words[i] = random() % 2   ? code + (uint64_t)(random() % 5) * (uint64_t)(random() % 999)
                       : random() % 2 ? stack.sp + (uint64_t)random() % sizeof(words)
                                      : (uint64_t)random() << 20;
        }
        stack.pc = words[0];
        for (size_t i = 0; i < 16; i++)
            stack.value[i] = words[i + 1];
        stack.known = (uint32_t)random();
        gv_unwinder_walk(unwinder, &stack, &chain);
        assert_in_range(chain.count, 1, GV_UNWIND_FRAMES);
    }
    gv_unwinder_close(unwinder);
}

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    return rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_callback_has_its_callers),
        cmocka_unit_test(functions_with_variable_frames_do_too),
        cmocka_unit_test(a_signal_handler_has_what_it_interrupted),
        cmocka_unit_test(a_thread_has_its_start_also_while_it_is_unwound),
#ifdef __x86_64__
#ifndef __SANITIZE_ADDRESS__ /* which makes too many instructions of it */
        cmocka_unit_test(each_instruction_has_its_callers),
#endif
        cmocka_unit_test(a_chain_stops_at_code_without_tables),
#endif
        cmocka_unit_test(a_part_of_a_stack_has_a_part_of_the_chain),
        cmocka_unit_test(a_chain_that_was_seen_needs_no_unwinding),
#ifdef __ARM_FEATURE_PAC_DEFAULT
        cmocka_unit_test(a_signed_return_address_is_that_of_its_caller),
#endif
        cmocka_unit_test(a_file_that_is_not_what_was_mapped_is_not_used),
        cmocka_unit_test(without_a_free_descriptor_the_next_walk_is_right),
        cmocka_unit_test(a_file_that_is_replaced_later_is_not_read),
        cmocka_unit_test(a_file_that_is_truncated_later_does_no_harm),
        cmocka_unit_test(a_library_at_the_address_of_another_is_told_apart_by_generation),
        cmocka_unit_test(a_library_that_is_listed_a_little_later_has_its_frames),
        cmocka_unit_test(a_chain_ends_where_a_coroutine_began),
        cmocka_unit_test(random_stacks_end),
    };

    if (!gv_unwind_is_there())
        return 77; /* skipped */
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
