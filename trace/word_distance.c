#include "trace/word_distance.h"

#include <string.h>

#define GV_WORD_LIMIT 31u

/* The number of letters to insert, delete or replace. Words that are too long are far away. */
static size_t distance_between(const char *left, const char *right)
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

bool gv_word_is(const char *word, const char *known, size_t known_length)
{
    for (size_t i = 0; i < known_length; i++)
        if (word[i] != known[i] && !(strchr("-_", known[i]) && word[i] && strchr("-_", word[i])))
            return false;
    return word[known_length] == '\0';
}

bool gv_word_is_nearer(const char *word, const char *known, size_t *least)
{
    size_t distance = distance_between(word, known);

    if (distance >= *least || distance >= strlen(known))
        return false;
    *least = distance;
    return true;
}

const char *gv_word_nearest(const char *word, const char *words, char out[GV_WORD_BYTES])
{
    size_t least = GV_WORD_TYPO;
    char known[GV_WORD_BYTES];

    out[0] = '\0';
    for (size_t length; *words; words += length + (words[length] != '\0')) {
        length = strcspn(words, " |");
        if (length == 0 || length >= GV_WORD_BYTES)
            continue;
        memcpy(known, words, length);
        known[length] = '\0';
        if (gv_word_is_nearer(word, known, &least))
            memcpy(out, known, length + 1);
    }
    return out[0] ? out : NULL;
}
