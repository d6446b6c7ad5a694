/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the service that another one has named as the leader is that leader. */
#include "engine/service/leader.h"

#include "base/error.h"
#include "engine/service/call.h"
#include "engine/service/info.h"

/* The leader and the service that names it read its address from the same row of their store. */
static bool has_address(struct lk_slice text, const struct lk_service_address *named) {
    struct lk_service_address own;

    return lk_service_address_parse(text, &own, NULL) == LK_OK
           && lk_service_address_equal(&own, named);
}

static lk_outcome check_info(struct lk_slice info, const struct lk_service_address *named,
                             lk_error *error) {
    struct lk_slice leader = lk_service_info_text(info, "leader");

    /* Only a service that shares its store has this field. */
    if (lk_service_info_text(info, "is_leader").size == 0) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there has a store of its own");
    }
    if (lk_service_info_number(info, "is_leader", 0) != 1) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there does not lead");
    }
    if (!has_address(leader, named)) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service there is advertised as %.*s",
                            (int)leader.size, leader.bytes);
    }
    return LK_OK;
}

lk_outcome lk_service_leader_check(struct lk_service_link *link, const struct lk_patience *patience,
                                   lk_error *error) {
    static const struct lk_slice info = {.bytes = "*1\r\n$4\r\nINFO\r\n", .size = 14};
    struct lk_service_answer answer = {.link = NULL};
    struct lk_slice reply;
    lk_outcome outcome = lk_service_link_send(link, info, patience);

    if (outcome == LK_OK) {
        outcome = lk_service_link_receive(link, patience, &reply);
    }
    if (outcome != LK_OK) {
        return lk_error_set(error, outcome, "the service there does not answer INFO");
    }
    answer.reader.cursor.reply = reply;
    (void)lk_resp_cursor_next(&answer.reader.cursor, &answer.head);
    if (answer.head.kind != LK_RESP_BULK) {
        outcome = lk_service_answer_outcome(&answer, error);
        return outcome != LK_OK ? outcome : check_info((struct lk_slice){.size = 0}, NULL, error);
    }
    return check_info(answer.head.text, &link->address, error);
}

lk_outcome lk_service_leader_explain(const struct lk_service_address *leader,
                                     const struct lk_service_address *named_by,
                                     const lk_error *cause, lk_error *error) {
    char name[LK_SERVICE_ADDRESS_TEXT_BYTES];
    char teller[LK_SERVICE_ADDRESS_TEXT_BYTES];
    const char *text = cause->text;
    size_t size;

    lk_service_address_write(leader, name);
    lk_service_address_write(named_by, teller);
    size = strlen(name);
    if (strncmp(text, name, size) == 0 && strncmp(text + size, ": ", 2) == 0) {
        text += size + 2;
    }
    return lk_error_set(error, cause->outcome,
                        "%s says that %s leads, which cannot be used: %s; is the --advertise of "
                        "the leader right?",
                        teller, name, text);
}
