/*
 * Says with NVTX what it does, in every way that NVTX has:
 *
 *   e2e_ranges plain | before | threads | killed | fork | early-fork | odd | many | no-cuda
 *   e2e_ranges module LIBRARY
 *
 * Prints what the calls return that a program could depend on.
 */
#include "e2e.h"

#include <nvtx3/nvToolsExt.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wchar.h>

#define LONG_BYTES 1000000

static void start_cuda(void)
{
    struct e2e_gpu gpu;

    e2e_open(&gpu);
    e2e_tick(&gpu, 1);
}

static void push(const char *message)
{
    printf("push %d\n", nvtxRangePushA(message));
}

static void pop(void)
{
    printf("pop %d\n", nvtxRangePop());
}

static nvtxEventAttributes_t attributes(void)
{
    nvtxEventAttributes_t event;

    memset(&event, 0, sizeof event);
    event.version = NVTX_VERSION;
    event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    return event;
}

/* Domains, registered strings, categories, colours and payloads. */
static void plain(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("data");
    nvtxEventAttributes_t event = attributes();
    nvtxRangeId_t id;

    start_cuda();
    push("outer");
    push("inner");
    pop();
    nvtxMarkA("a mark");
    nvtxMarkW(L"ein Zeichen \x20ac");

    nvtxDomainNameCategoryA(domain, 3, "reading");
    event.category = 3;
    event.colorType = NVTX_COLOR_ARGB;
    event.color = 0xff00ff80;
    event.payloadType = NVTX_PAYLOAD_TYPE_DOUBLE;
    event.payload.dValue = 0.5;
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "registered");
    nvtxDomainRangePushEx(domain, &event);
    /* Another domain has a stack of its own. */
    pop();
    nvtxDomainRangePop(domain);

    event.payloadType = NVTX_PAYLOAD_TYPE_INT64;
    event.payload.llValue = -7;
    event.messageType = NVTX_MESSAGE_TYPE_UNICODE;
    event.message.unicode = L"wide";
    id = nvtxDomainRangeStartEx(domain, &event);
    nvtxDomainRangeEnd(domain, id);
}

/* The outer ones are open when the process begins to record. */
static void before(void)
{
    nvtxRangeId_t id = nvtxRangeStartA("started before");

    nvtxRangePushA("outer before");
    nvtxRangePushA("over before");
    nvtxRangePop();
    nvtxRangePushA("inner before");
    start_cuda();
    nvtxRangePop();
    nvtxRangePop();
    nvtxRangeEnd(id);
}

static void *end_it(void *id)
{
    nvtxRangePop(); /* of another thread's push: ends nothing */
    nvtxRangeEnd(*(nvtxRangeId_t *)id);
    nvtxRangePushA("left open by its thread");
    return NULL;
}

static void threads(void)
{
    nvtxRangeId_t id;
    pthread_t thread;

    start_cuda();
    id = nvtxRangeStartA("across threads");
    nvtxRangePushA("of the first thread");
    if (pthread_create(&thread, NULL, end_it, &id))
        exit(1);
    pthread_join(thread, NULL);
    nvtxRangePop();
}

static void forks(bool use_cuda)
{
    int status;
    pid_t child;

    if (use_cuda)
        start_cuda();
    nvtxRangePushA("around the fork");
    child = fork();
    if (child == 0) {
        nvtxRangePushA("in the child");
        if (!use_cuda) /* CUDA does not survive a fork */
            start_cuda();
        nvtxRangePop();
        nvtxRangePop();
        exit(0);
    }
    waitpid(child, &status, 0);
    nvtxRangePop();
}

static void odd(void)
{
    nvtxEventAttributes_t event = attributes();
    char *text = malloc(LONG_BYTES + 1);

    if (!text)
        exit(1);
    start_cuda();
    memset(text, 'x', LONG_BYTES);
    text[LONG_BYTES] = '\0';
    nvtxRangePop();
    nvtxRangePushA(NULL);
    nvtxRangePushA("");
    nvtxRangePushA("in\xff"
                   "valid");
    nvtxRangePushA(text);
    nvtxRangePushEx(NULL);
    nvtxRangePushEx(&event);
    nvtxMarkW(NULL);
    for (int i = 0; i < 7; i++)
        nvtxRangePop();
    nvtxRangeEnd(12345);
    for (int i = 0; i < 300; i++)
        nvtxRangePushA("deep");
    for (int i = 0; i < 300; i++)
        nvtxRangePop();
    free(text);
}

/* More texts than there are numbers. */
static void many(void)
{
    start_cuda();
    for (int i = 0; i < 20000; i++) {
        char text[32];

        snprintf(text, sizeof text, "step %d", i);
        nvtxRangePushA(text);
        nvtxRangePop();
    }
}

/* As XLA: without a domain there is no tool. */
static void ask(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("TSL");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    event.messageType = NVTX_MESSAGE_TYPE_ASCII;
    event.message.ascii = "a module";
    start_cuda();
    puts(domain ? "a tool" : "no tool");
    if (domain)
        nvtxDomainMarkEx(domain, &event);
}

/* As RAPIDS: a domain in which each operation has a range. */
static void each(void)
{
    nvtxDomainHandle_t domain = nvtxDomainCreateA("libcudf");
    nvtxEventAttributes_t event = {.version = NVTX_VERSION, .size = NVTX_EVENT_ATTRIB_STRUCT_SIZE};

    start_cuda();
    event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    event.message.registered = nvtxDomainRegisterStringA(domain, "read_parquet");
    push("of the program");
    nvtxDomainRangePushEx(domain, &event);
    nvtxDomainMarkEx(domain, &event);
    nvtxDomainRangeEnd(domain, nvtxDomainRangeStartEx(domain, &event));
    nvtxDomainRangePop(domain);
    pop();
}

static void module(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*say)(void);

    *(void **)&say = library ? dlsym(library, "say") : NULL;
    if (!say)
        exit(1);
    start_cuda();
    push("of the program");
    say();
    pop();
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";

    if (strcmp(what, "plain") == 0)
        plain();
    else if (strcmp(what, "before") == 0)
        before();
    else if (strcmp(what, "threads") == 0)
        threads();
    else if (strcmp(what, "fork") == 0)
        forks(true);
    else if (strcmp(what, "early-fork") == 0)
        forks(false);
    else if (strcmp(what, "odd") == 0)
        odd();
    else if (strcmp(what, "many") == 0)
        many();
    else if (strcmp(what, "module") == 0 && argc > 2)
        module(argv[2]);
    else if (strcmp(what, "each") == 0)
        each();
    else if (strcmp(what, "ask") == 0)
        ask();
    else if (strcmp(what, "no-cuda") == 0)
        push("no CUDA");
    else if (strcmp(what, "killed") == 0) {
        nvtxRangePushA("killed in it");
        start_cuda();
        raise(SIGKILL);
    } else
        return 2;
    return 0;
}
