#include "preload/base/objects.h"

#include "preload/base/loader.h"
#include "trace/same_text.h"

#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *gnu_hash;
    const uint32_t *sysv_hash;
    const ElfW(Versym) * versions;
    const char *soname;
};

/* glibc relocates the addresses in some of these entries, but not in all. */
static const void *table_at(const struct gv_object *object, uintptr_t value)
{
    return (const void *)(value >= object->base ? value : object->base + value);
}

static bool tables_read(const struct gv_object *object, struct tables *tables)
{
    const char *soname_offset = NULL;
    bool has_soname = false;

    *tables = (struct tables){0};
    if (!object->dynamic)
        return false;
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++) {
        uintptr_t value = entry->d_un.d_ptr;

        switch (entry->d_tag) {
        case DT_SYMTAB:
            tables->symbols = table_at(object, value);
            break;
        case DT_STRTAB:
            tables->strings = table_at(object, value);
            break;
        case DT_GNU_HASH:
            tables->gnu_hash = table_at(object, value);
            break;
        case DT_HASH:
            tables->sysv_hash = table_at(object, value);
            break;
        case DT_VERSYM:
            tables->versions = table_at(object, value);
            break;
        case DT_SONAME:
            soname_offset = (const char *)value;
            has_soname = true;
            break;
        default:
            break;
        }
    }
    if (!tables->symbols || !tables->strings)
        return false;
    if (has_soname)
        tables->soname = tables->strings + (uintptr_t)soname_offset;
    return true;
}

#define HIDDEN_VERSION 0x8000u

static void *symbol_address(const struct gv_object *object, const struct tables *tables,
                            uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);

    if (symbol->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_OBJECT))
        return NULL;
    if (tables->versions && (tables->versions[index] & HIDDEN_VERSION))
        return NULL;
    if (!gv_same_text(tables->strings + symbol->st_name, name))
        return NULL;
    return (void *)(object->base + symbol->st_value);
}

static void *find_by_gnu_hash(const struct gv_object *object, const struct tables *tables,
                              const char *name)
{
    const uint32_t *table = tables->gnu_hash;
    uint32_t bucket_count = table[0];
    uint32_t first_symbol = table[1];
    uint32_t filter_words = table[2];
    const uintptr_t *filter = (const uintptr_t *)(const void *)(table + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(filter + filter_words);
    const uint32_t *chain = buckets + bucket_count;
    uint32_t hash = 5381;
    uint32_t index;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    index = bucket_count ? buckets[hash % bucket_count] : 0;
    if (index < first_symbol)
        return NULL;
    for (;; index++) {
        uint32_t link = chain[index - first_symbol];

        if ((link | 1u) == (hash | 1u)) {
            void *found = symbol_address(object, tables, index, name);

            if (found)
                return found;
        }
        if (link & 1u)
            return NULL;
    }
}

static void *find_by_sysv_hash(const struct gv_object *object, const struct tables *tables,
                               const char *name)
{
    const uint32_t *table = tables->sysv_hash;
    uint32_t bucket_count = table[0];
    const uint32_t *buckets = table + 2;
    const uint32_t *chain = buckets + bucket_count;
    uint32_t hash = 0;

    for (const unsigned char *c = (const unsigned char *)name; *c; c++) {
        hash = (hash << 4) + *c;
        hash ^= (hash >> 24) & 0xf0;
    }
    hash &= 0x0fffffffu;
    if (!bucket_count)
        return NULL;
    for (uint32_t index = buckets[hash % bucket_count]; index; index = chain[index]) {
        void *found = symbol_address(object, tables, index, name);

        if (found)
            return found;
    }
    return NULL;
}

void *gv_object_symbol(const struct gv_object *object, const char *name)
{
    struct tables tables;

    if (!tables_read(object, &tables))
        return NULL;
    if (tables.gnu_hash)
        return find_by_gnu_hash(object, &tables, name);
    if (tables.sysv_hash)
        return find_by_sysv_hash(object, &tables, name);
    return NULL;
}

const char *gv_object_name(const struct gv_object *object)
{
    struct tables tables;
    const char *slash;

    if (tables_read(object, &tables) && tables.soname)
        return tables.soname;
    slash = strrchr(object->path, '/');
    return slash ? slash + 1 : object->path;
}

bool gv_object_needs(const struct gv_object *object, const char *name)
{
    struct tables tables;

    if (!tables_read(object, &tables))
        return false;
    for (const ElfW(Dyn) *entry = object->dynamic; entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_NEEDED && strcmp(tables.strings + entry->d_un.d_val, name) == 0)
            return true;
    return false;
}

struct visit {
    bool (*visit)(const struct gv_object *object, void *context);
    void *context;
    unsigned seen;
};

static unsigned startup_count =
    UINT_MAX; /* before our constructor, everything was mapped at startup */

static int visit_one(struct dl_phdr_info *info, size_t size, void *data)
{
    struct visit *visit = data;
    struct gv_object object = {
        .base = info->dlpi_addr, .low = UINTPTR_MAX, .path = info->dlpi_name};

    (void)size;
    object.at_startup = visit->seen++ < startup_count;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t start = info->dlpi_addr + part->p_vaddr;

        if (part->p_type == PT_DYNAMIC)
            object.dynamic = (const ElfW(Dyn) *)start;
        if (part->p_type != PT_LOAD)
            continue;
        if (start < object.low)
            object.low = start;
        if (start + part->p_memsz > object.high)
            object.high = start + part->p_memsz;
    }
    return visit->visit(&object, visit->context);
}

bool gv_objects_visit(bool (*visit)(const struct gv_object *object, void *context), void *context)
{
    struct visit data = {visit, context, 0};

    return gv_loader_visit(visit_one, &data) != 0;
}

static int read_unloads(struct dl_phdr_info *info, size_t size, void *data)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(unsigned long long *)data = info->dlpi_subs;
    return 1;
}

unsigned long long gv_objects_unloads(void)
{
    unsigned long long unloads = 0;

    gv_loader_visit(read_unloads, &unloads);
    return unloads;
}

static int read_changes(struct dl_phdr_info *info, size_t size, void *data)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(unsigned long long *)data = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

unsigned long long gv_objects_changes(void)
{
    unsigned long long changes = 0;

    gv_loader_visit(read_changes, &changes);
    return changes;
}

static bool count_one(const struct gv_object *object, void *context)
{
    (void)object;
    (*(unsigned *)context)++;
    return false;
}

void gv_objects_note_startup(void)
{
    unsigned count = 0;

    gv_objects_visit(count_one, &count);
    startup_count = count;
}

struct at {
    uintptr_t address;
    struct gv_object *object;
};

static bool holds_address(const struct gv_object *object, void *context)
{
    struct at *at = context;

    if (!gv_object_has(object, at->address))
        return false;
    *at->object = *object;
    return true;
}

bool gv_objects_at(uintptr_t address, struct gv_object *object)
{
    struct at at = {address, object};

    return gv_objects_visit(holds_address, &at);
}

bool gv_object_is_us(const struct gv_object *object)
{
    return gv_object_has(object, (uintptr_t)&startup_count);
}

bool gv_objects_beside_us(char *path, size_t size, const char *relative)
{
    struct gv_object us;
    const char *slash = NULL;

    if (gv_objects_at((uintptr_t)&startup_count, &us))
        slash = strrchr(us.path, '/');
    return slash &&
           (size_t)snprintf(path, size, "%.*s%s", (int)(slash - us.path), us.path, relative) < size;
}

struct next {
    uintptr_t after;
    const char *name;
    struct gv_object *object;
    void *found;
};

static bool defines_name(const struct gv_object *object, void *context)
{
    struct next *next = context;

    if (next->after) {
        if (gv_object_has(object, next->after))
            next->after = 0;
        return false;
    }
    next->found = gv_object_symbol(object, next->name);
    if (next->found && next->object)
        *next->object = *object;
    return next->found != NULL;
}

void *gv_objects_next(uintptr_t after, const char *name, struct gv_object *object)
{
    struct next next = {after, name, object, NULL};

    gv_objects_visit(defines_name, &next);
    return next.found;
}

void *gv_objects_next_early(uintptr_t after, const char *name)
{
    void *found = NULL;
    bool past = false;

    for (const struct link_map *map = _r_debug.r_map; map && !found; map = map->l_next) {
        struct gv_object object = {.base = map->l_addr, .dynamic = map->l_ld, .path = map->l_name};

        if (past)
            found = gv_object_symbol(&object, name);
        past |= (uintptr_t)map->l_ld == after;
    }
    return found;
}

static bool is_same_mapping(const struct gv_object *object, void *context)
{
    const struct gv_object *wanted = context;

    return object->base == wanted->base && object->dynamic == wanted->dynamic;
}

bool gv_objects_mapped(const struct gv_object *object)
{
    struct gv_object wanted = *object;

    return gv_objects_visit(is_same_mapping, &wanted);
}

/* Limits chains of needed libraries: the stack may be small. */
#define DEEPEST_NEED 6

struct need {
    const struct gv_object *object;
    const struct gv_object *other;
    int depth;
};

static bool needs_on_the_way(const struct gv_object *object, void *context)
{
    const struct need *need = context;
    struct need next = {object, need->other, need->depth + 1};

    if (object->at_startup || !gv_object_needs(need->object, gv_object_name(object)))
        return false;
    if (object->dynamic == need->other->dynamic)
        return true;
    return next.depth < DEEPEST_NEED && gv_objects_visit(needs_on_the_way, &next);
}

bool gv_object_reaches(const struct gv_object *object, const struct gv_object *other)
{
    struct need need = {object, other, 0};

    return object->dynamic == other->dynamic || gv_objects_visit(needs_on_the_way, &need);
}
