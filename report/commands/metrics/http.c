#include "report/commands/metrics/metrics.h"

#include "trace/futex.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GV_HTTP_CLIENTS       16
#define GV_HTTP_REQUEST_BYTES 8192
#define GV_HTTP_PATIENCE_NS   INT64_C(10000000000)
#define GV_HTTP_FULL_NS       20000000
#define GV_HTTP_LISTENERS     2

/* Both loopbacks: "localhost" is one on some machines, and the other on others. */
static const char *const http_own[GV_HTTP_LISTENERS] = {"127.0.0.1:" GV_HTTP_PORT,
                                                        "[::1]:" GV_HTTP_PORT};

/* An answer, which several clients may still be getting. */
struct http_text {
    unsigned int users;
    size_t head_bytes, bytes;
    char text[];
};

struct http_client {
    int fd; /* -1: free */
    int64_t end_ns;
    size_t read, written, bytes; /* bytes: to write, of the answer */
    struct http_text *answer;    /* NULL: the request is not complete */
    char request[GV_HTTP_REQUEST_BYTES + 1];
};

struct gv_http {
    int listeners[GV_HTTP_LISTENERS]; /* -1: none */
    bool is_own;                      /* at http_own */
    struct http_text *metrics;
    struct http_client clients[GV_HTTP_CLIENTS];
};

union http_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* ---- addresses ---- */

/* No names: who they belong to is not ours to decide. */
static int http_parse(const char *address, union http_address *out, socklen_t *size)
{
    const char *colon = strrchr(address, ':');
    char host[INET6_ADDRSTRLEN] = "", *end = NULL;
    unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;

    if (!colon || colon[1] < '0' || colon[1] > '9' || *end || port > UINT16_MAX)
        return -EINVAL;
    bool brackets = address[0] == '[' && colon > address && colon[-1] == ']';
    const char *begin = address + brackets;
    size_t length = (size_t)(colon - begin) - brackets;
    if (length >= sizeof(host))
        return -EINVAL;
    memcpy(host, begin, length);
    memset(out, 0, sizeof(*out));
    if (brackets && inet_pton(AF_INET6, host, &out->v6.sin6_addr) == 1) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons((uint16_t)port);
        *size = sizeof(out->v6);
        return 0;
    }
    if (!brackets && inet_pton(AF_INET, host, &out->v4.sin_addr) == 1) {
        out->v4.sin_family = AF_INET;
        out->v4.sin_port = htons((uint16_t)port);
        *size = sizeof(out->v4);
        return 0;
    }
    return -EINVAL;
}

void gv_http_address(const struct gv_http *http, char *out, size_t size)
{
    union http_address address;
    socklen_t length = sizeof(address);
    char host[INET6_ADDRSTRLEN] = "?";

    *out = '\0';
    if (http->is_own)
        snprintf(out, size, "localhost:" GV_HTTP_PORT);
    else if (getsockname(http->listeners[0], &address.any, &length) < 0)
        return;
    else if (address.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &address.v6.sin6_addr, host, sizeof(host));
        snprintf(out, size, "[%s]:%u", host, ntohs(address.v6.sin6_port));
    } else {
        inet_ntop(AF_INET, &address.v4.sin_addr, host, sizeof(host));
        snprintf(out, size, "%s:%u", host, ntohs(address.v4.sin_port));
    }
}

static int http_listen(const char *address)
{
    union http_address parsed;
    socklen_t size;
    int error = http_parse(address, &parsed, &size);

    if (error)
        return error;
    int fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) < 0 ||
        bind(fd, &parsed.any, size) < 0 || listen(fd, GV_HTTP_CLIENTS) < 0) {
        error = -errno;
        close(fd);
        return error;
    }
    return fd;
}

/* A container may have no IPv6, and a machine no IPv4. */
static int http_listen_own(int listeners[GV_HTTP_LISTENERS])
{
    int error = 0, lacks = 0;

    for (size_t i = 0; i < GV_HTTP_LISTENERS && !error; i++) {
        listeners[i] = http_listen(http_own[i]);
        if (listeners[i] == -EADDRNOTAVAIL || listeners[i] == -EAFNOSUPPORT)
            lacks = listeners[i];
        else if (listeners[i] < 0)
            error = listeners[i];
    }
    return error ? error : listeners[0] < 0 && listeners[1] < 0 ? lacks : 0;
}

int gv_http_open(const char *address, struct gv_http **out)
{
    struct gv_http *http = calloc(1, sizeof(*http));
    int error = http ? 0 : -ENOMEM;

    *out = http;
    if (error)
        return error;
    for (size_t i = 0; i < GV_HTTP_LISTENERS; i++)
        http->listeners[i] = -1;
    for (size_t i = 0; i < GV_HTTP_CLIENTS; i++)
        http->clients[i].fd = -1;
    http->is_own = !address;
    if (!address)
        error = http_listen_own(http->listeners);
    else if ((http->listeners[0] = http_listen(address)) < 0)
        error = http->listeners[0];
    if (error) {
        gv_http_close(http);
        *out = NULL;
    }
    return error;
}

/* ---- answers ---- */

static struct http_text *http_text_new(const char *status, const char *more, const char *body,
                                       size_t bytes)
{
    char head[320];
    int head_bytes = snprintf(head, sizeof(head),
                              "HTTP/1.1 %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
                              "X-Content-Type-Options: nosniff\r\n%s\r\n",
                              status, bytes, more);
    struct http_text *text = malloc(sizeof(*text) + (size_t)head_bytes + bytes);

    if (!text)
        return NULL;
    text->users = 1;
    text->head_bytes = (size_t)head_bytes;
    text->bytes = (size_t)head_bytes + bytes;
    memcpy(text->text, head, (size_t)head_bytes);
    memcpy(text->text + head_bytes, body, bytes);
    return text;
}

static struct http_text *http_refusal(const char *status, const char *more)
{
    char header[128], body[64];
    int bytes = snprintf(body, sizeof(body), "%s\n", status);

    snprintf(header, sizeof(header), "Content-Type: text/plain; charset=utf-8\r\n%s", more);
    return http_text_new(status, header, body, (size_t)bytes);
}

static void http_text_drop(struct http_text *text)
{
    if (text && --text->users == 0)
        free(text);
}

int gv_http_set(struct gv_http *http, const char *text, size_t bytes)
{
    struct http_text *metrics = http_text_new(
        "200 OK", "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n",
        text, bytes);

    if (!metrics)
        return -ENOMEM;
    http_text_drop(http->metrics);
    http->metrics = metrics;
    return 0;
}

/* ---- clients ---- */

static void http_drop(struct http_client *client)
{
    close(client->fd);
    client->fd = -1;
    http_text_drop(client->answer);
    client->answer = NULL;
}

static bool http_wants_head(const char *request)
{
    return strncmp(request, "HEAD ", 5) == 0;
}

/* Of a complete request: only its first line matters. */
static struct http_text *http_answer(const struct gv_http *http, const char *request)
{
    static const char path[] = "/metrics";
    const char *asked = strchr(request, ' '), *end = strpbrk(request, "\r\n"),
               *version = strstr(request, " HTTP/1.");

    if (!version || version > end)
        return http_refusal("400 Bad Request", "");
    if (strncmp(request, "GET ", 4) != 0 && !http_wants_head(request))
        return http_refusal("405 Method Not Allowed", "Allow: GET, HEAD\r\n");
    asked++;
    if (strncmp(asked, path, sizeof(path) - 1) != 0 || !strchr(" ?", asked[sizeof(path) - 1]))
        return http_refusal("404 Not Found", "");
    if (!http->metrics)
        return http_refusal("503 Service Unavailable", "");
    http->metrics->users++;
    return http->metrics;
}

static void http_read(const struct gv_http *http, struct http_client *client)
{
    ssize_t bytes =
        recv(client->fd, client->request + client->read, GV_HTTP_REQUEST_BYTES - client->read, 0);

    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes <= 0) {
        http_drop(client);
        return;
    }
    client->read += (size_t)bytes;
    client->request[client->read] = '\0';
    if (strlen(client->request) != client->read)
        client->answer = http_refusal("400 Bad Request", "");
    else if (strstr(client->request, "\r\n\r\n") || strstr(client->request, "\n\n"))
        client->answer = http_answer(http, client->request);
    else if (client->read == GV_HTTP_REQUEST_BYTES)
        client->answer = http_refusal("431 Request Header Fields Too Large", "");
    else
        return;
    client->written = 0;
    if (client->answer)
        client->bytes =
            http_wants_head(client->request) ? client->answer->head_bytes : client->answer->bytes;
    else /* no memory */
        http_drop(client);
}

static void http_write(struct http_client *client)
{
    ssize_t bytes = send(client->fd, client->answer->text + client->written,
                         client->bytes - client->written, MSG_NOSIGNAL);

    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    client->written += bytes > 0 ? (size_t)bytes : 0;
    if (bytes > 0 && client->written < client->bytes)
        return;
    /* What was not read would make the system discard what was just sent. */
    shutdown(client->fd, SHUT_WR);
    for (int i = 0; i < 8 && recv(client->fd, client->request, GV_HTTP_REQUEST_BYTES, 0) > 0; i++)
        ;
    http_drop(client);
}

static void http_accept(struct gv_http *http, int listener)
{
    struct http_client *chosen = &http->clients[0];
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE) /* it stays ready: do not spin until one is free */
            gv_pause_ns(GV_HTTP_FULL_NS);
        return;
    }
    for (size_t i = 0; i < GV_HTTP_CLIENTS && chosen->fd >= 0; i++)
        if (http->clients[i].fd < 0 || http->clients[i].end_ns < chosen->end_ns)
            chosen = &http->clients[i];
    if (chosen->fd >= 0)
        http_drop(chosen);
    chosen->fd = fd;
    chosen->read = 0;
    chosen->end_ns = (int64_t)gv_monotonic_ns() + GV_HTTP_PATIENCE_NS;
}

static void http_turn(struct gv_http *http, int milliseconds)
{
    struct pollfd polled[GV_HTTP_CLIENTS + GV_HTTP_LISTENERS],
        *listening = polled + GV_HTTP_CLIENTS;

    for (size_t i = 0; i < GV_HTTP_CLIENTS; i++)
        polled[i] = (struct pollfd){.fd = http->clients[i].fd, /* free ones are skipped */
                                    .events = http->clients[i].answer ? POLLOUT : POLLIN};
    for (size_t i = 0; i < GV_HTTP_LISTENERS; i++)
        listening[i] = (struct pollfd){.fd = http->listeners[i], .events = POLLIN};
    if (poll(polled, GV_HTTP_CLIENTS + GV_HTTP_LISTENERS, milliseconds) < 0)
        return;
    for (size_t i = 0; i < GV_HTTP_CLIENTS; i++) {
        struct http_client *client = &http->clients[i];
        if (client->fd >= 0 && polled[i].revents) {
            if (!client->answer)
                http_read(http, client);
            else
                http_write(client);
        }
        if (client->fd >= 0 && (int64_t)gv_monotonic_ns() > client->end_ns)
            http_drop(client);
    }
    for (size_t i = 0; i < GV_HTTP_LISTENERS; i++)
        if (listening[i].revents)
            http_accept(http, http->listeners[i]);
}

void gv_http_serve(struct gv_http *http, int milliseconds)
{
    const int64_t end_ns = (int64_t)gv_monotonic_ns() + milliseconds * INT64_C(1000000);
    int64_t left_ns = milliseconds * INT64_C(1000000);

    do {
        http_turn(http, (int)(left_ns / 1000000));
        left_ns = end_ns - (int64_t)gv_monotonic_ns();
    } while (left_ns > 0);
}

void gv_http_close(struct gv_http *http)
{
    if (!http)
        return;
    for (size_t i = 0; i < GV_HTTP_CLIENTS; i++)
        if (http->clients[i].fd >= 0)
            http_drop(&http->clients[i]);
    http_text_drop(http->metrics);
    for (size_t i = 0; i < GV_HTTP_LISTENERS; i++)
        if (http->listeners[i] >= 0)
            close(http->listeners[i]);
    free(http);
}
