/* gpuverify look: what a process does with its GPU right now, from outside (report/look). */
#include "report/commands/commands.h"
#include "report/commands/look/print.h"
#include "report/look/apart.h"
#include "report/look/watch.h"
#include "report/show/message.h"
#include "report/show/value_text.h"
#include "trace/futex.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_SECONDS      5
#define LOOK_SECONDS_MOST 600
#define LOOK_STEP_NS      250000000
#define LOOK_MOST         240         /* looks */
#define SEVERAL_NS        3500000000u /* beyond the seconds, for several */
#define MORE_NS           1500000000u /* for one, which has a result only in the end */

/* Says why it cannot be looked at. */
static void look_refuse(uint32_t pid, int error)
{
    struct gv_outside_status status;
    char why[512];

    if (error == -ESRCH && gv_outside_status(pid, &status) == 0 && status.state == 'Z')
        gv_message("process %u (%s) has ended; only its parent, %u, has not noticed", pid,
                   status.name, status.parent);
    else if (error == -ESRCH)
        gv_message("there is no process %u here. In a container or another PID namespace it has "
                   "another number: look there, or from the host",
                   pid);
    else if (error == -ENOEXEC)
        gv_message("process %u is one of the Linux kernel's, or has 32 bits: there is nothing to "
                   "look at",
                   pid);
    else if (error == -EPERM && gv_outside_status(pid, &status) == 0) {
        gv_outside_refusal(pid, &status, why, sizeof(why));
        gv_message("this user may not read process %u (%s): %s", pid, status.name, why);
    } else if (error == -EBUSY)
        gv_message("process %u " GV_LOOK_ENDING, pid);
    else if (error == -ESTALE)
        gv_message("process %u begins one program after the other: none stayed for a look", pid);
    else
        gv_message("cannot look at process %u: %s", pid, strerror(-error));
}

/* What is done apart: any process may keep who reads it. */
struct request {
    uint32_t pid;
    unsigned looks;
    int64_t step_ns;
    bool json;
    int code;
};

static void look_at(void *result)
{
    static struct gv_look_gpus gpus;
    struct request *request = result;
    struct gv_look look;
    int error = gv_look_watch(&look, request->pid, request->looks, request->step_ns);

    if (error) {
        look_refuse(request->pid, error);
    } else {
        gv_look_gpus(&gpus);
        error = request->json ? gv_look_print_json(&look, &gpus, stdout)
                              : gv_look_print(&look, &gpus, stdout);
        if (error)
            gv_message("cannot write the output: %s", strerror(-error));
    }
    gv_look_free(&look);
    request->code = error ? GV_EXIT_FAILED : GV_EXIT_FINE;
}

static int look_at_one(struct request *request, uint64_t end_ns)
{
    int error = gv_apart_run(look_at, request, sizeof(*request), UINT64_MAX / 2, end_ns);

    if (error == -ETIMEDOUT)
        gv_message("process %u does not answer: " GV_LOOK_SILENT, request->pid);
    else if (error)
        look_refuse(request->pid, error);
    return error ? GV_EXIT_FAILED : request->code;
}

/* `pid` 0: all that use a GPU; else those that descend from it. */
static int look_at_several(uint32_t pid, unsigned looks, int64_t step_ns, uint64_t end_ns,
                           bool json)
{
    static struct gv_look_processes processes;
    static struct gv_look_gpus gpus;
    struct gv_outside_status status;
    int error = pid ? gv_outside_status(pid, &status) : 0;

    if (error) {
        look_refuse(pid, error);
        return GV_EXIT_FAILED;
    }
    gv_look_gpus(&gpus);
    size_t left = gv_look_processes_find(&processes, pid, &gpus, end_ns);
    if (left)
        gv_message("there was no time to see whether %zu more processes use CUDA", left);
    gv_look_processes_watch(&processes, looks, step_ns, end_ns);
    if (!processes.count && !json) {
        gv_message_result(pid ? "Neither process %u nor one that it started uses CUDA, as far as "
                                "this user may see."
                              : "No process uses CUDA, as far as this user may see.",
                          pid);
        return GV_EXIT_FINE;
    }
    return gv_look_print_processes(&processes, &gpus, pid != 0, json, stdout) ? GV_EXIT_FAILED
                                                                              : GV_EXIT_FINE;
}

int gv_command_look(const struct gv_arguments *arguments)
{
    int64_t seconds = gv_arguments_number(arguments, GV_OPTION_look_seconds, LOOK_SECONDS), pid = 0;
    bool once = gv_arguments_has(arguments, GV_OPTION_look_once);
    bool tree = gv_arguments_has(arguments, GV_OPTION_look_tree);
    bool json = strcmp(gv_arguments_text(arguments, GV_OPTION_look_format, "text"), "json") == 0;
    const char *operand = arguments->operands[0];

    if (seconds < 1 || seconds > LOOK_SECONDS_MOST)
        return gv_arguments_refuse(arguments->command, "--seconds takes 1 to %d",
                                   LOOK_SECONDS_MOST);
    if (operand && !operand[0])
        return gv_arguments_refuse_empty(arguments->command);
    if (operand && (gv_value_number(operand, &pid) || pid < 1 || pid > INT_MAX))
        return gv_arguments_refuse(arguments->command, "'%s' is no process's number", operand);
    if (tree && !operand)
        return gv_arguments_refuse(arguments->command, "--tree needs a PID");
    int64_t step_ns = LOOK_STEP_NS, least_ns = seconds * 1000000000 / LOOK_MOST;
    if (step_ns < least_ns)
        step_ns = least_ns;
    uint64_t end_ns = gv_monotonic_ns() + (uint64_t)seconds * 1000000000 + SEVERAL_NS;
    unsigned looks = once ? 1 : (unsigned)(seconds * 1000000000 / step_ns);
    if (!operand || tree)
        return look_at_several((uint32_t)pid, tree ? looks : 1, step_ns, end_ns, json);
    return look_at_one(&(struct request){(uint32_t)pid, looks, step_ns, json, GV_EXIT_FAILED},
                       end_ns + MORE_NS);
}
