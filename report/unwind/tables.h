/*
 * The unwind table of an ELF file: finds the entry of a function and checks that libunwind can
 * follow it. libunwind 1.6 trusts these bytes: a register number beyond its arrays crashes it.
 */
#ifndef GV_UNWIND_TABLES_H
#define GV_UNWIND_TABLES_H

#include "report/unwind/mapped_file.h"

/* In the file's addresses. */
struct gv_table_entry {
    uint64_t at;         /* the entry in .eh_frame_hdr */
    uint64_t start, end; /* of the function, or of a part of it */
};

/* The entry for the code at an address. 0; -ENOENT: none; -EINVAL: a damaged one, or one that uses
 * what compilers do not write. */
int gv_table_find(struct gv_mapped_file *file, uint64_t address, struct gv_table_entry *entry);

#endif
