/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the answer of each shape consists of in JSON, beside its status. Answers are written by this
 * table, and described by it.
 */
#ifndef LK_COMMAND_ANSWER_FORM_H
#define LK_COMMAND_ANSWER_FORM_H

#include "command/command.h"
#include "form/record.h"

struct lk_answer_form {
    const char *name;             /* of the answer in a description; NULL: it is not JSON */
    const char *about;            /* a text: the path or the queue that was asked about */
    const struct lk_form *fields; /* of the record that is the answer */
    bool is_optional;             /* ... which are left out where there is nothing to count */
    const char *list;             /* an array of records, in place of `fields` */
    const struct lk_form *each;   /* their form */
    const char *each_about;       /* `about` of each of them */
    const struct lk_form *at_end; /* fields after the list */
    bool is_paged;                /* always in pages; false: where a COUNT or a CURSOR is given */
};

/* Indexed by enum lk_shape. A claim is its `fields`, or with COUNT its list. */
extern const struct lk_answer_form lk_answer_forms[];

#endif
