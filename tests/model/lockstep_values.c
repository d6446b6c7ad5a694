/* SPDX-License-Identifier: Apache-2.0 */
/* Values (R15), and the changes that name them, held against what the reference has. */
#include "lockstep.h"

static const struct lk_reference_value *value_in(const struct lk_reference_value *values,
                                                 size_t count, const struct lk_path *path) {
    for (size_t i = 0; i < count; i++) {
        if (lk_path_equal(&values[i].path, path)) {
            return &values[i];
        }
    }
    return NULL;
}

/* ---- states and answers ---- */

static const char *compare_value(const struct lockstep *lockstep, lk_value_ref value,
                                 const struct lk_reference_value *expected) {
    struct lk_value_record record;

    if ((value != 0) != (expected != NULL)) {
        return "whether there is a value";
    }
    if (value != 0) {
        lk_model_value_record(lockstep->model, value, &record);
        if (!lk_slice_equal(lk_slice_of(record.path),
                            (struct lk_slice){expected->path.bytes, expected->path.size})) {
            return "path of a value";
        }
        if (!lk_slice_equal(record.bytes, expected->bytes)) {
            return "value";
        }
        if (record.in_doubt != expected->in_doubt) {
            return "doubt of a value";
        }
    }
    return NULL;
}

const char *lockstep_values_compare(const struct lockstep *lockstep, const struct lk_path *path) {
    size_t count;
    const struct lk_reference_value *values = lk_reference_values(lockstep->reference, &count);

    return compare_value(lockstep, lk_model_value(lockstep->model, path),
                         value_in(values, count, path));
}

/* ---- the lists of all, and of those in doubt ---- */

struct listed {
    const struct lockstep *lockstep;
    const struct lk_path *prefix; /* NULL: all */
    bool are_doubts;              /* those in doubt only */
    size_t left;                  /* to be listed yet */
    size_t until_end;             /* the walk is ended after so many, and goes on behind it */
    char last[LK_PATH_BYTES_MAX + 1];
    const char *wrong;
};

static bool is_wanted(const struct listed *listed, const struct lk_reference_value *value) {
    return (value->in_doubt || !listed->are_doubts)
           && (listed->prefix == NULL || lk_path_contains(listed->prefix, &value->path));
}

static bool check_listed(void *context, lk_value_ref ref) {
    struct listed *listed = context;
    struct lk_value_record record;
    struct lk_path path;
    size_t count;
    const struct lk_reference_value *values =
        lk_reference_values(listed->lockstep->reference, &count);
    const struct lk_reference_value *value;

    lk_model_value_record(listed->lockstep->model, ref, &record);
    (void)lk_path_parse(lk_slice_of(record.path), &path, NULL);
    value = value_in(values, count, &path);
    if (value == NULL || !is_wanted(listed, value)) {
        listed->wrong = "a listed value that is not there, not in doubt, or elsewhere";
    } else if (strcmp(record.path, listed->last) <= 0) {
        listed->wrong = "the order of listed values";
    }
    strcpy(listed->last, record.path);
    listed->left--;
    return listed->wrong == NULL && --listed->until_end > 0;
}

static const char *compare_list(const struct lockstep *lockstep, const struct lk_path *prefix,
                                bool are_doubts) {
    struct listed listed = {.lockstep = lockstep, .prefix = prefix, .are_doubts = are_doubts};
    size_t count;
    const struct lk_reference_value *values = lk_reference_values(lockstep->reference, &count);

    for (size_t i = 0; i < count; i++) {
        listed.left += is_wanted(&listed, &values[i]);
    }
    do { /* page by page */
        listed.until_end = 2;
        (are_doubts ? lk_model_each_doubt : lk_model_each_value)(
            lockstep->model, prefix, lk_slice_of(listed.last), check_listed, &listed);
    } while (listed.wrong == NULL && listed.until_end == 0);
    return listed.wrong != NULL ? listed.wrong : listed.left != 0 ? "a value is not listed" : NULL;
}

const char *lockstep_values_compare_lists(const struct lockstep *lockstep,
                                          const struct lk_path *prefix) {
    const char *wrong = compare_list(lockstep, prefix, false);

    return wrong != NULL ? wrong : compare_list(lockstep, prefix, true);
}

const char *lockstep_values_compare_answer(const struct lockstep *lockstep,
                                           const struct lk_answer *answer,
                                           const struct lk_reference_answer *expected) {
    const char *wrong =
        answer->value_count != expected->value_count ? "how many values there are" : NULL;

    for (size_t i = 0; i < answer->value_count && wrong == NULL; i++) {
        wrong = compare_value(lockstep, answer->values[i], expected->values[i]);
    }
    return wrong;
}

/* ---- changes ---- */

static bool is_of_value(enum lk_change_kind kind) {
    return kind == LK_CHANGE_VALUE_PUT || kind == LK_CHANGE_VALUE_DELETED
           || kind == LK_CHANGE_VALUE_DOUBTED;
}

/* The last change that names the value at this path; NULL: none does. */
static const struct lk_change *change_of_value(const struct lockstep *lockstep,
                                               const struct lk_path *path) {
    for (size_t i = lockstep->effects->change_count; i-- > 0;) {
        const struct lk_change *change = &lockstep->effects->changes[i];
        struct lk_value_record record;
        if (is_of_value(change->kind)) {
            lk_model_value_record(lockstep->model, change->value, &record);
            if (lk_slice_equal(lk_slice_of(record.path),
                               (struct lk_slice){path->bytes, path->size})) {
                return change;
            }
        }
    }
    return NULL;
}

/* What the last change says of a value that is other now: `after`, NULL where it is gone. */
static const char *check_value(const struct lockstep *lockstep, const struct lk_path *path,
                               const struct lk_reference_value *before,
                               const struct lk_reference_value *after) {
    const struct lk_change *change = change_of_value(lockstep, path);

    if (before != NULL && after != NULL && before->in_doubt == after->in_doubt
        && lk_slice_equal(before->bytes, after->bytes)) {
        return NULL;
    }
    if (change == NULL) {
        return "no change names a value that is different now";
    }
    if ((after == NULL) != (change->kind == LK_CHANGE_VALUE_DELETED)
        || (after != NULL && after->in_doubt != (change->kind == LK_CHANGE_VALUE_DOUBTED))) {
        return "a change of a value that says something else";
    }
    return NULL;
}

const char *lockstep_values_check_changes(const struct lockstep *lockstep) {
    const struct lockstep_work *work = &lockstep->work;
    size_t count;
    const struct lk_reference_value *values = lk_reference_values(lockstep->reference, &count);
    const char *wrong = NULL;

    for (size_t i = 0; i < lockstep->path_count && wrong == NULL; i++) {
        const struct lk_path *path = &lockstep->paths[i]->path;
        const struct lk_reference_value *before = value_in(work->values, work->value_count, path);
        const struct lk_reference_value *after = value_in(values, count, path);
        if (before != NULL || after != NULL) {
            wrong = check_value(lockstep, path, before, after);
        }
    }
    return wrong;
}
