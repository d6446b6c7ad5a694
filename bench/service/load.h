/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A load on a server: connections of one thread, each saying the same few requests over and over,
 * the next as soon as the reply to the last has come. The same loop for every server that is
 * measured, so that what is compared are the servers.
 */
#ifndef LK_BENCH_LOAD_H
#define LK_BENCH_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LOAD_STEPS_MAX = 3, LOAD_REQUEST_BYTES = 768, LOAD_CONNECTIONS_MAX = 1024 };

struct load_request {
    char bytes[LOAD_REQUEST_BYTES];
    size_t size;
};

struct load_protocol {
    /* The size of the reply that begins there; 0: it has not ended yet. */
    size_t (*reply_size)(const char *bytes, size_t size);

    /* Whether that is what a request of this step ought to be answered. */
    bool (*is_expected)(size_t step, const char *reply, size_t size);

    /* Makes it the connection's request of that index, from 0 on; NULL: all are the same. */
    void (*renew)(struct load_request *request, uint64_t index);
};

struct load {
    const char *host; /* a Unix socket's path, or NULL: 127.0.0.1 */
    int port;
    const struct load_protocol *protocol;
    size_t connections;
    size_t step_count; /* requests in one turn */
    size_t depth;      /* turns said at once: 1, or more when pipelined */

    /* What connection `number` says at `step`; step LOAD_STEPS_MAX: once, before all others. */
    void (*request)(const void *context, size_t number, size_t step,
                    struct load_request *ret_request);
    const void *context;
    bool has_prelude;
    bool is_counting; /* `number` is another one for each turn, from 0 on */
    double seconds;
    uint64_t turns_max; /* of each connection; 0: any number */

    /* Called when the reply to a step has come; NULL: not called. */
    void (*replied)(void *context, size_t number, size_t step, int64_t said_ns, int64_t now_ns);
    void *replied_context;
};

struct load_result {
    uint64_t turns;                   /* complete ones */
    uint64_t unexpected;              /* replies that were something else */
    double seconds;                   /* that it took */
    uint64_t turns_least, turns_most; /* of one connection */
    char example[160];                /* of what was unexpected */
};

/* Ends the program if the server cannot be reached or breaks off. */
struct load_result load_run(const struct load *load);

/* Protocols. */
size_t load_resp_reply_size(const char *bytes, size_t size);
size_t load_http_reply_size(const char *bytes, size_t size);

/* Renders an array of bulk strings out of words parted by blanks. */
void load_resp_render(struct load_request *request, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
