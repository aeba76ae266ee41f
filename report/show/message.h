/* Messages of gpuverify to its user. */
#ifndef GV_SHOW_MESSAGE_H
#define GV_SHOW_MESSAGE_H

/* Prints "gpuverify: ..." and a newline on stderr, with control characters escaped. */
void gv_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
