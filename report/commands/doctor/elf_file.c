#include "report/commands/doctor/doctor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* The file's bytes. */
struct gv_elf_view {
    const unsigned char *bytes;
    size_t size;
};

/* `count` times `size` bytes at `offset`, or NULL if the file is too short. */
static const void *elf_at(const struct gv_elf_view *view, uint64_t offset, uint64_t count,
                          uint64_t size)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(count, size, &bytes) || offset > view->size ||
        bytes > view->size - offset)
        return NULL;
    return view->bytes + offset;
}

/* The text at `offset`, if it ends inside the file; otherwise "". */
static void elf_text(const struct gv_elf_view *view, uint64_t offset, char *out, size_t size)
{
    size_t length = 0;

    while (length + 1 < size && offset + length < view->size && offset <= view->size &&
           view->bytes[offset + length]) {
        out[length] = (char)view->bytes[offset + length];
        length++;
    }
    out[length] = '\0';
}

static bool elf_part(const struct gv_elf_view *view, const Elf64_Ehdr *head, uint16_t number,
                     Elf64_Phdr *part)
{
    const void *at =
        elf_at(view, head->e_phoff + (uint64_t)number * sizeof(*part), 1, sizeof(*part));

    if (at)
        memcpy(part, at, sizeof(*part));
    return at != NULL;
}

/* The file offset of a mapped address. */
static uint64_t elf_offset(const struct gv_elf_view *view, const Elf64_Ehdr *head, uint64_t address)
{
    Elf64_Phdr part;

    for (uint16_t i = 0; i < head->e_phnum && elf_part(view, head, i, &part); i++)
        if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
            address - part.p_vaddr < part.p_filesz)
            return part.p_offset + (address - part.p_vaddr);
    return UINT64_MAX;
}

static void elf_needed(const struct gv_elf_view *view, const Elf64_Ehdr *head,
                       const Elf64_Phdr *dynamic, struct gv_elf_file *elf)
{
    uint64_t count = dynamic->p_filesz / sizeof(Elf64_Dyn), strings = UINT64_MAX;
    const unsigned char *rows = elf_at(view, dynamic->p_offset, count, sizeof(Elf64_Dyn));
    Elf64_Dyn row;

    for (uint64_t i = 0; rows && i < count; i++) {
        memcpy(&row, rows + i * sizeof(row), sizeof(row));
        if (row.d_tag == DT_STRTAB)
            strings = elf_offset(view, head, row.d_un.d_ptr);
    }
    for (uint64_t i = 0; rows && i < count && strings < view->size; i++) {
        memcpy(&row, rows + i * sizeof(row), sizeof(row));
        if (row.d_tag == DT_NEEDED && elf->needed_count < GV_ELF_NEEDED &&
            row.d_un.d_val < view->size - strings)
            elf_text(view, strings + row.d_un.d_val, elf->needed[elf->needed_count++],
                     GV_ELF_NAME_BYTES);
    }
}

/* -EUCLEAN: a part that the system needs to start it is not there. */
static int elf_parts(const struct gv_elf_view *view, const Elf64_Ehdr *head,
                     struct gv_elf_file *elf)
{
    Elf64_Phdr part;

    for (uint16_t i = 0; i < head->e_phnum; i++) {
        if (!elf_part(view, head, i, &part) ||
            ((part.p_type == PT_LOAD || part.p_type == PT_INTERP) &&
             !elf_at(view, part.p_offset, 1, part.p_filesz)))
            return -EUCLEAN;
        if (part.p_type == PT_INTERP) {
            elf->is_dynamic = true;
            elf_text(view, part.p_offset, elf->interpreter, sizeof(elf->interpreter));
        } else if (part.p_type == PT_DYNAMIC) {
            elf_needed(view, head, &part, elf);
        }
    }
    return 0;
}

static void elf_sections(const struct gv_elf_view *view, const Elf64_Ehdr *head,
                         struct gv_elf_file *elf)
{
    Elf64_Shdr names, section;
    const unsigned char *rows = elf_at(view, head->e_shoff, head->e_shnum, sizeof(section));
    char name[16];

    if (!rows || head->e_shstrndx >= head->e_shnum)
        return;
    memcpy(&names, rows + head->e_shstrndx * sizeof(names), sizeof(names));
    for (uint16_t i = 0; i < head->e_shnum; i++) {
        memcpy(&section, rows + i * sizeof(section), sizeof(section));
        if (names.sh_offset < view->size && section.sh_name < view->size - names.sh_offset)
            elf_text(view, names.sh_offset + section.sh_name, name, sizeof(name));
        else
            name[0] = '\0';
        elf->has_device_code |= strcmp(name, ".nv_fatbin") == 0;
    }
}

static int elf_read(const struct gv_elf_view *view, struct gv_elf_file *elf)
{
    Elf64_Ehdr head;

    if (view->size < sizeof(head) || memcmp(view->bytes, ELFMAG, SELFMAG) != 0 ||
        view->bytes[EI_DATA] != ELFDATA2LSB)
        return -ENOEXEC;
    memcpy(&head, view->bytes, sizeof(head));
    elf->is_64_bit = view->bytes[EI_CLASS] == ELFCLASS64;
    elf->machine = head.e_machine;
    if (!elf->is_64_bit)
        return 0;
    elf_sections(view, &head, elf);
    elf->opens_libraries = memmem(view->bytes, view->size, "dlopen", sizeof("dlopen")) != NULL;
    return elf_parts(view, &head, elf);
}

int gv_elf_file_read(const char *path, struct gv_elf_file *elf)
{
    struct gv_elf_view view;
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), error = 0;
    void *bytes = MAP_FAILED;

    memset(elf, 0, sizeof(*elf));
    if (fd < 0)
        return -errno;
    if (fstat(fd, &status) < 0)
        error = -errno;
    else if (!S_ISREG(status.st_mode) || status.st_size <= 0)
        error = -ENOEXEC;
    if (!error) {
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        error = bytes == MAP_FAILED ? -errno : 0;
    }
    if (!error) {
        view = (struct gv_elf_view){bytes, (size_t)status.st_size};
        error = elf_read(&view, elf);
        munmap(bytes, (size_t)status.st_size);
    }
    close(fd);
    return error;
}

const char *gv_elf_file_needs(const struct gv_elf_file *elf, const char *beginning)
{
    for (size_t i = 0; i < elf->needed_count; i++)
        if (strncmp(elf->needed[i], beginning, strlen(beginning)) == 0)
            return elf->needed[i];
    return NULL;
}
