/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leader's record: which service leads, and what is valid of the other keys. It is JSON, for
 * people. Each commit of a service that leads compares the revision at which it was written last,
 * and writes it.
 */
#ifndef LK_SERVER_STORE_JOURNAL_LEADER_H
#define LK_SERVER_STORE_JOURNAL_LEADER_H

#include "base/buffer.h"
#include "server/store/store.h"

enum { LK_JOURNAL_FORMAT = 1, LK_JOURNAL_PROCESS_BYTES = 33 };

struct lk_journal_leader {
    uint64_t epoch;
    char process[LK_JOURNAL_PROCESS_BYTES]; /* a random name of the process that leads */
    char address[LK_LEADER_BYTES_MAX + 1];
    int64_t lease_us;
    bool is_free;                         /* handed over */
    uint64_t commit;                      /* counts the transactions of an epoch */
    char clock[LK_JOURNAL_PROCESS_BYTES]; /* the process on whose clock the instants are */
    int64_t now_us;                       /* of the last batch, on that clock */
    uint64_t last;                        /* the log has the entries from `first` to this one */
    uint64_t first;
    uint64_t snapshot; /* its number; 0: there is none, the log has all */
    uint64_t pieces;   /* of the snapshot */
};

void lk_journal_leader_write(const struct lk_journal_leader *leader, struct lk_buffer *out);

/*
 * `title` is that of the home, for messages. LK_OK with *ret_leader; LK_UNSUPPORTED: it is of
 * another format; LK_INVALID: it is damaged.
 */
lk_outcome lk_journal_leader_read(struct lk_slice text, const char *title,
                                  struct lk_journal_leader *ret_leader, lk_error *error);

/* Whether both are of one transaction. */
bool lk_journal_leader_is(const struct lk_journal_leader *one,
                          const struct lk_journal_leader *other);

#endif
