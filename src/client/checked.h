/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A caller's request, read and checked once, so that no engine gets what the rules refuse.
 *
 * Borrows the texts of the caller's request; large (all parts), so there is one for each call.
 */
#ifndef LK_CLIENT_CHECKED_H
#define LK_CLIENT_CHECKED_H

#include "client/store.h"
#include "model/command_check.h"

struct lk_checked {
    lk_request request; /* of the size that this version knows */
    struct lk_part parts[LK_PARTS_MAX];
    size_t part_count;
    char owner[LK_OWNER_BYTES_MAX + 1];
    bool is_owner_made; /* fresh: no other ask ever had this owner */
};

/* For lk_ask() and lk_acquire(): everything. LK_OK, LK_INVALID or LK_UNSUPPORTED. */
lk_outcome lk_checked_ask(const lk_store *store, const lk_request *request,
                          struct lk_checked *ret_checked, lk_error *error);

/* For lk_renew() and lk_release(): parts, without their modes, and the owner if one is named. */
lk_outcome lk_checked_target(const lk_request *request, struct lk_checked *ret_checked,
                             lk_error *error);

/*
 * A path of a store that this process may use and that is capable of `needed` (0: of anything).
 * LK_OK with *ret_path, which borrows `text`, and a clear error; LK_INVALID, LK_UNSUPPORTED, or
 * LK_INTERNAL after fork().
 */
lk_outcome lk_checked_path(const lk_store *store, unsigned needed, const char *text,
                           struct lk_path *ret_path, lk_error *error);

/* The same for a prefix: *ret_prefix is `path`, or NULL where `text` is. */
lk_outcome lk_checked_prefix(const lk_store *store, unsigned needed, const char *text,
                             struct lk_path *path, const struct lk_path **ret_prefix,
                             lk_error *error);

/* LK_UNSUPPORTED: the request outlives its process, and the store binds leases to processes. */
lk_outcome lk_checked_outlives(const lk_store *store, const lk_request *request, lk_error *error);

/* A text of min to max bytes of UTF-8; `name` is what the caller calls it. LK_OK or LK_INVALID. */
lk_outcome lk_checked_text(const char *name, const char *text, size_t min, size_t max,
                           lk_error *error);

/* Single fields; what is optional may be NULL or 0. LK_OK or LK_INVALID. */
lk_outcome lk_checked_owner(const char *owner, lk_error *error); /* not optional */
lk_outcome lk_checked_note(const char *note, lk_error *error);
lk_outcome lk_checked_value(const void *bytes, size_t size, lk_error *error);

/*
 * R15: what a release puts: first the values themselves, then their parts. *ret_puts has room for
 * LK_PARTS_MAX; they are as many as `puts`, in the order of the parts, and borrow the values. LK_OK
 * or LK_INVALID.
 */
lk_outcome lk_checked_put_values(const lk_part_put *puts, size_t put_count, lk_error *error);
lk_outcome lk_checked_puts(const struct lk_part *parts, size_t part_count, const lk_part_put *puts,
                           size_t put_count, struct lk_release_put *ret_puts, lk_error *error);

lk_outcome lk_checked_claim(int64_t *ttl_ms, uint32_t max_attempts, const char *note,
                            lk_error *error);

/*
 * A caller's push as a command. LK_OK with *ret_command, which borrows the caller's texts and
 * `needs`, room for LK_NEEDS_MAX parts; LK_INVALID or LK_UNSUPPORTED.
 */
lk_outcome lk_push_command(const lk_store *store, const lk_push_request *request,
                           struct lk_part *needs, struct lk_command *ret_command, lk_error *error);

/*
 * Copies a struct of the public header that begins with its size. Smaller than this version's is
 * LK_INVALID; a larger one's unknown fields must be zero, else LK_UNSUPPORTED.
 */
lk_outcome lk_checked_copy(void *ret_known, size_t known_size, const void *given, lk_error *error);

#endif
