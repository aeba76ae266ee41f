/* Copies the stack of the calling thread, as the library in the program does. */
#ifndef GV_TEST_COPIED_STACK_H
#define GV_TEST_COPIED_STACK_H

#include "report/unwind/unwind.h"

#define COPIED_BYTES 65536u

struct copied_stack {
    struct gv_unwind_stack stack;
    /* What glibc says of the same place: the first differs, as it is a moment later. */
    void *glibc[GV_UNWIND_FRAMES];
    int glibc_count;
    unsigned char bytes[COPIED_BYTES];
};

void copied_stack_take(struct copied_stack *copied);

/* Adds all objects that are mapped now, apart from those whose path contains `without`. */
void copied_stack_add_objects(struct gv_unwinder *unwinder, uint32_t generation,
                              const char *without);

/* How many frames are what glibc says, from the second one on. */
size_t copied_stack_common(const struct copied_stack *copied, const struct gv_unwind_chain *chain);

#endif
