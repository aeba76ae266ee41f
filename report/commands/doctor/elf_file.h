/* Facts of an ELF file. The file may be anything, so everything is checked. */
#ifndef GV_COMMANDS_DOCTOR_ELF_FILE_H
#define GV_COMMANDS_DOCTOR_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_ELF_NEEDED     64u
#define GV_ELF_NAME_BYTES 128u
#define GV_ELF_PATH_BYTES 512u

struct gv_elf_file {
    bool is_64_bit;
    uint16_t machine;                    /* EM_... */
    bool is_dynamic;                     /* has an interpreter, so libraries can be preloaded */
    char interpreter[GV_ELF_PATH_BYTES]; /* of a dynamic program */
    char needed[GV_ELF_NEEDED][GV_ELF_NAME_BYTES];
    size_t needed_count;
    bool has_device_code; /* a section .nv_fatbin */
    bool opens_libraries; /* mentions dlopen */
};

/* 0; -ENOEXEC: not an ELF file of this machine's byte order; or -errno. */
int gv_elf_file_read(const char *path, struct gv_elf_file *elf);

/* The first needed library with this prefix; NULL: none. */
const char *gv_elf_file_needs(const struct gv_elf_file *elf, const char *beginning);

#endif
