/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries. One root takes as many calls of the script as its answer has pages (queries.lua). All
 * roots are found by a SCAN of the keys of every master, and then queried one by one. So each page
 * shows one moment, while a listing of many does not; a listing of everything reads every key of
 * the servers.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/redis/answer.h"
#include "engine/redis/call.h"
#include "engine/redis/operations.h"
#include "engine/redis/roots.h"
#include "engine/reply/reply.h"

enum { CURSOR = 2, HEAD = 3 }; /* before the elements of a reply */

/* ---- requests in replies --------------------------------------------------------------------- */

/* The elements of a request, in the order of queries.lua. */
enum element {
    IDENTITY,
    OWNER,
    NOTE,
    FLAGS,
    TICKET,
    TOKEN,
    TTL,
    DEADLINE,
    PARTS,
    POSITION,
    BLOCKERS,
    ID
};

static void read_record(const redisReply *reply, struct lk_record *record) {
    const redisReply *parts = lk_redis_array_at(reply, PARTS);
    int64_t flags = lk_redis_integer_at(reply, FLAGS);

    record->owner = lk_redis_text_at(reply, OWNER);
    record->note = lk_redis_text_at(reply, NOTE);
    record->state = (flags & 1) != 0 ? LK_STATE_HELD : LK_STATE_WAITING;
    record->revoked = (flags & 2) != 0;
    record->fixed = (flags & 4) != 0;
    record->ticket = (uint64_t)lk_redis_integer_at(reply, TICKET);
    record->token = (uint64_t)lk_redis_integer_at(reply, TOKEN);
    record->ttl_ms = lk_redis_integer_at(reply, TTL);
    record->deadline_us = lk_redis_integer_at(reply, DEADLINE);
    record->part_count = 0;
    for (size_t i = 0; i + 2 < parts->elements && record->part_count < LK_PARTS_MAX; i += 3) {
        struct lk_part *part = &record->parts[record->part_count];

        *part = (struct lk_part){.limit = (uint32_t)lk_redis_integer_at(parts, i + 1)};
        lk_part_set_code(part, lk_redis_integer_at(parts, i + 2));
        record->part_count += lk_path_parse(lk_redis_text_at(parts, i), &part->path, NULL) == LK_OK;
    }
}

/* ---- gathering ------------------------------------------------------------------------------- */

struct found {
    const redisReply *request; /* NULL: another page has it, too, and later */
    int64_t now_us;
    size_t order; /* of being met */
};

/* The replies of one or many roots, a page each, and the requests in them. */
struct gathering {
    redisReply **replies;
    size_t reply_count;
    struct found *found;
    size_t count;
};

static void gathering_done(struct gathering *gathering) {
    for (size_t i = 0; i < gathering->reply_count; i++) {
        freeReplyObject(gathering->replies[i]);
    }
    free(gathering->replies);
    free(gathering->found);
}

/* Takes over the reply. false: memory is exhausted, the reply is freed. */
static bool gather(struct gathering *gathering, redisReply *reply) {
    redisReply **replies =
        realloc(gathering->replies, (gathering->reply_count + 1) * sizeof(redisReply *));
    struct found *found;

    if (replies != NULL) {
        gathering->replies = replies;
    }
    found = realloc(gathering->found,
                    (gathering->count + reply->elements + 1) * sizeof *gathering->found);
    if (found != NULL) {
        gathering->found = found;
    }
    if (replies == NULL || found == NULL) {
        freeReplyObject(reply);
        return false;
    }
    gathering->replies[gathering->reply_count++] = reply;
    for (size_t i = HEAD; i < reply->elements; i++) {
        gathering->found[gathering->count] = (struct found){.request = lk_redis_array_at(reply, i),
                                                            .now_us = lk_redis_integer_at(reply, 1),
                                                            .order = gathering->count};
        gathering->count++;
    }
    return true;
}

static int compare_integer(const redisReply *a, const redisReply *b, size_t element) {
    int64_t x = lk_redis_integer_at(a, element);
    int64_t y = lk_redis_integer_at(b, element);

    return (x > y) - (x < y);
}

/* Those of one identity in the order of being met. */
static int compare_met(const void *a, const void *b) {
    const struct found *left = a;
    const struct found *right = b;
    int order = lk_slice_compare(lk_redis_text_at(left->request, IDENTITY),
                                 lk_redis_text_at(right->request, IDENTITY));

    return order != 0 ? order : (left->order > right->order) - (left->order < right->order);
}

/* By ticket, and by id those that share theirs; what another page has comes last. */
static int compare_found(const void *a, const void *b) {
    const redisReply *left = ((const struct found *)a)->request;
    const redisReply *right = ((const struct found *)b)->request;
    int order;

    if (left == NULL || right == NULL) {
        return (left == NULL) - (right == NULL);
    }
    order = compare_integer(left, right, TICKET);
    if (order == 0) {
        order = compare_integer(left, right, ID);
    }
    return order != 0 ? order
                      : lk_slice_compare(lk_redis_text_at(left, IDENTITY),
                                         lk_redis_text_at(right, IDENTITY));
}

/*
 * Whether both are the same request, by R3: identity and paths. The parts of a batch in several
 * slots (R14) have one identity, and no path in common.
 */
static bool is_same(const redisReply *a, const redisReply *b) {
    const redisReply *parts = lk_redis_array_at(b, PARTS);
    struct lk_slice path = lk_redis_text_at(lk_redis_array_at(a, PARTS), 0);

    for (size_t i = 0; i < parts->elements; i += 3) {
        if (lk_slice_equal(path, lk_redis_text_at(parts, i))) {
            return true;
        }
    }
    return false;
}

/*
 * A request is met under each of its roots; in each page that has one of its parts; and again if it
 * is granted, or asked for again, between two pages. Keeps the last. Sorts the rest by ticket.
 */
static void drop_twice_met(struct gathering *gathering) {
    struct found *found = gathering->found;
    size_t kept = 0;

    if (gathering->count < 2) {
        return;
    }
    qsort(found, gathering->count, sizeof *found, compare_met);
    for (size_t i = 1; i < gathering->count; i++) {
        struct lk_slice identity = lk_redis_text_at(found[i].request, IDENTITY);

        for (size_t j = i;
             j-- > 0
             && (found[j].request == NULL
                 || lk_slice_equal(lk_redis_text_at(found[j].request, IDENTITY), identity));) {
            if (found[j].request != NULL && is_same(found[j].request, found[i].request)) {
                found[j].request = NULL;
            }
        }
    }
    qsort(found, gathering->count, sizeof *found, compare_found);
    while (kept < gathering->count && found[kept].request != NULL) {
        kept++;
    }
    gathering->count = kept;
}

static bool add_found(const struct found *found, const struct lk_path *prefix,
                      struct lk_record *record, lk_listing *listing) {
    const struct lk_times times = {.now_us = found->now_us, .wall_us = found->now_us};
    size_t first = listing->count;

    read_record(found->request, record);
    if (!lk_listing_add(listing, record, &times, prefix)) {
        return false;
    }
    for (size_t i = first; i < listing->count; i++) {
        lk_entry *entry = &listing->entries[i];

        entry->position = (size_t)lk_redis_integer_at(found->request, POSITION);
        if (!lk_redis_blockers_read(lk_redis_array_at(found->request, BLOCKERS), found->now_us,
                                    &entry->blockers, &entry->blocker_count)) {
            return false;
        }
    }
    return true;
}

static lk_outcome conclude(struct gathering *gathering, const struct lk_path *prefix,
                           lk_listing **ret_listing, lk_error *error) {
    struct lk_record *record = calloc(1, sizeof *record);
    lk_listing *listing = lk_listing_new();
    bool is_complete = record != NULL && listing != NULL;

    drop_twice_met(gathering);
    for (size_t i = 0; is_complete && i < gathering->count; i++) {
        is_complete = add_found(&gathering->found[i], prefix, record, listing);
    }
    free(record);
    if (!is_complete) {
        lk_listing_free(listing);
        return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
    }
    *ret_listing = listing;
    return lk_error_clear(error, LK_OK);
}

static lk_outcome query_page(struct lk_redis *store, const char *operation,
                             const struct lk_path *path, struct lk_slice cursor,
                             const struct lk_patience *patience, redisReply **ret_reply,
                             lk_error *error) {
    struct lk_redis_call call;

    lk_redis_call_begin(store, operation, path, false, &call);
    lk_redis_call_add(&call, (struct lk_slice){path->bytes, path->size});
    lk_redis_call_add(&call, cursor);
    call.is_repeatable = true;
    return lk_redis_call_make(store, &call, patience, ret_reply, error);
}

static lk_outcome query(struct lk_redis *store, const char *operation, const struct lk_path *path,
                        const struct lk_patience *patience, struct gathering *gathering,
                        lk_error *error) {
    struct lk_slice cursor = lk_slice_of("");

    do {
        redisReply *reply;
        lk_outcome outcome = query_page(store, operation, path, cursor, patience, &reply, error);

        if (outcome != LK_OK) {
            return outcome;
        }
        if (!gather(gathering, reply)) {
            return lk_error_set(error, LK_INTERNAL, "no memory for the listing");
        }
        cursor = lk_redis_text_at(reply, CURSOR);
    } while (cursor.size > 0);
    return LK_OK;
}

/* ---- listings -------------------------------------------------------------------------------- */

struct listing_walk {
    struct lk_redis *store;
    const struct lk_patience *patience;
    struct gathering gathering;
};

static lk_outcome query_root(void *context, const struct lk_path *root, lk_error *error) {
    struct listing_walk *walk = context;

    return query(walk->store, "list", root, walk->patience, &walk->gathering, error);
}

lk_outcome lk_redis_list(struct lk_engine *engine, const struct lk_path *prefix,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error) {
    struct listing_walk listing = {.store = lk_redis_of(engine), .patience = patience};
    const struct lk_redis_walk walk = {.store = listing.store,
                                       .suffix = ":lk:h",
                                       .patience = patience,
                                       .visit = query_root,
                                       .context = &listing};
    lk_outcome outcome =
        prefix != NULL ? query_root(&listing, prefix, error) : lk_redis_walk_roots(&walk, error);

    if (outcome == LK_OK) {
        outcome = conclude(&listing.gathering, prefix, ret_listing, error);
    }
    gathering_done(&listing.gathering);
    return outcome;
}

lk_outcome lk_redis_show(struct lk_engine *engine, const struct lk_path *path,
                         const struct lk_patience *patience, lk_listing **ret_listing,
                         lk_error *error) {
    struct gathering gathering = {.count = 0};
    lk_outcome outcome = query(lk_redis_of(engine), "show", path, patience, &gathering, error);

    if (outcome == LK_OK) {
        outcome = conclude(&gathering, NULL, ret_listing, error);
    }
    gathering_done(&gathering);
    return outcome;
}

/* ---- audits ---------------------------------------------------------------------------------- */

/* The elements of an entry, in the order of ends.lua. */
enum broken { AT, BY, REASON, PATH, WHOSE, ITS_NOTE, ITS_TICKET, ITS_TOKEN };

struct audit_walk {
    struct lk_redis *store;
    const struct lk_patience *patience;
    const struct lk_path *prefix;
    struct gathering gathering;
};

static lk_outcome query_audit(void *context, const struct lk_path *root, lk_error *error) {
    struct audit_walk *walk = context;

    return query(walk->store, "audit", root, walk->patience, &walk->gathering, error);
}

static int compare_instant(const void *a, const void *b) {
    return compare_integer(((const struct found *)a)->request, ((const struct found *)b)->request,
                           AT);
}

static bool add_entry(const redisReply *entry, const struct lk_path *prefix, lk_audit *audit) {
    struct lk_slice text = lk_redis_text_at(entry, PATH);
    struct lk_path path;

    if (lk_path_parse(text, &path, NULL) != LK_OK
        || (prefix != NULL && !lk_path_contains(prefix, &path))) {
        return true;
    }
    return lk_audit_add(audit, &(struct lk_audit_row){
                                   .at_unix_us = lk_redis_integer_at(entry, AT),
                                   .by = lk_redis_text_at(entry, BY),
                                   .reason = lk_redis_text_at(entry, REASON),
                                   .path = text,
                                   .owner = lk_redis_text_at(entry, WHOSE),
                                   .note = lk_redis_text_at(entry, ITS_NOTE),
                                   .ticket = (uint64_t)lk_redis_integer_at(entry, ITS_TICKET),
                                   .token = (uint64_t)lk_redis_integer_at(entry, ITS_TOKEN),
                               });
}

static lk_outcome conclude_audit(struct audit_walk *walk, lk_audit **ret_audit, lk_error *error) {
    struct gathering *gathering = &walk->gathering;
    lk_audit *audit = lk_audit_new();
    bool is_complete = audit != NULL;

    if (gathering->count > 1) {
        qsort(gathering->found, gathering->count, sizeof *gathering->found, compare_instant);
    }
    for (size_t i = 0; is_complete && i < gathering->count; i++) {
        is_complete = add_entry(gathering->found[i].request, walk->prefix, audit);
    }
    if (!is_complete) {
        lk_audit_free(audit);
        return lk_error_set(error, LK_INTERNAL, "no memory for the audit");
    }
    *ret_audit = audit;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_redis_audit(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_audit **ret_audit,
                          lk_error *error) {
    struct audit_walk audit = {
        .store = lk_redis_of(engine), .patience = patience, .prefix = prefix};
    const struct lk_redis_walk walk = {.store = audit.store,
                                       .suffix = ":lk:a",
                                       .patience = patience,
                                       .visit = query_audit,
                                       .context = &audit};
    struct lk_path root;
    lk_outcome outcome;

    if (prefix != NULL) {
        (void)lk_path_parse(lk_path_root(prefix), &root, NULL);
        outcome = query_audit(&audit, &root, error);
    } else {
        outcome = lk_redis_walk_roots(&walk, error);
    }
    if (outcome == LK_OK) {
        outcome = conclude_audit(&audit, ret_audit, error);
    }
    gathering_done(&audit.gathering);
    return outcome;
}
