/*
 * Finds the return addresses in the copied stack of a thread, with the unwind tables of the files
 * that its process had mapped. Reads nothing of the process: it may have ended.
 *
 * An unknown frame pointer is looked for on the stack (x86-64). Another register that is not known
 * stays so, and the chain ends at the first frame that needs it.
 *
 * One thread uses an unwinder, which is of one process. It keeps no file open between calls.
 * Without libunwind there are no frames.
 */
#ifndef GV_UNWIND_UNWIND_H
#define GV_UNWIND_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_UNWIND_FRAMES    256u
#define GV_UNWIND_REGISTERS 32u
#define GV_UNWIND_BUILD_ID  20u

/* A stack, and the registers at its end. */
struct gv_unwind_stack {
    uint64_t pc, sp;
    uint64_t value[GV_UNWIND_REGISTERS]; /* by DWARF's number on this machine */
    uint32_t known;                      /* bit per value; need not have sp's */
    uint32_t generation;                 /* of the list of objects */
    const unsigned char *bytes;          /* from `sp` on */
    size_t size;
};

/* A mapped file. One without an absolute path is the vdso. */
struct gv_unwind_object {
    uint64_t base; /* what the file's addresses are relative to */
    uint64_t low, high;
    const char *path;
    uint8_t build_id[GV_UNWIND_BUILD_ID]; /* the first bytes of a longer one */
    uint8_t build_id_bytes;               /* 0: it has none */
};

enum gv_unwind_end {
    GV_UNWIND_COMPLETE,
    GV_UNWIND_TRUNCATED, /* the copy or the cap ended */
    GV_UNWIND_STOPPED,   /* no tables, a check failed, a coroutine's switch */
};

struct gv_unwind_chain {
    size_t count;
    enum gv_unwind_end end;
    /* Innermost first; the first is `pc` itself, the others are return addresses. */
    uint64_t address[GV_UNWIND_FRAMES];
};

struct gv_unwinder;

bool gv_unwind_is_there(void);

/* NULL: no memory. */
struct gv_unwinder *gv_unwinder_open(void);
void gv_unwinder_close(struct gv_unwinder *unwinder);

/* The list of objects has generations: an object is in those of [added, removed). In the two before
 * `added`, it is where nothing else is: its listing had begun. */

/* Copies the object and its path. An object that is still listed at the same base is replaced,
 * unless it is the same. 0 or -errno. */
int gv_unwinder_add(struct gv_unwinder *unwinder, uint32_t generation,
                    const struct gv_unwind_object *object);
void gv_unwinder_remove(struct gv_unwinder *unwinder, uint32_t generation, uint64_t base);
/* No stack of an earlier generation will come: frees the objects removed at or before this one. */
void gv_unwinder_forget(struct gv_unwinder *unwinder, uint32_t generation);

void gv_unwinder_walk(struct gv_unwinder *unwinder, const struct gv_unwind_stack *stack,
                      struct gv_unwind_chain *chain);

/* The object at an address; NULL: none. Valid until the next add, remove or forget. */
const struct gv_unwind_object *gv_unwinder_object(struct gv_unwinder *unwinder, uint32_t generation,
                                                  uint64_t address);

#endif
