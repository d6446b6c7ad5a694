/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a service's file, piece by piece, over a connection of its own: the service drops its
 * copy when that ends. So nothing is repeated over another connection.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/new_file.h"
#include "engine/service/call.h"
#include "engine/service/service.h"

enum {
    COPY_S_MAX = 3600, /* for the service to make its copy */
    PIECE_S_MAX = 60,  /* for one piece to arrive */
};

struct copying {
    struct lk_service *service;
    struct lk_service_link *link;
    struct lk_waker *waker;
    struct lk_new_file file;
    int64_t size;
};

/* Sends the builder's command and receives its answer. */
static lk_outcome ask(struct copying *copying, struct lk_builder *builder, int64_t until_us,
                      struct lk_service_answer *answer, lk_error *error) {
    const struct lk_patience patience = {.until_us = until_us, .waker = copying->waker};

    builder->own = &copying->link;
    return lk_service_call(copying->service, builder, LK_SERVICE_ONCE, &patience, answer, error);
}

static int64_t in_seconds(int64_t seconds) {
    return lk_clock_now_us() + seconds * 1000000;
}

/* Connects, within the caller's patience. */
static lk_outcome greet(struct copying *copying, int64_t until_us, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_builder_add_text(&builder, "PING");
    outcome = ask(copying, &builder, until_us, &answer, error);
    lk_service_answer_done(&answer);
    return outcome;
}

/* The making of the copy takes as long as the service's disk needs. */
static lk_outcome begin(struct copying *copying, lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_builder_add_text(&builder, "BACKUP");
    outcome = ask(copying, &builder, in_seconds(COPY_S_MAX), &answer, error);
    if (outcome == LK_OK) {
        copying->size = lk_reader_number(&answer.reader, &answer.head);
        outcome = lk_service_read_end(&answer.reader, error);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

static lk_outcome write_piece(struct copying *copying, struct lk_slice piece, lk_error *error) {
    while (piece.size > 0) {
        ssize_t size = write(copying->file.descriptor, piece.bytes, piece.size);

        if (size < 0 && errno != EINTR) {
            return lk_new_file_fail(&copying->file, errno, error);
        }
        piece.bytes += size > 0 ? size : 0;
        piece.size -= size > 0 ? (size_t)size : 0;
    }
    return LK_OK;
}

static lk_outcome fetch_piece(struct copying *copying, int64_t *from, bool *ret_is_end,
                              lk_error *error) {
    struct lk_builder builder = {.count = 0};
    struct lk_service_answer answer;
    lk_outcome outcome;

    lk_builder_add_text(&builder, "BACKUP");
    lk_builder_add_number(&builder, "FROM", *from);
    outcome = ask(copying, &builder, in_seconds(PIECE_S_MAX), &answer, error);
    if (outcome == LK_OK && answer.head.kind != LK_RESP_BULK) {
        outcome = lk_error_set(error, LK_INTERNAL, "the service's answer is no piece of a copy");
    }
    if (outcome == LK_OK) {
        *ret_is_end = answer.head.text.size == 0;
        *from += (int64_t)answer.head.text.size;
        outcome = write_piece(copying, answer.head.text, error);
    }
    lk_service_answer_done(&answer);
    return outcome;
}

static lk_outcome copy(struct copying *copying, lk_error *error) {
    lk_outcome outcome = begin(copying, error);
    bool is_end = false;
    int64_t from = 0;

    while (outcome == LK_OK && !is_end) {
        outcome = fetch_piece(copying, &from, &is_end, error);
    }
    if (outcome == LK_LOST) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the service was restarted, or has ended the copy, before it was "
                            "complete; ask again");
    }
    if (outcome == LK_OK && from != copying->size) {
        return lk_error_set(error, LK_INTERNAL, "the copy has %" PRId64 " bytes of %" PRId64, from,
                            copying->size);
    }
    return outcome;
}

lk_outcome lk_service_backup(struct lk_engine *engine, const char *path,
                             const struct lk_patience *patience, lk_error *error) {
    struct copying copying = {.service = lk_service_of(engine), .waker = patience->waker};
    lk_outcome outcome = lk_new_file_begin(&copying.file, path, error);

    if (outcome == LK_OK) {
        outcome = greet(&copying, patience->until_us, error);
    }
    if (outcome == LK_OK) {
        outcome = copy(&copying, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_new_file_publish(&copying.file, error);
    }
    lk_new_file_end(&copying.file);
    lk_service_link_close(copying.link);
    return outcome;
}
