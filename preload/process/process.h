/* Attaching this process to a session: see preload/base/own_process.h. */
#ifndef GV_PROCESS_PROCESS_H
#define GV_PROCESS_PROCESS_H

#include "preload/base/own_process.h"

/* Makes the spool, joins the session, starts the collector if there is none. Any thread; the first
 * one does it, the others wait for it. True if the process records now. */
bool gv_process_attach(void);

/* True in the process that attached; false in a vfork()ed child of it, which shares its memory. */
bool gv_process_is_attached_here(void);

/* Once the driver is known: notes its version in the spool. */
void gv_process_note_driver(void);

#endif
