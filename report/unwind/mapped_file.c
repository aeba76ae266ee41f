#include "report/unwind/mapped_file.h"

#include "trace/mix.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE       4096u
#define PAGES_BITS 11u /* 8 MB */
#define PAGES      (1u << PAGES_BITS)

#define HEADERS 64u /* of a file */

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

struct page {
    uint32_t file; /* 0: none */
    uint64_t number;
    unsigned char *bytes;
};

struct gv_mapped_pages {
    struct page page[PAGES];
    uint32_t files;
    int descriptor; /* of the file `open`; -1: none */
    uint32_t open;
    uint64_t failures;
    unsigned reads; /* that are left */
};

/* ---- pages ---- */

struct gv_mapped_pages *gv_mapped_pages_open(void)
{
    struct gv_mapped_pages *pages = calloc(1, sizeof(*pages));

    if (pages)
        pages->descriptor = -1;
    return pages;
}

void gv_mapped_pages_begin(struct gv_mapped_pages *pages)
{
    pages->reads = GV_MAPPED_READS;
}

void gv_mapped_pages_rest(struct gv_mapped_pages *pages)
{
    if (pages->descriptor >= 0)
        close(pages->descriptor);
    pages->descriptor = -1;
}

void gv_mapped_pages_close(struct gv_mapped_pages *pages)
{
    if (!pages)
        return;
    gv_mapped_pages_rest(pages);
    for (size_t i = 0; i < PAGES; i++)
        free(pages->page[i].bytes);
    free(pages);
}

uint64_t gv_mapped_pages_failures(const struct gv_mapped_pages *pages)
{
    return pages->failures;
}

static bool is_same(const struct gv_mapped_file *file, const struct stat *state)
{
    return file->device == state->st_dev && file->inode == state->st_ino &&
           file->size == (uint64_t)state->st_size &&
           file->changed.tv_sec == state->st_mtim.tv_sec &&
           file->changed.tv_nsec == state->st_mtim.tv_nsec;
}

/* Opens the file again. 0 or -errno. */
static int open_again(struct gv_mapped_file *file, struct stat *state)
{
    struct gv_mapped_pages *pages = file->pages;

    gv_mapped_pages_rest(pages);
    if (gv_mapped_path_is_of_process(file->path))
        return -ENOENT;
    int descriptor = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (descriptor < 0)
        return errno == EMFILE || errno == ENFILE ? -EAGAIN : -errno;
    if (fstat(descriptor, state) < 0 || !S_ISREG(state->st_mode)) {
        close(descriptor);
        return -EINVAL;
    }
    pages->descriptor = descriptor;
    pages->open = file->number;
    return 0;
}

static bool read_page(struct gv_mapped_file *file, uint64_t number, unsigned char *to)
{
    struct gv_mapped_pages *pages = file->pages;
    uint64_t left = file->size - number * PAGE;
    size_t wanted = left < PAGE ? left : PAGE, got = 0;
    struct stat state;

    if ((pages->descriptor < 0 || pages->open != file->number) && open_again(file, &state) < 0)
        return false;
    if (fstat(pages->descriptor, &state) < 0 || !is_same(file, &state))
        return false;
    while (got < wanted) {
        ssize_t more =
            pread(pages->descriptor, to + got, wanted - got, (off_t)(number * PAGE + got));
        if (more <= 0)
            return false;
        got += (size_t)more;
    }
    return true;
}

/* Of what a stack may cost. False: that is spent. */
static bool spend(struct gv_mapped_pages *pages, unsigned reads)
{
    if (pages->reads < reads) {
        pages->reads = 0;
        pages->failures++;
        return false;
    }
    pages->reads -= reads;
    return true;
}

/* NULL: it cannot be read. */
static const unsigned char *page_of(struct gv_mapped_file *file, uint64_t number)
{
    uint64_t place = gv_mix(gv_mix(0, file->number), number) >> (64 - PAGES_BITS);
    struct page *page = &file->pages->page[place];

    if (page->file == file->number && page->number == number)
        return page->bytes;
    page->file = 0;
    if (!page->bytes)
        page->bytes = malloc(PAGE);
    if (!spend(file->pages, GV_MAPPED_PAGE_READS))
        return NULL;
    if (!page->bytes || !read_page(file, number, page->bytes)) {
        file->pages->failures++;
        return NULL;
    }
    page->file = file->number;
    page->number = number;
    return page->bytes;
}

/* Reads from an offset of the file, all or nothing. */
static bool read_at(struct gv_mapped_file *file, uint64_t offset, void *to, size_t size)
{
    if (offset > file->size || size > file->size - offset)
        return false;
    if (!spend(file->pages, 1))
        return false;
    if (file->image) {
        memcpy(to, file->image + offset, size);
        return true;
    }
    for (size_t done = 0, piece; done < size; done += piece) {
        size_t skip = (offset + done) % PAGE;
        const unsigned char *page = page_of(file, (offset + done) / PAGE);
        piece = PAGE - skip < size - done ? PAGE - skip : size - done;
        if (!page)
            return false;
        memcpy((unsigned char *)to + done, page + skip, piece);
    }
    return true;
}

/* ---- addresses ---- */

static const struct gv_mapped_segment *segment_of(const struct gv_mapped_file *file,
                                                  uint64_t address)
{
    for (uint32_t i = 0; i < file->segments; i++)
        if (address - file->segment[i].address < file->segment[i].bytes)
            return &file->segment[i];
    return NULL;
}

size_t gv_mapped_file_read(struct gv_mapped_file *file, uint64_t address, void *to, size_t size)
{
    const struct gv_mapped_segment *segment = segment_of(file, address);

    if (!segment)
        return 0;
    uint64_t at = address - segment->address;
    if (size > segment->bytes - at)
        size = segment->bytes - at;
    return read_at(file, segment->offset + at, to, size) ? size : 0;
}

bool gv_mapped_file_is_code(const struct gv_mapped_file *file, uint64_t address)
{
    const struct gv_mapped_segment *segment = segment_of(file, address);

    return segment && segment->executable;
}

/* ---- headers ---- */

static void add_segment(struct gv_mapped_file *file, const Elf64_Phdr *header)
{
    uint64_t bytes = header->p_filesz;

    if (file->segments == GV_MAPPED_SEGMENTS || header->p_offset >= file->size)
        return;
    if (bytes > file->size - header->p_offset)
        bytes = file->size - header->p_offset;
    file->segment[file->segments++] = (struct gv_mapped_segment){
        .address = header->p_vaddr,
        .bytes = bytes,
        .offset = header->p_offset,
        .executable = header->p_flags & PF_X,
    };
}

size_t gv_build_id_find(const unsigned char *notes, uint64_t bytes, uint64_t align,
                        uint8_t build_id[GV_UNWIND_BUILD_ID])
{
    const uint64_t padding = (align == 8 ? 8 : 4) - 1;
    Elf64_Nhdr note;

    for (uint64_t at = 0; at + sizeof(note) <= bytes;) {
        memcpy(&note, notes + at, sizeof(note));
        uint64_t named = at + sizeof(note);
        uint64_t held = named + ((note.n_namesz + padding) & ~padding);
        at = held + ((note.n_descsz + padding) & ~padding);
        if (held > bytes || note.n_descsz > bytes - held)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(notes + named, "GNU", 4) == 0) {
            size_t found = note.n_descsz < GV_UNWIND_BUILD_ID ? note.n_descsz : GV_UNWIND_BUILD_ID;
            memcpy(build_id, notes + held, found);
            return found;
        }
    }
    return 0;
}

/* Only the form that linkers write: what else there is has no sorted table. */
#define HEADER_VERSION 1
#define DATAREL_SDATA4 0x3b
#define UDATA4         0x03

static void find_table(struct gv_mapped_file *file, uint64_t address, uint64_t bytes)
{
    static const uint8_t frame_bytes[16] = {[0x03] = 4, [0x0b] = 4, [0x04] = 8, [0x0c] = 8};
    uint8_t head[4];
    uint32_t entries;

    if (gv_mapped_file_read(file, address, head, sizeof(head)) != sizeof(head) ||
        head[0] != HEADER_VERSION || head[2] != UDATA4 || head[3] != DATAREL_SDATA4)
        return;
    uint64_t count_at = sizeof(head) + frame_bytes[head[1] & 0x0f];
    uint64_t table_at = count_at + sizeof(entries);
    if (count_at == sizeof(head) || table_at > bytes ||
        gv_mapped_file_read(file, address + count_at, &entries, sizeof(entries)) != sizeof(entries))
        return;
    if (entries > (bytes - table_at) / 8)
        entries = (uint32_t)((bytes - table_at) / 8);
    file->header = address;
    file->table = address + table_at;
    file->entries = entries;
}

/* 0 or -errno. */
static int read_headers(struct gv_mapped_file *file, const uint8_t *build_id, size_t build_id_bytes)
{
    unsigned char notes[GV_BUILD_ID_NOTES];
    uint8_t found[GV_UNWIND_BUILD_ID];
    size_t found_bytes = 0;
    Elf64_Ehdr head;
    Elf64_Phdr header[HEADERS];

    if (!read_at(file, 0, &head, sizeof(head)) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_ident[EI_DATA] != ELFDATA2LSB ||
        head.e_machine != MACHINE || head.e_phentsize != sizeof(header[0]) ||
        head.e_phnum > HEADERS ||
        !read_at(file, head.e_phoff, header, head.e_phnum * sizeof(header[0])))
        return -EINVAL;
    for (size_t i = 0; i < head.e_phnum; i++) {
        if (header[i].p_type == PT_LOAD)
            add_segment(file, &header[i]);
        size_t size = header[i].p_filesz < sizeof(notes) ? header[i].p_filesz : sizeof(notes);
        if (header[i].p_type == PT_NOTE && !found_bytes &&
            read_at(file, header[i].p_offset, notes, size))
            found_bytes = gv_build_id_find(notes, size, header[i].p_align, found);
    }
    if (build_id && (found_bytes != build_id_bytes || memcmp(found, build_id, found_bytes) != 0))
        return -ESTALE;
    for (size_t i = 0; i < head.e_phnum; i++)
        if (header[i].p_type == PT_GNU_EH_FRAME)
            find_table(file, header[i].p_vaddr, header[i].p_filesz);
    return 0;
}

/* The vdso of this process, which is no file. */
static int find_vdso(struct gv_mapped_file *file)
{
    const unsigned char *image = (const unsigned char *)getauxval(AT_SYSINFO_EHDR);
    Elf64_Ehdr head;
    Elf64_Phdr header;

    if (!image)
        return -ENOENT;
    memcpy(&head, image, sizeof(head));
    for (size_t i = 0; i < head.e_phnum; i++) {
        memcpy(&header, image + head.e_phoff + i * sizeof(header), sizeof(header));
        if (header.p_type == PT_LOAD)
            file->size = header.p_offset + header.p_filesz;
    }
    file->image = image;
    return 0;
}

int gv_mapped_file_open(struct gv_mapped_pages *pages, const char *path, const uint8_t *build_id,
                        size_t build_id_bytes, struct gv_mapped_file **opened)
{
    struct gv_mapped_file *file = calloc(1, sizeof(*file));
    uint64_t failures = pages->failures;
    struct stat state;
    int error;

    if (!file)
        return -EAGAIN;
    file->pages = pages;
    file->number = ++pages->files;
    file->path = strdup(path);
    error = !file->path ? -EAGAIN : strchr(path, '/') ? open_again(file, &state) : find_vdso(file);
    if (!error && !file->image) {
        file->device = state.st_dev;
        file->inode = state.st_ino;
        file->size = (uint64_t)state.st_size;
        file->changed = state.st_mtim;
    }
    if (!error)
        error = read_headers(file, build_id, build_id_bytes);
    if (error && pages->failures != failures)
        error = -EAGAIN;
    if (error)
        gv_mapped_file_close(file);
    else
        *opened = file;
    return error;
}

void gv_mapped_file_close(struct gv_mapped_file *file)
{
    if (!file)
        return;
    if (file->pages->open == file->number)
        gv_mapped_pages_rest(file->pages);
    free(file->path);
    free(file);
}
