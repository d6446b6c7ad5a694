/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waking a process that waits for a grant, by the one that has committed it.
 *
 * A wake-up says "look again" and nothing else; a waiter also looks from time to time without one.
 * So it may be lost: where the writer is an older program or one in another kernel, where the
 * system knows no such sleep, or where a process is killed between its commit and the wake-up.
 *
 * The words to sleep on are in FILE-shm, SQLite's index of the log, which each process has mapped.
 * They are only read: the counter of commits, to notice one before the sleep begins, and a word
 * chosen by the request's id, as an address by which this waiter is woken and others are not.
 * A file of our own would need rights, a name, an owner and an end.
 */
#ifndef LK_ENGINE_SQLITE_WAKE_UP_H
#define LK_ENGINE_SQLITE_WAKE_UP_H

#include "base/waker.h"
#include "engine/sqlite/store.h"

/*
 * Reads the words of a waiting request. The mutex is held, and a look at the rows follows: what is
 * committed after that ends the sleep. false: there are none, so only polling is left. They stay
 * mapped until the store is closed.
 */
bool lk_sqlite_wake_words(struct lk_sqlite *store, uint64_t request,
                          struct lk_word ret_words[LK_WORDS]);

/*
 * Notes in a writing transaction that the waiter for this request has to look again. If memory is
 * exhausted, the waiter finds out by itself.
 */
void lk_sqlite_wake_note(struct lk_sqlite *store, uint64_t request);

/* Wakes those that were noted, or forgets them if the transaction was rolled back. */
void lk_sqlite_wake_end(struct lk_sqlite *store, bool is_committed);

#endif
