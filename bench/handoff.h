/* SPDX-License-Identifier: Apache-2.0 */
/* A lock of another kind, beside which hand-offs are measured: one in each program of handoff.c. */
#ifndef LK_BENCH_HANDOFF_H
#define LK_BENCH_HANDOFF_H

struct handoff_peer {
    const char *name;
    void *(*open)(void); /* in each process its own */
    void (*lock)(void *peer);
    void (*unlock)(void *peer);
    void (*close)(void *peer);
};

extern const struct handoff_peer handoff_peer;

#endif
