/* SPDX-License-Identifier: Apache-2.0 */
/* Servers that the benchmark starts for itself, on loopback and in a directory of its own. */
#ifndef LK_BENCH_PEERS_H
#define LK_BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer {
    pid_t pid;
    int port;
    int input; /* its stdin: closing it ends what heeds that */
};

/* A port of loopback that was free a moment ago. */
int peer_port(void);

/*
 * Starts a program with its output in `log`, and waits until it listens at the port. Ends the
 * benchmark if that takes too long.
 */
struct peer peer_start(char *const *arguments, int port, const char *log);

/* SIGTERM, and waits. */
void peer_stop(struct peer *peer);

/* Processor time of the process and all its threads, in seconds; resident memory in bytes. */
double peer_processor_seconds(const struct peer *peer);
double peer_resident_bytes(const struct peer *peer);

/* A fresh folder below `place` for the files of servers; its end, with all that is in it. */
void peer_folder_make(const char *place, char *ret_folder, size_t bytes);
void peer_folder_remove(const char *folder);

/* Whether such a program is installed. */
bool peer_is_installed(const char *program);

#endif
