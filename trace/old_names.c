#include "trace/old_names.h"

#include "trace/word_distance.h"

#include <string.h>

static const struct {
    const char *of, *name, *now;
} old_names[] = {
#define GV_OLD_NAME(of, name, now) {of, name, now},
#include "trace/old_names.def"
};

const char *gv_old_name_now(const char *of, const char *name)
{
    for (size_t i = 0; i < sizeof(old_names) / sizeof(old_names[0]); i++)
        if (strcmp(of, old_names[i].of) == 0 &&
            gv_word_is(name, old_names[i].name, strlen(old_names[i].name)))
            return old_names[i].now;
    return NULL;
}
