/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source by source, the strongest first: what an earlier one has set, a later one does not
 * change. Every setting is checked all the same, so that a mistake is found where it was made and
 * not on the day on which the option in front of it is removed.
 */
#include "cli/serve/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/program.h"
#include "base/setting.h"
#include "base/text.h"
#include "cli/parse/value.h"
#include "cli/serve/options.h"

#define PREFIX "LK_SERVE_"
#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)
/* Options that make no sense in a file or in the environment of a service. */
#define ELSEWHERE (BIT(HELP) | BIT(VERSION))

enum { FILE_BYTES_MAX = 64 * 1024, NAME_BYTES_MAX = 64 };

extern char **environ;

/* What is read from one source. */
struct source {
    struct lk_serve_settings *settings;
    lk_option_set settled;        /* by the sources before this one */
    lk_option_set given;          /* by this one */
    size_t listed_count;          /* of this one: the first entries of the list */
    char at[NAME_BYTES_MAX + 32]; /* what messages begin with: the variable, or the line */
    const char *path;             /* of the file; NULL: it is the environment */
    bool is_again;                /* what the environment has in vain was told before */
    lk_error *error;
};

static lk_outcome refuse(const struct source *source, const char *what) {
    return source->path != NULL
               ? lk_error_set(source->error, LK_INVALID, "%s%s: %s", source->path, source->at, what)
               : lk_error_set(source->error, LK_INVALID, "%s: %s", source->at, what);
}

static lk_outcome no_memory(const struct source *source) {
    return lk_error_set(source->error, LK_INTERNAL, "memory is exhausted");
}

/* Keeps a copy as long as the settings live. NULL: memory is exhausted. */
static char *keep(struct lk_serve_settings *settings, struct lk_slice text) {
    char **grown = realloc(settings->texts, (settings->text_count + 1) * sizeof settings->texts[0]);
    char *copy;

    if (grown == NULL) {
        return NULL;
    }
    settings->texts = grown;
    copy = lk_text_copy(text);
    if (copy != NULL) {
        settings->texts[settings->text_count++] = copy;
    }
    return copy;
}

/* ---- one setting ----------------------------------------------------------------------------- */

static bool needs_absolute_path(enum lk_option_id id, const char *text) {
    if (id == LK_OPTION_HTTP) {
        return strncmp(text, "unix:", strlen("unix:")) == 0 && text[strlen("unix:")] != '/';
    }
    return (LK_OPTION_BIT(id)
            & (BIT(UNIX) | BIT(DIR) | BIT(PASSWORD_FILE) | BIT(USERS) | BIT(TLS_CERT) | BIT(TLS_KEY)
               | BIT(TLS_CA) | BIT(CONFIG)))
               != 0
           && text[0] != '/';
}

/* Whether a flag is set; LK_INVALID: neither `yes` nor `no`. */
static lk_outcome read_flag(const struct source *source, const char *text, bool *ret_is_set) {
    static const char *const words[][2] = {{"no", "yes"}, {"false", "true"}, {"0", "1"}};

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        for (int is_set = 0; is_set < 2; is_set++) {
            if (strcmp(text, words[i][is_set]) == 0) {
                *ret_is_set = is_set == 1;
                return LK_OK;
            }
        }
    }
    return refuse(source, "yes or no");
}

/* As if the setting were all there is: a bound or an address that is none is found here. */
static lk_outcome check_alone(const struct source *source, enum lk_option_id id, char *text,
                              int64_t number) {
    struct lk_serve_options options = {.server = {.is_ephemeral = false}};
    struct lk_command_line line = {.given = LK_OPTION_BIT(id)};
    lk_error why;

    line.values[id] = (struct lk_option_value){.text = text, .number = number};
    if (lk_option_at(id)->kind == LK_KIND_LIST) {
        line.listed = &text;
        line.listed_ids = &id;
        line.listed_count = 1;
    }
    return lk_serve_options_fill(&line, &options, &why) == LK_OK ? LK_OK : refuse(source, why.text);
}

/* Entries of a source go behind each other, and before those of stronger sources. */
static lk_outcome list(struct source *source, enum lk_option_id id, char *text) {
    struct lk_command_line *line = &source->settings->line;
    size_t count = line->listed_count;
    size_t at = source->listed_count;
    char **texts = realloc(line->listed, (count + 1) * sizeof texts[0]);
    enum lk_option_id *ids;

    if (texts == NULL) {
        return no_memory(source);
    }
    line->listed = texts;
    ids = realloc(line->listed_ids, (count + 1) * sizeof ids[0]);
    if (ids == NULL) {
        return no_memory(source);
    }
    line->listed_ids = ids;
    memmove(&texts[at + 1], &texts[at], (count - at) * sizeof texts[0]);
    memmove(&ids[at + 1], &ids[at], (count - at) * sizeof ids[0]);
    texts[at] = text;
    ids[at] = id;
    line->listed_count++;
    source->listed_count++;
    return LK_OK;
}

/* Whether a stronger source has this option, or one that excludes it. */
static bool is_settled(const struct source *source, enum lk_option_id id) {
    const struct lk_command_line *line = &source->settings->line;

    return (source->settled & LK_OPTION_BIT(id)) != 0
           || (source->settled & line->given & lk_option_at(id)->excludes) != 0;
}

/*
 * A service that is to share a store, and keeps its locks in a folder because a unit or an image
 * says so, grants what the others have granted. So a stronger source does not just have its way.
 */
static lk_outcome check_store(const struct source *source, enum lk_option_id id) {
    const struct lk_command_line *line = &source->settings->line;
    bool is_elsewhere = (source->settled & line->given & (BIT(DIR) | BIT(EPHEMERAL))) != 0;

    return id == LK_OPTION_STORE && is_elsewhere
               ? refuse(source, "--dir or --ephemeral, of the command line or the environment, "
                                "would keep the locks elsewhere: remove that (in a systemd unit: "
                                "ExecStart=; in a container: LK_SERVE_DIR=), or this setting")
               : LK_OK;
}

static lk_outcome set(struct source *source, enum lk_option_id id, struct lk_slice value) {
    const struct lk_option *option = lk_option_at(id);
    struct lk_command_line *line = &source->settings->line;
    char *text = keep(source->settings, value);
    int64_t number = 0;
    bool is_set = true;
    lk_error why;
    lk_outcome outcome;

    if (text == NULL) {
        return no_memory(source);
    }
    if (source->path != NULL && needs_absolute_path(id, text)) {
        return refuse(source, "a path that is relative to the working directory; begin it with /");
    }
    if (option->kind == LK_KIND_FLAG) {
        outcome = read_flag(source, text, &is_set);
    } else {
        outcome = lk_option_value_parse(id, text, 0, &number, &why) == LK_OK
                      ? check_alone(source, id, text, number)
                      : refuse(source, why.text);
    }
    outcome = outcome == LK_OK ? check_store(source, id) : outcome;
    if (outcome != LK_OK || (is_settled(source, id) && option->kind != LK_KIND_LIST)) {
        return outcome;
    }
    source->given |= LK_OPTION_BIT(id);
    line->given = is_set ? line->given | LK_OPTION_BIT(id) : line->given & ~LK_OPTION_BIT(id);
    line->values[id] = (struct lk_option_value){.text = text, .number = number};
    return option->kind == LK_KIND_LIST ? list(source, id, text) : LK_OK;
}

/* An option of lk serve by its name; LK_OPTION_COUNT: there is none. */
static enum lk_option_id option_by_name(const struct source *source, const char *name,
                                        lk_option_set but_not) {
    lk_option_set allowed = source->settings->line.command->options & ~(ELSEWHERE | but_not);
    enum lk_option_id id = lk_option_by_name(name, strlen(name), allowed);

    return id != LK_OPTION_COUNT && (allowed & LK_OPTION_BIT(id)) != 0 ? id : LK_OPTION_COUNT;
}

/* Of one source: two settings that contradict each other. */
static lk_outcome check_contradictions(const struct source *source) {
    lk_option_set given = source->given & source->settings->line.given;

    for (int id = 0; id < LK_OPTION_COUNT; id++) {
        lk_option_set others = (given & LK_OPTION_BIT(id)) != 0
                                   ? lk_option_at((enum lk_option_id)id)->excludes & given
                                   : 0;
        for (int other = 0; other < LK_OPTION_COUNT; other++) {
            if ((others & LK_OPTION_BIT(other)) != 0) {
                return lk_error_set(source->error, LK_INVALID,
                                    "%s: %s and %s contradict each other",
                                    source->path != NULL ? source->path : PREFIX "...",
                                    lk_option_at((enum lk_option_id)id)->name,
                                    lk_option_at((enum lk_option_id)other)->name);
            }
        }
    }
    return LK_OK;
}

/* ---- the environment ------------------------------------------------------------------------- */

/* PASSWORD_FILE= into password-file; false: no name of an option looks like that. */
static bool write_option_name(const char *variable, char ret_name[NAME_BYTES_MAX]) {
    size_t size = strcspn(variable, "=");

    if (size == 0 || size >= NAME_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < size; i++) {
        ret_name[i] = variable[i] == '_' ? '-' : (char)tolower((unsigned char)variable[i]);
    }
    ret_name[size] = '\0';
    return true;
}

/* Several values of an option that may be repeated are separated by blanks. */
static lk_outcome set_words(struct source *source, enum lk_option_id id, const char *text) {
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && *(text += strspn(text, " \t\n")) != '\0') {
        size_t size = strcspn(text, " \t\n");
        outcome = set(source, id, (struct lk_slice){text, size});
        text += size;
    }
    return outcome;
}

static lk_outcome read_variable(struct source *source, const char *variable) {
    const char *value = strchr(variable, '=');
    char name[NAME_BYTES_MAX];
    enum lk_option_id id;

    if (value == NULL || *++value == '\0') {
        return LK_OK; /* an empty variable counts as none */
    }
    (void)snprintf(source->at, sizeof source->at, "%.*s", (int)(value - 1 - variable), variable);
    id = write_option_name(variable + strlen(PREFIX), name) ? option_by_name(source, name, 0)
                                                            : LK_OPTION_COUNT;
    if (id == LK_OPTION_COUNT) {
        if (!source->is_again) {
            (void)fprintf(stderr,
                          "%s: WARNING: %s: %s serve has no such option; see: %s help serve\n",
                          lk_program(), source->at, lk_program(), lk_program());
        }
        return LK_OK;
    }
    return lk_option_at(id)->kind == LK_KIND_LIST ? set_words(source, id, value)
                                                  : set(source, id, lk_slice_of(value));
}

static lk_outcome read_environment(struct source *source) {
    lk_outcome outcome = LK_OK;

    for (char **variable = environ; outcome == LK_OK && *variable != NULL; variable++) {
        if (strncmp(*variable, PREFIX, strlen(PREFIX)) == 0) {
            outcome = read_variable(source, *variable);
        }
    }
    return outcome == LK_OK ? check_contradictions(source) : outcome;
}

/* ---- the file -------------------------------------------------------------------------------- */

static lk_outcome read_setting(struct source *source, struct lk_slice line) {
    struct lk_slice name;
    struct lk_slice value;
    char text[NAME_BYTES_MAX];
    enum lk_option_id id;
    enum lk_option_id like;
    char what[NAME_BYTES_MAX * 3];

    switch (lk_setting_parse(line, &name, &value)) {
    case LK_SETTING_NONE:
        return LK_OK;
    case LK_SETTING_NO_TEXT:
        return refuse(source, "a byte 0; this is no text");
    case LK_SETTING_NO_EQUALS:
        return refuse(source, "no \"=\"; write: name = value, as in ephemeral = yes");
    case LK_SETTING_FOUND:
        break;
    }
    (void)snprintf(text, sizeof text, "%.*s", (int)(name.size < sizeof text ? name.size : 0),
                   name.size > 0 ? name.bytes : "");
    id = option_by_name(source, text, BIT(CONFIG));
    if (id == LK_OPTION_COUNT) {
        like = lk_option_like(text, strlen(text));
        like = like != LK_OPTION_COUNT
                   ? option_by_name(source, lk_option_at(like)->name, BIT(CONFIG))
                   : like;
        (void)snprintf(what, sizeof what, "%s serve has no setting \"%s\"%s%s%s", lk_program(),
                       text, like != LK_OPTION_COUNT ? "; did you mean " : "; see: ",
                       like != LK_OPTION_COUNT ? lk_option_at(like)->name : lk_program(),
                       like != LK_OPTION_COUNT ? "?" : " help serve");
        return refuse(source, what);
    }
    if (value.size == 0) {
        (void)snprintf(what, sizeof what, "no value; write: %s = %s, or remove the line", text,
                       lk_option_at(id)->value != NULL ? lk_option_at(id)->value : "yes");
        return refuse(source, what);
    }
    return set(source, id, value);
}

static lk_outcome read_lines(struct source *source, struct lk_slice bytes) {
    lk_outcome outcome = LK_OK;

    for (unsigned line = 1; outcome == LK_OK && bytes.size > 0; line++) {
        const char *end = memchr(bytes.bytes, '\n', bytes.size);
        size_t size = end != NULL ? (size_t)(end - bytes.bytes) + 1 : bytes.size;

        (void)snprintf(source->at, sizeof source->at, ":%u", line);
        outcome = read_setting(source, (struct lk_slice){bytes.bytes, size});
        bytes.bytes += size;
        bytes.size -= size;
    }
    return outcome == LK_OK ? check_contradictions(source) : outcome;
}

static lk_outcome read_file(struct source *source) {
    char *bytes = malloc(FILE_BYTES_MAX + 1);
    FILE *file = fopen(source->path, "re");
    lk_outcome outcome = LK_OK;
    size_t size = 0;

    if (bytes == NULL) {
        outcome = no_memory(source);
    } else if (file != NULL) {
        size = fread(bytes, 1, FILE_BYTES_MAX + 1, file);
    }
    if (outcome == LK_OK && (file == NULL || ferror(file) != 0)) {
        int problem = errno;
        outcome = lk_error_set(source->error,
                               problem == EACCES || problem == EPERM ? LK_DENIED : LK_INVALID,
                               "--config %s: %s", source->path, strerror(problem));
    } else if (outcome == LK_OK && size > FILE_BYTES_MAX) {
        outcome = lk_error_set(source->error, LK_INVALID,
                               "--config %s: longer than %d bytes; this is no configuration file",
                               source->path, FILE_BYTES_MAX);
    }
    if (outcome == LK_OK) {
        outcome = read_lines(source, (struct lk_slice){bytes, size});
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    free(bytes);
    return outcome;
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The list of the line becomes the settings' own. */
static lk_outcome copy_list(const struct lk_command_line *line, struct lk_serve_settings *settings,
                            lk_error *error) {
    size_t count = line->listed_count;

    settings->line.listed = calloc(count + 1, sizeof line->listed[0]);
    settings->line.listed_ids = calloc(count + 1, sizeof line->listed_ids[0]);
    if (settings->line.listed == NULL || settings->line.listed_ids == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    for (size_t i = 0; i < count; i++) {
        settings->line.listed[i] = line->listed[i];
        settings->line.listed_ids[i] = line->listed_ids[i];
    }
    return LK_OK;
}

static lk_outcome read_all(const struct lk_command_line *line, bool is_again,
                           struct lk_serve_settings *settings, lk_error *error) {
    struct source environment = {
        .settings = settings, .settled = line->given, .error = error, .is_again = is_again};
    struct source file = {.settings = settings, .error = error};
    lk_outcome outcome;

    *settings = (struct lk_serve_settings){.line = *line};
    outcome = copy_list(line, settings, error);
    if (outcome == LK_OK) {
        outcome = read_environment(&environment);
    }
    file.path = lk_command_line_text(&settings->line, LK_OPTION_CONFIG);
    if (outcome == LK_OK && file.path != NULL) {
        file.settled = environment.settled | environment.given;
        outcome = read_file(&file);
    }
    return outcome;
}

lk_outcome lk_serve_settings_read(const struct lk_command_line *line,
                                  struct lk_serve_settings *ret_settings, lk_error *error) {
    return read_all(line, false, ret_settings, error);
}

lk_outcome lk_serve_settings_read_again(const struct lk_command_line *line,
                                        struct lk_serve_settings *ret_settings, lk_error *error) {
    return read_all(line, true, ret_settings, error);
}

void lk_serve_settings_free(struct lk_serve_settings *settings) {
    for (size_t i = 0; i < settings->text_count; i++) {
        free(settings->texts[i]);
    }
    free(settings->texts);
    free(settings->line.listed);
    free(settings->line.listed_ids);
}
