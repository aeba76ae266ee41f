/* Checks whether the library would get into a program, and what it would record there. */
#include "report/commands/doctor/doctor.h"
#include "report/commands/program_path.h"
#include "report/commands/run/environment.h"
#include "trace/text.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Scripts whose interpreter is a script. */
#define GV_PROGRAM_SCRIPTS 4
/* For one to answer. */
#define GV_PROGRAM_MOST_MS 10000

/* The interpreter that a script names: a path, or after env a name. False: the file is no script.
 */
static bool program_interpreter(const char *path, char name[PATH_MAX])
{
    char line[512], word[PATH_MAX] = "", next[PATH_MAX] = "";

    if (!gv_doctor_read_line(path, line, sizeof(line)) || strncmp(line, "#!", 2) != 0 ||
        sscanf(line + 2, " %500s %500s", word, next) < 1)
        return false;
    const char *slash = strrchr(word, '/');
    bool by_env = slash && strcmp(slash, "/env") == 0 && next[0] && next[0] != '-';
    snprintf(name, PATH_MAX, "%s", by_env ? next : word);
    return true;
}

/* A script without an interpreter line. */
static bool program_is_python(const char *path)
{
    const char *dot = strrchr(path, '.');
    char name[PATH_MAX];

    return dot && strcmp(dot, ".py") == 0 && !program_interpreter(path, name);
}

/* Whether the system would preload a library into it. */
static bool program_rights(struct gv_doctor *doctor, const char *path)
{
    struct stat status;
    bool special = stat(path, &status) == 0 && (status.st_mode & (S_ISUID | S_ISGID));

    if (!special && getxattr(path, "security.capability", NULL, 0) <= 0)
        return true;
    gv_doctor_add(doctor, GV_CHECK_WRONG, "rights",
                  "run a copy without these rights, as a user who has the rights it needs",
                  "%.300s %s: the system does not preload libraries into it", path,
                  special ? "is set-user-id or set-group-id" : "has capabilities of its own");
    return false;
}

static void program_runtime(struct gv_doctor *doctor, const struct gv_elf_file *elf)
{
    const char *runtime = gv_elf_file_needs(elf, "libcudart");

    if (runtime)
        gv_doctor_add(doctor, GV_CHECK_FINE, "CUDA runtime", NULL,
                      "%s, shared: its calls are recorded by their own names", runtime);
    else if (elf->has_device_code)
        gv_doctor_add(doctor, GV_CHECK_FINE, "CUDA runtime", NULL,
                      "static: the driver calls inside its calls are recorded");
    else if (gv_elf_file_needs(elf, "libcuda.so"))
        gv_doctor_add(doctor, GV_CHECK_FINE, "CUDA runtime", NULL,
                      "none: the program calls the driver directly");
    else
        gv_doctor_add(doctor, GV_CHECK_NOTE, "CUDA runtime", NULL,
                      "the file itself needs none; libraries that it loads may");
}

static void program_libraries(struct gv_doctor *doctor, const struct gv_elf_file *elf)
{
    const char *sanitizer = gv_elf_file_needs(elf, "libasan");

    if (!sanitizer)
        sanitizer = gv_elf_file_needs(elf, "libtsan");
    if (sanitizer) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "sanitizer",
                      "build the program without it; UBSan may stay",
                      "%s replaces the same functions of the C library as gpuverify", sanitizer);
    }
    if (elf->opens_libraries) {
        gv_doctor_add(
            doctor, GV_CHECK_NOTE, "plugins",
            "if calls are missing, open the libraries without RTLD_DEEPBIND",
            "the program can open libraries; calls of libraries opened with RTLD_DEEPBIND "
            "would not be recorded");
    }
}

/* This command is built for the library's machine. */
static bool program_is_of_ours(const struct gv_elf_file *elf)
{
    struct gv_elf_file *own = malloc(sizeof(*own));
    bool same = !own || gv_elf_file_read("/proc/self/exe", own) || own->machine == elf->machine;

    free(own);
    return same;
}

static void program_elf(struct gv_doctor *doctor, const char *path, const struct gv_elf_file *elf)
{
    struct utsname system = {.machine = ""};
    char fix[128];

    uname(&system);
    snprintf(fix, sizeof(fix), "build it for this machine, %.65s", system.machine);
    if (!elf->is_64_bit || !program_is_of_ours(elf)) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "machine", fix,
                      "%.300s is built for another machine (ELF machine %u, %d bits)", path,
                      (unsigned)elf->machine, elf->is_64_bit ? 64 : 32);
        return;
    }
    if (!elf->is_dynamic) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "linking",
                      "link it without -static; CUDA's own libraries may stay static",
                      "%.300s is static: no library can be preloaded into it", path);
        return;
    }
    if (strstr(elf->interpreter, "ld-musl")) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "C library",
                      "build it for glibc, or run it in a container with glibc",
                      "%.200s is built for musl, the library for glibc", path);
        return;
    }
    gv_doctor_add(doctor, GV_CHECK_FINE, "linking", NULL,
                  "%.300s is dynamic: the library can be preloaded", path);
    program_runtime(doctor, elf);
    program_libraries(doctor, elf);
}

/* Whether scripts of this interpreter usually start other programs. */
static bool program_is_shell(const char *path)
{
    static const char *const names[] = {"sh", "bash", "dash", "zsh", "ksh", "fish", "busybox"};

    return GV_TEXT_IS_ONE_OF(gv_text_base(path), names);
}

/* python, python3, python3.12; other programs must not be started. */
static bool program_is_called_python(const char *called)
{
    static const char python[] = "python";
    const char *name = gv_text_base(called);

    if (strncmp(name, python, sizeof(python) - 1) != 0)
        return false;
    name += sizeof(python) - 1;
    return name[strspn(name, "0123456789.")] == '\0';
}

/* In the child. */
static void program_become(const void *name)
{
    unsetenv("LD_PRELOAD");
    execlp(name, name, "-c", "import os; print(os.readlink('/proc/self/exe'))", (char *)NULL);
}

/* The program that a script in place of Python starts: only running it shows that. 0 or -errno. */
static int program_ask_python(const char *name, char path[PATH_MAX])
{
    char said[PATH_MAX];
    int status, error = gv_doctor_listen(program_become, name, GV_PROGRAM_MOST_MS, said,
                                         sizeof(said), &status);

    if (error)
        return error;
    said[strcspn(said, "\n")] = '\0';
    return said[0] == '/' && realpath(said, path) ? 0 : -ENOENT;
}

/* pyenv, asdf and others put scripts called python3 before the interpreters in PATH. `called` is
 * the name by which `path` was found; `path` becomes that of the interpreter. */
static bool program_is_shim(struct gv_doctor *doctor, const char *called, char path[PATH_MAX])
{
    char name[PATH_MAX], found[PATH_MAX];

    if (!doctor->may_start || !program_is_called_python(called) ||
        !program_interpreter(path, name) || !program_is_shell(name) ||
        program_ask_python(called, found) != 0)
        return false;
    gv_doctor_add(doctor, GV_CHECK_FINE, "script", NULL,
                  "%.200s is a shell script that starts %.200s", path, found);
    strcpy(path, found);
    return true;
}

/* Says why a file cannot be used. */
static void program_refuse(struct gv_doctor *doctor, const char *name, int error)
{
    gv_doctor_add(doctor, GV_CHECK_WRONG, "file", "name a program that exists and is readable",
                  "%.300s: %s", name, strerror(-error));
}

/* Replaces a script in `path` by its interpreter. `called`: the name by which it was found. 0, or
 * -ECANCELED: it has said why not. */
static int program_follow(struct gv_doctor *doctor, const char *called, char path[PATH_MAX])
{
    char name[PATH_MAX], fix[GV_DOCTOR_TEXT];
    int error = 0;
    bool script = false;

    for (int i = 0; !error && i < GV_PROGRAM_SCRIPTS; i++) {
        if (program_is_shim(doctor, i ? name : called, path))
            return 0;
        if (!program_interpreter(path, name))
            break;
        gv_doctor_add(doctor, GV_CHECK_FINE, "script", NULL, "%.200s is run by %.200s", path, name);
        error = gv_program_find(name, path);
        script = true;
    }
    if (!error && script && program_is_shell(name)) {
        doctor->looked_not = true;
        snprintf(fix, sizeof(fix),
                 "run it and see: gpuverify run -- %.300s; or name the program that the "
                 "script starts in the end",
                 doctor->command);
        gv_doctor_add(
            doctor, GV_CHECK_NOTE, "starts", fix,
            "a shell script decides while it runs what to start, so that was not checked");
    }
    if (error)
        program_refuse(doctor, name, error);
    return error ? -ECANCELED : 0;
}

/* Of a program or a script: `gpuverify run` could not start it. */
static bool program_may_start(struct gv_doctor *doctor, const char *path, struct gv_elf_file *elf)
{
    char fix[GV_DOCTOR_TEXT], name[PATH_MAX];

    if (access(path, X_OK) == 0 || errno != EACCES ||
        (!program_interpreter(path, name) && gv_elf_file_read(path, elf) != 0))
        return true;
    snprintf(fix, sizeof(fix), "chmod +x %.300s", path);
    gv_doctor_add(doctor, GV_CHECK_WRONG, "file", fix, "%.300s is not executable", path);
    return false;
}

/* Adds a word for a shell. Skips one with a quote, which would be hard to read. */
static bool program_add_word(struct gv_doctor *doctor, const char *word)
{
    size_t used = strlen(doctor->command), room = sizeof(doctor->command) - sizeof(" ...");
    size_t plain = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789%+,-./:=@_");
    const char *quote = word[plain] || !*word ? "'" : "";
    bool fits = !strchr(word, '\'') && used + strlen(word) + strlen(" ''") < room;

    if (fits)
        sprintf(doctor->command + used, "%s%s%s%s", used ? " " : "", quote, word, quote);
    else
        strcpy(doctor->command + used, used ? " ..." : "PROGRAM");
    return fits;
}

/* Adds a prefix, if not NULL, and then the words; leaves out what does not fit, and everything
 * after it. */
static void program_command(struct gv_doctor *doctor, char *const *with, char *const *words)
{
    bool fits = true;

    doctor->command[0] = '\0';
    for (; with && *with && fits; with++)
        fits = program_add_word(doctor, *with);
    for (; *words && fits; words++)
        fits = program_add_word(doctor, *words);
}

void gv_doctor_look_at_program(struct gv_doctor *doctor, char *const *words)
{
    const char *program = words[0];
    char path[PATH_MAX], fix[GV_DOCTOR_TEXT];
    struct gv_elf_file *elf = malloc(sizeof(*elf));

    program_command(doctor, NULL, words);
    bool here = !strchr(program, '/') && access(program, F_OK) == 0;
    int error = elf ? gv_program_find(program, path) : -ENOMEM;

    if (!error && !program_is_python(path) && !program_may_start(doctor, path, elf))
        error = -ECANCELED;
    if (!error)
        error = program_follow(doctor, program, path);
    if (!error && program_is_python(path)) {
        char *python[] = {"python3", NULL};
        program_command(doctor, python, words);
        snprintf(fix, sizeof(fix), "start it with: gpuverify run -- %.300s", doctor->command);
        gv_doctor_add(doctor, GV_CHECK_NOTE, "script", fix,
                      "%.200s has no #! line; python3 was checked for it", path);
        error = gv_program_find("python3", path);
        if (!error)
            error = program_follow(doctor, "python3", path);
    }
    if (!error)
        error = gv_elf_file_read(path, elf);
    if (error == -ENOEXEC) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "kind",
                      "name the program that gpuverify run should start",
                      "%.300s is not a program for this system", path);
    } else if (error == -EUCLEAN) {
        gv_doctor_add(doctor, GV_CHECK_WRONG, "file", "copy or build it again",
                      "%.300s cannot be read: it is cut off or damaged", path);
    } else if (error == -ENOENT && here) {
        snprintf(fix, sizeof(fix), "it is in this folder: gpuverify doctor ./%.200s", program);
        gv_doctor_add(doctor, GV_CHECK_WRONG, "file", fix, "%.300s is not on the PATH", program);
    } else if (error && error != -ECANCELED) {
        program_refuse(doctor, program, error);
    } else if (!error && program_rights(doctor, path)) {
        program_elf(doctor, path, elf);
    }
    free(elf);
}
