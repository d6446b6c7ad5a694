/* SPDX-License-Identifier: Apache-2.0 */
/* Records as trees of JSON, for the command line. */
#include "form/form.h"

json_t *lk_form_result(const lk_result *result) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_result(&writer, result);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_failure(lk_outcome outcome, const char *text) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_failure(&writer, outcome, text);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_ok(void) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_ok(&writer);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_entry(const lk_entry *entry, bool with_blockers) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_entry(&writer, entry, with_blockers);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_audit_entry(const lk_audit_entry *entry) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_audit_entry(&writer, entry);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_broken(size_t count) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_broken(&writer, count);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_value(const char *path, const lk_value *value) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_value(&writer, path, value);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_pushed(bool added) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_pushed(&writer, added);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_claim(const lk_claim_info *claim) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_claim(&writer, claim);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_item(const char *queue, const lk_item_info *item) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_item(&writer, queue, item);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_stats(const char *queue, const lk_queue_stats *stats) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_stats(&writer, queue, stats);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_event(const lk_watch_event *event) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_event(&writer, event);
    return lk_form_writer_close_tree(&writer);
}

json_t *lk_form_limits(const lk_limits *limits) {
    struct lk_form_writer writer = lk_form_writer_tree();

    lk_form_write_limits(&writer, limits);
    return lk_form_writer_close_tree(&writer);
}

enum { REAL_DIGITS = 15 }; /* as many as a double keeps of what was typed */

char *lk_form_line(const json_t *object) {
    return json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(REAL_DIGITS));
}
