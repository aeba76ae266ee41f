/*
 * The shared objects that are mapped in this process, and the symbols that they export, read from
 * their own tables: dlsym() would answer from our point of view, and is what we stand in for.
 *
 * Any thread. Nothing is allocated; the dynamic loader's own lock is held while objects are
 * visited.
 */
#ifndef GV_BASE_OBJECTS_H
#define GV_BASE_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

struct gv_object {
    uintptr_t base; /* what the object's own addresses are relative to */
    uintptr_t low;  /* its mapping: [low, high) */
    uintptr_t high;
    const ElfW(Dyn) * dynamic;
    const char *path; /* the loader's name for it; "" for the program; valid while it is mapped */
    bool at_startup;  /* mapped before any code ran: every symbol look-up searches it */
};

/* To be called from the constructor: what is mapped now was mapped at startup, and stays. */
void gv_objects_note_startup(void);

/* Calls visit() for each object in the order in which symbols are looked up, until it is true. */
bool gv_objects_visit(bool (*visit)(const struct gv_object *object, void *context), void *context);

/* The object that holds `address`. */
bool gv_objects_at(uintptr_t address, struct gv_object *object);

/* The first definition of `name` in an object behind the one at `after` (0: in any). */
void *gv_objects_next(uintptr_t after, const char *name, struct gv_object *object);

/* The same at the program's start, when functions of libc may not be called yet, without the
 * loader's lock: behind the object whose dynamic section is at `after`. */
void *gv_objects_next_early(uintptr_t after, const char *name);

/* Does `object` need `other`, or something that does? These are the libraries whose symbols it sees
 * besides those of startup. */
bool gv_object_reaches(const struct gv_object *object, const struct gv_object *other);

/* How many objects have been unmapped so far. */
unsigned long long gv_objects_unloads(void);

/* Is an object with this dynamic section still mapped at that base? */
bool gv_objects_mapped(const struct gv_object *object);

/* The address of an exported function or variable of this name, or NULL. Hidden versions do not
 * count. */
void *gv_object_symbol(const struct gv_object *object, const char *name);

/* DT_SONAME, or the last part of the path. */
const char *gv_object_name(const struct gv_object *object);

/* Does the object ask for a library of that DT_SONAME? */
bool gv_object_needs(const struct gv_object *object, const char *name);

#endif
