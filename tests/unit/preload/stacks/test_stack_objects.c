/* The list of the process's objects: what is loaded and unloaded, and when. */
#include "preload/stacks/stack_objects.h"
#include "preload/base/objects.h"
#include "tests/unit/preload/recording.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

const struct gv_process_steps gv_process_steps;

static int begin(void **state)
{
    int error = open_recording(state);

    gv_process.pid = (uint32_t)getpid();
    snprintf(gv_process.spool.header->executable, sizeof gv_process.spool.header->executable,
             "/the/program");
    gv_stack_objects_start();
    return error;
}

static struct gv_spool_stacks *stacks(void)
{
    return &gv_process.spool.header->stacks;
}

/* The entry of what lies at an address in this generation; NULL: none. */
static struct gv_spool_object *entry_at(uintptr_t address, uint32_t generation)
{
    struct gv_spool_object *found = NULL;

    for (uint32_t i = 0; i < atomic_load(&stacks()->objects_allocated); i++) {
        struct gv_spool_object *entry = &gv_process.spool.objects[i];

        if (entry->added && entry->added <= generation &&
            (!entry->removed || entry->removed > generation) && address >= entry->low &&
            address < entry->high) {
            assert_null(found); /* at most one */
            found = entry;
        }
    }
    return found;
}

static void *load(const char *name, uintptr_t *address)
{
    char path[1024];
    void *library;

    snprintf(path, sizeof path, "%s/%s", getenv("GV_RACES"), name);
    library = dlopen(path, RTLD_NOW);
    assert_non_null(library);
    *address = (uintptr_t)dlsym(library, "cuInit");
    return library;
}

static void unload(void *library)
{
    gv_stack_objects_begin_close();
    dlclose(library);
    gv_stack_objects_end_close();
}

static void a_relative_path_is_that_of_the_start(void **unused)
{
    char path[PATH_MAX], *here = realpath(".", NULL);
    void *library;

    (void)unused;
    assert_non_null(here);
    assert_int_equal(chdir(getenv("GV_RACES")), 0);
    snprintf(gv_process.spool.header->directory, sizeof gv_process.spool.header->directory, "%s",
             getenv("GV_RACES"));
    library = dlopen("./libplain1.so", RTLD_NOW);
    assert_int_equal(chdir(here), 0);
    free(here);
    assert_non_null(library);
    gv_stack_objects_look();
    snprintf(path, sizeof path, "%s/./libplain1.so", getenv("GV_RACES"));
    assert_string_equal(
        entry_at((uintptr_t)dlsym(library, "cuInit"), gv_stack_objects_generation())->path, path);
    unload(library);
}

/* As libc does for itself: it is noticed when something else comes. */
static void what_went_without_a_word_is_gone_when_something_comes(void **unused)
{
    uintptr_t address;
    void *library = load("libplain1.so", &address), *other;

    (void)unused;
    gv_stack_objects_look();
    assert_non_null(entry_at(address, gv_stack_objects_generation()));
    dlclose(library);
    other = dlopen("libresolv.so.2", RTLD_NOW); /* with another layout, so that it shows */
    assert_non_null(other);
    gv_stack_objects_look();
    assert_null(entry_at(address, gv_stack_objects_generation()));
    unload(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_relative_path_is_that_of_the_start, begin,
                                        close_recording),
        cmocka_unit_test_setup_teardown(what_went_without_a_word_is_gone_when_something_comes,
                                        begin, close_recording),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
