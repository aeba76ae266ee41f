/*
 * Numbers for kernels and modules, by the handles that the program uses.
 *
 * Records of launches have a kernel's number. A NAME record, written when the kernel is known or
 * first launched, gives the name. Numbers are never reused: a handle that is used again after an
 * unload gets another number, so no launch is attributed to the wrong kernel, however late its
 * record is read.
 *
 * Any thread, also signal handlers in the middle of any of these. Nothing here locks, waits or
 * allocates. A thread that is killed, or a fork, between two instructions does not break it for
 * others. While one thread ends a handle's meaning, another thread gets the number that it had, or
 * 0, never another handle's. There is room for a fixed number of handles; launches of further
 * kernels have no names (counted as lost).
 */
#ifndef GV_HOOKS_NAMES_H
#define GV_HOOKS_NAMES_H

#include <stdbool.h>
#include <stdint.h>

/* A module or library was loaded: returns its number (0: no room). */
uint32_t gv_names_add_owner(uintptr_t handle);

/* The number of a module, or 0. */
uint32_t gv_names_owner(uintptr_t handle);

/*
 * `handle` is the kernel `name` of `owner`. If it was another owner's, that one is gone. If it is
 * known already, nothing happens. `*kernel` is its number, 0 if there is no room. True if the
 * number is new: then the caller writes the NAME record.
 */
bool gv_names_add(uintptr_t handle, uintptr_t owner, uint32_t *kernel);

/*
 * A host function stands for a kernel whose name is in the program. The NAME record is written at
 * its launch, because a program registers thousands and launches few. `name` must stay valid until
 * gv_names_void_owner(owner).
 */
void gv_names_register(uintptr_t host_function, uintptr_t owner, const char *name);

/* Whether both mean the same already. */
bool gv_names_agree(uintptr_t handle, uintptr_t known);

/* `handle` is another handle of what `known` is; unknown if `known` is. Nothing happens if they
 * agree. */
void gv_names_alias(uintptr_t handle, uintptr_t known);

struct gv_names_answer {
    uint32_t kernel;  /* 0: unknown handle */
    const char *name; /* not NULL: no NAME record was written for this handle; write it */
};

struct gv_names_answer gv_names_find(uintptr_t handle);

/* The owner's code is gone, and with it the meaning of its handles and of those with an unknown
 * module. Returns its number. */
uint32_t gv_names_void_owner(uintptr_t owner);

/*
 * A context is destroyed, with everything that was loaded into it. Which handles that ends is
 * unknown, so all end except host functions, also those of other contexts. The driver is asked
 * again: at its next launch such a kernel gets a new number and the same name, and its module is
 * unknown.
 */
void gv_names_void_loaded(void);

/* There is no room for another handle, so asking the driver for names is useless. */
bool gv_names_are_full(void);

/* In a forked child: forgets what the parent loaded; writes the names of registered functions
 * again. */
void gv_names_start_over(void);

#endif
