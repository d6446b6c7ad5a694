/* SPDX-License-Identifier: Apache-2.0 */
/* Requests from the command line, and the answers to them. */
#include "cli/commands/lease_call.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/parse/ask.h"
#include "cli/print/say.h"
#include "cli/run/open.h"
#include "client/store.h"
#include "model/rules.h"

lk_outcome lk_lease_call_init(const struct lk_cli *cli, const struct lk_command_line *line,
                              struct lk_lease_call *ret_call, int *ret_exit_code) {
    lk_error error;

    if (lk_ask_check_parts(line, &error) != LK_OK) {
        *ret_exit_code = lk_say_failure(cli, LK_INVALID, error.text);
        return LK_INVALID;
    }
    ret_call->store = NULL;
    memset(ret_call->run_parts, 0, sizeof ret_call->run_parts);
    ret_call->request = lk_ask_from_line(line);
    ret_call->request.owner = lk_ask_owner(line, line->word_count, ret_call->made_owner);
    ret_call->is_of_run =
        ret_call->request.owner != ret_call->made_owner && lk_run_lease_owns(line);
    return LK_OK;
}

/* Whether a request listed at the path, which is one of the run's, has a token of its lease. */
static bool is_run_lease_live(const struct lk_command_line *line, const char *path) {
    lk_store *store;
    lk_listing *listing;
    bool is_live = false;

    if (lk_store_open_within(lk_command_line_text(line, LK_OPTION_STORE), lk_cli_wait_ms(line),
                             NULL, &store, NULL)
        != LK_OK) {
        return false;
    }
    if (lk_show(store, path, &listing, NULL) == LK_OK) {
        for (size_t i = 0; i < listing->count && !is_live; i++) {
            is_live = listing->entries[i].held && lk_run_lease_has_token(listing->entries[i].token);
        }
        lk_listing_free(listing);
    }
    lk_close(store);
    return is_live;
}

bool lk_lease_call_is_of_run(const struct lk_command_line *line) {
    const lk_request request = lk_ask_from_line(line);
    const struct lk_part_defaults defaults = {
        .shared = request.shared, .limit = request.limit, .units = request.units};
    uint64_t token = (uint64_t)lk_command_line_number(line, LK_OPTION_TOKEN, 0);
    struct lk_part part;
    char path[LK_PATH_BYTES_MAX + 1];

    if (!lk_run_lease_owns(line)
        || !lk_run_lease_has_paths(request.parts, request.part_count, &defaults)
        || (token != 0 && !lk_run_lease_has_token(token))
        || lk_part_parse(lk_slice_of(request.parts[0]), &defaults, &part, NULL) != LK_OK) {
        return false;
    }
    memcpy(path, part.path.bytes, part.path.size);
    path[part.path.size] = '\0';
    return is_run_lease_live(line, path); /* the variables outlive it */
}

/* What an entry of the run's lease holds, as a part; NULL: memory is exhausted. */
static char *part_text(const lk_entry *entry) {
    if (entry->limit != 0) {
        return lk_text_make("%s?limit=%" PRIu32 "&units=%" PRIu32, entry->path, entry->limit,
                            entry->units);
    }
    return lk_text_make("%s%s", entry->path, entry->shared ? "?shared" : "");
}

/* Whether the lease has at its path what is asked for there, without becoming stronger (R9). */
static bool has_it(const lk_entry *entry, const struct lk_part *asked) {
    const struct lk_part held = {.mode = entry->shared ? LK_SHARED : LK_EXCLUSIVE,
                                 .limit = entry->limit,
                                 .units = entry->units};

    return entry->held && !entry->revoked && lk_run_lease_has_token(entry->token)
           && !lk_part_is_stronger(&held, asked);
}

/* The part becomes what the lease holds at its path. */
static lk_outcome join_part(struct lk_lease_call *call, size_t index,
                            const struct lk_part_defaults *defaults, lk_error *error) {
    struct lk_part asked;
    lk_listing *listing;
    char path[LK_PATH_BYTES_MAX + 1];
    lk_outcome outcome =
        lk_part_parse(lk_slice_of(call->request.parts[index]), defaults, &asked, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    memcpy(path, asked.path.bytes, asked.path.size);
    path[asked.path.size] = '\0';
    outcome = lk_show(call->store, path, &listing, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    for (size_t i = 0; i < listing->count && call->run_parts[index] == NULL; i++) {
        const lk_entry *entry = &listing->entries[i];
        if (strcmp(entry->path, path) == 0 && has_it(entry, &asked)) {
            call->run_parts[index] = part_text(entry);
            call->request.ttl_ms = entry->ttl_ms > 0 ? entry->ttl_ms : 0;
        }
    }
    lk_listing_free(listing);
    return call->run_parts[index] != NULL
               ? LK_OK
               : lk_error_set(error, LK_DEADLOCK,
                              "%.*s is held by the %s run around this in another mode, which ends "
                              "only after this",
                              LK_ERROR_TEXT_MAX / 2, path, lk_program());
}

lk_outcome lk_lease_call_join_run(struct lk_lease_call *call, lk_error *error) {
    lk_request *request = &call->request;
    const struct lk_part_defaults defaults = {
        .shared = request->shared, .limit = request->limit, .units = request->units};
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < request->part_count && outcome == LK_OK; i++) {
        outcome = join_part(call, i, &defaults, error);
    }
    if (outcome == LK_OK) {
        request->parts = (const char *const *)call->run_parts;
        request->shared = false;
        request->limit = request->units = 0;
        request->until_unix_ms = 0;
    }
    return outcome;
}

void lk_lease_call_leave_run(struct lk_lease_call *call) {
    for (size_t i = 0; i < LK_PARTS_MAX; i++) {
        free(call->run_parts[i]);
    }
}

int64_t lk_lease_call_bound_wait(struct lk_lease_call *call) {
    if (call->request.style != LK_WAIT) {
        return 0;
    }
    call->request.wait_ms = lk_budget_left_ms(call->request.wait_ms);
    return call->request.wait_ms;
}

int lk_lease_call_say(const struct lk_cli *cli, const struct lk_lease_call *call,
                      const lk_result *result, const lk_error *error) {
    if (result == NULL) {
        return lk_say_failure(cli, error->outcome, error->text);
    }
    if (!cli->json && result->outcome == LK_LOST && call->request.owner == call->made_owner) {
        return lk_say_lost_by_caller(cli, call->request.owner,
                                     "--owner or LK_OWNER names another one, --token is enough",
                                     result->error);
    }
    return lk_say_result(cli, call->store, result);
}

/*
 * Every command of a shell has the same owner, unless it names one. So two of its background jobs
 * that request one lock are granted one lease (R3), and do not exclude each other. Nor do those
 * below one lk run for a path of its lease, which may be that very lease.
 */
static void say_shared(const struct lk_cli *cli, const struct lk_lease_call *call,
                       const lk_result *result) {
    const char *path = result->path_count > 0 ? result->paths[0] : "this";

    if (result->created || cli->quiet) {
        return;
    }
    if (call->request.owner == call->made_owner) {
        (void)fprintf(cli->err,
                      "%s: %s was held or asked for already by this shell: it is the same lease. "
                      "What has to exclude it names an --owner of its own\n",
                      lk_program(), path);
    } else if (call->is_of_run && lk_run_lease_has_token(result->token)) {
        (void)fprintf(cli->err,
                      "%s: %s is held by the %s run around this: it is the same lease, which stays "
                      "held until that ends\n",
                      lk_program(), path, lk_program());
    } else if (call->is_of_run) {
        (void)fprintf(cli->err,
                      "%s: %s was held or asked for already in the %s run around this: it is the "
                      "same lease, and its release ends it for all of that run\n",
                      lk_program(), path, lk_program());
    }
}

/* R15: of each value that a dead holder may have left half written. */
static void say_doubts(const struct lk_cli *cli, const lk_result *result) {
    for (size_t i = 0; i < result->value_count && i < result->path_count && !cli->quiet; i++) {
        if (result->values[i].in_doubt) {
            (void)fprintf(cli->err, "%s: in doubt: a holder died before it put the value of %s\n",
                          lk_program(), result->paths[i]);
        }
    }
}

/* The second line of --value: that of the first part; empty if there is none. */
static void write_value(const struct lk_cli *cli, const lk_result *result) {
    if (result->value != NULL) {
        (void)fwrite(result->value, 1, result->value_size, cli->out);
    }
    (void)fputc('\n', cli->out);
    say_doubts(cli, result);
}

int lk_lease_call_say_asked(const struct lk_cli *cli, const struct lk_lease_call *call,
                            const lk_result *result, const lk_error *error) {
    int exit_code = lk_lease_call_say(cli, call, result, error);

    if (!cli->json && result != NULL && result->outcome == LK_GRANTED) {
        lk_say_requeued(cli, result);
        say_shared(cli, call, result);
        (void)fprintf(cli->out, "%" PRIu64 "\n", result->token);
        if (call->request.value) {
            write_value(cli, result);
        }
    }
    return exit_code;
}
