/* What gpuverify says to its user besides what was asked for. */
#ifndef GV_SHOW_MESSAGE_H
#define GV_SHOW_MESSAGE_H

/* "gpuverify: ..." and a line end, on stderr. Control characters in it are made harmless. */
void gv_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
