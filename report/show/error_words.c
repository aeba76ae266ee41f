#include "report/show/error_words.h"

#include <stddef.h>
#include <string.h>

static const struct gv_error_words error_words_all[] = {
#define GV_ERROR_WORDS(result, class, meaning, remedy) {result, class, meaning, remedy},
#include "report/show/error_words.def"
};

const struct gv_error_words *gv_error_words_of(const char *class, int64_t result)
{
    const struct gv_error_words *found = NULL;

    for (size_t i = 0; i < sizeof(error_words_all) / sizeof(error_words_all[0]); i++) {
        const struct gv_error_words *words = &error_words_all[i];
        if (words->result == result && strcmp(words->class, class) == 0)
            return words;
        if (words->result == result && !words->class[0])
            found = words;
    }
    return found;
}

bool gv_error_words_is_fatal(int64_t result)
{
    return result == 214 || result == 700 || result == 702 || result == 710 ||
           (result >= 714 && result <= 719);
}
