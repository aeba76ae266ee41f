/* The objects that a process had mapped in each generation, and what their files hold. */
#ifndef GV_UNWIND_OBJECTS_H
#define GV_UNWIND_OBJECTS_H

#include "report/unwind/mapped_file.h"
#include "report/unwind/unwind.h"

struct gv_objects;

struct gv_object {
    struct gv_unwind_object object;
    uint32_t added, removed; /* generations */
    uint64_t reach;          /* the highest end of this object and those before it */
    bool switches;           /* its frames are a coroutine's outermost ones */
    bool refused;            /* its file is not what was mapped */
    struct gv_mapped_file *file;
};

/* With the files' pages, which are the caller's. NULL: no memory. */
struct gv_objects *gv_objects_open(struct gv_mapped_pages *pages);
void gv_objects_close(struct gv_objects *objects);

int gv_objects_add(struct gv_objects *objects, uint32_t generation,
                   const struct gv_unwind_object *object);
void gv_objects_remove(struct gv_objects *objects, uint32_t generation, uint64_t base);
void gv_objects_forget(struct gv_objects *objects, uint32_t generation);

/* Generations of the same era differ only in added objects: what was found in one holds in the
 * others. */
uint32_t gv_objects_era(struct gv_objects *objects, uint32_t generation);

/* NULL: none. */
struct gv_object *gv_objects_find(struct gv_objects *objects, uint32_t generation,
                                  uint64_t address);
/* NULL: it cannot be read. */
struct gv_mapped_file *gv_objects_file(struct gv_objects *objects, struct gv_object *object);

/* Reads up to `size` bytes of one object. Returns how many. */
size_t gv_objects_read(struct gv_objects *objects, uint32_t generation, uint64_t address, void *to,
                       size_t size);
bool gv_objects_is_code(struct gv_objects *objects, uint32_t generation, uint64_t address);

#endif
