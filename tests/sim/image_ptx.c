/* Reads PTX text: the names after .entry, their local memory, and the module's variables. */
#include "tests/sim/sim.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The result of cuLinkComplete: PTX that is already compiled. */
#define LINKED_MARK "// linked\n"

struct text {
    const char *at, *end;
};

/* The next word, bracket or sign, after white space and comments; its length, 0 at the end. */
static size_t token(struct text *t, const char **start)
{
    for (;;) {
        while (t->at < t->end && isspace((unsigned char)*t->at))
            t->at++;
        if (t->end - t->at >= 2 && t->at[0] == '/' && t->at[1] == '/') {
            while (t->at < t->end && *t->at != '\n')
                t->at++;
        } else if (t->end - t->at >= 2 && t->at[0] == '/' && t->at[1] == '*') {
            t->at += 2;
            while (t->end - t->at >= 2 && (t->at[0] != '*' || t->at[1] != '/'))
                t->at++;
            t->at = t->end - t->at >= 2 ? t->at + 2 : t->end;
        } else {
            break;
        }
    }
    *start = t->at;
    while (t->at < t->end && (isalnum((unsigned char)*t->at) || *t->at == '_' || *t->at == '$' ||
                              *t->at == '.' || *t->at == '%'))
        t->at++;
    if (t->at == *start && t->at < t->end)
        t->at++;
    return (size_t)(t->at - *start);
}

static bool is(const char *start, size_t length, const char *word)
{
    return strlen(word) == length && !memcmp(start, word, length);
}

static size_t element_bytes(const char *start, size_t length)
{
    size_t digits = length;
    while (digits && isdigit((unsigned char)start[digits - 1]))
        digits--;
    size_t bits = digits < length ? strtoul(start + digits, NULL, 10) : 0;
    return bits >= 8 ? bits / 8 : 1;
}

/* Behind .global, .const or .local: [.align n] .type name[count]...; */
static size_t variable(struct text *t, const char **name, size_t *name_length)
{
    size_t bytes = 1, count = 1, length;
    const char *start;
    *name = NULL;
    *name_length = 0;
    while ((length = token(t, &start)) && *start != ';' && *start != '=') {
        if (is(start, length, ".align")) {
            token(t, &start);
        } else if (*start == '.' && length > 1) {
            bytes = element_bytes(start, length);
        } else if (*start == '[') {
            token(t, &start);
            count *= isdigit((unsigned char)*start) ? strtoul(start, NULL, 10) : 1;
        } else if (!*name && (isalpha((unsigned char)*start) || *start == '_' || *start == '$')) {
            *name = start;
            *name_length = length;
        }
    }
    return bytes * count;
}

/* Like the real driver's cache, but it ends with the process. */
void gv_sim_image_compile(struct gv_sim_image *image)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct compiled {
        struct compiled *next;
        uint64_t hash;
    } * cache;
    if (!image->needs_jit)
        return;
    image->needs_jit = false;
    pthread_mutex_lock(&lock);
    struct compiled *c = cache;
    while (c && c->hash != image->text_hash)
        c = c->next;
    bool known = c != NULL;
    if (!known && (c = calloc(1, sizeof *c))) {
        c->hash = image->text_hash;
        c->next = cache;
        cache = c;
    }
    pthread_mutex_unlock(&lock);
    uint64_t start_ns = gv_sim_now_ns();
    if (!known)
        gv_sim_pass(gv_sim_settings.jit_ns);
    gv_sim_trace_jit(known ? GV_SIM_JIT_CACHE_LOAD : GV_SIM_JIT_COMPILE, start_ns);
}

static uint64_t hash_of(const char *text, size_t size_bytes)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size_bytes; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

CUresult gv_sim_image_ptx(struct gv_sim_image *image, const char *text, size_t size_bytes)
{
    struct text t = {text, text + size_bytes};
    struct gv_sim_entry *entry = NULL;
    const char *start, *name;
    size_t length, name_length;
    int depth = 0;
    bool version = false, target = false;
    for (size_t i = 0; i < size_bytes; i++)
        if ((unsigned char)text[i] < 9)
            return CUDA_ERROR_INVALID_IMAGE;
    if (!(length = token(&t, &start)) || !is(start, length, ".version"))
        return length && *start == '.' ? CUDA_ERROR_INVALID_PTX : CUDA_ERROR_INVALID_IMAGE;
    t.at = text;
    while ((length = token(&t, &start))) {
        depth += (*start == '{') - (*start == '}');
        version |= is(start, length, ".version");
        target |= is(start, length, ".target");
        if (depth < 0)
            return CUDA_ERROR_INVALID_PTX;
        if (is(start, length, ".entry")) {
            length = token(&t, &start);
            entry = length ? gv_sim_image_add(image, start, length, 0) : NULL;
            if (!entry)
                return CUDA_ERROR_INVALID_PTX;
        } else if (is(start, length, ".func")) {
            entry = NULL;
        } else if (depth && entry && is(start, length, ".local")) {
            entry->local_bytes += variable(&t, &name, &name_length);
        } else if (!depth && (is(start, length, ".global") || is(start, length, ".const"))) {
            size_t bytes = variable(&t, &name, &name_length);
            if (name && gv_sim_image_add_global(image, name, name_length, bytes))
                return CUDA_ERROR_OUT_OF_MEMORY;
            /* An initialiser's braces follow; they balance. */
        }
    }
    gv_sim_image_show(image, text, size_bytes);
    image->text_hash = hash_of(text, size_bytes);
    image->needs_jit = strncmp(text, LINKED_MARK, strlen(LINKED_MARK)) != 0;
    return version && target && !depth ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}
