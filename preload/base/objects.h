/*
 * The shared objects mapped in this process and the symbols that they export, read from their own
 * tables. dlsym() is no use here: it would answer from our point of view, and we replace it.
 *
 * Any thread. Allocates nothing. The dynamic loader's lock is held while objects are visited.
 */
#ifndef GV_BASE_OBJECTS_H
#define GV_BASE_OBJECTS_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gv_object {
    uintptr_t base; /* what the object's addresses are relative to */
    uintptr_t low;  /* its mapping: [low, high) */
    uintptr_t high;
    const ElfW(Dyn) * dynamic;
    const char *path; /* the loader's name for it; "" for the program; valid while it is mapped */
    bool at_startup;  /* mapped before any code ran, so every symbol look-up searches it */
};

static inline bool gv_object_has(const struct gv_object *object, uintptr_t address)
{
    return address >= object->low && address < object->high;
}

/* Whether it is our own library. */
bool gv_object_is_us(const struct gv_object *object);

/* The path of a file, relative to the folder of our library. False: unknown, or too long. */
bool gv_objects_beside_us(char *path, size_t size, const char *relative);

/* From the constructor: what is mapped now was mapped at startup, and stays mapped. */
void gv_objects_note_startup(void);

/* Calls visit() for each object in the order of symbol look-ups, until it returns true. */
bool gv_objects_visit(bool (*visit)(const struct gv_object *object, void *context), void *context);

/* The object that contains `address`. */
bool gv_objects_at(uintptr_t address, struct gv_object *object);

/* The first definition of `name` in an object after the one at `after` (0: in any). */
void *gv_objects_next(uintptr_t after, const char *name, struct gv_object *object);

/* The same at the program's start, when libc's functions are unusable, without the loader's
 * lock: in objects after the one whose dynamic section is at `after`. */
void *gv_objects_next_early(uintptr_t after, const char *name);

/* Whether `object` needs `other`, directly or not. It sees the symbols of these libraries
 * besides those of startup. */
bool gv_object_reaches(const struct gv_object *object, const struct gv_object *other);

/* How many objects have been unmapped so far. */
unsigned long long gv_objects_unloads(void);

/* How many have been mapped or unmapped so far. */
unsigned long long gv_objects_changes(void);

/* Whether an object with this dynamic section is still mapped at that base. */
bool gv_objects_mapped(const struct gv_object *object);

/* The address of an exported function or variable, or NULL. Hidden versions do not count. */
void *gv_object_symbol(const struct gv_object *object, const char *name);

/* DT_SONAME, or the last part of the path. */
const char *gv_object_name(const struct gv_object *object);

/* Whether the object asks for a library with this DT_SONAME. */
bool gv_object_needs(const struct gv_object *object, const char *name);

#endif
