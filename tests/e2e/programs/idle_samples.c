/*
 * idle_samples FOLDER: prints the idle samples of the only spool in a folder, a line for each:
 *
 *   sample TID STATE CALL about=N other=N target=N signs=N stack=N other_stack=N span=NS delay=NS
 * cpu=NS TEXT copy NUMBER BYTES
 */
#include "trace/spool_reader.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static char text[GV_STACK_COPY_BYTES + 1];
static size_t length;
static union gv_record owner;

static void print_owner(void)
{
    const struct gv_record_idle_sample *sample = &owner.idle_sample;

    text[length] = 0;
    if (owner.head.kind == GV_RECORD_IDLE_SAMPLE)
        printf("sample %u %c %d about=%u other=%u target=%u signs=%u stack=%u other_stack=%u "
               "span=%llu "
               "delay=%llu cpu=%llu %s\n",
               sample->tid, sample->state, sample->head.result, sample->about, sample->other,
               sample->target, sample->signs, sample->stack, sample->other_stack,
               (unsigned long long)(sample->since_ns ? sample->at_ns - sample->since_ns : 0),
               (unsigned long long)sample->delay_ns, (unsigned long long)sample->cpu_ns, text);
    if (owner.head.kind == GV_RECORD_STACK_COPY)
        printf("copy %u %zu\n", owner.stack_copy.number, length);
    owner.head.kind = GV_RECORD_NONE;
    length = 0;
}

static void take(const union gv_record *record)
{
    if (record->head.kind != GV_RECORD_TEXT) {
        print_owner();
        owner = *record;
    } else if (length + record->head.api < sizeof text) {
        memcpy(text + length, record->text.text, record->head.api);
        length += record->head.api;
    }
}

/* The segment of the watching thread with this number in its sequence. */
static bool find(const struct gv_spool_reader *reader, uint32_t sequence, uint32_t *index)
{
    struct gv_spool_view view;

    for (*index = 0; *index < reader->segments; ++*index)
        if (gv_spool_reader_look(reader, *index, &view) && view.thread == GV_SPOOL_IDLE_THREAD &&
            view.sequence == sequence)
            return true;
    return false;
}

int main(int count, char **arguments)
{
    struct gv_spool_reader reader;
    const struct dirent *entry;
    uint32_t index;
    DIR *folder = count == 2 ? opendir(arguments[1]) : NULL;
    bool closed;

    while (folder && (entry = readdir(folder)) && !strstr(entry->d_name, GV_SPOOL_SUFFIX))
        ;
    if (!folder || !entry || gv_spool_reader_open(&reader, dirfd(folder), entry->d_name) ||
        gv_spool_reader_refresh(&reader))
        return 1;
    for (uint32_t sequence = 0; find(&reader, sequence, &index); sequence++)
        for (uint32_t i = 0, end = gv_spool_reader_published(&reader, index, &closed); i < end;
             i++) {
            union gv_record record;

            gv_spool_reader_record(&reader, index, i, &record);
            take(&record);
        }
    print_owner();
    closedir(folder);
    return 0;
}
