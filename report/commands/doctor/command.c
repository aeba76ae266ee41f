/* gpuverify doctor [PROGRAM]: checks what can be recorded on this machine, and of a program. */
#include "report/commands/commands.h"
#include "report/commands/doctor/doctor.h"
#include "report/show/rows.h"
#include "report/show/terminal.h"
#include "report/show/text_lines.h"

#include <stdlib.h>
#include <string.h>

#define GV_DOCTOR_INDENT 24

static const char *doctor_state(enum gv_check_state state)
{
    return state == GV_CHECK_FINE ? "fine" : state == GV_CHECK_NOTE ? "note" : "wrong";
}

static void doctor_print_text(const struct gv_doctor *doctor)
{
    const char *about = "";
    int columns = gv_terminal_columns(stdout);
    char first[64];

    for (size_t i = 0; i < doctor->count; i++) {
        const struct gv_doctor_check *check = &doctor->checks[i];
        if (strcmp(about, check->about) != 0)
            printf("%s%s\n", about[0] ? "\n" : "", check->about);
        about = check->about;
        snprintf(first, sizeof(first), "  %-6s %s", doctor_state(check->state), check->what);
        gv_text_lines(stdout, GV_DOCTOR_INDENT, first, check->found, columns);
        if (check->fix[0])
            gv_text_lines(stdout, GV_DOCTOR_INDENT, "         to do", check->fix, columns);
    }
    puts(doctor->unwell       ? "\nSomething would not be recorded."
         : doctor->looked_not ? "\nNo problem found, but not everything was checked."
                              : "\nReady to profile.");
}

static int doctor_print_rows(const struct gv_doctor *doctor, enum gv_format format)
{
    static const struct gv_column columns[] = {
        {"about", GV_COLUMN_TEXT}, {"state", GV_COLUMN_TEXT}, {"what", GV_COLUMN_TEXT},
        {"found", GV_COLUMN_TEXT}, {"fix", GV_COLUMN_TEXT},
    };
    struct gv_rows rows;

    gv_rows_begin(&rows, stdout, format, columns, sizeof(columns) / sizeof(columns[0]), NULL);
    for (size_t i = 0; i < doctor->count; i++) {
        const struct gv_doctor_check *check = &doctor->checks[i];
        gv_rows_text(&rows, check->about);
        gv_rows_text(&rows, doctor_state(check->state));
        gv_rows_text(&rows, check->what);
        gv_rows_text(&rows, check->found);
        gv_rows_text(&rows, check->fix[0] ? check->fix : NULL);
    }
    return gv_rows_end(&rows);
}

int gv_command_doctor(const struct gv_arguments *arguments)
{
    enum gv_format format =
        gv_format_find(gv_arguments_text(arguments, GV_OPTION_doctor_format, "text"));
    struct gv_doctor *doctor = calloc(1, sizeof(*doctor));
    int error = 0;

    if (!doctor)
        return GV_EXIT_FAILED;
    doctor->about = "machine";
    doctor->may_start = !gv_arguments_has(arguments, GV_OPTION_doctor_no_trial);
    gv_doctor_look_at_container(doctor);
    gv_doctor_look_at_machine(doctor);
    if (doctor->may_start)
        gv_doctor_try(doctor);
    else
        gv_doctor_look_for_driver(doctor);
    doctor->about = "program";
    if (arguments->operands[0])
        gv_doctor_look_at_program(doctor, arguments->operands);
    if (format == GV_FORMAT_TABLE)
        doctor_print_text(doctor);
    else
        error = doctor_print_rows(doctor, format);
    int code = error ? GV_EXIT_FAILED : doctor->unwell ? GV_EXIT_FINDING : GV_EXIT_FINE;
    free(doctor);
    return code;
}
