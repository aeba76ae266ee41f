/*
 * The checks of gpuverify doctor: each with what was found and, if something would not be recorded,
 * the fix.
 */
#ifndef GV_COMMANDS_DOCTOR_DOCTOR_H
#define GV_COMMANDS_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gv_check_state {
    GV_CHECK_FINE,
    GV_CHECK_NOTE,  /* information; nothing is missed */
    GV_CHECK_WRONG, /* something would not be recorded */
};

#define GV_DOCTOR_TEXT 512

struct gv_doctor_check {
    enum gv_check_state state;
    const char *about; /* machine, or program */
    const char *what;
    char found[GV_DOCTOR_TEXT];
    char fix[GV_DOCTOR_TEXT]; /* empty: nothing to do */
};

#define GV_DOCTOR_CHECKS 48u

struct gv_doctor {
    struct gv_doctor_check checks[GV_DOCTOR_CHECKS];
    size_t count;
    const char *about; /* of the checks being added */
    char command[256]; /* PROGRAM and its arguments, for a shell */
    bool looked_not;   /* something relevant was left out */
    bool may_start;    /* start programs to test them */
    bool unwell;       /* something would not be recorded */
};

/* Adds a check, if there is room. `fix`: what to do; NULL: nothing. `what` is not copied. */
void gv_doctor_add(struct gv_doctor *doctor, enum gv_check_state state, const char *what,
                   const char *fix, const char *found, ...) __attribute__((format(printf, 5, 6)));

/* The first line of a file, or its beginning. False: it cannot be read, or is empty. */
bool gv_doctor_read_line(const char *path, char *line, size_t size);

/* report/commands/doctor/machine.c: files, memory and variables. */
void gv_doctor_look_at_machine(struct gv_doctor *doctor);
/* report/commands/doctor/container.c: what a container may lack. */
void gv_doctor_look_at_container(struct gv_doctor *doctor);
/* The driver cannot be loaded. */
void gv_doctor_add_missing_driver(struct gv_doctor *doctor, const char *why);
/* The same without a trial: whether there is a driver to load. */
void gv_doctor_look_for_driver(struct gv_doctor *doctor);
/* report/commands/doctor/trial.c: starts CUDA in a program of ours, with the library, for some
 * seconds at most. */
void gv_doctor_try(struct gv_doctor *doctor);
/* report/commands/doctor/program.c: whether the library would get into this program, and what it
 * would record. Its arguments follow, then NULL; they are only repeated. */
void gv_doctor_look_at_program(struct gv_doctor *doctor, char *const *program);

/* ---- child.c: a child process that may hang or crash, and is listened to ---- */

/* Runs `become` in a child, in a process group of its own, which ends when that returns. Its stdout
 * is read until all its writers close it, or `size` is full; the other streams are /dev/null. Then
 * the group is killed. *status: waitpid's. 0; -ETIMEDOUT: it took longer than `most_ms`; or
 * -errno. */
int gv_doctor_listen(void (*become)(const void *context), const void *context, int64_t most_ms,
                     char *said, size_t size, int *status);

/* ---- elf_file.c: facts of an ELF file, which may be anything, so everything is checked ---- */

#define GV_ELF_NEEDED     64u
#define GV_ELF_NAME_BYTES 128u
#define GV_ELF_PATH_BYTES 512u

struct gv_elf_file {
    bool is_64_bit;
    uint16_t machine;                    /* EM_... */
    bool is_dynamic;                     /* has an interpreter, so libraries can be preloaded */
    char interpreter[GV_ELF_PATH_BYTES]; /* of a dynamic program */
    char needed[GV_ELF_NEEDED][GV_ELF_NAME_BYTES];
    size_t needed_count;
    bool has_device_code; /* a section .nv_fatbin */
    bool opens_libraries; /* mentions dlopen */
};

/* 0; -ENOEXEC: not an ELF file of this machine's byte order; -EUCLEAN: it is cut off; or -errno. */
int gv_elf_file_read(const char *path, struct gv_elf_file *elf);

/* The first needed library with this prefix; NULL: none. */
const char *gv_elf_file_needs(const struct gv_elf_file *elf, const char *beginning);

#endif
