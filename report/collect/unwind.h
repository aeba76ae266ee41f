/*
 * Finds the return addresses in the copied stack of a thread of another process, with the unwind
 * tables of the files that it has mapped. Reads nothing of the process but its list of mapped
 * files. An unknown frame pointer is looked for on the stack (x86-64); another register that is not
 * known stays so, and the unwinding ends at the first frame that needs it.
 *
 * One thread uses an unwinder, which is of one process. Without elfutils there are no frames.
 */
#ifndef GV_COLLECT_UNWIND_H
#define GV_COLLECT_UNWIND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_UNWIND_FRAMES    64u
#define GV_UNWIND_REGISTERS 32u
#define GV_UNWIND_BUILD_ID  64u

/* A stack, and the registers at its end. */
struct gv_unwind_stack {
    uint64_t pc;
    uint64_t sp;
    uint64_t value[GV_UNWIND_REGISTERS]; /* by DWARF's number on this machine */
    uint32_t known;                      /* bit per value; need not have sp's */
    const unsigned char *bytes;          /* from `sp` on */
    size_t size;
};

/* A mapped file. */
struct gv_unwind_object {
    uint64_t base; /* what the file's addresses are relative to */
    uint64_t low, high;
    const char *path;                          /* lives as long as the unwinder's list of files */
    char build_id[2 * GV_UNWIND_BUILD_ID + 1]; /* in hex; empty: none */
};

struct gv_unwinder;

/* NULL: no memory. */
struct gv_unwinder *gv_unwinder_open(uint32_t pid);
void gv_unwinder_close(struct gv_unwinder *unwinder);

/* Reads which files are mapped, if that was a while ago. If that fails, the earlier list stays. */
void gv_unwinder_refresh(struct gv_unwinder *unwinder);

/* Frames, innermost first; the first is `pc` itself. Returns how many; 0: nothing is known. */
size_t gv_unwinder_walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                        uint64_t address[GV_UNWIND_FRAMES]);

/* The file at an address. False: none, or it was returned before, by this list of files. */
bool gv_unwinder_object(struct gv_unwinder *unwinder, uint64_t address,
                        struct gv_unwind_object *object);
/* Its path; NULL: none. */
const char *gv_unwinder_path(struct gv_unwinder *unwinder, uint64_t address);

#endif
