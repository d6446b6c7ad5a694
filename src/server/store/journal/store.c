/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that several services share, as a journal: opening, leading, handing over.
 *
 * Instants are on the clock of the service that leads. When another one begins to lead, they are
 * moved: the last batch was there at the latest when this service saw the leader's record as it is.
 * So deadlines may become later, and never earlier.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "base/random.h"
#include "server/core/core.h"
#include "server/store/journal/state.h"

enum { SNAPSHOT_BYTES_MIN = 8 * 1024 * 1024, HISTORY_MAX = 10000 };

/* ---- leading --------------------------------------------------------------------------------- */

static void tell_leader(struct lk_journal *store) {
    const struct lk_journal_leader *leader = &store->leader;

    store->storage.leader =
        (struct lk_leader){.epoch = leader->epoch,
                           .left_us = leader->lease_us - store->observed.counted_us,
                           .is_behind = store->image == NULL};
    (void)snprintf(store->storage.leader.address, sizeof store->storage.leader.address, "%s",
                   leader->address);
}

/* From here on no transaction of the former leader's is done. Its clock stays that of the log. */
static lk_outcome take_over(struct lk_journal *store, lk_error *error) {
    struct lk_journal_leader next = store->leader;
    lk_outcome outcome;

    if (store->observed.revision == 0) {
        next = (struct lk_journal_leader){.first = 1};
        (void)snprintf(next.clock, sizeof next.clock, "%s", store->process);
    }
    next.epoch++;
    next.commit = 0;
    next.is_free = false;
    next.lease_us = store->lease_us;
    (void)snprintf(next.process, sizeof next.process, "%s", store->process);
    (void)snprintf(next.address, sizeof next.address, "%s", store->advertised);
    store->revision = store->observed.revision;
    lk_buffer_done(&store->operations);
    outcome = lk_journal_commit(store, &next, NULL, error);
    if (outcome == LK_LOST) {
        tell_leader(store);
        return lk_error_set(error, LK_BUSY, "another service begins to lead this store");
    }
    store->is_leading = outcome == LK_OK;
    return outcome;
}

/* The entry that begins the epoch in the log: another clock, and the grace of R11. */
static lk_outcome begin_epoch(struct lk_journal *store, const struct lk_times *times,
                              int64_t delta_us, lk_error *error) {
    struct lk_journal_codec codec = {.out = &store->entry};
    struct lk_journal_leader next;
    struct lk_journal_entry entry = {
        .kind = LK_JOURNAL_BEGIN,
        .now_us = times->now_us,
        .wall_us = times->wall_us,
        .delta_us = delta_us,
        .known_us = store->leader.now_us + delta_us,
    };
    lk_outcome outcome;

    lk_buffer_cut(&store->entry, 0);
    lk_journal_code_entry(&codec, &entry);
    outcome = lk_journal_image_apply(
        store->image, (struct lk_slice){store->entry.bytes, store->entry.size}, error);
    if (outcome == LK_OK) {
        outcome = lk_journal_begin_writing(store, error);
    }
    next = lk_journal_next(store);
    next.now_us = times->now_us;
    (void)snprintf(next.clock, sizeof next.clock, "%s", store->process);
    return outcome == LK_OK ? lk_journal_append(store, &next, NULL, error) : outcome;
}

/* ---- loading --------------------------------------------------------------------------------- */

static lk_outcome make_snapshot(struct lk_journal *store, const struct lk_model_config *config,
                                struct lk_core_snapshot **ret_snapshot, lk_error *error) {
    struct lk_core_snapshot *snapshot = lk_core_snapshot_new(config);
    lk_outcome outcome;

    if (snapshot == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = lk_journal_image_load(store->image, config, snapshot, error);
    if (outcome != LK_OK) {
        lk_core_snapshot_free(snapshot);
        return outcome;
    }
    *ret_snapshot = snapshot;
    return LK_OK;
}

static void give_up(struct lk_journal *store) {
    store->is_leading = false;
    lk_journal_image_drop(store);
    lk_journal_progress_clear(&store->progress);
}

/* The lease of a takeover, which ends if it cannot be renewed. */
struct keeping {
    struct lk_journal *store;
    lk_outcome outcome;
    lk_error error;
};

static int keep_lease(void *context) {
    struct keeping *keeping = context;

    if (keeping->outcome == LK_OK) {
        keeping->outcome = lk_journal_keep_lease(keeping->store, &keeping->error);
    }
    return keeping->outcome != LK_OK;
}

/* A million requests take longer than the lease. */
static lk_outcome begin_with(struct lk_journal *store, const struct lk_model_config *config,
                             const struct lk_times *times, int64_t delta_us,
                             struct lk_core_snapshot **ret_snapshot, lk_error *error) {
    struct keeping keeping = {.store = store, .outcome = LK_OK};
    lk_outcome outcome;

    lk_journal_image_watch(store->image, keep_lease, &keeping);
    outcome = begin_epoch(store, times, delta_us, error);
    if (outcome == LK_OK) {
        outcome = make_snapshot(store, config, ret_snapshot, error);
    }
    lk_journal_image_watch(store->image, NULL, NULL);
    if (outcome != LK_OK && keeping.outcome != LK_OK) {
        return lk_error_set(error, keeping.outcome, "%s", keeping.error.text);
    }
    return outcome;
}

/* After the takeover: everything is read, moved to the clock of `times`, and kept so. */
static lk_outcome load_state(struct lk_journal *store, const struct lk_model_config *config,
                             const struct lk_times *times, int64_t begun_us,
                             struct lk_core_snapshot **ret_snapshot, lk_error *error) {
    bool is_own_clock = strcmp(store->leader.clock, store->process) == 0;
    int64_t delta_us = is_own_clock ? 0 : store->observed.first_us - store->leader.now_us;
    lk_outcome outcome = lk_journal_replay(store, error);
    struct lk_times now = *times;

    if (outcome == LK_OK) {
        now.now_us += lk_clock_now_us() - begun_us;
        now.wall_us += lk_clock_now_us() - begun_us;
        outcome = begin_with(store, config, &now, delta_us, ret_snapshot, error);
    }
    return outcome;
}

/* Looks who leads, and takes what is found. LK_OK, or why that is not known. */
static lk_outcome look(struct lk_journal *store, int64_t now_us, int64_t *ret_took_us,
                       lk_error *error) {
    struct lk_journal_leader found = {.epoch = 0};
    int64_t begun_us = lk_clock_now_us();
    uint64_t revision = 0;
    lk_outcome outcome = lk_journal_look(store, &found, &revision, error);

    *ret_took_us = lk_clock_now_us() - begun_us;
    if (outcome != LK_OK) {
        store->observed.has_failed = true;
        return outcome;
    }
    lk_journal_observe(store, &found, revision, now_us, *ret_took_us);
    return LK_OK;
}

static lk_outcome tell_follower(struct lk_journal *store, lk_error *error) {
    tell_leader(store);
    return lk_error_set(error, LK_BUSY, "another service leads this store: %s",
                        store->leader.address);
}

/* A takeover is lost: who leads is found out and told. */
static lk_outcome look_again(struct lk_journal *store, int64_t now_us, lk_error *error) {
    int64_t took_us;
    lk_outcome outcome = look(store, now_us, &took_us, error);

    return outcome == LK_OK ? tell_follower(store, error) : outcome;
}

static lk_outcome store_load(struct lk_storage *storage, const struct lk_model_config *config,
                             const struct lk_times *times, struct lk_core_snapshot **ret_snapshot,
                             lk_error *error) {
    struct lk_journal *store = lk_journal_of(storage);
    int64_t begun_us = lk_clock_now_us();
    int64_t took_us;
    int64_t now_us;
    bool is_foreign;
    lk_outcome outcome;

    if (store->is_leading) {
        give_up(store);
    }
    outcome = look(store, times->now_us, &took_us, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!lk_journal_may_lead(store)) {
        lk_journal_keep_up(store, times->now_us, took_us);
        return tell_follower(store, error);
    }
    outcome = take_over(store, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    is_foreign = store->is_foreign || store->leader.epoch != store->epoch + 1;
    store->epoch = store->leader.epoch;
    store->is_foreign = is_foreign; /* also when this load fails */
    storage->leader = (struct lk_leader){.epoch = store->epoch, .left_us = store->lease_us};
    outcome = load_state(store, config, times, begun_us, ret_snapshot, error);
    if (outcome != LK_OK) {
        give_up(store);
        now_us = times->now_us + lk_clock_now_us() - begun_us;
        return outcome == LK_LOST ? look_again(store, now_us, error) : outcome;
    }
    (*ret_snapshot)->is_foreign = is_foreign;
    store->is_foreign = false;
    return LK_OK;
}

/* ---- writing and handing over ---------------------------------------------------------------- */

static lk_outcome store_write(struct lk_storage *storage, const struct lk_batch *batch,
                              lk_error *error) {
    struct lk_journal *store = lk_journal_of(storage);
    lk_outcome outcome;

    if (!store->is_leading) {
        return lk_error_set(error, LK_UNAVAILABLE, "the store in %s has to be loaded again",
                            store->home->title);
    }
    outcome = lk_journal_write(store, batch, error);
    if (outcome != LK_OK) {
        give_up(store);
    }
    return outcome;
}

/* The address is told to the others when this service begins to lead. */
static lk_outcome store_announce(struct lk_storage *storage, const char *address, lk_error *error) {
    struct lk_journal *store = lk_journal_of(storage);

    (void)error;
    (void)snprintf(store->advertised, sizeof store->advertised, "%s", address);
    return LK_OK;
}

static lk_outcome store_resign(struct lk_storage *storage, lk_error *error) {
    struct lk_journal *store = lk_journal_of(storage);
    struct lk_journal_leader next = lk_journal_next(store);
    lk_outcome outcome;

    if (!store->is_leading) {
        return LK_OK;
    }
    next.is_free = true;
    lk_buffer_done(&store->operations);
    outcome = lk_journal_commit(store, &next, NULL, error);
    give_up(store);
    return outcome;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void store_close(struct lk_storage *storage) {
    struct lk_journal *store = lk_journal_of(storage);

    give_up(store);
    store->home->ops->close(store->home);
    lk_buffer_done(&store->entry);
    lk_buffer_done(&store->operations);
    lk_buffer_done(&store->scratch);
    free(store);
}

static const struct lk_storage_ops store_ops = {
    .load = store_load,
    .write = store_write,
    .announce = store_announce,
    .resign = store_resign,
    .close = store_close,
};

/* Looks whether what is there is a journal, or nothing. */
static lk_outcome look_first(struct lk_journal *store, lk_error *error) {
    struct lk_journal_leader found;
    uint64_t revision;
    lk_outcome outcome = lk_journal_look(store, &found, &revision, error);

    return outcome == LK_OK ? store->home->ops->check(store->home, error) : outcome;
}

lk_outcome lk_journal_open(struct lk_home *home, const struct lk_journal_options *options,
                           struct lk_storage **ret_storage, lk_error *error) {
    struct lk_journal *store = calloc(1, sizeof *store);
    lk_outcome outcome;

    if (store == NULL) {
        home->ops->close(home);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    store->home = home;
    store->storage.ops = &store_ops;
    store->lease_us = options->lease_us;
    store->snapshot_bytes_min =
        options->snapshot_bytes_min > 0 ? options->snapshot_bytes_min : SNAPSHOT_BYTES_MIN;
    store->history_max = options->history_max > 0 ? options->history_max : HISTORY_MAX;
    (void)snprintf(store->advertised, sizeof store->advertised, "%s", options->address);
    (void)snprintf(store->process, sizeof store->process, "%016" PRIx64 "%016" PRIx64,
                   lk_random_draw(), lk_random_draw());
    outcome = look_first(store, error);
    if (outcome != LK_OK) {
        store_close(&store->storage);
        return outcome;
    }
    *ret_storage = &store->storage;
    return LK_OK;
}
