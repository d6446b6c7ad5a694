/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lk top shows, and what its keys do: a pure state, changed by snapshots and keys, drawn on a
 * canvas. No terminal, no store and no clock: those are terminal.h, feed.h and top.c.
 *
 * The selection sticks to a request, or to a path, and not to a line; when what it stuck to is
 * gone it stays at the same height.
 */
#ifndef LK_CLI_TOP_VIEW_H
#define LK_CLI_TOP_VIEW_H

#include "cli/top/canvas.h"
#include "cli/top/listing.h"

enum {
    LK_VIEW_PATH_SIZE = 513,
    LK_VIEW_OWNER_SIZE = 129,
    LK_VIEW_USER_SIZE = 65,
    LK_VIEW_INPUT_SIZE = 256,
    LK_VIEW_MESSAGE_SIZE = LK_ERROR_TEXT_MAX + 64,
    LK_VIEW_FOLDS_MAX = 256, /* paths that are folded */
};

/* Keys: characters are themselves; the others stand behind all characters. */
enum lk_key {
    LK_KEY_ENTER = '\n',
    LK_KEY_ESCAPE = 0x1B,
    LK_KEY_ERASE_ALL = 0x15, /* ctrl-u */
    LK_KEY_UP = 0x110000,
    LK_KEY_DOWN,
    LK_KEY_LEFT,
    LK_KEY_RIGHT,
    LK_KEY_PAGE_UP,
    LK_KEY_PAGE_DOWN,
    LK_KEY_HOME,
    LK_KEY_END,
    LK_KEY_BACKSPACE,
};

/* What has to be done outside after a key. */
enum lk_view_action {
    LK_VIEW_NOTHING,
    LK_VIEW_REFRESH,
    LK_VIEW_BREAK, /* as `target` and `input` (the reason) say */
    LK_VIEW_QUIT,
};

enum lk_view_page {
    LK_PAGE_LIST,
    LK_PAGE_DETAILS,
    LK_PAGE_HELP,
    LK_PAGE_FILTER,  /* the list, while a filter is typed */
    LK_PAGE_REASON,  /* the list, while a reason is typed */
    LK_PAGE_CONFIRM, /* the list, with a question */
};

/* A line of the list: a path, a request at it, or both. A path that is a queue has its own. */
struct lk_view_row {
    size_t node;
    const lk_entry *entry; /* NULL: only a path, or a queue */
    unsigned depth;
    uint32_t passes; /* bit d: a line of the tree passes by at depth d */
    bool is_last;    /* of its neighbours in the tree */
    bool is_label;   /* the path is written here */
    bool is_folded;
};

/* What stays the same over snapshots. */
struct lk_view_identity {
    char path[LK_VIEW_PATH_SIZE];
    char owner[LK_VIEW_OWNER_SIZE]; /* empty: the path itself */
    char user[LK_VIEW_USER_SIZE];   /* whose owner it is; empty: of none */
    uint64_t ticket;
};

/* The target of a break, before it is confirmed. */
struct lk_view_target {
    struct lk_view_identity what;
    bool held;
    bool at_once;
    int64_t left_ms;
};

struct lk_view {
    const char *url;              /* borrowed */
    struct lk_snapshot *snapshot; /* NULL: there was none yet */
    struct lk_tree tree;
    struct lk_view_row *rows;
    size_t row_count, row_capacity;

    enum lk_view_page page;
    enum lk_tree_order order;
    char filter[LK_VIEW_INPUT_SIZE];
    char *folds[LK_VIEW_FOLDS_MAX]; /* texts of its own */
    size_t fold_count;

    size_t selected; /* a row, if there are any */
    struct lk_view_identity identity;
    size_t first;      /* the row on the list's first line */
    size_t page_rows;  /* lines of the list when it was drawn last */
    size_t page_first; /* the first line of details or help */

    char input[LK_VIEW_INPUT_SIZE]; /* what is typed: a filter or a reason */
    struct lk_view_target target;
    char message[LK_VIEW_MESSAGE_SIZE]; /* for the last line; empty: none */

    lk_outcome failure; /* of the last attempt to read; LK_OK: none */
    char failure_text[LK_ERROR_TEXT_MAX];
    int64_t stale_ms; /* how old what is shown is, when reading fails */
};

void lk_view_init(struct lk_view *view, const char *url);
void lk_view_done(struct lk_view *view);

/* A new snapshot, which the view takes over. */
void lk_view_take(struct lk_view *view, struct lk_snapshot *snapshot);

/* The store could not be read; what was read last has this age. */
void lk_view_fail(struct lk_view *view, const lk_error *error, int64_t stale_ms);

/* Nothing was read for stale_ms. After a few seconds that is shown as a failure, with its age. */
void lk_view_age(struct lk_view *view, int64_t stale_ms);

/* The result of a break. */
void lk_view_broken(struct lk_view *view, lk_outcome outcome, size_t count, const char *text);

enum lk_view_action lk_view_key(struct lk_view *view, uint32_t key);

/* Draws everything. Scrolls so that the selection is to be seen. */
void lk_view_draw(struct lk_view *view, struct lk_canvas *canvas);

/* ---- between the files of the view ----------------------------------------------------------- */

/* Builds tree and rows again after order, filter, folds or snapshot have changed. */
void lk_view_rebuild(struct lk_view *view);

/* NULL when there is no row. */
const struct lk_view_row *lk_view_selected(const struct lk_view *view);
void lk_view_select(struct lk_view *view, size_t row);

/* Folds the row's path, or unfolds it. */
void lk_view_fold(struct lk_view *view, const struct lk_view_row *row, bool folded);

/* Shows this as the last line, as printf() has it. */
void lk_view_say(struct lk_view *view, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The lines of the page of details and of help, for free(); NULL when memory is exhausted. */
char *lk_view_details_text(const struct lk_view *view, bool drawn);
const char *lk_view_help_text(void);

#endif
