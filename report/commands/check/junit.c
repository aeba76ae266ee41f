/* JUnit XML, as CI services read it: one test case for each rule. */
#include "report/commands/check/check.h"

#include "report/show/xml.h"

static void junit_name(FILE *out, const struct gv_check_rule *rule)
{
    char name[GV_OPTION_NAME_BYTES];

    gv_xml_text(out, gv_option_name(&gv_options[rule->check->option], name));
    if (rule->text) {
        fputc(' ', out);
        gv_xml_text(out, rule->text);
    }
}

static void junit_case(FILE *out, const char *trace, const struct gv_check_rule *rule,
                       const struct gv_check_result *result)
{
    const char *kind = result->outcome == GV_CHECK_BROKEN ? "failure" : "error";

    fputs("  <testcase classname=\"", out);
    gv_xml_text(out, trace);
    fputs("\" name=\"", out);
    junit_name(out, rule);
    if (result->outcome == GV_CHECK_KEPT) {
        fputs("\" time=\"0\"/>\n", out);
        return;
    }
    fprintf(out, "\" time=\"0\">\n    <%s message=\"", kind);
    gv_xml_text(out, result->found ? result->found : "");
    fputs("\"/>\n  </testcase>\n", out);
}

void gv_check_junit_print(FILE *out, const char *trace, const struct gv_check_rules *rules,
                          const struct gv_check_result *results)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<testsuite name=\"gpuverify check\" tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" "
            "time=\"0\">\n",
            rules->count, gv_check_count(rules, results, GV_CHECK_BROKEN),
            gv_check_count(rules, results, GV_CHECK_UNKNOWN));
    for (size_t i = 0; i < rules->count; i++)
        junit_case(out, trace, &rules->rules[i], &results[i]);
    fputs("</testsuite>\n", out);
}
