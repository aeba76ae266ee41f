/*
 * dl_iterate_phdr() without the loader's lock, for a forked child in which a thread that is not
 * there holds it for ever: nothing is loaded or unloaded there any more, as that takes the lock
 * too. What was half loaded or half unloaded at the fork is left out.
 */
#ifndef GV_BASE_LOADER_LIST_H
#define GV_BASE_LOADER_LIST_H

#include <link.h>
#include <stddef.h>

int gv_loader_list_visit(int (*visit)(struct dl_phdr_info *info, size_t size, void *context),
                         void *context);

#endif
