/* Words for values, changes and tests of two runs. */
#ifndef GV_COMMANDS_DIFF_TEXT_H
#define GV_COMMANDS_DIFF_TEXT_H

#include "report/commands/diff/diff.h"
#include "report/store/database.h"

#define GV_DIFF_TEXT_BYTES 128u

/* A side's value: "12.3 ms", for several traces "12.3 ms (12.1 ms to 13.0 ms)". */
const char *gv_diff_say_range(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change,
                              size_t side);
/* "+1.20 ms" */
const char *gv_diff_say_change(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);
/* "+12.3 %", "20.0 times", "new", "gone" */
const char *gv_diff_say_ratio(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);
/* "yes, p 0.029", "no, p 0.34", "no", "perhaps": whether it is more than noise */
const char *gv_diff_say_noise(char out[GV_DIFF_TEXT_BYTES], const struct gv_diff_change *change);

/* The test used. */
void gv_diff_say_test(char *out, size_t size, const struct gv_diff *diff);

/* The findings of a side by key, or the names of its facts, the first ones first: at most `most`;
 * with several traces, the most frequent first, and how many of the traces have it. 0 or -errno. */
int gv_diff_each_finding(const struct gv_diff *diff, size_t side, int64_t most,
                         gv_database_take *take, void *context);
int gv_diff_each_fact(const struct gv_diff *diff, size_t side, gv_database_take *take,
                      void *context);

/* The nearest integer, limited to int64_t. */
int64_t gv_diff_whole(double value);

#endif
