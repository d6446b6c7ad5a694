/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes services: lk://HOST:PORT[,HOST:PORT...], lks://, lk+unix:PATH. */
#include "engine/service/service.h"

#include <stdlib.h>

#include "base/error.h"
#include "engine/service/connections.h"

static void close_all(struct lk_service_pool *pool) {
    while (pool->first != NULL) {
        struct lk_service_link *link = pool->first;
        pool->first = link->next;
        lk_service_link_close(link);
    }
}

static void service_free(struct lk_service *service) {
    close_all(&service->idle);
    close_all(&service->bound);
    (void)pthread_mutex_destroy(&service->mutex);
    explicit_bzero(&service->login, sizeof service->login);
    lk_tls_context_free(service->tls);
    free(service);
}

/* lks://: reads the URL and the files that it names. */
static lk_outcome prepare_tls(struct lk_service *service, struct lk_slice rest,
                              struct lk_service_addresses *ret_addresses, lk_error *error) {
    struct lk_tls_paths *paths = calloc(1, sizeof *paths);
    lk_outcome outcome;

    if (paths == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for an engine");
    }
    outcome = lk_service_url_parse(rest, false, ret_addresses, &service->login, paths, error);
    if (outcome == LK_OK) {
        outcome = lk_tls_paths_open(paths, &service->tls, error);
    }
    free(paths);
    return outcome;
}

/* Connects at once, so that opening fails if there is no service, or none of several. */
static lk_outcome open_service(const struct lk_engine_ops *ops, struct lk_slice rest,
                               const struct lk_patience *patience, struct lk_engine **ret_engine,
                               struct lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);
    bool is_local = ops == &lk_engine_service_unix;
    struct lk_service *service = calloc(1, sizeof *service);
    struct lk_service_addresses addresses;
    lk_outcome outcome;

    if (service == NULL || pthread_mutex_init(&service->mutex, NULL) != 0) {
        free(service);
        return lk_error_set(error, LK_INTERNAL, "no memory for an engine");
    }
    service->engine.ops = ops;
    outcome = ops == &lk_engine_service_tls
                  ? prepare_tls(service, rest, &addresses, error)
                  : lk_service_url_parse(rest, is_local, &addresses, &service->login, NULL, error);
    if (outcome == LK_OK) {
        lk_service_hosts_begin(&service->hosts, &addresses);
        outcome = lk_service_connect(service, &contact, &service->idle.first, error);
    }
    if (outcome != LK_OK) {
        service_free(service);
        return outcome;
    }
    lk_patience_note_reached(patience);
    service->idle.count = 1;
    *ret_engine = &service->engine;
    return LK_OK;
}

static lk_outcome open_by_name(struct lk_slice rest, const struct lk_patience *patience,
                               struct lk_engine **ret_engine, struct lk_error *error) {
    return open_service(&lk_engine_service, rest, patience, ret_engine, error);
}

static lk_outcome open_by_path(struct lk_slice rest, const struct lk_patience *patience,
                               struct lk_engine **ret_engine, struct lk_error *error) {
    return open_service(&lk_engine_service_unix, rest, patience, ret_engine, error);
}

static lk_outcome open_over_tls(struct lk_slice rest, const struct lk_patience *patience,
                                struct lk_engine **ret_engine, struct lk_error *error) {
    return open_service(&lk_engine_service_tls, rest, patience, ret_engine, error);
}

static void close_service(struct lk_engine *engine) {
    service_free(lk_service_of(engine));
}

#define SERVICE_CAPABILITIES                                                                       \
    (LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST             \
     | LK_TAKES_IN_AWAIT)

/* The schemes differ only in how they are opened. */
#define SERVICE_OPERATIONS                                                                         \
    .is_remote = true, .capabilities = SERVICE_CAPABILITIES, .close = close_service,               \
    .status = lk_service_status, .decide = lk_service_decide, .await = lk_service_await,           \
    .list = lk_service_list, .show = lk_service_show, .audit = lk_service_audit,                   \
    .value_get = lk_service_value_get, .values = lk_service_values, .items = lk_service_items,     \
    .stats = lk_service_stats, .examine = lk_service_examine, .events = &lk_service_event_ops,     \
    .limits = &lk_service_limit_ops, .backup = lk_service_backup,                                  \
    .batches = &lk_service_batch_ops, .ties = &lk_service_tie_ops,                                 \
    .revoked = &lk_service_revoked_ops

static const char *const file_options[] = {"password-file", NULL};
static const char *const tls_file_options[] = {"password-file", "ca", "cert", "key", NULL};
static const struct lk_url_files tls_files = {.options = tls_file_options};
static const struct lk_url_files named_files = {.options = file_options};
static const struct lk_url_files socket_files = {
    .is_path = true, .is_encoded = true, .options = file_options};

const struct lk_engine_ops lk_engine_service = {
    .files = &named_files,
    .scheme = "lk",
    .title = "a Lockkeeper service",
    .open = open_by_name,
    SERVICE_OPERATIONS,
};

const struct lk_engine_ops lk_engine_service_unix = {
    .files = &socket_files,
    .scheme = "lk+unix",
    .title = "a Lockkeeper service of this machine",
    .open = open_by_path,
    SERVICE_OPERATIONS,
};

const struct lk_engine_ops lk_engine_service_tls = {
    .files = &tls_files,
    .scheme = "lks",
    .title = "a Lockkeeper service, over TLS",
    .open = open_over_tls,
    SERVICE_OPERATIONS,
};
