/*
 * Checks the cases, or lists the atomic operations that they reach.
 *
 *    model_NAME [--sites] [--explain] [--weaken HALF:ADDRESS,...]... [CASE...]
 *
 * HALF is acquire, release, failure (of a comparison) or tag (of a comparison). The exit status is
 * 0 if all cases hold, and 1 if one fails.
 */
#include "tests/model/engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* No case needs a tenth of this. One that does is too large to run each time. */
#define MOST_EXECUTIONS 400000

static bool parse_weakening(char *words)
{
    static const char *const halves[] = {[HALF_ACQUIRE] = "acquire",
                                         [HALF_RELEASE] = "release",
                                         [HALF_FAILURE] = "failure",
                                         [HALF_TAG] = "tag"};
    char *address = strchr(words, ':');
    struct weakening weakening = {.half = HALF_ACQUIRE};

    if (!address)
        return false;
    *address++ = 0;
    while (strcmp(words, halves[weakening.half]) != 0)
        if (weakening.half++ == HALF_TAG)
            return false;
    for (; *address; address += strspn(address, ",")) {
        weakening.site = strtoul(address, &address, 16);
        if (hooks_weakening_count == MOST_WEAKENED || (*address && *address != ','))
            return false;
        hooks_weakenings[hooks_weakening_count++] = weakening;
    }
    return true;
}

static bool is_chosen(const struct model_case *one, char **names)
{
    if (!*names)
        return true;
    for (; *names; names++)
        if (strcmp(one->name, *names) == 0)
            return true;
    return false;
}

static bool check(const struct model_case *one, bool explain)
{
    struct model_counts counts;
    clock_t start = clock();
    bool holds;

    holds = engine_check(one, MOST_EXECUTIONS, explain, &counts);
    printf("%s: %s, %llu executions, %llu states, %.2f s\n", one->name, holds ? "holds" : "FAILS",
           (unsigned long long)counts.executions, (unsigned long long)counts.states,
           (double)(clock() - start) / CLOCKS_PER_SEC);
    return holds;
}

int main(int count, char **words)
{
    bool explain = false, prints_sites = false, holds = true;
    int at = 1;

    setvbuf(stdout, NULL, _IOLBF, 0);

    for (; at < count && words[at][0] == '-'; at++) {
        if (strcmp(words[at], "--explain") == 0)
            explain = true;
        else if (strcmp(words[at], "--sites") == 0)
            prints_sites = true;
        else if (strcmp(words[at], "--weaken") != 0 || ++at == count || !parse_weakening(words[at]))
            return 2;
    }
    for (int i = 0; model_cases[i] && holds; i++)
        if (is_chosen(model_cases[i], words + at))
            holds = check(model_cases[i], explain);
    if (prints_sites)
        hooks_print_sites();
    return holds ? 0 : 1;
}
