/*
 * Which kernel a handle is: numbers for kernels and modules, by the handles that the program uses.
 *
 * A kernel's number is written into the records of its launches; a NAME record, written once it is
 * known or first launched, tells the name. Numbers are never used again, so a handle that is used
 * again after an unload gets another number, and no launch can be given to the wrong kernel however
 * late its record is read.
 *
 * Any thread, signal handlers too, in the middle of any of these: nothing here locks, waits or
 * allocates, and a thread that is killed or forked between two instructions leaves nothing that
 * others trip over. While one thread ends the meaning of a handle, another one that asks for it
 * gets the number that it had, or 0: never that of another handle. There is room for a fixed number
 * of handles, after which launches have no names (counted as lost).
 */
#ifndef GV_HOOKS_NAMES_H
#define GV_HOOKS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* A module or library was loaded: gives it a number (0: no room). */
uint32_t gv_names_add_owner(uintptr_t handle);

/* The number of a module, or 0. */
uint32_t gv_names_owner(uintptr_t handle);

/*
 * `handle` is the kernel `name` of `owner`. If it is known already, nothing happens, unless it was
 * another owner's: then that one is gone. `*kernel` is its number, 0 if there is no room. True when
 * that is a new one: then the caller writes the NAME record.
 */
bool gv_names_add(uintptr_t handle, uintptr_t owner, uint32_t *kernel);

/*
 * A host function stands for a kernel whose name lies in the program. The name is told when it is
 * launched, since a program registers thousands and launches few. `name` must stay until
 * gv_names_void_owner(owner).
 */
void gv_names_register(uintptr_t host_function, uintptr_t owner, const char *name);

/* `handle` is another handle of what `known` is; unknown, if that is. */
void gv_names_alias(uintptr_t handle, uintptr_t known);

struct gv_names_answer {
    uint32_t kernel;  /* 0: unknown handle */
    const char *name; /* not NULL: nobody was told it by this handle yet: write the NAME record */
};

struct gv_names_answer gv_names_find(uintptr_t handle);

/* The owner's code is gone, and with it the meaning of its handles, and of those whose module is
 * unknown. Returns its number. */
uint32_t gv_names_void_owner(uintptr_t owner);

/*
 * A context is destroyed, with all that was loaded into it. Which handles that ends is not known,
 * so all end but host functions, also those of contexts that live on. What they mean is then asked
 * of the driver: at its next launch such a kernel gets another number and the same name, and its
 * module is unknown.
 */
void gv_names_void_loaded(void);

/* There is no room for another handle: asking the driver for names would be in vain. */
bool gv_names_are_full(void);

/* In a forked child: nothing that the parent loaded is ours; the names of what is registered are
 * told anew. */
void gv_names_start_over(void);

#endif
