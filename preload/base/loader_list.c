#include "preload/base/loader_list.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u

/* Asks the kernel: what is not there cannot be read to find that out. */
static bool is_mapped(uintptr_t address, size_t bytes)
{
    uintptr_t page = address & ~(uintptr_t)(PAGE_BYTES - 1);
    int saved_errno = errno;
    bool mapped = msync((void *)page, address + bytes - page, MS_ASYNC) == 0;

    errno = saved_errno;
    return mapped;
}

/* The program itself may be linked to an address, and its ELF header not be mapped. */
static bool read_main(struct dl_phdr_info *info)
{
    info->dlpi_phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    info->dlpi_phnum = (ElfW(Half))getauxval(AT_PHNUM);
    return info->dlpi_phdr != NULL;
}

/* Of a library that starts with its ELF header, at the address that it was moved by: all that
 * today's linkers make. */
static bool read_library(const struct link_map *map, struct dl_phdr_info *info)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)map->l_addr;
    size_t bytes;

    if (!map->l_addr || !map->l_ld || !is_mapped(map->l_addr, sizeof *header) ||
        !is_mapped((uintptr_t)map->l_ld, sizeof *map->l_ld) ||
        memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    bytes = (size_t)header->e_phnum * sizeof(ElfW(Phdr));
    if (header->e_phentsize != sizeof(ElfW(Phdr)) ||
        !is_mapped(map->l_addr + header->e_phoff, bytes))
        return false;
    info->dlpi_phdr = (const ElfW(Phdr) *)(map->l_addr + header->e_phoff);
    info->dlpi_phnum = header->e_phnum;
    return true;
}

int gv_loader_list_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                         void *context)
{
    int result = 0;

    for (const struct link_map *map = _r_debug.r_map; map && !result; map = map->l_next) {
        struct dl_phdr_info info = {.dlpi_addr = map->l_addr, .dlpi_name = map->l_name};

        if (map == _r_debug.r_map ? read_main(&info) : read_library(map, &info))
            result = visit(&info, sizeof info, context);
    }
    return result;
}
