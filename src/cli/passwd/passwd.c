/* SPDX-License-Identifier: Apache-2.0 */
/* lk passwd: the users of a service. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "access/secrets.h"
#include "access/users_edit.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/program.h"
#include "base/text.h"
#include "cli/cli.h"
#include "cli/print/say.h"
#include "lockkeeper/terms.h"

/* ---- a password ------------------------------------------------------------------------------ */

/* A password from a terminal, which does not show it, or from a pipe. */

/*
 * Asks for a password. While the terminal does not echo, it makes no signals either: Ctrl-C comes
 * as a byte, so that the terminal is always as before when lk ends.
 */

enum { CTRL_C = 3 };

/* Byte by byte: what is behind the line is another program's. The size; less than 0: too long. */
static ssize_t read_line(char *ret_line, size_t capacity) {
    ssize_t size = 0;
    char byte;

    for (;;) {
        ssize_t got = read(STDIN_FILENO, &byte, 1);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || byte == '\n') {
            break;
        }
        if ((size_t)size + 1 >= capacity || byte == '\0') {
            return -1;
        }
        ret_line[size++] = byte;
    }
    if (size > 0 && ret_line[size - 1] == '\r') {
        size--;
    }
    ret_line[size] = '\0';
    return size;
}

static lk_outcome take_line(char *ret_line, size_t capacity, lk_error *error) {
    ssize_t size = read_line(ret_line, capacity);

    if (size > 0 && strchr(ret_line, CTRL_C) != NULL) {
        return lk_error_set(error, LK_CANCELLED, "no password was given");
    }
    return size > 0 ? LK_OK
                    : lk_error_set(error, LK_INVALID,
                                   "a password has 1 to %zu bytes, and no byte 0", capacity - 1);
}

static lk_outcome ask(const char *what, char *ret_line, size_t capacity, lk_error *error) {
    struct termios former;
    struct termios quiet;
    lk_outcome outcome;

    if (tcgetattr(STDIN_FILENO, &former) != 0) {
        return take_line(ret_line, capacity, error);
    }
    quiet = former;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    /* First: what was typed before is discarded, but not what answers the question. */
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    (void)fputs(what, stderr);
    (void)fflush(stderr);
    outcome = take_line(ret_line, capacity, error);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &former);
    (void)fputs("\n", stderr);
    return outcome;
}

/*
 * The first line of stdin; of a terminal twice the same, asked for on stderr. LK_OK; LK_INVALID:
 * empty, too long, or not the same twice; LK_CANCELLED: Ctrl-C.
 */
static lk_outcome prompt_password(char *ret_password, size_t capacity, lk_error *error) {
    char again[1024];
    lk_outcome outcome = ask("password: ", ret_password, capacity, error);

    if (outcome == LK_OK && isatty(STDIN_FILENO) == 1) {
        outcome = ask("the same again: ", again, sizeof again, error);
        if (outcome == LK_OK && strcmp(again, ret_password) != 0) {
            outcome = lk_error_set(error, LK_INVALID, "the two passwords are not the same");
        }
    }
    explicit_bzero(again, sizeof again);
    return outcome;
}

/* ---- a file that is replaced ----------------------------------------------------------------- */

/* A file that is read, changed, and replaced as a whole, by renaming another one over it. */

/* A file that only this process changes, until replacing_end(). */
struct replacing {
    char *path;     /* without symbolic links */
    int descriptor; /* holds the lock; less than 0: there is no file yet */
    struct lk_buffer text;
};

static lk_outcome explain(const char *path, int problem, lk_error *error) {
    return lk_error_set(
        error, problem == EACCES || problem == EPERM || problem == EROFS ? LK_DENIED : LK_INVALID,
        "%s: %s", path, strerror(problem));
}

static lk_outcome no_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
}

/* Whether the path still leads to the file that is open. */
static bool is_there(const struct replacing *replacing) {
    struct stat opened;
    struct stat named;

    return fstat(replacing->descriptor, &opened) == 0 && stat(replacing->path, &named) == 0
           && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/* Opens and locks the file that the path leads to, also if another call replaces it meanwhile. */
static lk_outcome lock(struct replacing *replacing, lk_error *error) {
    for (;;) {
        replacing->descriptor = open(replacing->path, O_RDONLY | O_CLOEXEC);
        if (replacing->descriptor < 0) {
            return errno == ENOENT ? LK_OK : explain(replacing->path, errno, error);
        }
        if (flock(replacing->descriptor, LOCK_EX) != 0 && errno != EINTR) {
            return explain(replacing->path, errno, error);
        }
        if (is_there(replacing)) {
            return LK_OK;
        }
        (void)close(replacing->descriptor);
    }
}

static lk_outcome read_text(struct replacing *replacing, size_t max, lk_error *error) {
    char bytes[16 * 1024];
    ssize_t size = 0;

    while (replacing->descriptor >= 0
           && (size = read(replacing->descriptor, bytes, sizeof bytes)) > 0) {
        lk_buffer_add(&replacing->text, bytes, (size_t)size);
        if (replacing->text.size > max) {
            return lk_error_set(error, LK_INVALID, "%s: longer than %zu bytes", replacing->path,
                                max);
        }
    }
    if (size < 0) {
        return explain(replacing->path, errno, error);
    }
    return replacing->text.failed ? no_memory(error) : LK_OK;
}

/*
 * Locks the file against other calls, and reads up to `max` bytes. A file that is not there is
 * empty. LK_OK, LK_DENIED, LK_INVALID or LK_INTERNAL; to be ended in every case.
 */
static lk_outcome replacing_begin(struct replacing *replacing, const char *path, size_t max,
                                  lk_error *error) {
    lk_outcome outcome;

    *replacing = (struct replacing){.descriptor = -1};
    replacing->path = realpath(path, NULL);
    if (replacing->path == NULL && errno == ENOENT) {
        replacing->path = lk_text_copy(lk_slice_of(path));
    }
    if (replacing->path == NULL) {
        return explain(path, errno, error);
    }
    outcome = lock(replacing, error);
    return outcome == LK_OK ? read_text(replacing, max, error) : outcome;
}

/* The new file has the owner of the former one, where that is allowed. */
static bool fill(const struct replacing *replacing, int descriptor, struct lk_slice text) {
    struct stat former;
    size_t written = 0;

    if (replacing->descriptor >= 0 && fstat(replacing->descriptor, &former) == 0) {
        (void)!fchown(descriptor, former.st_uid, former.st_gid);
    }
    while (written < text.size) {
        ssize_t piece = write(descriptor, text.bytes + written, text.size - written);

        if (piece < 0 && errno != EINTR) {
            return false;
        }
        written += piece > 0 ? (size_t)piece : 0;
    }
    return fchmod(descriptor, S_IRUSR | S_IWUSR) == 0 && fsync(descriptor) == 0;
}

static void sync_directory(const char *path) {
    char *copy = lk_text_copy(lk_slice_of(path));
    int directory = copy != NULL ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (directory >= 0) {
        (void)fsync(directory);
        (void)close(directory);
    }
    free(copy);
}

/* Puts a file with this text in its place at once: for its owner alone to read, as the former one,
 * and on the disk when this returns. */
static lk_outcome replacing_write(struct replacing *replacing, struct lk_slice text,
                                  lk_error *error) {
    char *path = lk_text_make("%s.XXXXXX", replacing->path);
    int descriptor = path != NULL ? mkostemp(path, O_CLOEXEC) : -1;
    lk_outcome outcome = LK_OK;

    if (path == NULL) {
        return no_memory(error);
    }
    if (descriptor < 0) {
        outcome = explain(path, errno, error);
    } else if (!fill(replacing, descriptor, text) || rename(path, replacing->path) != 0) {
        outcome = explain(path, errno, error);
        (void)unlink(path);
    } else {
        sync_directory(replacing->path);
    }
    if (descriptor >= 0) {
        (void)close(descriptor);
    }
    free(path);
    return outcome;
}

static void replacing_end(struct replacing *replacing) {
    if (replacing->descriptor >= 0) {
        (void)close(replacing->descriptor);
    }
    lk_buffer_done(&replacing->text);
    free(replacing->path);
}

/* ---- lk passwd ------------------------------------------------------------------------------- */

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
    lk_outcome outcome = prompt_password(password, sizeof password, error);

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
        (void)fprintf(cli->err, "%s: %s may do nothing yet: %s passwd FILE %s --allow RULE\n",
                      lk_program(), changing->edit.user, lk_program(), changing->edit.user);
    }
    return 0;
}

static lk_outcome change(struct changing *changing, lk_error *error) {
    struct replacing replacing;
    struct lk_buffer text = {.max = 0};
    struct lk_slice former;
    lk_outcome outcome =
        replacing_begin(&replacing, changing->line->words[0], LK_USERS_FILE_BYTES_MAX, error);

    former = (struct lk_slice){replacing.text.bytes, replacing.text.size};
    if (outcome == LK_OK) {
        outcome = prepare(changing, former, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_users_edit(former, &changing->edit, &text, error);
    }
    if (outcome == LK_OK) {
        outcome = replacing_write(&replacing, (struct lk_slice){text.bytes, text.size}, error);
    }
    lk_buffer_done(&text);
    replacing_end(&replacing);
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
