/* Feeds texts to the reader of rules: it must accept each, or refuse it with a message. */
#include "report/commands/check/rules.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gv_check_rules rules = {0};
    char why[GV_CHECK_WHY_BYTES] = "", *text = malloc(size ? size : 1);

    if (!text)
        abort();
    memcpy(text, data, size);
    int error = gv_check_rules_parse(&rules, text, size, why);
    if (error != 0 && error != -EINVAL)
        abort();
    if (error && !strstr(why, "line "))
        abort();
    for (size_t i = 0; i < rules.count; i++)
        if (!rules.rules[i].check)
            abort();
    gv_check_rules_free(&rules);
    free(text);
    return 0;
}
