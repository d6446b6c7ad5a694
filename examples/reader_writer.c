/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many readers or one writer, on a tree: readers of one table, and a reset of the whole database.
 *
 *     cc reader_writer.c $(pkg-config --cflags --libs lockkeeper) && ./a.out [STORE]
 *
 * A lock on `shop` covers everything below it. The reset waits for every reader of every table, and
 * requests that arrive after the reset wait for it, so it is never starved.
 */
#include <lockkeeper/lockkeeper.h>
#include <stdio.h>
#include <stdlib.h>

static lk_outcome ask(lk_store *store, const char *part, lk_style style, const char *owner,
                      lk_result **ret_result) {
    const char *const parts[] = {part};
    lk_request request = lk_request_init(parts, 1);

    request.style = style;
    request.owner = owner; /* repeating it with the same owner refreshes the same request */
    return lk_ask(store, &request, ret_result, NULL);
}

static void end(lk_store *store, const char *part, const char *owner) {
    const char *const parts[] = {part};
    lk_request request = lk_request_init(parts, 1);

    request.owner = owner;
    lk_release(store, &request, 0, NULL, NULL);
}

/* Prints the outcome of a request, and what blocks it. */
static void say(const char *who, const lk_result *result) {
    printf("%s: %s", who, lk_outcome_name(result->outcome));
    for (size_t i = 0; i < result->blocker_count; i++) {
        printf(", behind %s (%s %s)", result->blockers[i].owner,
               result->blockers[i].held ? "holds" : "waits for", result->blockers[i].path);
    }
    printf("\n");
}

/* Makes a request, prints its outcome, and returns whether it is the expected one. */
static bool step(lk_store *store, const char *part, lk_style style, const char *owner,
                 lk_outcome expected) {
    lk_result *result = NULL;
    lk_outcome outcome = ask(store, part, style, owner, &result);

    if (result != NULL) {
        say(owner, result);
    }
    lk_result_free(result);
    return outcome == expected;
}

int main(int argc, char **argv) {
    lk_store *store;
    lk_error error;
    bool is_right;

    if (lk_open(argc > 1 ? argv[1] : NULL, &store, &error) != LK_OK) {
        fprintf(stderr, "cannot open the store: %s\n", error.text);
        return EXIT_FAILURE;
    }
    is_right = step(store, "shop/prices?shared", LK_TRY, "anna", LK_GRANTED)
               && step(store, "shop/prices?shared", LK_TRY, "bert", LK_GRANTED)
               && step(store, "shop", LK_QUEUE, "reset", LK_WAITING)
               && step(store, "shop/stock?shared", LK_TRY, "carl", LK_BUSY);
    end(store, "shop/prices", "anna");
    end(store, "shop/prices", "bert");
    is_right = is_right && step(store, "shop", LK_QUEUE, "reset", LK_GRANTED);
    end(store, "shop", "reset");
    lk_close(store);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}
