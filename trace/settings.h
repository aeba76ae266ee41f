/*
 * Reads the environment variables that gpuverify uses (trace/settings.def) into one struct.
 *
 * The program's process uses it too: it only calls getenv(), allocates nothing, prints nothing and
 * preserves errno.
 */
#ifndef GV_TRACE_SETTINGS_H
#define GV_TRACE_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GV_SETTING_TEXT_BYTES 1024u
#define GV_SETTING_PREFIX     "GPUVERIFY_"

/* Set by the library for the program's children; not a setting. (trace/session.h) */
#define GV_SETTING_SESSION "GPUVERIFY_SESSION"
/* Names the command to the Python package; not a setting either. */
#define GV_SETTING_COMMAND "GPUVERIFY_COMMAND"
/* Names the Python that has the package to the command. */
#define GV_SETTING_PYTHON "GPUVERIFY_PYTHON"

/* A time and a size; 0: none. */
struct gv_setting_extent {
    int64_t ns, bytes;
};

/* Text fields are char arrays. Numbers, in the unit of the field's name, and indices of choices are
 * int64_t. */
struct gv_settings {
#define GV_SETTING_TEXT(field, name, preset, help)                          char field[GV_SETTING_TEXT_BYTES];
#define GV_SETTING_NUMBER(field, name, preset, lowest, highest, unit, help) int64_t field;
#define GV_SETTING_CHOICE(field, name, preset, choices, help)               int64_t field;
#define GV_SETTING_EXTENT(field, name, help)                                struct gv_setting_extent field;
#include "trace/settings.def"
};

/* The choices, in the order of settings.def. */
enum gv_setting_log {
    GV_LOG_OFF = 0,
    GV_LOG_ERROR = 1,
    GV_LOG_INFO = 2,
};

enum gv_setting_runtime {
    GV_RUNTIME_OFF = 0,
    GV_RUNTIME_ON = 1,
};

enum gv_setting_ranges {
    GV_RANGES_OFF = 0,
    GV_RANGES_ON = 1,
    GV_RANGES_ALL = 2,
};

enum gv_setting_start {
    GV_START_NOW = 0,
    GV_START_LATER = 1,
};

enum gv_setting_clock {
    GV_SETTING_CLOCK_AUTO = 0,
    GV_SETTING_CLOCK_TSC = 1,
    GV_SETTING_CLOCK_MONOTONIC = 2,
};

enum gv_setting_gpu {
    GV_SETTING_GPU_AUTO = 0,
    GV_SETTING_GPU_ON = 1,
    GV_SETTING_GPU_OFF = 2,
    GV_SETTING_GPU_SAMPLED = 3,
};

enum gv_setting_graphs {
    GV_GRAPHS_WHOLE = 0,
    GV_GRAPHS_NODES = 1,
};

enum gv_setting_stacks {
    GV_STACKS_OFF = 0,
    GV_STACKS_STALLS = 1,
    GV_STACKS_ALL = 2,
};

enum gv_setting_idle_stacks {
    GV_IDLE_STACKS_OFF = 0,
    GV_IDLE_STACKS_BLOCKED = 1,
    GV_IDLE_STACKS_NATIVE = 2,
};

enum gv_setting_kind {
    GV_SETTING_IS_TEXT,
    GV_SETTING_IS_NUMBER,
    GV_SETTING_IS_CHOICE,
    GV_SETTING_IS_EXTENT,
};

/* How the user writes a number: as it is stored, or in seconds while stored in ms. */
enum gv_setting_unit {
    GV_UNIT_NONE = 0,
    GV_UNIT_SECONDS = 1,
};

/* One row of settings.def. */
struct gv_setting {
    enum gv_setting_kind kind;
    enum gv_setting_unit unit;
    const char *name; /* with the prefix */
    const char *help;
    size_t offset;           /* in struct gv_settings */
    const char *preset_text; /* TEXT; others: NULL */
    int64_t preset;          /* NUMBER in the stored unit; CHOICE: index */
    int64_t lowest;          /* NUMBER, in the stored unit */
    int64_t highest;
    const char *choices; /* CHOICE: "off|on" */
};

/* `why` says in words what is allowed. It lives only during the call. `value` is the variable's
 * value. */
typedef void gv_settings_complain(const char *name, const char *value, const char *why,
                                  void *context);

/* Sets every field to the variable's value or its default. For a value that is not allowed it
 * calls `complain`, which may be NULL, and uses the default. An unset or empty variable is fine. */
void gv_settings_read(struct gv_settings *settings, gv_settings_complain *complain, void *context);

/* Calls `unknown` for every variable with the prefix that does not exist. `nearest` is the name
 * that was probably meant, or NULL. */
typedef void gv_settings_unknown(const char *name, const char *nearest, void *context);
void gv_settings_find_unknown(gv_settings_unknown *unknown, void *context);

/* Reads "10min", "500MB" or both. false: it is none of these. */
bool gv_setting_extent_read(const char *value, struct gv_setting_extent *extent);
#define GV_SETTING_EXTENT_ALLOWED "a time from 1min, a size from 10MB, or both: 10min,500MB"

/* Calls `row` for every setting, in the order of settings.def, with the allowed values and the
 * default in words. The strings live only during the call. */
typedef void gv_settings_row(const struct gv_setting *setting, const char *allowed,
                             const char *preset, void *context);
void gv_settings_describe(gv_settings_row *row, void *context);

#endif
