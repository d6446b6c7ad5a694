/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shm:NAME[?keys=N&holders=N&permits=N]: opening, closing, canal's statuses as outcomes, and the
 * table of operations. What a region of counters cannot do is not in it.
 */
#include "engine/shm/shm.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

enum { NUMBER_DIGITS_MAX = 9 };

/* Releases of other processes wake no waiter here, so waiters ask again this often. */
#define NAP_US INT64_C(5000)

extern const struct lk_engine_ops lk_engine_shm;

static bool read_number(struct lk_slice text, uint32_t *ret_number) {
    uint32_t number = 0;

    if (text.size == 0 || text.size > NUMBER_DIGITS_MAX) {
        return false;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.bytes[i] < '0' || text.bytes[i] > '9') {
            return false;
        }
        number = number * 10 + (uint32_t)(text.bytes[i] - '0');
    }
    *ret_number = number;
    return number > 0;
}

/* One of the options of a region that is to be made. */
static bool read_option(struct lk_slice option, lk_canal_options *options) {
    const struct {
        const char *name;
        uint32_t *field;
    } known[] = {{"keys=", &options->keys},
                 {"holders=", &options->holders},
                 {"permits=", &options->permits}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        size_t size = strlen(known[i].name);

        if (option.size > size && memcmp(option.bytes, known[i].name, size) == 0) {
            struct lk_slice number = {option.bytes + size, option.size - size};

            return read_number(number, known[i].field);
        }
    }
    return false;
}

static lk_outcome read_options(struct lk_slice text, lk_canal_options *options,
                               struct lk_error *error) {
    while (text.size > 0) {
        const char *end = memchr(text.bytes, '&', text.size);
        size_t size = end != NULL ? (size_t)(end - text.bytes) : text.size;

        if (!read_option((struct lk_slice){text.bytes, size}, options)) {
            return lk_error_set(error, LK_INVALID,
                                "a store of shm: has the options keys=N, holders=N and permits=N, "
                                "each a number above 0; \"%.*s\" is none of them",
                                (int)(size < 64 ? size : 64), text.bytes);
        }
        size += end != NULL ? 1 : 0;
        text = (struct lk_slice){text.bytes + size, text.size - size};
    }
    return LK_OK;
}

static lk_outcome outcome_of(lk_canal_status status) {
    switch (status) {
    case LK_CANAL_OK:
        return LK_OK;
    case LK_CANAL_INVALID:
        return LK_INVALID;
    case LK_CANAL_DENIED:
        return LK_DENIED;
    case LK_CANAL_NO_ROOM:
        return LK_FULL;
    default:
        return LK_UNAVAILABLE;
    }
}

static lk_outcome open_region(struct lk_shm_engine *shm, lk_canal **ret_canal,
                              struct lk_error *error) {
    char text[LK_CANAL_TEXT_MAX];
    lk_canal_status status = lk_canal_open(shm->name, &shm->options, ret_canal, text);

    return status == LK_CANAL_OK
               ? LK_OK
               : lk_error_set(error, outcome_of(status), "shm:%s: %s", shm->name, text);
}

lk_outcome lk_shm_open_again(struct lk_shm_engine *shm, struct lk_error *error) {
    lk_canal *canal;
    lk_outcome outcome = open_region(shm, &canal, error);

    if (outcome == LK_OK) {
        lk_canal_close(shm->canal);
        shm->canal = canal;
    }
    return outcome;
}

/* LK_OK; LK_INVALID. *ret_name is borrowed from `rest`. */
static lk_outcome parse(struct lk_slice rest, struct lk_slice *ret_name,
                        lk_canal_options *ret_options, struct lk_error *error) {
    const char *question = rest.size > 0 ? memchr(rest.bytes, '?', rest.size) : NULL;
    size_t size = question != NULL ? (size_t)(question - rest.bytes) : rest.size;

    if (size == 0 || size > LK_CANAL_NAME_BYTES_MAX) {
        return lk_error_set(error, LK_INVALID,
                            "a store of shm: has a name of 1 to %d bytes, or the path of a file",
                            LK_CANAL_NAME_BYTES_MAX);
    }
    *ret_name = (struct lk_slice){rest.bytes, size};
    if (question == NULL) {
        return LK_OK;
    }
    return read_options((struct lk_slice){question + 1, rest.size - size - 1}, ret_options, error);
}

static lk_outcome check_url(struct lk_slice rest, struct lk_error *error) {
    lk_canal_options options = {.size = sizeof options};
    struct lk_slice name;

    return parse(rest, &name, &options, error);
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, struct lk_error *error) {
    lk_canal_options options = {.size = sizeof options};
    struct lk_shm_engine *shm;
    struct lk_slice name;
    lk_outcome outcome = parse(rest, &name, &options, error);

    (void)patience; /* nothing here is waited for */
    if (outcome != LK_OK) {
        return outcome;
    }
    shm = calloc(1, sizeof *shm);
    if (shm == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for an engine");
    }
    memcpy(shm->name, name.bytes, name.size);
    shm->options = options;
    outcome = open_region(shm, &shm->canal, error);
    if (outcome != LK_OK) {
        free(shm);
        return outcome;
    }
    if (pthread_mutex_init(&shm->mutex, NULL) != 0) {
        lk_canal_close(shm->canal);
        free(shm);
        return lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
    }
    shm->engine.ops = &lk_engine_shm;
    *ret_engine = &shm->engine;
    return LK_OK;
}

static void close_engine(struct lk_engine *engine) {
    struct lk_shm_engine *shm = lk_shm_of(engine);

    while (shm->leases != NULL) {
        struct lk_shm_lease *lease = shm->leases;

        shm->leases = lease->next;
        free(lease);
    }
    lk_canal_close(shm->canal);
    (void)pthread_mutex_destroy(&shm->mutex);
    free(shm);
}

static lk_outcome await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                        int64_t until_us, struct lk_waker *waker) {
    int64_t left_us = until_us - lk_clock_now_us();

    (void)engine;
    (void)cursor;
    if (left_us > NAP_US) {
        left_us = NAP_US;
    }
    return left_us > 0 && lk_waker_sleep(waker, left_us) ? LK_CANCELLED : LK_OK;
}

static const struct lk_url_files files = {.is_path = true, .needs_slash = true};

const struct lk_engine_ops lk_engine_shm = {
    .files = &files,
    .scheme = "shm",
    .title = "limits in this machine's memory",
    .capabilities = LK_CAN_RETRY | LK_BINDS_TO_PROCESS,
    .open = open_by_url,
    .check_url = check_url,
    .close = close_engine,
    .decide = lk_shm_decide,
    .await = await,
    .list = lk_shm_list,
    .show = lk_shm_show,
    .examine = lk_shm_examine,
};
