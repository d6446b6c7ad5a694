/* SPDX-License-Identifier: Apache-2.0 */
/* Keys of an etcd cluster, as a store that services share. */
#ifndef LK_SERVER_STORE_ETCD_STORE_ETCD_H
#define LK_SERVER_STORE_ETCD_STORE_ETCD_H

#include "server/store/journal/home.h"
#include "server/store/store.h"

struct lk_etcd_client;

struct lk_store_etcd_options {
    const char *url;     /* server/store/etcd/stream.h */
    const char *address; /* where clients find this service when it leads; copied */
    int64_t lease_us;    /* after its last commit no other service leads for so long */
    /* For tests; 0: the default. */
    size_t part_bytes;           /* of an entry in one request */
    uint64_t snapshot_bytes_min; /* of the log, before a snapshot is begun */
    uint64_t history_max;        /* revisions, before etcd is asked to forget some */
};

/* The home of the journal in etcd. */
struct lk_etcd_home {
    struct lk_home home; /* first */
    struct lk_etcd_client *client;
    int64_t lease_us;
};

/*
 * Checks that there is an etcd of a version that serves, whose user may read and write. Leads
 * nothing before the first load, and writes nothing. LK_OK with *ret_storage; LK_INVALID (the URL,
 * or what is there), LK_DENIED (rights), LK_UNSUPPORTED (nghttp2 is missing, etcd is too old, keys
 * of another version), LK_UNAVAILABLE, LK_INTERNAL.
 */
lk_outcome lk_store_etcd_open(const struct lk_store_etcd_options *options,
                              struct lk_storage **ret_storage, lk_error *error);

#endif
