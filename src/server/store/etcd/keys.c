/* SPDX-License-Identifier: Apache-2.0 */
/* The keys: numbers have all their digits, so that keys are in the order of their numbers. */
#include <inttypes.h>
#include <stdio.h>

#include "server/store/etcd/store.h"

void lk_etcd_key_leader(const struct lk_store_etcd *store, char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%sleader", lk_etcd_client_prefix(store->client));
}

void lk_etcd_key_log(const struct lk_store_etcd *store, uint64_t number,
                     char ret_key[LK_ETCD_KEY_BYTES]) {
    (void)snprintf(ret_key, LK_ETCD_KEY_BYTES, "%slog/%016" PRIx64,
                   lk_etcd_client_prefix(store->client), number);
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
