/* SPDX-License-Identifier: Apache-2.0 */
/* Entries and rows to bytes, and back. */
#include "server/store/journal/codec.h"

#include <stddef.h>
#include <string.h>

enum {
    DIGIT_BITS = 7,
    DIGITS_MAX = 10,     /* of 64 bits */
    NAME_BYTES_MAX = 64, /* of a kind of event, or of an outcome */
};

/* ---- fields ---------------------------------------------------------------------------------- */

static void write_number(struct lk_buffer *out, uint64_t number) {
    char digits[DIGITS_MAX];
    size_t size = 0;

    do {
        bool has_more = number >> DIGIT_BITS != 0;
        digits[size++] = (char)((number & 0x7f) | (has_more ? 0x80 : 0));
        number >>= DIGIT_BITS;
    } while (number != 0);
    lk_buffer_add(out, digits, size);
}

static void read_number(struct lk_journal_codec *codec, uint64_t *ret_number) {
    uint64_t number = 0;

    for (unsigned shift = 0; shift < DIGITS_MAX * DIGIT_BITS; shift += DIGIT_BITS) {
        unsigned char digit;

        if (codec->failed || codec->at == codec->end) {
            break;
        }
        digit = (unsigned char)*codec->at++;
        number |= (uint64_t)(digit & 0x7f) << shift;
        if (digit < 0x80) {
            *ret_number = number;
            return;
        }
    }
    codec->failed = true;
    *ret_number = 0;
}

void lk_journal_code_number(struct lk_journal_codec *codec, uint64_t *number) {
    if (codec->out != NULL) {
        write_number(codec->out, *number);
    } else {
        read_number(codec, number);
    }
}

/* Small negative numbers are short, too. */
void lk_journal_code_signed(struct lk_journal_codec *codec, int64_t *number) {
    uint64_t folded = ((uint64_t)*number << 1) ^ (*number < 0 ? UINT64_MAX : 0);

    lk_journal_code_number(codec, &folded);
    *number = (int64_t)((folded >> 1) ^ ((folded & 1) != 0 ? UINT64_MAX : 0));
}

void lk_journal_code_text(struct lk_journal_codec *codec, struct lk_slice *text, size_t max) {
    uint64_t size = text->size;

    lk_journal_code_number(codec, &size);
    if (codec->out != NULL) {
        lk_buffer_add_slice(codec->out, *text);
        return;
    }
    if (codec->failed || size > max || size > (size_t)(codec->end - codec->at)) {
        codec->failed = true;
        size = 0;
    }
    *text = (struct lk_slice){codec->at, (size_t)size};
    codec->at += size;
}

/* A number up to `max`. */
static uint64_t code_small(struct lk_journal_codec *codec, uint64_t number, uint64_t max) {
    lk_journal_code_number(codec, &number);
    if (number > max) {
        codec->failed = true;
        number = 0;
    }
    return number;
}

static bool code_flag(struct lk_journal_codec *codec, bool flag) {
    return code_small(codec, flag, 1) != 0;
}

static void code_path(struct lk_journal_codec *codec, struct lk_path *path) {
    struct lk_slice text = {path->bytes, path->size};

    lk_journal_code_text(codec, &text, LK_PATH_BYTES_MAX);
    if (codec->out == NULL
        && (codec->failed || lk_path_parse(text, path, NULL) != LK_OK || path->size != text.size)) {
        codec->failed = true;
        *path = (struct lk_path){.bytes = ""};
    }
}

static void code_parts(struct lk_journal_codec *codec, struct lk_part *parts, size_t *count,
                       size_t max) {
    *count = code_small(codec, *count, max);
    for (size_t i = 0; i < *count && !codec->failed; i++) {
        code_path(codec, &parts[i].path);
        parts[i].mode = code_flag(codec, parts[i].mode == LK_SHARED) ? LK_SHARED : LK_EXCLUSIVE;
        parts[i].limit = (uint32_t)code_small(codec, parts[i].limit, LK_LIMIT_MAX);
        parts[i].units = (uint32_t)code_small(codec, parts[i].units, LK_LIMIT_MAX);
        parts[i].strict = code_flag(codec, parts[i].strict);
    }
}

/* ---- entries --------------------------------------------------------------------------------- */

void lk_journal_code_entry(struct lk_journal_codec *codec, struct lk_journal_entry *entry) {
    struct lk_batch_events *events = &entry->events;

    entry->kind = (enum lk_journal_entry_kind)code_small(codec, entry->kind, LK_JOURNAL_BEGIN);
    lk_journal_code_signed(codec, &entry->now_us);
    lk_journal_code_signed(codec, &entry->wall_us);
    if (entry->kind == LK_JOURNAL_BEGIN) {
        lk_journal_code_signed(codec, &entry->delta_us);
        lk_journal_code_signed(codec, &entry->known_us);
    } else if (entry->kind == LK_JOURNAL_BATCH) {
        lk_journal_code_number(codec, &entry->draw_floor);
        lk_journal_code_number(codec, &events->last);
        lk_journal_code_number(codec, &events->forgotten);
        events->has_mark = code_flag(codec, events->has_mark);
        lk_journal_code_signed(codec, &events->watched_until_us);
    } else {
        codec->failed = true;
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void code_request(struct lk_journal_codec *codec, struct lk_record *record,
                         struct lk_row *row) {
    lk_journal_code_number(codec, &record->id);
    lk_journal_code_text(codec, &record->owner, LK_IDENTITY_BYTES_MAX);
    lk_journal_code_text(codec, &record->note, LK_NOTE_BYTES_MAX);
    record->state =
        code_flag(codec, record->state == LK_STATE_HELD) ? LK_STATE_HELD : LK_STATE_WAITING;
    record->revoked = code_flag(codec, record->revoked);
    record->attended = code_flag(codec, record->attended);
    record->fixed = code_flag(codec, record->fixed);
    lk_journal_code_number(codec, &record->ticket);
    lk_journal_code_number(codec, &record->token);
    lk_journal_code_signed(codec, &record->ttl_ms);
    lk_journal_code_signed(codec, &record->deadline_us);
    record->wants_value = code_flag(codec, record->wants_value);
    record->is_claim = code_flag(codec, record->is_claim);
    lk_journal_code_number(codec, &record->ask_number);
    record->max_attempts = (uint32_t)code_small(codec, record->max_attempts, LK_ATTEMPTS_MAX);
    lk_journal_code_signed(codec, &row->request.expires_unix_us);
    row->request.bound = code_flag(codec, row->request.bound);
    row->request.has_parts = code_flag(codec, row->request.has_parts);
    code_parts(codec, record->parts, &record->part_count, LK_PARTS_MAX);
    row->request.record = record;
}

static void code_item(struct lk_journal_codec *codec, struct lk_item_record *item,
                      struct lk_row *row) {
    struct lk_item_failure *failure = &item->last_failure;
    int64_t priority = item->priority;
    int64_t exit_code = failure->exit_code;

    code_path(codec, &item->queue);
    lk_journal_code_text(codec, &item->id, LK_SEGMENT_BYTES_MAX);
    row->item.record = item;
    if (row->kind == LK_ROW_ITEM_GONE) {
        return;
    }
    lk_journal_code_number(codec, &item->sequence);
    item->state = (enum lk_item_state)code_small(codec, item->state, LK_ITEM_DONE);
    lk_journal_code_signed(codec, &item->due_us);
    lk_journal_code_signed(codec, &row->item.due_unix_us);
    item->attempts = (uint32_t)code_small(codec, item->attempts, UINT32_MAX);
    item->was_lost = code_flag(codec, item->was_lost);
    item->is_head = code_flag(codec, item->is_head);
    lk_journal_code_signed(codec, &priority);
    item->priority = (int32_t)priority;
    failure->has_exit = code_flag(codec, failure->has_exit);
    lk_journal_code_signed(codec, &exit_code);
    failure->exit_code = (int32_t)exit_code;
    lk_journal_code_text(codec, &failure->text, LK_FAILURE_BYTES_MAX);
    lk_journal_code_signed(codec, &item->keep_ms);
    lk_journal_code_text(codec, &item->progress, LK_FAILURE_BYTES_MAX);
    lk_journal_code_text(codec, &item->value, LK_VALUE_BYTES_MAX);
    code_parts(codec, item->needs, &item->need_count, LK_NEEDS_MAX);
}

static void code_queue(struct lk_journal_codec *codec, struct lk_queue_counts *counts) {
    uint64_t *const fields[] = {&counts->pushed, &counts->duplicates, &counts->claims,
                                &counts->steals, &counts->done,       &counts->retried,
                                &counts->parked};

    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        lk_journal_code_number(codec, fields[i]);
    }
}

static void code_ended(struct lk_journal_codec *codec, struct lk_part *parts, struct lk_row *row) {
    struct lk_target *target = &row->ended.target;

    lk_journal_code_text(codec, &target->owner, LK_IDENTITY_BYTES_MAX);
    lk_journal_code_number(codec, &target->token);
    lk_journal_code_signed(codec, &row->ended.ended_us);
    code_parts(codec, parts, &target->part_count, LK_PARTS_MAX);
    target->parts = parts;
    codec->failed = codec->failed || (codec->out == NULL && target->part_count == 0);
}

static void code_audit(struct lk_journal_codec *codec, struct lk_audit_row *audit,
                       uint64_t *number) {
    lk_journal_code_number(codec, number);
    lk_journal_code_signed(codec, &audit->at_unix_us);
    lk_journal_code_text(codec, &audit->by, LK_BREAKER_BYTES_MAX);
    lk_journal_code_text(codec, &audit->reason, LK_REASON_BYTES_MAX);
    lk_journal_code_text(codec, &audit->path, LK_PATH_BYTES_MAX);
    lk_journal_code_text(codec, &audit->owner, LK_IDENTITY_BYTES_MAX);
    lk_journal_code_text(codec, &audit->note, LK_NOTE_BYTES_MAX);
    lk_journal_code_number(codec, &audit->ticket);
    lk_journal_code_number(codec, &audit->token);
}

static void code_event(struct lk_journal_codec *codec, struct lk_sql_event *event) {
    lk_journal_code_number(codec, &event->sequence);
    lk_journal_code_signed(codec, &event->at_unix_us);
    lk_journal_code_text(codec, &event->event, NAME_BYTES_MAX);
    lk_journal_code_text(codec, &event->refusal, NAME_BYTES_MAX);
    lk_journal_code_text(codec, &event->parts, (size_t)LK_PARTS_MAX * LK_PART_TEXT_MAX);
    lk_journal_code_text(codec, &event->owner, LK_IDENTITY_BYTES_MAX);
    lk_journal_code_text(codec, &event->note, LK_NOTE_BYTES_MAX);
    lk_journal_code_number(codec, &event->ticket);
    lk_journal_code_number(codec, &event->token);
    event->attempt = (uint32_t)code_small(codec, event->attempt, UINT32_MAX);
    event->is_of_item = code_flag(codec, event->is_of_item);
    event->is_deletion = code_flag(codec, event->is_deletion);
    lk_journal_code_text(codec, &event->by, LK_BREAKER_BYTES_MAX);
    lk_journal_code_text(codec, &event->reason, LK_REASON_BYTES_MAX);
}

static void code_limits(struct lk_journal_codec *codec, struct lk_row *row) {
    struct lk_quotas *quotas = &row->limits.quotas;

    lk_journal_code_number(codec, &quotas->live_max);
    lk_journal_code_number(codec, &quotas->live_per_owner_max);
    lk_journal_code_number(codec, &quotas->live_per_root_max);
    lk_journal_code_number(codec, &quotas->waiters_per_path_max);
    lk_journal_code_number(codec, &row->limits.events_max);
}

/* A path that is kept as a text. */
static void code_place(struct lk_journal_codec *codec, struct lk_slice *place) {
    struct lk_path path = {.bytes = place->bytes, .size = (uint16_t)place->size};

    code_path(codec, &path);
    *place = (struct lk_slice){path.bytes, path.size};
}

/* The numbers of the kinds are kept: they never change. */
_Static_assert(LK_ROW_REQUEST == 0 && LK_ROW_VALUE == 2 && LK_ROW_ITEM_NEW == 5 && LK_ROW_QUEUE == 8
                   && LK_ROW_ENDED == 10 && LK_ROW_PROBE == 14,
               "a new kind is the last one");

static void code_row(struct lk_journal_codec *codec, struct lk_journal_row_room *room,
                     struct lk_row *row) {
    row->kind = (enum lk_row_kind)code_small(codec, row->kind, LK_ROW_PROBE);
    switch (row->kind) {
    case LK_ROW_REQUEST:
        code_request(codec, &room->record, row);
        break;
    case LK_ROW_REQUEST_GONE:
        lk_journal_code_number(codec, &row->gone);
        break;
    case LK_ROW_VALUE:
    case LK_ROW_VALUE_DOUBT:
    case LK_ROW_VALUE_GONE:
        code_place(codec, &row->value.path);
        if (row->kind == LK_ROW_VALUE) {
            lk_journal_code_text(codec, &row->value.bytes, LK_VALUE_BYTES_MAX);
        }
        break;
    case LK_ROW_ITEM_NEW:
    case LK_ROW_ITEM:
    case LK_ROW_ITEM_GONE:
        code_item(codec, &room->item, row);
        break;
    case LK_ROW_QUEUE:
    case LK_ROW_QUEUE_GONE:
        code_place(codec, &row->queue.path);
        if (row->kind == LK_ROW_QUEUE) {
            code_queue(codec, &row->queue.counts);
        }
        break;
    case LK_ROW_ENDED:
        code_ended(codec, room->parts, row);
        break;
    case LK_ROW_AUDIT:
        code_audit(codec, &row->audit, &room->audit);
        break;
    case LK_ROW_EVENT:
        code_event(codec, &row->event);
        break;
    case LK_ROW_LIMITS:
        code_limits(codec, row);
        break;
    case LK_ROW_PROBE:
        break;
    }
}

/* What the row points to is copied as far as it goes: a record may end with its last part. */
void lk_journal_write_row(struct lk_journal_codec *codec, struct lk_journal_row_room *room,
                          const struct lk_row *row) {
    struct lk_row copy = *row;

    if (row->kind == LK_ROW_REQUEST) {
        const struct lk_record *record = row->request.record;

        memcpy(&room->record, record,
               offsetof(struct lk_record, parts) + record->part_count * sizeof record->parts[0]);
    } else if (row->kind >= LK_ROW_ITEM_NEW && row->kind <= LK_ROW_ITEM_GONE) {
        const struct lk_item_record *item = row->item.record;

        memcpy(&room->item, item,
               offsetof(struct lk_item_record, needs) + item->need_count * sizeof item->needs[0]);
    } else if (row->kind == LK_ROW_ENDED) {
        memcpy(room->parts, row->ended.target.parts,
               row->ended.target.part_count * sizeof room->parts[0]);
    }
    code_row(codec, room, &copy);
}

bool lk_journal_read_row(struct lk_journal_codec *codec, struct lk_journal_row_room *room,
                         struct lk_row *row) {
    *row = (struct lk_row){.kind = LK_ROW_PROBE};
    code_row(codec, room, row);
    return !codec->failed;
}
