#include "preload/stacks/python_frames.h"

#include "preload/base/own_memory.h"
#include "preload/stacks/python_code.h"

#include <string.h>

#define GV_PYTHON_MEMORY struct gv_python_memory *
#define GV_PYTHON_READ   gv_python_memory_read
#include "trace/python_read.h"

/* From 3.11 on, after an object's type: the number of instructions, of two bytes each. */
#define GV_PYTHON_CODE_UNITS 8
/* The most frames that the self-test accepts. */
#define GV_PYTHON_DEEPEST      32768u
#define GV_PYTHON_VALUE_BEFORE 8u /* 3.9 and 3.10 have it itself, before the instruction */

static bool read_owner(const struct gv_python *python, uintptr_t frame, uint8_t *owner)
{
    return python->layout.owner != GV_PYTHON_NONE &&
           gv_python_memory_read(python->memory, owner, frame + python->layout.owner,
                                 sizeof *owner);
}

/* What is far out is passed on the way to the outermost frames only. */
static bool read_passed(const struct gv_python *python, bool is_far, void *to, uintptr_t from,
                        size_t bytes)
{
    return is_far ? gv_python_memory_glance(python->memory, to, from, bytes)
                  : gv_python_memory_read(python->memory, to, from, bytes);
}

static bool is_of_c(const struct gv_python *python, uintptr_t frame, bool is_far)
{
    uint8_t owner;

    return gv_python_has_frames_of_c(&python->layout) &&
           read_passed(python, is_far, &owner, frame + python->layout.owner, sizeof owner) &&
           owner >= GV_PYTHON_OWNED_BY_C;
}

bool gv_python_runs_nothing(const struct gv_python *python, uintptr_t state)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t frame;

    if (!gv_own_memory_peek(&frame, state + layout->frame, sizeof frame))
        return false;
    if (frame && layout->cframe_frame != GV_PYTHON_NONE &&
        !gv_own_memory_peek(&frame, frame + layout->cframe_frame, sizeof frame))
        return false;
    return frame == 0;
}

/* 0: the thread with this state runs no Python. */
static bool innermost(const struct gv_python *python, uintptr_t state, uintptr_t *frame)
{
    *frame = 0;
    return !state || gv_python_read_innermost(&python->layout, python->memory, state, frame);
}

static bool is_in_code(const struct gv_python *python, const struct gv_python_frame *frame)
{
    int64_t units;

    return python->layout.minor < 11 ||
           (gv_python_memory_read(python->memory, &units,
                                  frame->code + python->layout.type + GV_PYTHON_CODE_UNITS,
                                  sizeof units) &&
            units > 0 && frame->instruction < (uint64_t)units * 2);
}

static bool looks_right(const struct gv_python *python, const struct gv_python_frame *frame)
{
    return gv_python_code_looks_right(python, frame->code) && is_in_code(python, frame);
}

static bool read_frame(const struct gv_python *python, uintptr_t at, struct gv_python_frame *frame)
{
    frame->at = at;
    frame->left_out = 0;
    return gv_python_read_code(&python->layout, python->memory, at, &frame->code) &&
           gv_python_read_instruction(&python->layout, python->memory, at, frame->code,
                                      &frame->instruction);
}

/* The self-test. */
static bool look_right(const struct gv_python *python, uintptr_t at)
{
    for (unsigned steps = 0; at; steps++) {
        struct gv_python_frame frame;

        if (steps == GV_PYTHON_DEEPEST)
            return false;
        if (!is_of_c(python, at, false) &&
            (!read_frame(python, at, &frame) || !looks_right(python, &frame)))
            return false;
        if (!gv_python_memory_pointer(python->memory, at + python->layout.previous, &at))
            return false;
    }
    return true;
}

bool gv_python_frames_look_right(const struct gv_python *python,
                                 const struct gv_python_frame *frames, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!looks_right(python, &frames[i]))
            return false;
    return count > 0;
}

/* Reads the outermost of `walked` frames, of which only the addresses are known, in a ring. */
static bool take_outermost(const struct gv_python *python, struct gv_python_frame *frames,
                           unsigned walked)
{
    struct gv_python_frame *outer = frames + GV_PYTHON_FRAMES_INNER;
    uintptr_t at[GV_PYTHON_FRAMES_OUTER];

    for (unsigned i = 0; i < GV_PYTHON_FRAMES_OUTER; i++)
        at[i] = outer[(walked - GV_PYTHON_FRAMES_INNER + i) % GV_PYTHON_FRAMES_OUTER].at;
    for (unsigned i = 0; i < GV_PYTHON_FRAMES_OUTER; i++)
        if (!read_frame(python, at[i], &outer[i]))
            return false;
    frames[GV_PYTHON_FRAMES_INNER - 1].left_out = walked - GV_PYTHON_FRAMES_MOST;
    return true;
}

/* From the frame at `at` on. `*is_cut`: there are frames further out than all of these. */
static bool walk(const struct gv_python *python, uintptr_t at, struct gv_python_frame *frames,
                 unsigned most, unsigned *count, bool *is_cut)
{
    struct gv_python_frame *outer = frames + GV_PYTHON_FRAMES_INNER;
    bool wants_outermost = most == GV_PYTHON_FRAMES_MOST;
    unsigned walked = 0, steps = 0;

    for (; at && (walked < most || wants_outermost) && steps < GV_PYTHON_FRAMES_WALKED; steps++) {
        bool is_far = walked >= most;

        if (!is_of_c(python, at, is_far)) {
            if (is_far)
                outer[(walked - GV_PYTHON_FRAMES_INNER) % GV_PYTHON_FRAMES_OUTER].at = at;
            else if (!read_frame(python, at, &frames[walked]))
                return false;
            walked++;
        }
        if (!read_passed(python, is_far, &at, at + python->layout.previous, sizeof at))
            return false;
    }
    *is_cut = at;
    *count = walked < most ? walked : most;
    if (walked <= most)
        return true;
    if (at) {
        *count = GV_PYTHON_FRAMES_INNER;
        return true;
    }
    return take_outermost(python, frames, walked);
}

bool gv_python_frames(const struct gv_python *python, uintptr_t state,
                      struct gv_python_frame *frames, unsigned most, unsigned *count)
{
    uintptr_t at;
    bool is_cut;

    *count = 0;
    return innermost(python, state, &at) && (!at || python->trusted || look_right(python, at)) &&
           walk(python, at, frames, most, count, &is_cut);
}

/* ---- another thread's frames ---- */

/* With two, one of 100 000 looks at code that only calls saw a stack that was not there. */
#define GV_PYTHON_WALKS_THAT_AGREE 3
/* The caller of a frame at its first instruction may not be written yet. */
#define GV_PYTHON_WALKS_OF_A_START 6
#define GV_PYTHON_WALKS            12 /* at most */

static unsigned position(const struct gv_python_frame *frames, unsigned count, uintptr_t at)
{
    unsigned i = 0;

    while (i < count && frames[i].at != at)
        i++;
    return i;
}

/*
 * How many of the frames `now` were the same in an earlier walk, counted from the outermost that
 * both have: `*outer` are further out. A frame that has gone on since then is the innermost of
 * them: what it called has changed.
 */
static unsigned common(const struct gv_python_frame *before, unsigned before_count,
                       const struct gv_python_frame *now, unsigned now_count, bool is_cut,
                       unsigned *outer)
{
    unsigned i = before_count, j = now_count, same = 0;

    *outer = 0;
    if (!before_count || !now_count)
        return 0;
    if (is_cut) { /* they may end in different frames */
        i = position(before, before_count, now[now_count - 1].at) + 1;
        if (i > before_count) {
            i = before_count;
            j = position(now, now_count, before[before_count - 1].at) + 1;
            if (j > now_count)
                return 0;
            *outer = now_count - j;
        }
    }
    while (i > 0 && j > 0 && before[i - 1].at == now[j - 1].at &&
           before[i - 1].code == now[j - 1].code) {
        same++;
        if (before[--i].instruction != now[--j].instruction)
            break;
    }
    return same;
}

/* How many frames come before those that were left out. */
static unsigned inner_count(const struct gv_python_frame *frames, unsigned count)
{
    unsigned i = 0;

    while (i < count && !frames[i].left_out)
        i++;
    return i < count ? i + 1 : 0;
}

/* Keeps what the frames `now` have in common with those of earlier walks, and moves it to `frames`.
 * Of the inner ones nothing can be said if the outermost differ. Returns how many: 0, none.
 * `*is_cut` is for both, and then for what was kept. */
static unsigned keep_common(struct gv_python_frame *frames, unsigned count,
                            struct gv_python_frame *now, unsigned now_count, bool *is_cut)
{
    unsigned inner = inner_count(frames, count), now_inner = inner_count(now, now_count);
    unsigned same, same_inner = 0, dropped, dropped_inner = 0;

    /* Deep in one walk only: it had the same number of outermost frames in the other. */
    if (inner && !now_inner && now_count > count - inner)
        now_inner = now_count - (count - inner);
    else if (now_inner && !inner && count > now_count - now_inner)
        inner = count - (now_count - now_inner);
    same = common(frames + inner, count - inner, now + now_inner, now_count - now_inner, *is_cut,
                  &dropped);
    if (same && same == now_count - now_inner &&
        frames[inner].instruction == now[now_inner].instruction)
        same_inner = common(frames, inner, now, now_inner, true, &dropped_inner);
    if (same_inner) {
        now[now_inner - dropped_inner - 1].left_out = now[now_inner - 1].left_out + dropped_inner;
        memcpy(frames, now + now_inner - dropped_inner - same_inner, same_inner * sizeof *frames);
    }
    memcpy(frames + same_inner, now + now_count - dropped - same, same * sizeof *frames);
    *is_cut = *is_cut || dropped;
    return same_inner + same;
}

/* Another thread may have left a frame while it was read: it then has no caller, or the next free
 * frame, and does not run. */
static bool is_left(const struct gv_python *python, const struct gv_python_frame *frame,
                    bool is_outermost)
{
    const struct gv_python_layout *layout = &python->layout;
    uintptr_t value = 0;
    uint8_t owner;

    if (!read_owner(python, frame->at, &owner))
        return true;
    if (layout->minor >= 11)
        return is_outermost && (owner == GV_PYTHON_OWNED_BY_A_VALUE || frame->instruction == 0);
    if (owner != (layout->minor == 9)) /* 3.10 has 0 for a frame that runs */
        return true;
    return is_outermost &&
           (!gv_python_memory_pointer(
                python->memory, frame->at + layout->instruction - GV_PYTHON_VALUE_BEFORE, &value) ||
            value);
}

/* The callers of a new innermost frame that are looked at: other ones than walked were called. */
#define GV_PYTHON_CALLERS_LOOKED_AT 4

/* The innermost frame of the thread now. */
static bool innermost_now(const struct gv_python *python, uintptr_t state, uintptr_t *frame)
{
    const struct gv_python_layout *layout = &python->layout;

    return gv_python_memory_read_now(python->memory, frame, state + layout->frame, sizeof *frame) &&
           (layout->cframe_frame == GV_PYTHON_NONE || !*frame ||
            gv_python_memory_read_now(python->memory, frame, *frame + layout->cframe_frame,
                                      sizeof *frame));
}

/* How many of the innermost frames that were walked have ended since. `count`: all, or nothing can
 * be said. */
static unsigned ended(const struct gv_python *python, uintptr_t state,
                      const struct gv_python_frame *frames, unsigned count)
{
    unsigned at = count;
    uintptr_t frame;

    if (!innermost_now(python, state, &frame))
        return count;
    for (unsigned callers = 0; frame; callers++) {
        at = position(frames, count, frame);
        if (at < count || callers == GV_PYTHON_CALLERS_LOOKED_AT ||
            !gv_python_memory_read_now(python->memory, &frame, frame + python->layout.previous,
                                       sizeof frame))
            break;
    }
    return at;
}

/* The frames that were there before and after they were read. `*is_cut`: there are outer ones. */
static bool walk_other(const struct gv_python *python, uintptr_t state,
                       struct gv_python_frame *frames, unsigned *count, bool *is_cut)
{
    unsigned walked, gone;
    uintptr_t at;

    *count = 0;
    *is_cut = false;
    if (!innermost(python, state, &at))
        return false;
    if (!at)
        return innermost_now(python, state, &at) && !at;
    if (!walk(python, at, frames, GV_PYTHON_FRAMES_MOST, &walked, is_cut))
        return false;
    gone = ended(python, state, frames, walked);
    if (gone == walked)
        return false;
    *count = walked - gone;
    memmove(frames, frames + gone, *count * sizeof *frames);
    for (unsigned i = 0; i < *count; i++)
        if (is_left(python, &frames[i], i == *count - 1 && !*is_cut))
            return false;
    return true;
}

bool gv_python_frames_of_other(const struct gv_python *python, uintptr_t state,
                               struct gv_python_frame *frames, unsigned *count)
{
    struct gv_python_frame walked[GV_PYTHON_FRAMES_MOST];
    unsigned agreed = 0, wanted = GV_PYTHON_WALKS_THAT_AGREE;
    bool was_cut = false, is_cut;

    *count = 0;
    for (unsigned walks = 0; walks < GV_PYTHON_WALKS && agreed < wanted; walks++) {
        unsigned now, same = 0;
        bool are_cut;

        if (walks)
            gv_python_memory_renew(python->memory);
        if (!walk_other(python, state, walked, &now, &is_cut))
            continue;
        are_cut = was_cut && is_cut;
        if (agreed)
            same = keep_common(frames, *count, walked, now, &are_cut);
        if (same || (agreed && !now && !*count)) {
            agreed++;
            was_cut = is_cut || are_cut;
        } else {
            agreed = 1;
            was_cut = is_cut;
            same = now;
            memcpy(frames, walked, now * sizeof *frames);
        }
        *count = same;
        wanted = same && frames[0].instruction == 0 ? GV_PYTHON_WALKS_OF_A_START
                                                    : GV_PYTHON_WALKS_THAT_AGREE;
    }
    return agreed >= wanted;
}

void gv_python_frames_bring(const struct gv_python *python, const struct gv_python_frame *frames,
                            unsigned count)
{
    struct gv_python_range ranges[GV_PYTHON_FRAMES_MOST];

    if (!python->memory)
        return;
    for (unsigned i = 0; i < count; i++)
        ranges[i] =
            (struct gv_python_range){frames[i].code, python->layout.line_table + sizeof(void *)};
    gv_python_memory_bring(python->memory, ranges, count);
}
