#include "trace/word_distance.h"

#include <string.h>

#define GV_WORD_LIMIT 31u

size_t gv_word_distance(const char *left, const char *right)
{
    size_t row[GV_WORD_LIMIT + 1], width = strlen(right);

    if (strlen(left) > GV_WORD_LIMIT || width > GV_WORD_LIMIT)
        return GV_WORD_LIMIT;
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; left[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t best = diagonal + (left[i - 1] != right[j - 1]);
            diagonal = row[j];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            row[j] = best;
        }
    }
    return row[width];
}
