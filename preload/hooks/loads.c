#include "preload/hooks/facts.h"

#include "preload/base/clock.h"
#include "preload/base/objects.h"
#include "preload/hooks/images.h"
#include "preload/hooks/names.h"

#include <string.h>

static void count(_Atomic uint64_t *counter)
{
    atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void inspect(const struct gv_facts *facts, struct gv_image *image)
{
    if (facts->what == GV_FACT_LOADS_FILE || facts->what == GV_FACT_LINKS_FILE)
        gv_image_inspect_file(facts->data, image);
    else
        gv_image_inspect(facts->data, facts->data_bytes, image);
}

/* The file that an image in memory is mapped from, if that is a shared object or the program. It
 * stays mapped while its image is in use. */
static const char *object_of(const struct gv_facts *facts)
{
    const void *image = gv_image_data(facts->data);
    struct gv_object object;

    if (!image || !gv_objects_at((uintptr_t)image, &object))
        return NULL;
    return object.path && object.path[0] ? object.path : gv_process.spool.header->executable;
}

static const char *label_of(const struct gv_facts *facts, uint8_t *flags)
{
    const char *object;

    if (facts->what == GV_FACT_LOADS_FILE || facts->what == GV_FACT_LINKS_FILE)
        return facts->data;
    if (facts->what != GV_FACT_LOADS_IMAGE)
        return facts->label;
    object = object_of(facts);
    *flags |= object ? GV_RECORD_IN_OBJECT : 0;
    return object;
}

void gv_loads_write(struct gv_thread *thread, const struct gv_call *call, int32_t result,
                    uint64_t end_ns, const struct gv_facts *facts)
{
    struct gv_image image = {0};
    const char *label = NULL;
    uint32_t module = 0;
    uint32_t text_bytes;
    uint8_t flags = GV_RECORD_MORE;

    /* cudaLibraryLoadData() returns what the driver call inside it made: one load, recorded
     * there. */
    if (call->depth == 0 && thread->loaded && thread->loaded == facts->made)
        return;
    thread->loaded = facts->made;
    /* An image or string that the driver refused may be invalid, so it is not read. */
    if (result == 0) {
        inspect(facts, &image);
        label = label_of(facts, &flags);
        if (facts->load_kind != GV_LOAD_LINK)
            module = gv_names_add_owner((uintptr_t)facts->made);
    }
    text_bytes = gv_spool_text_bytes(label);
    union gv_record record = {
        .load = {
            .head = {.kind = GV_RECORD_LOAD,
                     .flags = (uint8_t)(flags | (call->depth ? GV_RECORD_NESTED : 0) |
                                        (image.knows_bytes ? GV_RECORD_HAS_BYTES : 0)),
                     .api = call->api,
                     .result = result},
            .start_ns = call->start_ns,
            .duration_ns = end_ns - call->start_ns,
            .bytes = image.bytes,
            .hash = image.hash,
            .handle = facts->made,
            .outer_start_ns = thread->outer_start_ns,
            .module = module,
            .load_kind = facts->load_kind,
            .image_kind = (uint8_t)image.kind,
            .text_bytes = (uint16_t)text_bytes,
        }};
    if (gv_thread_write(thread, GV_ROOM_CODE, &record))
        gv_thread_write_text(thread, label, text_bytes, true);
    else
        count(&gv_process.spool.header->lost.loads);
}

void gv_loads_write_name(struct gv_thread *thread, uint32_t kernel, uint64_t handle,
                         uint32_t module, const char *name)
{
    uint32_t text_bytes = gv_spool_text_bytes(name);
    union gv_record record = {.name = {
                                  .head = {.kind = GV_RECORD_NAME, .flags = GV_RECORD_MORE},
                                  .at_ns = gv_clock_now_ns(),
                                  .handle = handle,
                                  .kernel = kernel,
                                  .module = module,
                                  .text_bytes = text_bytes,
                              }};

    if (gv_thread_write(thread, GV_ROOM_CODE, &record))
        gv_thread_write_text(thread, name, text_bytes, true);
    else
        count(&gv_process.spool.header->lost.names);
}

void gv_loads_note_name(struct gv_thread *thread, const struct gv_facts *facts, int32_t result)
{
    uint32_t kernel;

    if (result != 0 || !facts->made || !facts->data)
        return;
    if (gv_names_add((uintptr_t)facts->made, (uintptr_t)facts->owner, &kernel))
        gv_loads_write_name(thread, kernel, facts->made, gv_names_owner((uintptr_t)facts->owner),
                            facts->data);
}

void gv_loads_write_unload(struct gv_thread *thread, const struct gv_facts *facts)
{
    union gv_record record = {.unload = {
                                  .head = {.kind = GV_RECORD_UNLOAD, .flags = GV_RECORD_MORE},
                                  .at_ns = gv_clock_now_ns(),
                                  .handle = facts->owner,
                                  .module = facts->module,
                              }};

    if (facts->module)
        gv_thread_write(thread, GV_ROOM_CODE, &record);
}
