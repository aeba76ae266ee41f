#include "preload/hooks/images.h"

#include "trace/mix.h"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FATBIN_MAGIC         0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define MOST_PTX_BYTES       (64u << 20) /* how far the end of a text is searched */

struct fatbin_header {
    uint32_t magic;
    uint16_t version;
    uint16_t header_bytes;
    uint64_t payload_bytes;
};

struct fatbin_wrapper {
    uint32_t magic;
    uint32_t version;
    const void *data;
    const void *file_name;
};

/* A cubin ends with its section header table, a stripped one with a segment. */
static uint64_t elf_bytes(const unsigned char *image)
{
    Elf64_Ehdr header;
    uint64_t end;

    memcpy(&header, image, sizeof header);
    if (header.e_ident[EI_CLASS] != ELFCLASS64)
        return 0;
    end = header.e_shoff + (uint64_t)header.e_shnum * header.e_shentsize;
    for (unsigned i = 0; i < header.e_shnum; i++) {
        Elf64_Shdr section;

        memcpy(&section, image + header.e_shoff + (uint64_t)i * header.e_shentsize, sizeof section);
        if (section.sh_type != SHT_NOBITS && section.sh_offset + section.sh_size > end)
            end = section.sh_offset + section.sh_size;
    }
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;

        memcpy(&part, image + header.e_phoff + (uint64_t)i * header.e_phentsize, sizeof part);
        if (part.p_offset + part.p_filesz > end)
            end = part.p_offset + part.p_filesz;
    }
    return end;
}

static enum gv_image_kind kind_of(const unsigned char *image)
{
    uint32_t magic;

    memcpy(&magic, image, sizeof magic);
    if (memcmp(image, ELFMAG, SELFMAG) == 0)
        return GV_IMAGE_CUBIN;
    if (magic == FATBIN_MAGIC || magic == FATBIN_WRAPPER_MAGIC)
        return GV_IMAGE_FATBIN;
    return GV_IMAGE_PTX;
}

const void *gv_image_data(const void *image)
{
    struct fatbin_wrapper wrapper;

    if (!image)
        return NULL;
    memcpy(&wrapper, image, sizeof wrapper.magic);
    if (wrapper.magic != FATBIN_WRAPPER_MAGIC)
        return image;
    memcpy(&wrapper, image, sizeof wrapper);
    return wrapper.data;
}

void gv_image_inspect(const void *image, size_t bytes, struct gv_image *result)
{
    const unsigned char *start = image;
    struct fatbin_header header;

    memset(result, 0, sizeof *result);
    /* Not even a magic number: an empty text, too, is an image of one byte. */
    if (!image || (bytes && bytes < sizeof(uint32_t)) || (!bytes && !*start))
        return;
    result->kind = kind_of(start);
    if (result->kind == GV_IMAGE_FATBIN && !bytes) {
        /* A wrapper points to the image; in a file that pointer would mean nothing. */
        start = gv_image_data(start);
        memcpy(&header, start, sizeof header);
        if (header.magic == FATBIN_MAGIC)
            bytes = header.header_bytes + header.payload_bytes;
    } else if (result->kind == GV_IMAGE_CUBIN) {
        bytes = bytes ? bytes : elf_bytes(start);
    } else if (!bytes) {
        bytes = strnlen((const char *)start, MOST_PTX_BYTES);
    }
    result->bytes = bytes;
    result->knows_bytes = bytes != 0;
    if (bytes)
        result->hash = gv_mix_image(start, bytes);
}

void gv_image_inspect_file(const char *path, struct gv_image *result)
{
    struct stat status;
    void *image;
    int fd;

    memset(result, 0, sizeof *result);
    fd = path ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        image = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (image != MAP_FAILED) {
            gv_image_inspect(image, (size_t)status.st_size, result);
            munmap(image, (size_t)status.st_size);
        }
    }
    close(fd);
}
