/*
 * Finds the kernels and variables in a cubin, a fat binary or PTX text.
 *
 * The caller of cuModuleLoadData gives no size, so the image's own headers are trusted, within
 * limits; a file's size is known and checked. Compressed entries of a fat binary are not unpacked:
 * such an image has any kernel that is asked for.
 */
#include "tests/sim/collective.h"
#include "tests/sim/sim.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FATBIN_MAGIC  0xBA55ED50u
#define WRAPPER_MAGIC 0x466243b1u
#define MACHINE_CUDA  190
#define IMAGE_MAX     ((size_t)1 << 31)

struct wrapper {
    uint32_t magic, version;
    const void *data;
    void *unused;
};

struct fat_header {
    uint32_t magic;
    uint16_t version, header_bytes;
    uint64_t size_bytes;
};

struct fat_entry {
    uint16_t kind; /* 1: PTX, 2: ELF */
    uint16_t version;
    uint32_t header_bytes;
    uint64_t size_bytes;
    uint32_t compressed_bytes, unused;
    uint16_t minor, major;
    uint32_t arch;
    uint64_t name;
    uint64_t flags;
    uint64_t unpacked_bytes;
};
#define FAT_COMPRESSED (0x2000u | 0x8000u)

static bool spins(const char *name)
{
    return !strncmp(name, "spin", 4) || !strncmp(name, "_Z4spin", 7);
}

struct gv_sim_entry *gv_sim_image_add(struct gv_sim_image *image, const char *name, size_t length,
                                      uint64_t local_bytes)
{
    struct gv_sim_entry *entry = calloc(1, sizeof *entry), **at = &image->entries;
    if (entry && !(entry->name = strndup(name, length))) {
        free(entry);
        entry = NULL;
    }
    if (!entry)
        return NULL;
    entry->local_bytes = local_bytes;
    entry->spins = spins(entry->name);
    entry->meets =
        !strncmp(entry->name, GV_SIM_COLLECTIVE_KERNEL, strlen(GV_SIM_COLLECTIVE_KERNEL));
    while (*at)
        at = &(*at)->next;
    *at = entry;
    image->entry_count++;
    return entry;
}

int gv_sim_image_add_global(struct gv_sim_image *image, const char *name, size_t length,
                            size_t size_bytes)
{
    struct gv_sim_global *global = calloc(1, sizeof *global);
    if (global && !(global->name = strndup(name, length))) {
        free(global);
        global = NULL;
    }
    if (!global)
        return -ENOMEM;
    global->size_bytes = size_bytes;
    global->next = image->globals;
    image->globals = global;
    return 0;
}

struct gv_sim_entry *gv_sim_image_find(struct gv_sim_image *image, const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    struct gv_sim_entry *entry = image->entries;
    while (entry && strcmp(entry->name, name))
        entry = entry->next;
    if (!entry && image->any_name)
        entry = gv_sim_image_add(image, name, strlen(name), 0);
    pthread_mutex_unlock(&lock);
    return entry;
}

void gv_sim_image_show(struct gv_sim_image *image, const void *code, size_t size_bytes)
{
    if (image->code)
        return;
    image->code = code;
    image->code_bytes = size_bytes;
}

void gv_sim_image_keep(struct gv_sim_image *image)
{
    if (!gv_sim_traced() || !image->code || !(image->kept = malloc(image->code_bytes + 1)))
        return;
    memcpy(image->kept, image->code, image->code_bytes);
    image->code = image->kept;
}

void gv_sim_image_forget(struct gv_sim_image *image)
{
    if (!image->kept)
        image->code = NULL;
}

void gv_sim_image_free(struct gv_sim_image *image)
{
    if (!image)
        return;
    while (image->entries) {
        struct gv_sim_entry *entry = image->entries;
        image->entries = entry->next;
        free(entry->name);
        free(entry);
    }
    while (image->globals) {
        struct gv_sim_global *global = image->globals;
        image->globals = global->next;
        free(global->name);
        free(global);
    }
    free(image->kept);
    free(image);
}

/* .nv.info: the stack frame of each function, as (format, attribute, size, symbol, bytes). */
static uint64_t frame_bytes(const unsigned char *info, size_t size, uint32_t symbol)
{
    enum { FRAME_SIZE = 0x11, SIZED_VALUE = 4 };
    for (size_t at = 0; at + 4 <= size;) {
        uint16_t value_bytes;
        memcpy(&value_bytes, info + at + 2, 2);
        if (info[at] != SIZED_VALUE) {
            at += 4;
            continue;
        }
        uint32_t pair[2];
        if (info[at + 1] == FRAME_SIZE && value_bytes == 8 && at + 12 <= size) {
            memcpy(pair, info + at + 4, 8);
            if (pair[0] == symbol)
                return pair[1];
        }
        at += 4u + value_bytes;
    }
    return 0;
}

struct elf_view {
    const char *base;
    size_t size; /* as far as is known */
    const Elf64_Shdr *sections;
    unsigned int count;
};

static const void *section_data(const struct elf_view *elf, const Elf64_Shdr *section)
{
    if (section->sh_type == SHT_NOBITS || section->sh_offset > elf->size ||
        section->sh_size > elf->size - section->sh_offset)
        return NULL;
    return elf->base + section->sh_offset;
}

static const char *string_at(const struct elf_view *elf, const Elf64_Shdr *table, uint32_t at)
{
    const char *text = section_data(elf, table);
    if (!text || at >= table->sh_size || !memchr(text + at, 0, table->sh_size - at))
        return NULL;
    return text + at;
}

static CUresult read_symbols(struct gv_sim_image *image, const struct elf_view *elf,
                             const Elf64_Shdr *table, const Elf64_Shdr *names,
                             const Elf64_Shdr *info)
{
    const Elf64_Sym *symbols = section_data(elf, table);
    const Elf64_Shdr *strings = table->sh_link < elf->count ? &elf->sections[table->sh_link] : NULL;
    if (!symbols || !strings)
        return CUDA_ERROR_INVALID_IMAGE;
    for (uint32_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
        const Elf64_Sym *s = &symbols[i];
        const char *name = string_at(elf, strings, s->st_name);
        if (!name || !*name || s->st_shndx >= elf->count || !s->st_shndx)
            continue;
        int type = ELF64_ST_TYPE(s->st_info), failed = 0;
        const char *section = string_at(elf, names, elf->sections[s->st_shndx].sh_name);
        if (type == STT_FUNC && section && !strncmp(section, ".text.", 6) &&
            !strcmp(section + 6, name)) {
            const unsigned char *facts = info ? section_data(elf, info) : NULL;
            failed = !gv_sim_image_add(image, name, strlen(name),
                                       facts ? frame_bytes(facts, info->sh_size, i) : 0);
        } else if (type == STT_OBJECT && section && strncmp(section, ".nv.shared", 10)) {
            failed = gv_sim_image_add_global(image, name, strlen(name), s->st_size);
        }
        if (failed)
            return CUDA_ERROR_OUT_OF_MEMORY;
    }
    return CUDA_SUCCESS;
}

/* Up to the end of the section table, or of the last section if that is further. */
static size_t elf_bytes(const struct elf_view *elf, const Elf64_Ehdr *head)
{
    size_t bytes = head->e_shoff + elf->count * sizeof *elf->sections;
    for (unsigned int i = 0; i < elf->count; i++) {
        const Elf64_Shdr *s = &elf->sections[i];
        if (section_data(elf, s) && s->sh_offset + s->sh_size > bytes)
            bytes = s->sh_offset + s->sh_size;
    }
    return bytes;
}

static CUresult read_elf(struct gv_sim_image *image, const void *data, size_t size)
{
    const Elf64_Ehdr *head = data;
    if (size < sizeof *head || head->e_ident[EI_CLASS] != ELFCLASS64 ||
        head->e_shentsize != sizeof(Elf64_Shdr))
        return CUDA_ERROR_INVALID_IMAGE;
    if (head->e_machine != MACHINE_CUDA)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    struct elf_view elf = {.base = data, .size = size, .count = head->e_shnum};
    if (head->e_shoff > size || head->e_shnum > (size - head->e_shoff) / sizeof(Elf64_Shdr) ||
        !elf.count || head->e_shstrndx >= elf.count || head->e_shoff % 8)
        return CUDA_ERROR_INVALID_IMAGE;
    elf.sections = (const Elf64_Shdr *)(elf.base + head->e_shoff);
    const Elf64_Shdr *names = &elf.sections[head->e_shstrndx], *table = NULL, *info = NULL;
    for (unsigned int i = 0; i < elf.count; i++) {
        const char *name = string_at(&elf, names, elf.sections[i].sh_name);
        if (elf.sections[i].sh_type == SHT_SYMTAB)
            table = &elf.sections[i];
        else if (name && !strcmp(name, ".nv.info"))
            info = &elf.sections[i];
    }
    if (table)
        gv_sim_image_show(image, data, elf_bytes(&elf, head));
    return table ? read_symbols(image, &elf, table, names, info) : CUDA_ERROR_INVALID_IMAGE;
}

/* The driver uses the binary for its GPU, or else compiles the PTX. */
static CUresult read_fatbin(struct gv_sim_image *image, const char *data, size_t size)
{
    const struct fat_header *head = (const struct fat_header *)data;
    if (size < sizeof *head || head->header_bytes < sizeof *head ||
        head->size_bytes > size - head->header_bytes)
        return CUDA_ERROR_INVALID_IMAGE;
    const char *end = data + head->header_bytes + head->size_bytes;
    const char *binary = NULL, *text = NULL;
    for (const char *at = data + head->header_bytes; at < end;) {
        const struct fat_entry *e = (const struct fat_entry *)at;
        size_t left = (size_t)(end - at);
        if (left < sizeof *e || e->header_bytes < sizeof *e || e->header_bytes > left ||
            e->size_bytes > left - e->header_bytes)
            return CUDA_ERROR_INVALID_IMAGE;
        if (e->kind == 2)
            binary = at;
        else if (e->kind == 1 && !text)
            text = at;
        at += e->header_bytes + e->size_bytes;
    }
    const struct fat_entry *e = (const struct fat_entry *)(binary ? binary : text);
    if (!e)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if ((e->flags & FAT_COMPRESSED) || e->compressed_bytes) {
        image->any_name = true;
        image->needs_jit = !binary;
        return CUDA_SUCCESS;
    }
    const char *payload = (const char *)e + e->header_bytes;
    return binary ? read_elf(image, payload, e->size_bytes)
                  : gv_sim_image_ptx(image, payload, strnlen(payload, e->size_bytes));
}

/* size_bytes 0: not known. */
static CUresult read_any(struct gv_sim_image *image, const void *data, size_t size_bytes)
{
    uint32_t magic = 0;
    /* None of the known beginnings has a zero byte. */
    if ((size_bytes && size_bytes < sizeof magic) || strnlen(data, sizeof magic) < sizeof magic)
        return CUDA_ERROR_INVALID_IMAGE;
    memcpy(&magic, data, sizeof magic);
    if (magic == WRAPPER_MAGIC && !size_bytes) {
        const struct wrapper *wrapper = data;
        return wrapper->data ? read_any(image, wrapper->data, 0) : CUDA_ERROR_INVALID_IMAGE;
    }
    size_t limit = size_bytes ? size_bytes : IMAGE_MAX;
    if (magic == FATBIN_MAGIC)
        return read_fatbin(image, data, limit);
    if (!memcmp(data, ELFMAG, SELFMAG))
        return read_elf(image, data, limit);
    return gv_sim_image_ptx(image, data, size_bytes ? strnlen(data, size_bytes) : strlen(data));
}

CUresult gv_sim_image_read(const void *data, size_t size_bytes, struct gv_sim_image **image)
{
    *image = NULL;
    if (!data)
        return CUDA_ERROR_INVALID_VALUE;
    struct gv_sim_image *made = calloc(1, sizeof *made);
    if (!made)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = read_any(made, data, size_bytes);
    if (result)
        gv_sim_image_free(made);
    else
        *image = made;
    return result;
}

CUresult gv_sim_file_read(const char *path, void **data, size_t *size_bytes)
{
    *data = NULL;
    if (!path)
        return CUDA_ERROR_INVALID_VALUE;
    FILE *file = fopen(path, "rbe");
    if (!file)
        return CUDA_ERROR_FILE_NOT_FOUND;
    CUresult result = CUDA_ERROR_INVALID_IMAGE;
    long size = fseek(file, 0, SEEK_END) ? -1 : ftell(file);
    if (size > 0 && !fseek(file, 0, SEEK_SET) && (*data = calloc(1, (size_t)size + 1)) &&
        fread(*data, 1, (size_t)size, file) == (size_t)size)
        result = CUDA_SUCCESS;
    *size_bytes = size > 0 ? (size_t)size : 0;
    if (result) {
        free(*data);
        *data = NULL;
    }
    fclose(file);
    return result;
}
