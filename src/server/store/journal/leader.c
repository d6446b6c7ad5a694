/* SPDX-License-Identifier: Apache-2.0 */
/* Which service leads, as JSON and back. */
#include "server/store/journal/leader.h"

#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "form/text.h"
#include "sql/format.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void add_number(struct lk_buffer *out, const char *name, int64_t number) {
    lk_buffer_add_text(out, name);
    lk_buffer_add_number(out, number);
}

static void add_text(struct lk_buffer *out, const char *name, const char *text) {
    lk_buffer_add_text(out, name);
    lk_form_put_string(out, lk_slice_of(text));
}

void lk_journal_leader_write(const struct lk_journal_leader *leader, struct lk_buffer *out) {
    add_number(out, "{\"format\":", LK_JOURNAL_FORMAT);
    add_number(out, ",\"epoch\":", (int64_t)leader->epoch);
    add_text(out, ",\"address\":", leader->address);
    add_text(out, ",\"process\":", leader->process);
    add_number(out, ",\"lease_us\":", leader->lease_us);
    add_number(out, ",\"is_free\":", leader->is_free);
    add_number(out, ",\"commit\":", (int64_t)leader->commit);
    add_text(out, ",\"clock\":", leader->clock);
    add_number(out, ",\"now_us\":", leader->now_us);
    add_number(out, ",\"first\":", (int64_t)leader->first);
    add_number(out, ",\"last\":", (int64_t)leader->last);
    add_number(out, ",\"snapshot\":", (int64_t)leader->snapshot);
    add_number(out, ",\"pieces\":", (int64_t)leader->pieces);
    lk_buffer_add_text(out, "}");
}

/* ---- reading --------------------------------------------------------------------------------- */

struct reading {
    const json_t *object;
    bool is_wrong;
};

static uint64_t get_number(struct reading *reading, const char *name) {
    const json_t *member = json_object_get(reading->object, name);

    if (!json_is_integer(member) || json_integer_value(member) < 0) {
        reading->is_wrong = true;
        return 0;
    }
    return (uint64_t)json_integer_value(member);
}

static void get_text(struct reading *reading, const char *name, char *ret_text, size_t capacity) {
    const char *text = json_string_value(json_object_get(reading->object, name));

    if (text == NULL || strlen(text) >= capacity) {
        reading->is_wrong = true;
        return;
    }
    (void)snprintf(ret_text, capacity, "%s", text);
}

/* Of JSON that is no object, or of a member that is wrong. */
static lk_outcome refuse_damage(const char *title, lk_error *error) {
    return lk_error_set(error, LK_INVALID,
                        "what is kept in %s is damaged (the key of the leader); name another "
                        "prefix, or restore %s from a copy",
                        title, title);
}

/* LK_SQL_FORMAT_UNTOLD: it has no such number. */
static int64_t format_of(const json_t *object) {
    int64_t format = json_integer_value(json_object_get(object, "format")); /* 0: it is none */

    return format > 0 ? format : LK_SQL_FORMAT_UNTOLD;
}

lk_outcome lk_journal_leader_read(struct lk_slice text, const char *title,
                                  struct lk_journal_leader *ret_leader, lk_error *error) {
    json_t *object = json_loadb(text.bytes, text.size, 0, NULL);
    struct reading reading = {.object = object, .is_wrong = object == NULL};
    struct lk_journal_leader leader = {.epoch = 0};
    int64_t format = format_of(object);
    lk_outcome outcome = LK_OK;

    if (json_is_object(object) && format == LK_JOURNAL_FORMAT) {
        leader.epoch = get_number(&reading, "epoch");
        get_text(&reading, "address", leader.address, sizeof leader.address);
        get_text(&reading, "process", leader.process, sizeof leader.process);
        leader.lease_us = (int64_t)get_number(&reading, "lease_us");
        leader.is_free = get_number(&reading, "is_free") != 0;
        leader.commit = get_number(&reading, "commit");
        get_text(&reading, "clock", leader.clock, sizeof leader.clock);
        leader.now_us = (int64_t)get_number(&reading, "now_us");
        leader.first = get_number(&reading, "first");
        leader.last = get_number(&reading, "last");
        leader.snapshot = get_number(&reading, "snapshot");
        leader.pieces = get_number(&reading, "pieces");
        reading.is_wrong = reading.is_wrong || leader.first == 0 || leader.first > leader.last + 1
                           || (leader.snapshot == 0 && leader.pieces > 0);
    }
    if (json_is_object(object) && format != LK_JOURNAL_FORMAT) {
        outcome =
            lk_sql_format_refuse("the keys of services", format, LK_JOURNAL_FORMAT, title, error);
    } else if (!json_is_object(object) || reading.is_wrong) {
        outcome = refuse_damage(title, error);
    } else {
        *ret_leader = leader;
    }
    json_decref(object);
    return outcome;
}

bool lk_journal_leader_is(const struct lk_journal_leader *one,
                          const struct lk_journal_leader *other) {
    return one->epoch == other->epoch && one->commit == other->commit
           && strcmp(one->process, other->process) == 0;
}
