#include "report/look/calls.h"

#include "trace/text.h"

#include <ctype.h>
#include <fnmatch.h>

bool gv_look_is_library(const char *path)
{
    static const char *const libraries[] = {
        "libgpuverify.so*", /* in its place */
        "libcuda.so*",      "libcudart*", "libnccl*",   "libcublas*",
        "libcudnn*",        "libcufft*",  "libcurand*", "libcusolver*",
        "libcusparse*",     "libcufile*", "libnvrtc*",  "libnvJitLink*",
    };
    const char *name = gv_text_base(path);

    for (size_t i = 0; name && i < sizeof(libraries) / sizeof(libraries[0]); i++)
        if (fnmatch(libraries[i], name, 0) == 0)
            return true;
    return false;
}

bool gv_look_is_call(const char *function)
{
    static const char *const words[] = {"cu", "nccl", "nvrtc", "nvJitLink"};

    for (size_t i = 0; function && i < sizeof(words) / sizeof(words[0]); i++)
        if (strncmp(function, words[i], strlen(words[i])) == 0)
            return isalnum((unsigned char)function[strlen(words[i])]);
    return false;
}

const char *gv_look_function(struct gv_look_calls *calls, const struct gv_outside_object *object,
                             uint64_t address)
{
    for (size_t i = 0; i < calls->count; i++)
        if (calls->library[i].base == object->base && calls->library[i].high == object->high)
            return gv_symbols_function(&calls->library[i].symbols, address - 1);
    if (calls->count == GV_LOOK_LIBRARIES)
        return NULL;
    struct gv_look_library *library = &calls->library[calls->count++];
    *library = (struct gv_look_library){.base = object->base, .high = object->high};
    if (gv_symbols_read(calls->pid, object, &library->symbols))
        gv_symbols_free(&library->symbols);
    return gv_symbols_function(&library->symbols, address - 1);
}

void gv_look_calls_free(struct gv_look_calls *calls)
{
    for (size_t i = 0; i < calls->count; i++)
        gv_symbols_free(&calls->library[i].symbols);
    calls->count = 0;
}
