/* JUnit XML, as CI services read it: one test case for each rule. */
#include "report/commands/check/check_run.h"

#include "trace/text.h"

#include <stdlib.h>
#include <string.h>

/* XML allows no control characters, and has escapes for its own. */
static void junit_text(FILE *out, const char *text)
{
    size_t left = strlen(text), length;

    for (; left > 0; text += length, left -= length) {
        uint32_t character = gv_text_decode(text, left, &length);
        if (character == '&')
            fputs("&amp;", out);
        else if (character == '<')
            fputs("&lt;", out);
        else if (character == '>')
            fputs("&gt;", out);
        else if (character == '"')
            fputs("&quot;", out);
        else if (character == GV_TEXT_NO_CHARACTER || gv_text_is_harmful(character) ||
                 character == 0xfffe || character == 0xffff)
            fputs("\xef\xbf\xbd", out);
        else
            fwrite(text, 1, length, out);
    }
}

static void junit_name(FILE *out, const struct gv_check_rule *rule)
{
    char name[GV_OPTION_NAME_BYTES];

    junit_text(out, gv_option_name(&gv_options[rule->check->option], name));
    if (rule->text) {
        fputc(' ', out);
        junit_text(out, rule->text);
    }
}

static void junit_case(FILE *out, const char *trace, const struct gv_check_rule *rule,
                       const struct gv_check_result *result)
{
    const char *kind = result->outcome == GV_CHECK_BROKEN ? "failure" : "error";

    fputs("  <testcase classname=\"", out);
    junit_text(out, trace);
    fputs("\" name=\"", out);
    junit_name(out, rule);
    if (result->outcome == GV_CHECK_KEPT) {
        fputs("\" time=\"0\"/>\n", out);
        return;
    }
    fprintf(out, "\" time=\"0\">\n    <%s message=\"", kind);
    junit_text(out, result->found ? result->found : "");
    fputs("\"/>\n  </testcase>\n", out);
}

void gv_check_junit_print(FILE *out, const char *trace, const struct gv_check_rules *rules,
                          const struct gv_check_result *results)
{
    size_t broken = 0, unknown = 0;

    for (size_t i = 0; i < rules->count; i++) {
        broken += results[i].outcome == GV_CHECK_BROKEN;
        unknown += results[i].outcome == GV_CHECK_UNKNOWN;
    }
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"gpuverify check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "time=\"0\">\n",
            rules->count, broken, unknown);
    for (size_t i = 0; i < rules->count; i++)
        junit_case(out, trace, &rules->rules[i], &results[i]);
    fputs("</testsuite>\n", out);
}
