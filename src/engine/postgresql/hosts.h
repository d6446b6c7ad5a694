/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several hosts in a URL. libpq tries one after the other, but waits without limit for one that
 * says nothing. So each has a share of the time, and libpq begins again without the silent one.
 */
#ifndef LK_ENGINE_POSTGRESQL_HOSTS_H
#define LK_ENGINE_POSTGRESQL_HOSTS_H

#include "base/slice.h"
#include "engine/postgresql/libpq.h"

/* Those that are left. All zero bytes: as the URL and the environment name them. */
struct lk_postgresql_hosts {
    char *host; /* lists with commas between the entries, as libpq has them; NULL: none is named */
    char *address;
    char *port;
    bool is_changed; /* they replace those of the URL */
};

/* How many there are for a connection that has begun. */
size_t lk_postgresql_hosts_count(struct lk_postgresql_hosts *hosts, PGconn *connection);

/* Drops the one that the connection waits for. false: it is the only one, or not known. */
bool lk_postgresql_hosts_drop(struct lk_postgresql_hosts *hosts, PGconn *connection);

/* How many entries a list has; NULL, "": none. */
size_t lk_postgresql_list_count(const char *list);

/* The entry of a list; a list of one is for all hosts. */
struct lk_slice lk_postgresql_list_entry(const char *list, size_t index);

void lk_postgresql_hosts_done(struct lk_postgresql_hosts *hosts);

#endif
