/*
 * NVTX's functions. If another tool is there too, each of ours calls the tool's first and returns
 * what that returned: handles and ids are then the tool's. Without one, a handle is the number of
 * its text.
 */
#include "preload/ranges/nvtx.h"

#include "preload/base/log.h"
#include "preload/base/objects.h"
#include "preload/base/own_process.h"
#include "preload/ranges/ranges.h"
#include "preload/ranges/texts.h"
#include "trace/nvtx.h"
#include "trace/text.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What nvtxRangePush() and nvtxRangePop() return without a tool: they do not count levels. */
#define NOT_COUNTED (-2)
#define SLOTS       32 /* more than a group has */

/* A wide text is cut after this many bytes of UTF-8: the buffer is on the program's stack. */
#define WIDE_BYTES 1024

typedef uint64_t range_id;
typedef struct gv_nvtx_event nvtx_event;

/* The tool's functions. One tool serves all modules. */
static gv_nvtx_function *_Atomic tools[GV_NVTX_GROUPS][SLOTS];

static inline gv_nvtx_function *tool_of(enum gv_nvtx_group group, int slot)
{
    return atomic_load_explicit(&tools[group][slot], memory_order_acquire);
}

/* Their numbers: NvtxCallbackIdCore, NvtxCallbackIdCore2. */
enum number {
#define TELL(group, number, name, ...) AT_##name = (number),
#define ASK(group, number, name, ...)  AT_##name = (number),
#include "preload/ranges/nvtx.def"
#undef TELL
#undef ASK
};

/* ---- texts and handles ---- */

/* The text's number; a text with none here stays unknown where only a number can be kept. */
static uint32_t number_of(const char *text)
{
    return gv_texts_number(text, gv_spool_text_bytes(text));
}

static size_t put_character(char *out, uint32_t character)
{
    if (character < 0x80) {
        out[0] = (char)character;
        return 1;
    }
    if (character < 0x800) {
        out[0] = (char)(0xc0 | character >> 6);
        out[1] = (char)(0x80 | (character & 0x3f));
        return 2;
    }
    if (character < 0x10000) {
        out[0] = (char)(0xe0 | character >> 12);
        out[1] = (char)(0x80 | (character >> 6 & 0x3f));
        out[2] = (char)(0x80 | (character & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (character >> 18 & 7));
    out[1] = (char)(0x80 | (character >> 12 & 0x3f));
    out[2] = (char)(0x80 | (character >> 6 & 0x3f));
    out[3] = (char)(0x80 | (character & 0x3f));
    return 4;
}

/* Surrogates and the like are made valid by the reader. */
static void narrow(char out[WIDE_BYTES], const wchar_t *wide)
{
    static const char cut[] = "...";
    size_t used = 0;

    for (; wide && *wide && used + 4 + sizeof cut <= WIDE_BYTES; wide++)
        used += put_character(out + used, (uint32_t)*wide);
    out[used] = '\0';
    if (wide && *wide)
        memcpy(out + used, cut, sizeof cut);
}

__attribute__((noinline)) static uint32_t number_of_wide(const wchar_t *wide)
{
    char text[WIDE_BYTES];

    narrow(text, wide);
    return number_of(text);
}

/* The handle of a domain whose ranges are not recorded, and what a tool's stands for. No number of
 * a text is as large. */
#define NOT_WANTED UINT32_MAX

static uint32_t domain_of(uint64_t handle)
{
    if (__builtin_expect(tool_of(GV_NVTX_CORE2, AT_create_a) != NULL, 0))
        return handle ? gv_texts_bound(GV_TEXT_OF_DOMAIN, handle, 0) : 0;
    return gv_texts_know(handle) || handle == NOT_WANTED ? (uint32_t)handle : 0;
}

static uint32_t string_of(uint64_t handle)
{
    if (__builtin_expect(tool_of(GV_NVTX_CORE2, AT_register_a) != NULL, 0))
        return handle ? gv_texts_bound(GV_TEXT_OF_STRING, handle, 0) : 0;
    return gv_texts_know(handle) ? (uint32_t)handle : 0;
}

/* ---- ranges and marks ---- */

static void say(enum gv_range_kind kind, const struct gv_range *range, range_id id)
{
    if (kind == GV_RANGE_PUSH)
        gv_ranges_push(range);
    else if (kind == GV_RANGE_START)
        gv_ranges_start(range, id);
    else
        gv_ranges_mark(range);
}

__attribute__((noinline)) static void say_wide(enum gv_range_kind kind, struct gv_range *range,
                                               range_id id, const wchar_t *wide)
{
    char text[WIDE_BYTES];

    narrow(text, wide);
    range->text = text;
    say(kind, range, id);
}

static void say_event(enum gv_range_kind kind, uint32_t domain, const nvtx_event *event,
                      range_id id)
{
    struct gv_range range = {.domain = domain};

    if (domain == NOT_WANTED)
        return;
    if (event && event->bytes >= sizeof *event) {
        range.category = event->category;
        if (event->category)
            range.category_name = gv_texts_bound(GV_TEXT_OF_CATEGORY, domain, event->category);
        range.has_color = event->color_type == GV_NVTX_COLOR_ARGB;
        range.color = event->color;
        if (event->payload_type > 0 && event->payload_type <= GV_RANGE_PAYLOAD_FLOAT) {
            range.payload_type = (uint8_t)event->payload_type;
            range.payload = event->payload;
        }
        if (event->message_type == GV_NVTX_MESSAGE_TEXT)
            range.text = event->message;
        else if (event->message_type == GV_NVTX_MESSAGE_REGISTERED)
            range.registered = string_of((uintptr_t)event->message);
        if (event->message_type == GV_NVTX_MESSAGE_WIDE) {
            say_wide(kind, &range, id, event->message);
            return;
        }
    }
    say(kind, &range, id);
}

static void say_text(enum gv_range_kind kind, const char *text, range_id id)
{
    const struct gv_range range = {.text = text};

    say(kind, &range, id);
}

/* What the program gets for a text: the tool's handle, or the number. */
static uint64_t handle_of(enum gv_text_key key, gv_nvtx_function *tool, uint64_t handle,
                          uint32_t number)
{
    if (!tool)
        return number;
    if (handle)
        gv_texts_bind(key, handle, 0, number);
    return handle;
}

static void say_pop(uint32_t domain)
{
    if (domain != NOT_WANTED)
        gv_ranges_pop(domain);
}

static void say_end(uint32_t domain, range_id id)
{
    if (domain != NOT_WANTED)
        gv_ranges_end(id);
}

static const struct {
    const char *name;
    enum { SHOWN, EACH, ASKS } how;
} library_domains[] = {
#define GV_LIBRARY_DOMAIN(name, how) {name, how},
#include "trace/library_domains.def"
#undef GV_LIBRARY_DOMAIN
};

static uint64_t domain_handle(gv_nvtx_function *tool, uint64_t handle, const char *name)
{
    int how = SHOWN;

    for (size_t i = 0; name && i < sizeof library_domains / sizeof library_domains[0]; i++)
        if (strcmp(name, library_domains[i].name) == 0)
            how = library_domains[i].how;
    if (gv_process.settings.ranges == GV_RANGES_ALL)
        how = SHOWN;
    if (how == ASKS && !tool)
        return 0;
    return handle_of(GV_TEXT_OF_DOMAIN, tool, handle, how == SHOWN ? number_of(name) : NOT_WANTED);
}

/* ---- the functions ---- */

#define TELL(group, number, name, parameters, arguments, ...)                                      \
    static void name parameters                                                                    \
    {                                                                                              \
        gv_nvtx_function *tool = tool_of(GV_NVTX_##group, number);                                 \
        if (__builtin_expect(tool != NULL, 0))                                                     \
            ((void(*) parameters)tool) arguments;                                                  \
        __VA_ARGS__;                                                                               \
    }
#define ASK(group, number, name, type, otherwise, parameters, arguments, ...)                      \
    static type name parameters                                                                    \
    {                                                                                              \
        gv_nvtx_function *tool = tool_of(GV_NVTX_##group, number);                                 \
        type result =                                                                              \
            __builtin_expect(tool != NULL, 0) ? ((type(*) parameters)tool)arguments : (otherwise); \
        __VA_ARGS__;                                                                               \
        return result;                                                                             \
    }
#include "preload/ranges/nvtx.def"
#undef TELL
#undef ASK

static gv_nvtx_function *const ours[GV_NVTX_GROUPS][SLOTS] = {
#define TELL(group, number, name, ...) [GV_NVTX_##group][number] = (gv_nvtx_function *)(name),
#define ASK(group, number, name, ...)  [GV_NVTX_##group][number] = (gv_nvtx_function *)(name),
#include "preload/ranges/nvtx.def"
#undef TELL
#undef ASK
};

/* ---- attaching a module ---- */

typedef void each_slot(gv_nvtx_function **slot, gv_nvtx_function **before, int group,
                       unsigned index);

static void visit_slots(const struct gv_nvtx_callbacks *callbacks,
                        gv_nvtx_function *before[GV_NVTX_GROUPS][SLOTS], each_slot *visit)
{
    for (int group = 1; group < GV_NVTX_GROUPS; group++) {
        gv_nvtx_function ***slots = NULL;
        unsigned count = 0;

        if (!callbacks->get_functions(group, &slots, &count) || !slots)
            continue;
        for (unsigned i = 1; i < count && i < SLOTS; i++)
            if (slots[i])
                visit(slots[i], &before[group][i], group, i);
    }
}

static void note(gv_nvtx_function **slot, gv_nvtx_function **before, int group, unsigned index)
{
    (void)group;
    (void)index;
    *before = *slot;
}

static void restore(gv_nvtx_function **slot, gv_nvtx_function **before, int group, unsigned index)
{
    (void)group;
    (void)index;
    *slot = *before;
}

/* A slot that the tool has given another function than in another module stays the tool's. One that
 * is ours already is no tool's: the tool may be a copy of libgpuverify-nvtx.so. */
static void take(gv_nvtx_function **slot, gv_nvtx_function **before, int group, unsigned index)
{
    gv_nvtx_function *known = NULL;

    if (!ours[group][index] || *slot == ours[group][index])
        return;
    if (*slot != *before && !atomic_compare_exchange_strong(&tools[group][index], &known, *slot) &&
        known != *slot)
        return;
    *slot = ours[group][index];
}

static bool is_wanted(void)
{
    gv_process_read_settings();
    return gv_process_is_ours() && gv_process.settings.ranges != GV_RANGES_OFF;
}

__attribute__((visibility("default"))) gv_nvtx_attach_function gv_nvtx_attach;

int gv_nvtx_attach(gv_nvtx_get_table *get_table, gv_nvtx_initialize *tool)
{
    const struct gv_nvtx_callbacks *callbacks = get_table(GV_NVTX_TABLE_CALLBACKS);
    gv_nvtx_function *before[GV_NVTX_GROUPS][SLOTS] = {{NULL}};

    if (!is_wanted() || !callbacks || callbacks->struct_bytes < sizeof *callbacks)
        return tool ? tool(get_table) : 0;
    visit_slots(callbacks, before, note);
    if (tool && !tool(get_table))
        visit_slots(callbacks, before, restore);
    visit_slots(callbacks, before, take);
    return 1;
}

static uint8_t is_enabled(uint64_t domain)
{
    return domain_of(domain) != NOT_WANTED;
}

static void forget_slots(const struct gv_nvtx_extension *extension)
{
    for (size_t i = 0; i < extension->segments_count; i++)
        memset(extension->segments[i].slots, 0,
               extension->segments[i].count * sizeof extension->segments[i].slots[0]);
}

__attribute__((visibility("default"))) gv_nvtx_extend_function gv_nvtx_attach_extension;

int gv_nvtx_attach_extension(struct gv_nvtx_extension *extension, gv_nvtx_extend *tool)
{
    const struct gv_nvtx_segment *first;

    if (!is_wanted() || extension->bytes < sizeof *extension)
        return tool ? tool(extension) : 0;
    if (tool && !tool(extension))
        forget_slots(extension);
    first = extension->segments_count ? &extension->segments[0] : NULL;
    if (extension->number == GV_NVTX_PAYLOADS && first && first->count > GV_NVTX_IS_ENABLED &&
        !first->slots[GV_NVTX_IS_ENABLED])
        first->slots[GV_NVTX_IS_ENABLED] = (intptr_t)is_enabled;
    return 1;
}

/* ---- at the start ---- */

static bool find_library(char path[PATH_MAX])
{
    char beside[PATH_MAX];

    return (gv_objects_beside_us(beside, sizeof beside, "/" GV_NVTX_FILE) &&
            realpath(beside, path)) ||
           (gv_objects_beside_us(beside, sizeof beside, "/../nvtx/" GV_NVTX_FILE) && /* built */
            realpath(beside, path));
}

void gv_nvtx_offer(void)
{
    const char *given = getenv(GV_NVTX_VARIABLE);
    char path[PATH_MAX];
    int result = 0;

    if (!is_wanted())
        return;
    if (!find_library(path)) {
        gv_log_info(GV_NVTX_FILE " is not beside libgpuverify.so: no NVTX ranges");
        return;
    }
    if (!given || !*given)
        result = unsetenv(GV_NVTX_TOOL);
    else if (strcmp(gv_text_base(given), GV_NVTX_FILE) != 0) /* nor that of a gpuverify around us */
        result = setenv(GV_NVTX_TOOL, given, 1);
    if (result == 0)
        result = setenv(GV_NVTX_VARIABLE, path, 1);
    if (result < 0)
        gv_log_info("out of memory: no NVTX ranges");
}
