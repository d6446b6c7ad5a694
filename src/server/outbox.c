/* SPDX-License-Identifier: Apache-2.0 */
/* Outboxes. A failed buffer means that an answer is missing: the connection is then closed. */
#include "server/outbox.h"

#include <stdlib.h>

enum { ROOM_MIN = 8, IDLE_BYTES_MAX = 16384 };

void lk_outbox_done(struct lk_outbox *box) {
    lk_buffer_done(&box->bytes);
    free(box->marks);
    *box = (struct lk_outbox){.bytes.max = box->bytes.max};
}

void lk_outbox_begin(struct lk_outbox *box) {
    box->began = box->bytes.size;
}

bool lk_outbox_fits(struct lk_outbox *box) {
    bool fits = !box->bytes.failed;

    if (!fits) {
        lk_buffer_cut(&box->bytes, box->began);
        box->bytes.failed = false;
    }
    return fits;
}

static bool reserve_mark(struct lk_outbox *box) {
    size_t room = box->room != 0 ? box->room * 2 : ROOM_MIN;
    struct lk_outbox_mark *marks;

    if (box->first + box->count < box->room) {
        return true;
    }
    if (box->first > 0) {
        memmove(box->marks, box->marks + box->first, box->count * sizeof *box->marks);
        box->first = 0;
        return true;
    }
    marks = realloc(box->marks, room * sizeof *marks);
    if (marks == NULL) {
        return false;
    }
    box->marks = marks;
    box->room = room;
    return true;
}

void lk_outbox_end(struct lk_outbox *box, uint64_t batch, bool is_answer) {
    if (box->bytes.failed) {
        lk_buffer_cut(&box->bytes, box->began);
    }
    if (box->bytes.size == box->began) {
        return;
    }
    if (box->count == 0 && batch <= box->durable) {
        box->leaving = box->bytes.size;
        return;
    }
    if (!reserve_mark(box)) {
        box->bytes.failed = true;
        lk_buffer_cut(&box->bytes, box->began);
        return;
    }
    box->marks[box->first + box->count++] =
        (struct lk_outbox_mark){.batch = batch, .end = box->bytes.size, .is_answer = is_answer};
}

void lk_outbox_release(struct lk_outbox *box, uint64_t batch) {
    if (batch > box->durable) {
        box->durable = batch;
    }
    while (box->count > 0 && box->marks[box->first].batch <= box->durable) {
        box->leaving = box->marks[box->first].end;
        box->first++;
        box->count--;
    }
    if (box->count == 0) {
        box->first = 0;
    }
}

void lk_outbox_void(struct lk_outbox *box, struct lk_slice instead) {
    size_t answers = 0;

    for (size_t i = 0; i < box->count; i++) {
        answers += box->marks[box->first + i].is_answer ? 1 : 0;
    }
    lk_buffer_cut(&box->bytes, box->leaving);
    for (size_t i = 0; i < answers; i++) {
        lk_buffer_add_slice(&box->bytes, instead);
    }
    box->leaving = box->bytes.size;
    box->first = 0;
    box->count = 0;
}

struct lk_slice lk_outbox_leaving(const struct lk_outbox *box) {
    return (struct lk_slice){.bytes = box->bytes.bytes + box->gone,
                             .size = box->leaving - box->gone};
}

/* Drops the bytes that were sent: at once when they are all, else when they are more than half. */
static void forget(struct lk_outbox *box) {
    size_t gone = box->gone;

    lk_buffer_consume(&box->bytes, gone);
    box->leaving -= gone;
    for (size_t i = 0; i < box->count; i++) {
        box->marks[box->first + i].end -= gone;
    }
    box->gone = 0;
    if (box->bytes.size == 0 && box->bytes.capacity > IDLE_BYTES_MAX) {
        lk_buffer_done(&box->bytes);
    }
}

void lk_outbox_consume(struct lk_outbox *box, size_t size) {
    box->gone += size;
    if (box->gone == box->bytes.size
        || (box->gone > IDLE_BYTES_MAX && box->gone > box->bytes.size / 2)) {
        forget(box);
    }
}
