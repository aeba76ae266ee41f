/*
 * The numbers of Python's code objects. The thread that sees one for the first time records its
 * names and its line table; from then on, a frame of it is a number and a position.
 *
 * A code object may have the address of one that was freed. So it is known by what tells it from
 * all others that ever were there: its fields, which hold its version from CPython 3.12 on, and
 * where there is no version, its names and its line table.
 *
 * Any thread. Lock-free.
 */
#ifndef GV_STACKS_PYTHON_CODE_H
#define GV_STACKS_PYTHON_CODE_H

#include "preload/base/thread.h"
#include "preload/stacks/python_runtime.h"

#include <stdbool.h>
#include <stdint.h>

#define GV_PYTHON_CODES      16384u /* more of a process have no number */
#define GV_PYTHON_TEXT_BYTES 512u   /* of a name; of a longer one, its end is recorded */
#define GV_PYTHON_TABLE_MOST 65536u /* bytes; of a longer one, only the first line is recorded */

/* Whether it is a code object, with names that are strings, and a line table. For the self-test. */
bool gv_python_code_looks_right(const struct gv_python *python, uintptr_t code);

/* Its identity. False: it does not look like a code object. */
bool gv_python_code_key(const struct gv_python *python, uintptr_t code, uint64_t *key);

/* The number of the code object with this key, counted from 1 in the process. A new one is
 * written, as records of a group that continues. 0: there is no room, or its names cannot be read.
 */
uint32_t gv_python_code_number(struct gv_thread *thread, const struct gv_python *python,
                               uintptr_t code, uint64_t key);

/* In a forked child: its spool has none yet. */
void gv_python_code_start_over(void);

#endif
