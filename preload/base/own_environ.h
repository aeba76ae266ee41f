/*
 * Reads the environment while other threads may change it, and free or move what it is in: through
 * the Linux kernel, or plainly where the kernel refuses that.
 */
#ifndef GV_BASE_OWN_ENVIRON_H
#define GV_BASE_OWN_ENVIRON_H

#include <stdbool.h>
#include <stddef.h>

/* The variable number `index`, "NAME=VALUE", cut to fit. False: there is none. */
bool gv_own_environ_read(size_t index, char *text, size_t bytes);

/* The same, where it is. NULL: there is none. */
char *gv_own_environ_at(size_t index);

#endif
