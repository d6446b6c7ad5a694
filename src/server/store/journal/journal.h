/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that several services share, as a journal at a home (home.h): a log of entries, and
 * snapshots of what came before it. Where that is, and how to change it in one step, is the home's.
 */
#ifndef LK_SERVER_STORE_JOURNAL_JOURNAL_H
#define LK_SERVER_STORE_JOURNAL_JOURNAL_H

#include "server/store/journal/home.h"
#include "server/store/store.h"

struct lk_journal_options {
    const char *address;         /* where clients find this service when it leads; copied */
    int64_t lease_us;            /* after its last commit no other service leads for so long */
    uint64_t snapshot_bytes_min; /* of the log, before a snapshot is begun; 0: the default */
    uint64_t history_max; /* revisions, before the home is told to forget some; 0: the default */
};

/*
 * The store at this home, which it owns from then on, whatever is returned. Leads nothing before
 * the first load, and writes nothing. LK_OK with *ret_storage; LK_INVALID (what is there),
 * LK_UNSUPPORTED (another format), or what the home answers.
 */
lk_outcome lk_journal_open(struct lk_home *home, const struct lk_journal_options *options,
                           struct lk_storage **ret_storage, lk_error *error);

#endif
