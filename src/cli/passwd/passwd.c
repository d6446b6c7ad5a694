/* SPDX-License-Identifier: Apache-2.0 */
/* lk passwd: the users of a service. */
#include <stdlib.h>
#include <string.h>

#include "access/secrets.h"
#include "access/users_edit.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/passwd/prompt.h"
#include "cli/passwd/replace.h"
#include "cli/print/say.h"

enum { US_PER_S = 1000000, MS_PER_S = 1000 };

/* What is to be changed, and where the texts of the change are. */
struct changing {
    const struct lk_cli *cli;
    const struct lk_command_line *line;
    struct lk_users_edit edit;
    bool is_new; /* the user is not in the file yet */
    char hash[LK_PASSWORD_HASH_BYTES_MAX + 1];
    char token[LK_TOKEN_BYTES + 1];
    char token_field[sizeof "token::" + 2 * LK_DIGEST_BYTES + LK_TOKEN_END_BYTES];
    char *rules;
};

static bool has(const struct changing *changing, enum lk_option_id id) {
    return lk_command_line_has(changing->line, id);
}

/* ---- what is asked for ----------------------------------------------------------------------- */

static lk_outcome check(const struct changing *changing, lk_error *error) {
    if (!lk_user_name_is_valid(lk_slice_of(changing->edit.user))) {
        return lk_error_set(error, LK_INVALID,
                            "the name of a user is 1 to %d letters, digits, '.', '_', '@' or '-', "
                            "and does not begin with '-'",
                            LK_USER_BYTES_MAX);
    }
    if (has(changing, LK_OPTION_UNTIL)
        && (!has(changing, LK_OPTION_NEW_TOKEN) || has(changing, LK_OPTION_REMOVE))) {
        return lk_error_set(error, LK_INVALID, "--until is the end of a new token: --token");
    }
    return LK_OK;
}

/* The rules of --allow, joined by blanks. Each is checked here, so that the message names it. */
static lk_outcome join_rules(struct changing *changing, lk_error *error) {
    const struct lk_command_line *line = changing->line;
    char *rules = lk_text_copy(lk_slice_of(""));

    for (size_t i = 0; i < line->listed_count && rules != NULL; i++) {
        struct lk_rule rule;
        char *longer;

        if (lk_rule_parse(lk_slice_of(line->listed[i]), &rule, error) != LK_OK) {
            free(rules);
            return LK_INVALID;
        }
        longer = lk_text_make("%s%s%s", rules, i > 0 ? " " : "", line->listed[i]);
        free(rules);
        rules = longer;
    }
    changing->rules = rules;
    changing->edit.rules = rules;
    return rules != NULL ? LK_OK : lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

static lk_outcome make_password(struct changing *changing, lk_error *error) {
    char password[LK_PASSWORD_BYTES_MAX + 1];
    lk_outcome outcome = lk_prompt_password(password, sizeof password, error);

    if (outcome == LK_OK) {
        outcome = lk_password_hash(password, changing->hash, error);
        changing->edit.password_hash = changing->hash;
    }
    explicit_bzero(password, sizeof password);
    return outcome;
}

static lk_outcome make_token(struct changing *changing, lk_error *error) {
    int64_t until_ms = lk_command_line_number(changing->line, LK_OPTION_UNTIL, 0);
    unsigned char digest[LK_DIGEST_BYTES];
    char digits[2 * LK_DIGEST_BYTES + 1];
    char end[LK_TOKEN_END_BYTES] = "";
    struct lk_text field = lk_text_in(changing->token_field, sizeof changing->token_field);
    lk_outcome outcome = lk_token_make(changing->token, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_token_digest(lk_slice_of(changing->token), digest);
    lk_hexadecimal_write(digest, sizeof digest, digits);
    if (until_ms != 0) {
        lk_token_end_write(until_ms / MS_PER_S, end);
    }
    lk_text_format(&field, "token:%s%s%s", digits, until_ms != 0 ? ":" : "", end);
    changing->edit.token = changing->token_field;
    return LK_OK;
}

/* Fills in the change. A password is only asked for when the file is known to be one. */
static lk_outcome prepare(struct changing *changing, struct lk_slice text, lk_error *error) {
    lk_outcome found = lk_users_has(text, changing->edit.user, error);
    lk_outcome outcome = found == LK_NONE ? LK_OK : found;

    changing->is_new = found == LK_NONE;
    if (outcome == LK_OK && has(changing, LK_OPTION_ALLOW)) {
        outcome = join_rules(changing, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (has(changing, LK_OPTION_REMOVE)) {
        changing->edit.removes_tokens = has(changing, LK_OPTION_NEW_TOKEN);
        changing->edit.removes_certificate = has(changing, LK_OPTION_CERTIFICATE);
        changing->edit.removes_user =
            !changing->edit.removes_tokens && !changing->edit.removes_certificate;
        return LK_OK;
    }
    if (has(changing, LK_OPTION_NEW_TOKEN)) {
        return make_token(changing, error);
    }
    if (has(changing, LK_OPTION_CERTIFICATE)) {
        changing->edit.adds_certificate = true;
        return LK_OK;
    }
    return has(changing, LK_OPTION_ALLOW) && !changing->is_new ? LK_OK
                                                               : make_password(changing, error);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int say_changed(const struct changing *changing) {
    const struct lk_cli *cli = changing->cli;
    struct lk_object object;
    struct lk_form_writer *form;

    if (cli->json) {
        form = lk_object_begin(&object);
        lk_form_open_answer(form, LK_OK);
        lk_form_add_text(form, "user", changing->edit.user);
        if (changing->edit.token != NULL) {
            lk_form_add_text(form, "token", changing->token);
        }
        lk_form_close(form);
        return lk_say_object(cli, LK_OK, &object);
    }
    if (changing->edit.token != NULL) {
        (void)fprintf(cli->out, "%s\n", changing->token);
    }
    if (changing->is_new && changing->edit.rules == NULL && !cli->quiet) {
        (void)fprintf(cli->err, "lk: %s may do nothing yet: lk passwd FILE %s --allow RULE\n",
                      changing->edit.user, changing->edit.user);
    }
    return 0;
}

static lk_outcome change(struct changing *changing, lk_error *error) {
    struct lk_replacing replacing;
    struct lk_buffer text = {.max = 0};
    struct lk_slice former;
    lk_outcome outcome =
        lk_replacing_begin(&replacing, changing->line->words[0], LK_USERS_FILE_BYTES_MAX, error);

    former = (struct lk_slice){replacing.text.bytes, replacing.text.size};
    if (outcome == LK_OK) {
        outcome = prepare(changing, former, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_users_edit(former, &changing->edit, &text, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_replacing_write(&replacing, (struct lk_slice){text.bytes, text.size}, error);
    }
    lk_buffer_done(&text);
    lk_replacing_end(&replacing);
    return outcome;
}

int lk_cli_passwd(const struct lk_cli *cli, const struct lk_command_line *line) {
    struct changing changing = {
        .cli = cli,
        .line = line,
        .edit = {.user = line->words[1], .now_s = lk_clock_wall_us() / US_PER_S},
    };
    lk_error error = {.outcome = LK_OK};
    lk_outcome outcome = check(&changing, &error);
    int code;

    if (outcome == LK_OK) {
        outcome = lk_secrets_load(&error);
    }
    if (outcome == LK_OK) {
        outcome = change(&changing, &error);
    }
    code = outcome == LK_OK ? say_changed(&changing) : lk_say_failure(cli, outcome, error.text);
    explicit_bzero(changing.token, sizeof changing.token);
    free(changing.rules);
    return code;
}
