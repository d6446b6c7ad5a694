/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of requests: one message for each possible error. And owners, where none is given. */
#include "client/checked.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/error.h"
#include "base/owner.h"
#include "base/program.h"
#include "base/random.h"
#include "base/text.h"
#include "lockkeeper/lockkeeper.h"
#include "model/sentences.h"
#include "model/utf8.h"

lk_outcome lk_checked_copy(void *ret_known, size_t known_size, const void *given, lk_error *error) {
    const unsigned char *bytes = given;
    size_t given_size;

    memcpy(&given_size, given, sizeof given_size);
    if (given_size < known_size) {
        return lk_error_set(error, LK_INVALID, "size is %zu: it must be the sizeof of the struct",
                            given_size);
    }
    for (size_t i = known_size; i < given_size; i++) {
        if (bytes[i] != 0) {
            return lk_error_set(error, LK_UNSUPPORTED,
                                "the request has fields that version %s does not know", LK_VERSION);
        }
    }
    memcpy(ret_known, given, known_size);
    return LK_OK;
}

lk_outcome lk_checked_prefix(const lk_store *store, unsigned needed, const char *text,
                             struct lk_path *path, const struct lk_path **ret_prefix,
                             lk_error *error) {
    lk_outcome outcome = needed != 0 ? lk_store_check_can(store, (enum lk_capability)needed, error)
                                     : lk_store_check(store, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_prefix = text != NULL ? path : NULL;
    return text != NULL ? lk_path_parse(lk_slice_of(text), path, error)
                        : lk_error_clear(error, LK_OK);
}

lk_outcome lk_checked_path(const lk_store *store, unsigned needed, const char *text,
                           struct lk_path *ret_path, lk_error *error) {
    const struct lk_path *same;

    return lk_checked_prefix(store, needed, text, ret_path, &same, error);
}

lk_outcome lk_checked_text(const char *name, const char *text, size_t min, size_t max,
                           lk_error *error) {
    size_t size = strnlen(text, max + 1);

    if (size < min || size > max) {
        return lk_error_set(error, LK_INVALID, "%s has %zu to %zu bytes", name, min, max);
    }
    if (!lk_utf8_is_valid(text, size)) {
        return lk_error_set(error, LK_INVALID, "%s must be UTF-8", name);
    }
    return LK_OK;
}

static lk_outcome check_parts(struct lk_checked *checked, const struct lk_part_defaults *defaults,
                              lk_error *error) {
    const lk_request *request = &checked->request;

    if (request->part_count < 1 || request->part_count > LK_PARTS_MAX || request->parts == NULL) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_PARTS, LK_PARTS_MAX, request->part_count);
    }
    for (size_t i = 0; i < request->part_count; i++) {
        lk_outcome outcome =
            lk_part_parse(lk_slice_of(request->parts[i]), defaults, &checked->parts[i], error);

        if (outcome != LK_OK) {
            return outcome;
        }
    }
    checked->part_count = request->part_count;
    return lk_parts_check(checked->parts, checked->part_count, error);
}

lk_outcome lk_checked_owner(const char *owner, lk_error *error) {
    return lk_checked_text("the owner", owner, 1, LK_OWNER_BYTES_MAX, error);
}

lk_outcome lk_checked_note(const char *note, lk_error *error) {
    return note != NULL ? lk_checked_text("R19: the note", note, 0, LK_NOTE_BYTES_MAX, error)
                        : LK_OK;
}

lk_outcome lk_checked_value(const void *bytes, size_t size, lk_error *error) {
    return bytes == NULL && size > 0 ? lk_error_set(
               error, LK_INVALID, "R15: a value of %zu bytes without an address", size)
                                     : lk_value_check((struct lk_slice){bytes, size}, error);
}

/* Finds the part that a put names: its index; `count`: there is none. LK_OK or LK_INVALID. */
static lk_outcome find_put(const struct lk_part *parts, size_t count, const lk_part_put *put,
                           size_t *ret_at, lk_error *error) {
    struct lk_part named;
    lk_outcome outcome;

    *ret_at = 0;
    if (put->path == NULL) {
        return LK_OK;
    }
    outcome = lk_part_parse(lk_slice_of(put->path), NULL, &named, error);
    while (outcome == LK_OK && *ret_at < count
           && !lk_path_equal(&parts[*ret_at].path, &named.path)) {
        (*ret_at)++;
    }
    return outcome;
}

/* What is put to each part, by its index; NULL: nothing. */
static lk_outcome sort_puts(const struct lk_part *parts, size_t part_count, const lk_part_put *puts,
                            size_t put_count, const lk_part_put *by_part[LK_PARTS_MAX],
                            lk_error *error) {
    for (size_t i = 0; i < put_count; i++) {
        size_t at;
        lk_outcome outcome = find_put(parts, part_count, &puts[i], &at, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        if (at == part_count) {
            return lk_error_set(error, LK_INVALID, "R15: %s is no part of the request",
                                puts[i].path);
        }
        if (by_part[at] != NULL) {
            return lk_error_set(error, LK_INVALID, "R15: %.*s is given two values",
                                (int)parts[at].path.size, parts[at].path.bytes);
        }
        by_part[at] = &puts[i];
    }
    return LK_OK;
}

lk_outcome lk_checked_put_values(const lk_part_put *puts, size_t put_count, lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (puts == NULL && put_count > 0) {
        return lk_error_set(error, LK_INVALID, "R15: %zu values without an address", put_count);
    }
    for (size_t i = 0; i < put_count && outcome == LK_OK; i++) {
        outcome = lk_checked_value(puts[i].value, puts[i].value_size, error);
    }
    return outcome;
}

lk_outcome lk_checked_puts(const struct lk_part *parts, size_t part_count, const lk_part_put *puts,
                           size_t put_count, struct lk_release_put *ret_puts, lk_error *error) {
    const lk_part_put *by_part[LK_PARTS_MAX] = {NULL};
    size_t count = 0;
    lk_outcome outcome;

    outcome = sort_puts(parts, part_count, puts, put_count, by_part, error);
    for (size_t i = 0; i < part_count && outcome == LK_OK; i++) {
        if (by_part[i] != NULL) {
            ret_puts[count++] = (struct lk_release_put){
                .part = i, .bytes = {.bytes = by_part[i]->value, .size = by_part[i]->value_size}};
        }
    }
    return outcome;
}

static lk_outcome check_owner(struct lk_checked *checked, lk_error *error) {
    const char *owner = checked->request.owner;
    lk_outcome outcome = lk_checked_owner(owner, error);

    if (outcome == LK_OK) {
        memcpy(checked->owner, owner, strlen(owner) + 1);
        checked->is_owner_made = false;
    }
    return outcome;
}

/* The default, if the ttl was not given. */
static void fill_ttl(int64_t *ttl_ms, bool is_bound) {
    if (*ttl_ms == 0) {
        *ttl_ms = is_bound ? LK_TTL_MAX_MS : LK_TTL_DEFAULT_MS; /* R18 */
    }
}

lk_outcome lk_checked_claim(int64_t *ttl_ms, uint32_t max_attempts, const char *note,
                            lk_error *error) {
    lk_outcome outcome = lk_ttl_check(*ttl_ms, error);

    fill_ttl(ttl_ms, false);
    if (outcome == LK_OK && max_attempts > LK_ATTEMPTS_MAX) {
        outcome = lk_error_set(error, LK_INVALID, "R16: at most %d attempts can be named",
                               LK_ATTEMPTS_MAX);
    }
    return outcome == LK_OK ? lk_checked_note(note, error) : outcome;
}

static lk_outcome check_times(const lk_request *request, lk_error *error) {
    if (request->style != LK_TRY && request->style != LK_QUEUE && request->style != LK_WAIT) {
        return lk_error_set(error, LK_INVALID, "R10: there is no style %d", (int)request->style);
    }
    if (request->wait_ms < 0 || request->patience_ms < 0) {
        return lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    if (request->until_unix_ms < 0 || request->until_unix_ms > INT64_MAX / 1000) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_FIXED_END_BAD);
    }
    if (request->until_unix_ms != 0 && request->ttl_ms != 0) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_TTL_OR_END);
    }
    return lk_ttl_check(request->ttl_ms, error);
}

/* What a lease that stays after its release (at_least_ms) cannot be. */
static lk_outcome check_at_least(const lk_request *request, lk_error *error) {
    if (request->at_least_ms == 0) {
        return LK_OK;
    }
    if (request->at_least_ms < LK_TTL_MIN_MS || request->at_least_ms > LK_TTL_MAX_MS) {
        return lk_error_set(error, LK_INVALID,
                            "R11: the least time of a lease is 50 ms to 366 days, not %lld ms",
                            (long long)request->at_least_ms);
    }
    if (request->until_unix_ms != 0) {
        return lk_error_set(error, LK_INVALID,
                            "R11: a fixed end does not move: a lease has one, or a least time");
    }
    if (request->bound) {
        return lk_error_set(error, LK_INVALID,
                            "R18: a bound lease ends with its connection, and has no least time");
    }
    return request->value
               ? lk_error_set(error, LK_INVALID,
                              "R15: a lease with a least time perishes, which leaves the values "
                              "that it asks for in doubt: read them by themselves")
               : LK_OK;
}

lk_outcome lk_checked_outlives(const lk_store *store, const lk_request *request, lk_error *error) {
    if (!request->outlives
        || (store->engine->ops->capabilities & (unsigned)LK_BINDS_TO_PROCESS) == 0) {
        return LK_OK;
    }
    return lk_error_set(error, LK_UNSUPPORTED,
                        "in a store of %s: a lease ends with the process that took it, and only "
                        "that one can end it: %s run holds one while a command runs",
                        store->engine->ops->scheme, lk_program());
}

/* R14: several roots need a store that decides about them together, or that has nodes (batch.h). */
static lk_outcome check_roots(const lk_store *store, lk_error *error) {
    return store->engine->ops->node_of != NULL ? LK_OK
                                               : lk_store_check_can(store, LK_CAN_ROOTS, error);
}

/* Refuses at once, and by name, what the store's engine lacks (R23). */
static lk_outcome check_capabilities(const lk_store *store, const struct lk_checked *checked,
                                     lk_error *error) {
    struct lk_slice root = lk_path_root(&checked->parts[0].path);
    lk_outcome outcome = LK_OK;

    if (checked->request.style == LK_QUEUE
        || (checked->request.style == LK_WAIT
            && (store->engine->ops->capabilities & LK_CAN_RETRY) == 0)) {
        outcome = lk_store_check_can(store, LK_CAN_QUEUE, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_outlives(store, &checked->request, error);
    }
    if (outcome == LK_OK && checked->request.at_least_ms != 0
        && (store->engine->ops->capabilities & (unsigned)LK_BINDS_TO_PROCESS) != 0) {
        outcome = lk_error_set(error, LK_UNSUPPORTED,
                               "in a store of %s: a lease ends with the process that took it, and "
                               "has no least time",
                               store->engine->ops->scheme);
    }
    if (outcome == LK_OK && checked->request.value) {
        outcome = lk_store_check_can(store, LK_CAN_VALUES, error);
    }
    if (outcome == LK_OK && checked->request.bound) {
        outcome = lk_store_check_can(store, LK_CAN_BIND, error);
    }
    for (size_t i = 0; i < checked->part_count && outcome == LK_OK; i++) {
        const struct lk_part *part = &checked->parts[i];

        if (part->limit == 0) {
            outcome = lk_store_check_can(store, LK_CAN_EXCLUSIVE, error);
        }
        if (outcome == LK_OK && !lk_slice_equal(root, lk_path_root(&part->path))) {
            outcome = check_roots(store, error);
        }
    }
    return outcome;
}

lk_outcome lk_checked_ask(const lk_store *store, const lk_request *request,
                          struct lk_checked *ret_checked, lk_error *error) {
    lk_request *copy = &ret_checked->request;
    lk_outcome outcome = lk_checked_copy(copy, sizeof *copy, request, error);

    if (outcome == LK_OK) {
        const struct lk_part_defaults defaults = {
            .shared = copy->shared, .limit = copy->limit, .units = copy->units};

        outcome = check_parts(ret_checked, &defaults, error);
    }
    if (outcome == LK_OK) {
        outcome = check_times(copy, error);
    }
    if (outcome == LK_OK) {
        outcome = check_at_least(copy, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_note(copy->note, error);
    }
    if (outcome == LK_OK && copy->owner != NULL) {
        outcome = check_owner(ret_checked, error);
    } else if (outcome == LK_OK) {
        lk_owner_make(ret_checked->owner);
        ret_checked->is_owner_made = true;
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    fill_ttl(&copy->ttl_ms, copy->bound);
    if (copy->blockers_max > LK_BLOCKERS_MAX) {
        copy->blockers_max = LK_BLOCKERS_MAX;
    }
    return check_capabilities(store, ret_checked, error);
}

lk_outcome lk_checked_target(const lk_request *request, struct lk_checked *ret_checked,
                             lk_error *error) {
    lk_request *copy = &ret_checked->request;
    lk_outcome outcome = lk_checked_copy(copy, sizeof *copy, request, error);

    if (outcome == LK_OK && copy->owner != NULL) {
        outcome = check_owner(ret_checked, error);
    }
    if (outcome == LK_OK) {
        outcome = check_parts(ret_checked, NULL, error);
    }
    if (outcome == LK_OK && copy->patience_ms < 0) {
        outcome = lk_error_set(error, LK_INVALID, "a wait is not negative");
    }
    return outcome == LK_OK ? lk_ttl_check(copy->ttl_ms, error) : outcome;
}

/* ---- pushes (R16) ---- */

static lk_outcome parse_needs(const lk_push_request *request, struct lk_part needs[LK_NEEDS_MAX],
                              lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (request->need_count > LK_NEEDS_MAX || (request->need_count > 0 && request->needs == NULL)) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_NEEDS, LK_NEEDS_MAX, request->need_count);
    }
    for (size_t i = 0; outcome == LK_OK && i < request->need_count; i++) {
        outcome = lk_need_parse(lk_slice_of(request->needs[i]), &needs[i], error);
    }
    return outcome;
}

/* The queue, of a store that is capable of what is asked for. */
static lk_outcome check_pushed_queue(const lk_store *store, const lk_push_request *request,
                                     struct lk_path *ret_queue, lk_error *error) {
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, request->queue, ret_queue, error);

    return outcome == LK_OK && (request->priority != 0 || request->keep_ms != 0)
               ? lk_store_check_can(store, LK_CAN_BATCHES, error)
               : outcome;
}

lk_outcome lk_push_command(const lk_store *store, const lk_push_request *request,
                           struct lk_part *needs, struct lk_command *ret_command, lk_error *error) {
    struct lk_push *push = &ret_command->push;
    struct lk_item_path item;
    lk_push_request known;
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    *ret_command = (struct lk_command){.kind = LK_COMMAND_PUSH};
    if (outcome == LK_OK) {
        outcome = check_pushed_queue(store, &known, &push->queue, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_value(known.value, known.value_size, error);
    }
    if (outcome == LK_OK) {
        outcome = parse_needs(&known, needs, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (known.again && known.replaces) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_AGAIN_OR_REPLACE);
    }
    push->kind = known.again ? LK_PUSH_AGAIN : known.replaces ? LK_PUSH_REPLACE : LK_PUSH_NEW;
    push->id = lk_slice_of(known.id);
    push->value = (struct lk_slice){.bytes = known.value, .size = known.value_size};
    push->delay_ms = known.delay_ms;
    push->needs = needs;
    push->need_count = known.need_count;
    push->priority = known.priority;
    push->keep_ms = known.keep_ms;
    return lk_push_check(push, &item, error);
}

/* ---- fresh owners (R3) ----------------------------------------------------------------------- */

/*
 * A pid alone is reused, and means a different process in a different container: hence the boot's
 * id and a random number.
 */

void lk_owner_make(char ret_owner[129]) {
    struct lk_text owner = lk_text_in(ret_owner, LK_OWNER_BYTES_MAX + 1);

    lk_owner_add_process(&owner, getpid());
    lk_text_format(&owner, ":%jd:%016" PRIx64, (intmax_t)gettid(), lk_random_draw());
}
