#include "preload/stacks/stack_objects.h"

#include "preload/base/loader.h"
#include "preload/base/objects.h"
#include "preload/base/own_memory.h"
#include "trace/mix.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#define GV_TOLD_MOST  1024u /* a power of two */
#define GV_NOTES_MOST 64u

/* What was written: an object is identified by its base and its dynamic section. 0: free. A slot
 * is never freed; an object that is mapped again elsewhere is another one. */
static _Atomic uint64_t told[GV_TOLD_MOST];

static uint64_t key_of(const struct gv_object *object)
{
    uint64_t key = gv_mix(object->base, (uintptr_t)object->dynamic);

    return key ? key : 1;
}

/* True for the first thread that asks. If the table is full, for none. */
static bool is_new(const struct gv_object *object)
{
    uint64_t key = key_of(object);

    for (unsigned i = 0; i < GV_TOLD_MOST; i++) {
        _Atomic uint64_t *place = &told[(key + i) % GV_TOLD_MOST];
        uint64_t found = atomic_load_explicit(place, memory_order_relaxed);

        if (found == 0 && atomic_compare_exchange_strong(place, &found, key))
            return true;
        if (found == key)
            return false;
    }
    return false;
}

struct build_id {
    uintptr_t base;
    uint8_t *out;
    uint8_t bytes;
};

/* A program header may say anything, so its target is read through the Linux kernel. */
static void read_notes(uintptr_t at, size_t left, struct build_id *id)
{
    for (unsigned i = 0; i < GV_NOTES_MOST && left >= sizeof(ElfW(Nhdr)); i++) {
        struct {
            ElfW(Nhdr) head;
            char name[4];
        } note;
        size_t name, bytes, most;

        if (!gv_own_memory_read(&note.head, at, sizeof note.head))
            return;
        name = ((size_t)note.head.n_namesz + 3) & ~(size_t)3;
        bytes = sizeof note.head + name + (((size_t)note.head.n_descsz + 3) & ~(size_t)3);
        if (bytes > left)
            return;
        if (note.head.n_type == NT_GNU_BUILD_ID && note.head.n_namesz == sizeof note.name &&
            gv_own_memory_read(&note, at, sizeof note) &&
            memcmp(note.name, "GNU", sizeof note.name) == 0) {
            most = note.head.n_descsz < GV_RECORD_BUILD_ID_BYTES ? note.head.n_descsz
                                                                 : GV_RECORD_BUILD_ID_BYTES;
            if (gv_own_memory_read(id->out, at + sizeof note.head + name, most))
                id->bytes = (uint8_t)most;
            return;
        }
        at += bytes;
        left -= bytes;
    }
}

static int find_notes(struct dl_phdr_info *info, size_t bytes, void *context)
{
    struct build_id *id = context;

    (void)bytes;
    if (info->dlpi_addr != id->base)
        return 0;
    for (int i = 0; i < info->dlpi_phnum && !id->bytes; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE)
            read_notes(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr, info->dlpi_phdr[i].p_memsz,
                       id);
    return 1;
}

static void write_object(struct gv_thread *thread, const struct gv_object *object)
{
    const char *path =
        object->path && object->path[0] ? object->path : gv_process.spool.header->executable;
    uint32_t text_bytes = gv_spool_text_bytes(path);
    union gv_record record = {.object = {
                                  .head = {.kind = GV_RECORD_OBJECT, .flags = GV_RECORD_MORE},
                                  .base = object->base,
                                  .low = object->low,
                                  .high = object->high,
                                  .text_bytes = (uint16_t)text_bytes,
                              }};
    struct build_id id = {.base = object->base, .out = record.object.build_id};

    gv_loader_visit(find_notes, &id);
    record.object.build_id_bytes = id.bytes;
    if (gv_thread_write(thread, GV_ROOM_CODE, &record))
        gv_thread_write_text(thread, path, text_bytes, true);
}

void gv_stack_objects_tell(struct gv_thread *thread, const uintptr_t *addresses, unsigned count)
{
    uintptr_t low = 0, high = 0;

    for (unsigned i = 0; i < count; i++) {
        struct gv_object object;

        if (addresses[i] >= low && addresses[i] < high)
            continue;
        if (!gv_objects_at(addresses[i], &object))
            continue;
        low = object.low;
        high = object.high;
        if (is_new(&object))
            write_object(thread, &object);
    }
}
