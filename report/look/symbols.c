#include "report/look/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DYNAMIC_MOST 512u
#define SYMBOLS_MOST (1u << 18)
#define TEXT_MOST    (16u << 20)
#define BUCKETS_MOST (1u << 20)

struct tables {
    uint64_t symbols, text, text_bytes, hash, gnu_hash;
};

/* The loader puts addresses there, but not everywhere. */
static uint64_t address_in(const struct gv_outside_object *object, uint64_t value)
{
    return value < object->base ? object->base + value : value;
}

static void read_dynamic(uint32_t pid, const struct gv_outside_object *object,
                         struct tables *tables)
{
    Elf64_Dyn entries[DYNAMIC_MOST];
    size_t bytes =
        object->dynamic_bytes < sizeof(entries) ? object->dynamic_bytes : sizeof(entries);

    memset(tables, 0, sizeof(*tables));
    if (!object->dynamic || !gv_outside_read(pid, entries, object->dynamic, bytes))
        return;
    for (size_t i = 0; i < bytes / sizeof(entries[0]) && entries[i].d_tag != DT_NULL; i++) {
        uint64_t value = entries[i].d_un.d_val;

        switch (entries[i].d_tag) {
        case DT_SYMTAB:
            tables->symbols = address_in(object, value);
            break;
        case DT_STRTAB:
            tables->text = address_in(object, value);
            break;
        case DT_STRSZ:
            tables->text_bytes = value;
            break;
        case DT_HASH:
            tables->hash = address_in(object, value);
            break;
        case DT_GNU_HASH:
            tables->gnu_hash = address_in(object, value);
            break;
        default:
            break;
        }
    }
}

/* Only the chains of the hash table say where the symbols end. */
static size_t count_by_gnu_hash(uint32_t pid, uint64_t at)
{
    uint32_t head[4], word = 0, last = 0, *buckets;

    if (!gv_outside_read(pid, head, at, sizeof(head)) || head[0] == 0 || head[0] > BUCKETS_MOST ||
        head[2] > BUCKETS_MOST)
        return 0;
    buckets = malloc(head[0] * sizeof(*buckets));
    at += sizeof(head) + head[2] * sizeof(uint64_t);
    if (buckets && gv_outside_read(pid, buckets, at, head[0] * sizeof(*buckets)))
        for (uint32_t i = 0; i < head[0]; i++)
            last = buckets[i] > last ? buckets[i] : last;
    free(buckets);
    if (last < head[1])
        return head[1];
    for (at += head[0] * sizeof(*buckets); last < SYMBOLS_MOST; last++)
        if (!gv_outside_read(pid, &word, at + (uint64_t)(last - head[1]) * sizeof(word),
                             sizeof(word)) ||
            word & 1)
            break;
    return last + 1;
}

static size_t count_symbols(uint32_t pid, const struct tables *tables)
{
    uint32_t head[2];

    if (tables->hash && gv_outside_read(pid, head, tables->hash, sizeof(head)))
        return head[1];
    return tables->gnu_hash ? count_by_gnu_hash(pid, tables->gnu_hash) : 0;
}

int gv_symbols_read(uint32_t pid, const struct gv_outside_object *object,
                    struct gv_symbols *symbols)
{
    struct tables tables;

    *symbols = (struct gv_symbols){.base = object->base};
    read_dynamic(pid, object, &tables);
    size_t count = tables.symbols && tables.text ? count_symbols(pid, &tables) : 0;
    if (count == 0 || count > SYMBOLS_MOST || tables.text_bytes == 0 ||
        tables.text_bytes > TEXT_MOST)
        return -ENOENT;
    symbols->symbol = malloc(count * sizeof(symbols->symbol[0]));
    symbols->text = malloc(tables.text_bytes + 1);
    if (!symbols->symbol || !symbols->text)
        return -ENOMEM;
    if (!gv_outside_read(pid, symbols->symbol, tables.symbols,
                         count * sizeof(symbols->symbol[0])) ||
        !gv_outside_read(pid, symbols->text, tables.text, tables.text_bytes))
        return -ENOENT;
    symbols->count = count;
    symbols->text_bytes = tables.text_bytes;
    symbols->text[symbols->text_bytes] = '\0';
    return 0;
}

static const char *name_of(const struct gv_symbols *symbols, const Elf64_Sym *symbol)
{
    return symbol->st_name < symbols->text_bytes ? symbols->text + symbol->st_name : "";
}

uint64_t gv_symbols_address(const struct gv_symbols *symbols, const char *name)
{
    for (size_t i = 0; i < symbols->count; i++)
        if (symbols->symbol[i].st_shndx != SHN_UNDEF &&
            strcmp(name_of(symbols, &symbols->symbol[i]), name) == 0)
            return symbols->base + symbols->symbol[i].st_value;
    return 0;
}

const char *gv_symbols_function(const struct gv_symbols *symbols, uint64_t address)
{
    uint64_t at = address - symbols->base;

    for (size_t i = 0; i < symbols->count; i++) {
        const Elf64_Sym *symbol = &symbols->symbol[i];

        if (symbol->st_shndx != SHN_UNDEF && at - symbol->st_value < symbol->st_size &&
            (ELF64_ST_TYPE(symbol->st_info) == STT_FUNC ||
             ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC))
            return name_of(symbols, symbol);
    }
    return NULL;
}

void gv_symbols_free(struct gv_symbols *symbols)
{
    free(symbols->symbol);
    free(symbols->text);
    *symbols = (struct gv_symbols){0};
}
