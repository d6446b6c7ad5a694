/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine `sqlite:PATH`: a file that every process of the machine opens. README.md describes it;
 * decide.c is the place to begin reading.
 *
 * This constructor is for tests, which have a clock, a boot or bounds of their own; all other
 * callers use the table `lk_engine_sqlite`.
 */
#ifndef LK_ENGINE_SQLITE_SQLITE_H
#define LK_ENGINE_SQLITE_SQLITE_H

#include "base/clock.h"
#include "engine/engine.h"
#include "sql/format.h"

extern const struct lk_engine_ops lk_engine_sqlite;

struct lk_sqlite_options {
    const struct lk_time_source *time; /* borrowed for the engine's life; NULL: the machine's */
    const char *boot_id;               /* NULL: the machine's */
    int overdue_max;                   /* overdue requests elsewhere that a call ends, too */
    int crowd_max;                     /* related rows that an ask or a release loads in any case */
    int64_t pause_us;   /* between the looks of a waiter that can be woken; 0: see await.c */
    bool wakes_none;    /* no wake-ups, as by a program that has none: waiters look by themselves */
    int page_max;       /* the file's greatest size in pages; 0: the disk's */
    bool tidies_always; /* every writing transaction does the upkeep, not one in so many */
    const struct lk_sql_formats *formats; /* borrowed for the engine's life; NULL: lk_sql_formats */
};

/*
 * Copies the whole store, as it is at one moment, into the empty file at `path`, without a flush.
 * The outcomes of lk_engine_ops.backup; on failure the file has no meaning.
 */
lk_outcome lk_sqlite_copy(struct lk_engine *engine, const char *path,
                          const struct lk_patience *patience, lk_error *error);

/* What `lk_engine_sqlite` opens with. */
extern const struct lk_sqlite_options lk_sqlite_options_default;

lk_outcome lk_sqlite_open(struct lk_slice rest, const struct lk_sqlite_options *options,
                          const struct lk_patience *patience, struct lk_engine **ret_engine,
                          struct lk_error *error);

/* The same of an address that was parsed. */
struct lk_sqlite_address;
lk_outcome lk_sqlite_open_at(const struct lk_sqlite_address *address,
                             const struct lk_sqlite_options *options,
                             const struct lk_patience *patience, struct lk_engine **ret_engine,
                             struct lk_error *error);

/* The id of the boot whose clock deadlines are on. LK_OK, or LK_UNSUPPORTED: there is none. */
lk_outcome lk_sqlite_boot_id(char ret_boot_id[LK_SQL_BOOT_ID_MAX + 1], struct lk_error *error);

#endif
