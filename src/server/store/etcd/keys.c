/* SPDX-License-Identifier: Apache-2.0 */
/* The keys: numbers have all their digits, so that keys are in the order of their numbers. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/minmax.h"
#include "server/store/etcd/store.h"

enum { DIGITS = 16, HEXADECIMAL = 16 };

void lk_etcd_key_leader(const struct lk_store_etcd *store, char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%sleader", lk_etcd_client_prefix(store->client));
}

void lk_etcd_key_log(const struct lk_store_etcd *store, uint64_t number,
                     char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%slog/%016" PRIx64,
                   lk_etcd_client_prefix(store->client), number);
}

uint64_t lk_etcd_number_of_log(struct lk_slice key) {
    char digits[DIGITS + 1];
    int64_t size = lk_min((int64_t)key.size, DIGITS);

    (void)snprintf(digits, sizeof digits, "%.*s", (int)size, key.bytes + key.size - size);
    return strtoull(digits, NULL, HEXADECIMAL);
}

void lk_etcd_key_part(const struct lk_store_etcd *store, uint64_t number, uint64_t part,
                      char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%spart/%016" PRIx64 "/%08" PRIx64,
                   lk_etcd_client_prefix(store->client), number, part);
}

void lk_etcd_key_piece(const struct lk_store_etcd *store, uint64_t snapshot, uint64_t piece,
                       char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%ssnapshot/%016" PRIx64 "/%08" PRIx64,
                   lk_etcd_client_prefix(store->client), snapshot, piece);
}
