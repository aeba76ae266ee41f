#include "preload/stacks/python_take.h"

#include "preload/stacks/python_code.h"

struct stack {
    struct gv_python python;
    uintptr_t state; /* of the thread */
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    unsigned most;
    unsigned count;
};

bool gv_python_positions(struct gv_thread *writer, const struct gv_python *python,
                         const struct gv_python_frame *frames, unsigned count,
                         struct gv_python_position *position)
{
    uint64_t key;

    gv_python_frames_bring(python, frames, count);
    for (unsigned i = 0; i < count; i++) {
        if (!gv_python_code_key(python, frames[i].code, &key))
            return false;
        position[i] = (struct gv_python_position){
            .code = gv_python_code_number(writer, python, frames[i].code, key),
            .instruction = frames[i].instruction,
            .left_out = frames[i].left_out};
    }
    return true;
}

/* ---- directly ---- */

static bool take_directly(struct gv_thread *thread, struct stack *stack,
                          struct gv_python_position *position)
{
    stack->python.memory = NULL;
    if (gv_python_frames(&stack->python, stack->state, stack->frames, stack->most, &stack->count) &&
        gv_python_positions(thread, &stack->python, stack->frames, stack->count, position))
        return true;
    gv_python_runtime_agrees(false);
    return false;
}

static bool is_same(const struct gv_python *python, const struct gv_python_frame *frame,
                    const struct gv_python *direct, const struct gv_python_frame *other)
{
    uint64_t key, other_key;

    return frame->at == other->at && frame->code == other->code &&
           frame->instruction == other->instruction && frame->left_out == other->left_out &&
           gv_python_code_key(python, frame->code, &key) &&
           gv_python_code_key(direct, other->code, &other_key) && key == other_key;
}

/* What is read here was just read through the Linux kernel, so it is there. */
static void compare(const struct stack *stack)
{
    struct gv_python_frame frames[GV_PYTHON_FRAMES_MOST];
    struct gv_python direct = stack->python;
    unsigned count;
    bool agrees;

    direct.memory = NULL;
    agrees = gv_python_frames(&direct, stack->state, frames, stack->most, &count) &&
             count == stack->count;
    for (unsigned i = 0; i < stack->count && agrees; i++)
        agrees = is_same(&stack->python, &stack->frames[i], &direct, &frames[i]);
    gv_python_runtime_agrees(agrees);
}

/* ---- through the kernel ---- */

static bool take_carefully(struct gv_thread *thread, struct stack *stack, enum gv_python_use use,
                           struct gv_python_position *position)
{
    struct gv_python *python = &stack->python;
    bool is_right;

    python->memory = gv_python_memory_take(0, thread->tid, use);
    if (!python->memory)
        return false;
    is_right = gv_python_frames(python, stack->state, stack->frames, stack->most, &stack->count) &&
               gv_python_positions(thread, python, stack->frames, stack->count, position);
    if (!is_right)
        gv_python_runtime_distrust();
    else if (stack->count && !python->trusted)
        gv_python_runtime_trust();
    else if (stack->count && python->way == GV_PYTHON_BOTH_WAYS && use == GV_PYTHON_WHOLE_STACK)
        compare(stack);
    gv_python_memory_give_back(python->memory);
    return is_right;
}

/* ---- either ---- */

static bool take(struct gv_thread *thread, enum gv_python_use use, unsigned most,
                 struct stack *stack, struct gv_python_position *position)
{
    stack->most = most;
    stack->count = 0;
    stack->state = (uintptr_t)stack->python.thread_state();
    if (!stack->state)
        return true;
    if (!stack->python.is_readable)
        return false;
    return (stack->python.way == GV_PYTHON_DIRECTLY && take_directly(thread, stack, position)) ||
           gv_python_runs_nothing(&stack->python, stack->state) ||
           take_carefully(thread, stack, use, position);
}

bool gv_python_take(struct gv_thread *thread, struct gv_python_position *position, unsigned *count,
                    uint64_t *low, uint64_t *high)
{
    struct stack stack;
    bool taken;

    *count = 0;
    *low = *high = 0;
    if (!gv_python_runtime_enter(&stack.python, thread->tid))
        return true;
    taken = take(thread, GV_PYTHON_WHOLE_STACK, GV_PYTHON_FRAMES_MOST, &stack, position);
    gv_python_runtime_leave();
    if (taken)
        *count = stack.count;
    *low = stack.python.low;
    *high = stack.python.high;
    return taken;
}

bool gv_python_top(struct gv_thread *thread, uint64_t *top)
{
    struct gv_python_position position = {.code = 0};
    struct stack stack;
    bool taken;

    *top = 0;
    if (!gv_python_runtime_enter(&stack.python, thread->tid))
        return true;
    taken = take(thread, GV_PYTHON_TOP_FRAME, 1, &stack, &position);
    gv_python_runtime_leave();
    if (taken && stack.count)
        *top = gv_python_top_of(&position);
    return taken;
}

void gv_python_prepare(uint32_t tid)
{
    struct stack stack = {.most = GV_PYTHON_FRAMES_MOST};
    struct gv_python *python = &stack.python;

    if (!gv_python_runtime_enter(python, tid))
        return;
    stack.state = python->is_readable ? (uintptr_t)python->thread_state() : 0;
    python->memory = stack.state ? gv_python_memory_take(0, tid, GV_PYTHON_WHOLE_STACK) : NULL;
    if (python->memory) {
        if (!gv_python_frames(python, stack.state, stack.frames, stack.most, &stack.count))
            gv_python_runtime_distrust();
        else if (stack.count && !python->trusted)
            gv_python_runtime_trust();
        gv_python_memory_give_back(python->memory);
    }
    gv_python_runtime_leave();
}

void gv_python_start_over(void)
{
    gv_python_runtime_start_over();
    gv_python_memory_start_over();
    gv_python_code_start_over();
}
