/* Names of earlier versions that are gone. */
#ifndef GV_TRACE_OLD_NAMES_H
#define GV_TRACE_OLD_NAMES_H

/* What to use instead of a name, as the end of a message; NULL: it is none of old_names.def, which
 * says what `of` is. */
const char *gv_old_name_now(const char *of, const char *name);

#endif
