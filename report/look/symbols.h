/*
 * The exported symbols of an object of another process, read from its memory: they are there also
 * if its file is not, as in a container or after an update.
 *
 * One thread. The memory may hold anything.
 */
#ifndef GV_LOOK_SYMBOLS_H
#define GV_LOOK_SYMBOLS_H

#include "report/look/outside.h"

#include <elf.h>

struct gv_symbols {
    uint64_t base;
    Elf64_Sym *symbol;
    size_t count;
    char *text;
    size_t text_bytes;
};

/* 0; -ENOENT: it exports none that can be read; or -errno. Free it in any case. */
int gv_symbols_read(uint32_t pid, const struct gv_outside_object *object,
                    struct gv_symbols *symbols);
/* 0: there is none. */
uint64_t gv_symbols_address(const struct gv_symbols *symbols, const char *name);
/* The function that has an address; NULL: none that is exported. */
const char *gv_symbols_function(const struct gv_symbols *symbols, uint64_t address);
void gv_symbols_free(struct gv_symbols *symbols);

#endif
