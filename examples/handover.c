/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value handed over from holder to holder: the position of a job, kept with its lock.
 *
 *     cc handover.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * The value is read with the grant and written with the release, so no holder sees it half changed:
 * it is written only if the lease was held to the end. When a holder dies, the next grant marks the
 * value as in doubt.
 */
#include <inttypes.h>
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

static bool fail(const lk_error *error) {
    fprintf(stderr, "%s: %s\n", lk_outcome_text(error->outcome), error->text);
    return false;
}

/* The value of the last holder: the next row to copy. */
static uint64_t read_position(const lk_result *result) {
    if (result->value == NULL) {
        return 0; /* this is the first holder */
    }
    if (result->in_doubt) {
        printf("the last holder died: its rows are looked at again\n");
    }
    return strtoull(result->value, NULL, 10);
}

/* Copies some rows under the lock, and writes the new position. */
static bool take_turn(lk_store *store, uint64_t *ret_position) {
    const char *const parts[] = {"jobs/copy"};
    lk_request request = lk_request_init(parts, 1);
    lk_lease *lease;
    lk_result *result;
    lk_error error;
    char value[32];

    request.value = true; /* the first part's value comes with the grant */
    request.wait_ms = 30000;
    if (lk_acquire(store, &request, &lease, &result, &error) != LK_GRANTED) {
        lk_result_free(result);
        return fail(&error);
    }
    uint64_t position = read_position(result);
    lk_result_free(result);

    position += 100;
    printf("rows up to %" PRIu64 " are copied under token %" PRIu64 "\n", position,
           lk_lease_token(lease));
    int size = snprintf(value, sizeof value, "%" PRIu64, position);
    *ret_position = position;
    /* LK_LOST would mean that the lease ended before, and that nothing was written. */
    lk_outcome ended = lk_lease_release_put(lease, value, (size_t)size, &error);
    if (ended != LK_OK && ended != LK_LOST) {
        lk_lease_abandon(lease); /* unknown: the same call could be made again */
    }
    return ended == LK_OK || fail(&error);
}

/* A holder that dies with the job half done. Its lease is broken here, to save the wait. */
static bool die_at_work(lk_store *store) {
    const char *const parts[] = {"jobs/copy"};
    lk_request request = lk_request_init(parts, 1);
    const lk_break_request end = {.size = sizeof end,
                                  .path = "jobs/copy",
                                  .reason = "its machine is off",
                                  .by = "handover",
                                  .at_once = true};
    lk_error error;

    request.value = true;
    if (lk_ask(store, &request, NULL, &error) != LK_GRANTED) {
        return fail(&error);
    }
    return lk_break(store, &end, NULL, &error) == LK_OK || fail(&error);
}

static bool is_in_doubt(lk_store *store) {
    lk_value *value = NULL;
    lk_error error;

    if (lk_value_get(store, "jobs/copy", &value, &error) != LK_OK) {
        return fail(&error);
    }
    bool in_doubt = value->in_doubt;
    lk_value_free(value);
    return in_doubt;
}

int main(int argc, char **argv) {
    lk_store *store;
    lk_error error;
    uint64_t first;
    uint64_t second;
    uint64_t third;

    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    bool is_right = take_turn(store, &first) && take_turn(store, &second) && second == first + 100
                    && die_at_work(store) && is_in_doubt(store) && take_turn(store, &third)
                    && third == second + 100 && !is_in_doubt(store);
    lk_close(store);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
