/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The view on a canvas, from the top: one line about the store, titles, the list or a page of
 * text, one line about what is selected, one line for keys, messages and questions. What there is
 * no room for is left out, the list last.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/top/view.h"

enum {
    LINE_SIZE = 1024,
    BRANCH_COLUMNS = 3,
    GAP = 1,           /* between columns */
    STATE_COLUMNS = 7, /* "waiting" */
    MODE_COLUMNS = 11, /* "shared 9/10" */
    TIME_COLUMNS = 6,  /* "59m59s" */
    PATH_COLUMNS_MIN = 10,
    OWNER_COLUMNS_MIN = 6,
    OF_COLUMNS = 4,   /* " of " */
    OWNER_SIZE = 200, /* of "deploy of ana" */
    WHY_COLUMNS_MIN = 8,
};

/* Where the columns of the list begin and how wide they are; 0 wide: there is no room for it. */
struct column {
    int at, width;
};

struct columns {
    struct column path, state, mode, age, left, owner, why;
};

/* ---- widths ---------------------------------------------------------------------------------- */

static int name_width(const struct lk_view *view, const struct lk_view_row *row) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    int width = 0;

    /* UTF-8 has no fewer bytes than columns but for wide characters: near enough for a layout. */
    width += (int)(node->path_size - node->name_at);
    return width + (int)row->depth * BRANCH_COLUMNS + 2;
}

static int owner_width(const lk_entry *entry) {
    int user = entry->user != NULL ? (int)strlen(entry->user) + OF_COLUMNS : 0;

    return lk_human_owner_size(entry->owner) + user;
}

/* The widths at which path and owner are not cut. */
static void wanted_widths(const struct lk_view *view, int *ret_path, int *ret_owner) {
    int path = PATH_COLUMNS_MIN;
    int owner = OWNER_COLUMNS_MIN;

    for (size_t i = 0; i < view->row_count; i++) {
        const struct lk_view_row *row = &view->rows[i];
        int name = row->is_label ? name_width(view, row) : 0;
        path = name > path ? name : path;
        if (row->entry != NULL) {
            int size = owner_width(row->entry);
            owner = size > owner ? size : owner;
        }
    }
    *ret_path = path;
    *ret_owner = owner;
}

/* Gives `width` columns at *at if `room` is left for them. */
static struct column take(int *at, int *room, int width) {
    struct column column = {.at = *at, .width = width};

    if (width <= 0 || width > *room) {
        return (struct column){.at = *at};
    }
    *at += width + GAP;
    *room -= width + GAP;
    return column;
}

static int min(int a, int b) {
    return a < b ? a : b;
}

static struct columns lay_out(const struct lk_view *view, int width) {
    struct columns columns;
    int path, owner;
    int at = 0;

    wanted_widths(view, &path, &owner);
    int needed = PATH_COLUMNS_MIN + GAP + OWNER_COLUMNS_MIN + GAP;
    bool with_state = width >= needed + STATE_COLUMNS;
    bool with_left = width >= needed + STATE_COLUMNS + GAP + TIME_COLUMNS;
    bool with_age = width >= needed + STATE_COLUMNS + 2 * (GAP + TIME_COLUMNS);
    bool with_mode = width >= needed + STATE_COLUMNS + MODE_COLUMNS + 3 * GAP + 2 * TIME_COLUMNS
                                  + WHY_COLUMNS_MIN;
    int fixed = (with_state ? STATE_COLUMNS + GAP : 0) + (with_mode ? MODE_COLUMNS + GAP : 0)
                + ((with_age ? 1 : 0) + (with_left ? 1 : 0)) * (TIME_COLUMNS + GAP);
    int room = width - fixed;
    columns.path = take(&at, &room, min(path, room > 2 * PATH_COLUMNS_MIN ? room * 2 / 5 : room));
    int flexible = room;
    room = width;
    columns.state = take(&at, &room, with_state ? STATE_COLUMNS : 0);
    columns.mode = take(&at, &room, with_mode ? MODE_COLUMNS : 0);
    columns.age = take(&at, &room, with_age ? TIME_COLUMNS : 0);
    columns.left = take(&at, &room, with_left ? TIME_COLUMNS : 0);
    bool with_why = flexible >= OWNER_COLUMNS_MIN + GAP + WHY_COLUMNS_MIN;
    columns.owner = take(&at, &flexible, min(owner, with_why ? flexible / 2 : flexible));
    columns.why = take(&at, &flexible, with_why ? flexible : 0);
    return columns;
}

static void put(struct lk_canvas *canvas, int row, struct column column, enum lk_cell_style style,
                const char *text) {
    (void)lk_canvas_put(canvas, row, column.at, column.width, style, text);
}

/* ---- the first line, and titles -------------------------------------------------------------- */

static void summary(const struct lk_view *view, char *ret_text, size_t size) {
    char longest[LK_HUMAN_DURATION_SIZE];
    char oldest[LK_HUMAN_DURATION_SIZE];
    const struct lk_snapshot *snapshot = view->snapshot;

    if (snapshot == NULL) {
        (void)snprintf(ret_text, size, "reading ...");
        return;
    }
    bool has_ready = snapshot->oldest_ready_ms >= 0;
    lk_human_duration(snapshot->longest_wait_ms, longest);
    lk_human_duration(has_ready ? snapshot->oldest_ready_ms : 0, oldest);
    (void)snprintf(ret_text, size, "%zu held, %zu waiting%s%s%s%s", snapshot->held_count,
                   snapshot->waiting_count, snapshot->waiting_count > 0 ? ", longest wait " : "",
                   snapshot->waiting_count > 0 ? longest : "",
                   has_ready ? ", oldest ready item " : "", has_ready ? oldest : "");
}

static void draw_failure(const struct lk_view *view, struct lk_canvas *canvas) {
    char line[LINE_SIZE];
    char stale[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(view->stale_ms, stale);
    int used = lk_canvas_put(canvas, 0, 0, canvas->width, LK_CELL_ALARM, "trying again: ");
    if (view->snapshot != NULL) {
        (void)snprintf(line, sizeof line, "as it was %s ago: ", stale);
        used = lk_canvas_put(canvas, 0, 0, canvas->width, LK_CELL_ALARM, line);
    }
    (void)snprintf(line, sizeof line, "%s: %s", lk_outcome_name(view->failure), view->failure_text);
    (void)lk_canvas_put(canvas, 0, used, canvas->width, LK_CELL_ALARM, line);
    lk_canvas_bar(canvas, 0, LK_CELL_ALARM);
}

static void draw_head(const struct lk_view *view, struct lk_canvas *canvas) {
    char text[LINE_SIZE];

    if (view->failure != LK_OK) {
        draw_failure(view, canvas);
        return;
    }
    summary(view, text, sizeof text);
    int columns = lk_width_of(text);
    int at = canvas->width - columns;
    if (at > 8) {
        int used = lk_canvas_put(canvas, 0, 0, at - 2, LK_CELL_BAR, lk_program());
        used += lk_canvas_put(canvas, 0, used, at - 2 - used, LK_CELL_BAR, " top  ");
        (void)lk_canvas_put(canvas, 0, used, at - 2 - used, LK_CELL_BAR, view->url);
    }
    (void)lk_canvas_put(canvas, 0, at > 0 ? at : 0, canvas->width, LK_CELL_BAR, text);
    lk_canvas_bar(canvas, 0, LK_CELL_BAR);
}

static void draw_titles(const struct lk_view *view, struct lk_canvas *canvas, int row,
                        const struct columns *columns) {
    (void)view;
    put(canvas, row, columns->path, LK_CELL_STRONG, "PATH");
    put(canvas, row, columns->state, LK_CELL_STRONG, "STATE");
    put(canvas, row, columns->mode, LK_CELL_STRONG, "MODE");
    put(canvas, row, columns->age, LK_CELL_STRONG, "AGE");
    put(canvas, row, columns->left, LK_CELL_STRONG, "LEFT");
    put(canvas, row, columns->owner, LK_CELL_STRONG, "OWNER");
    put(canvas, row, columns->why, LK_CELL_STRONG, "WAITS FOR, NOTE");
}

/* ---- the list -------------------------------------------------------------------------------- */

static enum lk_cell_style style_of(const lk_entry *entry) {
    if (!entry->held) {
        return LK_CELL_WAITING;
    }
    return entry->revoked ? LK_CELL_REVOKED : LK_CELL_HELD;
}

/* "ana", or "deploy of ana" in a service with users. */
static void owner_text(const char *owner, const char *user, char *ret_text, size_t size) {
    bool has_user = user != NULL && user[0] != '\0';

    (void)snprintf(ret_text, size, "%.*s%s%s", lk_human_owner_size(owner), owner,
                   has_user ? " of " : "", has_user ? user : "");
}

/* Its blockers, as "for ana, 2 more"; empty for a holder, or if they were not read. */
static void why_text(const struct lk_view *view, const lk_entry *entry, char *ret_text,
                     size_t size) {
    const lk_blocker_info *nearest[LK_WAIT_GRAPH_NEAREST_MAX];
    size_t unnamed = 0;
    size_t count = entry->held
                       ? 0
                       : lk_wait_graph_nearest(view->snapshot->waits, entry->ticket, entry->owner,
                                               LK_WAIT_GRAPH_NEAREST_MAX, nearest, &unnamed);

    char first[OWNER_SIZE];

    ret_text[0] = '\0';
    if (count == 0) {
        return;
    }
    owner_text(nearest[0]->owner, nearest[0]->user, first, sizeof first);
    if (count > 1 || unnamed > 0) {
        (void)snprintf(ret_text, size, "for %s, %zu more", first, count - 1 + unnamed);
    } else {
        (void)snprintf(ret_text, size, "for %s", first);
    }
}

static void draw_path(const struct lk_view *view, struct lk_canvas *canvas, int line,
                      const struct lk_view_row *row, struct column column) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    int at = 0;

    for (unsigned depth = 1; depth < row->depth; depth++, at += BRANCH_COLUMNS) {
        bool passes = (row->passes & (UINT32_C(1) << depth)) != 0;
        (void)lk_canvas_put(canvas, line, at, column.width - at, LK_CELL_FAINT,
                            !passes         ? "   "
                            : canvas->drawn ? "\u2502  "
                                            : "|  ");
    }
    if (row->depth > 0) {
        const char *branch = row->is_last ? (canvas->drawn ? "\u2514\u2500 " : "`- ")
                                          : (canvas->drawn ? "\u251C\u2500 " : "|- ");
        const char *beside = row->is_last ? "   " : canvas->drawn ? "\u2502  " : "|  ";
        at += lk_canvas_put(canvas, line, at, column.width - at, LK_CELL_FAINT,
                            row->is_label ? branch : beside);
    }
    if (row->is_label) {
        at += lk_canvas_put_bytes(canvas, line, at, column.width - at - (row->is_folded ? 2 : 0),
                                  LK_CELL_STRONG, node->path + node->name_at,
                                  node->path_size - node->name_at);
        (void)lk_canvas_put(canvas, line, at, column.width - at, LK_CELL_FAINT,
                            row->is_folded ? " +" : "");
    }
}

/* A path without a request of its own on this line: how many there are at or below it. */
static void draw_counts(const struct lk_view *view, struct lk_canvas *canvas, int line,
                        const struct lk_view_row *row, const struct columns *columns) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    char text[LINE_SIZE];

    (void)snprintf(text, sizeof text, "%zu held, %zu waiting", node->held_count,
                   node->waiting_count);
    (void)lk_canvas_put(canvas, line, columns->path.width + GAP, canvas->width, LK_CELL_FAINT,
                        text);
}

/* "5 ready, 1 claimed": a queue that is drawn has items. */
static void items_text(const lk_queue_stats *counts, char *ret_text, size_t size) {
    const struct {
        uint64_t count;
        const char *what;
    } words[] = {
        {counts->ready_now, "ready"},
        {counts->delayed_now, "delayed"},
        {counts->claimed_now, "claimed"},
        {counts->parked_now, "parked"},
    };
    size_t used = 0;

    ret_text[0] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof words[0] && used < size; i++) {
        if (words[i].count > 0) {
            used += (size_t)snprintf(ret_text + used, size - used, "%s%" PRIu64 " %s",
                                     used > 0 ? ", " : "", words[i].count, words[i].what);
        }
    }
}

/* R16: the age of a queue is that of its oldest ready item. */
static void draw_queue(struct lk_canvas *canvas, int line, const lk_queue_stats *counts,
                       const struct columns *columns) {
    char text[LINE_SIZE];
    char age[LK_HUMAN_DURATION_SIZE];

    put(canvas, line, columns->state, LK_CELL_PLAIN, "queue");
    if (counts->oldest_ready_ms >= 0) {
        lk_human_duration(counts->oldest_ready_ms, age);
        put(canvas, line, columns->age, LK_CELL_PLAIN, age);
    }
    items_text(counts, text, sizeof text);
    (void)lk_canvas_put(canvas, line, columns->owner.at, canvas->width, LK_CELL_PLAIN, text);
}

static void put_owner(struct lk_canvas *canvas, int line, struct column column,
                      const lk_entry *entry) {
    char text[OWNER_SIZE];

    owner_text(entry->owner, entry->user, text, sizeof text);
    put(canvas, line, column, LK_CELL_PLAIN, text);
}

static void draw_entry(const struct lk_view *view, struct lk_canvas *canvas, int line,
                       const lk_entry *entry, const struct columns *columns) {
    char text[LINE_SIZE];
    char mode[LK_ENTRY_MODE_SIZE];
    char duration[LK_HUMAN_DURATION_SIZE];
    bool has_note = entry->note != NULL && entry->note[0] != '\0';

    put(canvas, line, columns->state, style_of(entry), lk_entry_state_text(entry));
    lk_entry_mode_text(entry, mode);
    put(canvas, line, columns->mode, LK_CELL_PLAIN, mode);
    lk_human_duration(entry->age_ms, duration);
    put(canvas, line, columns->age, LK_CELL_PLAIN, duration);
    lk_human_duration(entry->expires_in_ms, duration);
    put(canvas, line, columns->left, LK_CELL_PLAIN, duration);
    put_owner(canvas, line, columns->owner, entry);
    why_text(view, entry, text, sizeof text);
    int used =
        lk_canvas_put(canvas, line, columns->why.at, columns->why.width, LK_CELL_PLAIN, text);
    if (has_note) {
        (void)snprintf(text, sizeof text, "%s%s%s", used > 0 ? " (" : "", entry->note,
                       used > 0 ? ")" : "");
        (void)lk_canvas_put(canvas, line, columns->why.at + used, columns->why.width - used,
                            LK_CELL_FAINT, text);
    }
}

static void draw_list(struct lk_view *view, struct lk_canvas *canvas, int from, int to,
                      const struct columns *columns) {
    size_t lines = to > from ? (size_t)(to - from) : 0;
    const char *filter = view->page == LK_PAGE_FILTER ? view->input : view->filter;

    view->page_rows = lines;
    if (view->selected < view->first || view->row_count <= lines) {
        view->first = view->row_count <= lines ? 0 : view->selected;
    }
    if (lines > 0 && view->selected >= view->first + lines) {
        view->first = view->selected - lines + 1;
    }
    if (lines > 0 && view->row_count > lines && view->first > view->row_count - lines) {
        view->first = view->row_count - lines;
    }
    if (view->row_count == 0 && view->snapshot != NULL && lines > 0) {
        (void)lk_canvas_put(canvas, from, 0, canvas->width, LK_CELL_FAINT,
                            filter[0] != '\0' ? "nothing has this in path, owner or note"
                                              : "no requests");
    }
    for (size_t i = 0; i < lines && view->first + i < view->row_count; i++) {
        const struct lk_view_row *row = &view->rows[view->first + i];
        int line = from + (int)i;
        draw_path(view, canvas, line, row, columns->path);
        const lk_queue_info *queue = view->tree.nodes[row->node].queue;
        if (row->entry != NULL) {
            draw_entry(view, canvas, line, row->entry, columns);
        } else if (queue != NULL) {
            draw_queue(canvas, line, &queue->counts, columns);
        } else {
            draw_counts(view, canvas, line, row, columns);
        }
        if (view->first + i == view->selected) {
            lk_canvas_select(canvas, line);
        }
    }
}

/* ---- the last two lines ---------------------------------------------------------------------- */

/* "ana's lease at db/t1", "all requests at db". */
static void target_text(const struct lk_view_target *target, char *ret_text, size_t size) {
    char owner[OWNER_SIZE];

    if (target->what.owner[0] == '\0') {
        (void)snprintf(ret_text, size, "all requests at %s", target->what.path);
        return;
    }
    owner_text(target->what.owner, target->what.user, owner, sizeof owner);
    (void)snprintf(ret_text, size, "%s's %s at %s", owner,
                   target->held ? "lease" : "waiting request", target->what.path);
}

/* What breaking it would do. */
static void consequence(const struct lk_view_target *target, char *ret_text, size_t size) {
    char what[LINE_SIZE * 3 / 4]; /* a path and an owner */
    char left[LK_HUMAN_DURATION_SIZE];

    target_text(target, what, sizeof what);
    lk_human_duration(target->left_ms, left);
    if (!target->held) {
        (void)snprintf(ret_text, size, "break %s: it leaves the queue", what);
    } else if (target->at_once) {
        (void)snprintf(ret_text, size,
                       "break %s AT ONCE: unsafe unless the holder is known to be dead", what);
    } else {
        (void)snprintf(ret_text, size, "break %s: it passes on at its deadline, in %s (B: at once)",
                       what, left);
    }
}

static void about_selection(const struct lk_view *view, char *ret_text, size_t size) {
    const struct lk_view_row *row = lk_view_selected(view);

    ret_text[0] = '\0';
    if (row == NULL) {
        return;
    }
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    if (row->entry == NULL) {
        char items[LINE_SIZE / 2] = "";
        if (node->queue != NULL) {
            items_text(&node->queue->counts, items, sizeof items);
        }
        (void)snprintf(ret_text, size, "%.*s: %zu held, %zu waiting at or below it%s%s",
                       (int)node->path_size, node->path, node->held_count, node->waiting_count,
                       items[0] != '\0' ? "; items: " : "", items);
        return;
    }
    char why[LINE_SIZE / 2];
    char owner[OWNER_SIZE];
    why_text(view, row->entry, why, sizeof why);
    owner_text(row->entry->owner, row->entry->user, owner, sizeof owner);
    (void)snprintf(ret_text, size, "%s %s %s%s%s", owner, row->entry->held ? "holds" : "wants",
                   row->entry->path, why[0] != '\0' ? ", waits " : "", why);
}

static void draw_about(const struct lk_view *view, struct lk_canvas *canvas, int row) {
    char text[LINE_SIZE];

    if (view->page == LK_PAGE_REASON || view->page == LK_PAGE_CONFIRM) {
        consequence(&view->target, text, sizeof text);
        (void)lk_canvas_put(canvas, row, 0, canvas->width, LK_CELL_STRONG, text);
    } else if (view->page == LK_PAGE_LIST || view->page == LK_PAGE_FILTER) {
        about_selection(view, text, sizeof text);
        (void)lk_canvas_put(canvas, row, 0, canvas->width, LK_CELL_FAINT, text);
    }
}

/* What is typed: its end, if there is no room for all of it. */
static void draw_input(struct lk_canvas *canvas, int row, const char *label, const char *input) {
    char text[LK_VIEW_INPUT_SIZE + 1];

    (void)snprintf(text, sizeof text, "%s_", input);
    int at = lk_canvas_put(canvas, row, 0, canvas->width - 2, LK_CELL_STRONG, label);
    const char *rest = text;
    while (lk_width_of(rest) > canvas->width - at && *rest != '\0') {
        do {
            rest++;
        } while (((unsigned char)*rest & 0xC0) == 0x80);
    }
    (void)lk_canvas_put(canvas, row, at, canvas->width - at, LK_CELL_PLAIN, rest);
}

/* As many hints as there is room for whole ones. */
static void draw_hints(const struct lk_view *view, struct lk_canvas *canvas, int row) {
    char sort[64], filter[LK_VIEW_INPUT_SIZE + 16];
    bool is_text = view->page == LK_PAGE_DETAILS || view->page == LK_PAGE_HELP;

    (void)snprintf(sort, sizeof sort, "s sort (%s)", lk_tree_order_name(view->order));
    (void)snprintf(filter, sizeof filter, view->filter[0] != '\0' ? "/ filter (%s)" : "/ filter",
                   view->filter);
    const char *const list[] = {"q quit",  "? help",        sort,        filter,
                                "b break", "enter details", "r refresh", NULL};
    const char *const text[] = {"q back", "arrows scroll", "r refresh", NULL};
    int at = 0;
    for (const char *const *hint = is_text ? text : list; *hint != NULL; hint++) {
        if (lk_width_of(*hint) > canvas->width - at) {
            break;
        }
        at += lk_canvas_put(canvas, row, at, canvas->width - at, LK_CELL_FAINT, *hint) + 2;
    }
}

static void draw_foot(const struct lk_view *view, struct lk_canvas *canvas, int row) {
    if (view->page == LK_PAGE_FILTER) {
        draw_input(canvas, row, "filter: ", view->input);
    } else if (view->message[0] != '\0') {
        (void)lk_canvas_put(canvas, row, 0, canvas->width, LK_CELL_STRONG, view->message);
    } else if (view->page == LK_PAGE_REASON) {
        draw_input(canvas, row, "reason: ", view->input);
    } else if (view->page == LK_PAGE_CONFIRM) {
        (void)lk_canvas_put(canvas, row, 0, canvas->width, LK_CELL_ALARM,
                            "y: break it   any other key: do nothing");
    } else {
        draw_hints(view, canvas, row);
    }
}

/* ---- pages of text --------------------------------------------------------------------------- */

static void draw_text(struct lk_view *view, struct lk_canvas *canvas, int from, int to,
                      const char *text) {
    size_t lines = to > from ? (size_t)(to - from) : 0;
    size_t count = 0;

    for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++) {
        count++;
    }
    size_t last_first = count > lines ? count - lines : 0;
    view->page_rows = lines;
    view->page_first = view->page_first < last_first ? view->page_first : last_first;
    for (size_t i = 0; i < count; i++) {
        size_t size = strcspn(text, "\n");
        if (i >= view->page_first && i - view->page_first < lines) {
            (void)lk_canvas_put_bytes(canvas, from + (int)(i - view->page_first), 0, canvas->width,
                                      LK_CELL_PLAIN, text, size);
        }
        text += size + 1;
    }
}

void lk_view_draw(struct lk_view *view, struct lk_canvas *canvas) {
    int height = canvas->height;
    bool has_foot = height >= 3;
    bool has_about = height >= 6;
    bool has_titles = height >= 7;
    int to = height - (has_foot ? 1 : 0) - (has_about ? 1 : 0);

    lk_canvas_clear(canvas);
    draw_head(view, canvas);
    if (view->page == LK_PAGE_HELP) {
        draw_text(view, canvas, 1, to, lk_view_help_text());
    } else if (view->page == LK_PAGE_DETAILS) {
        char *text = lk_view_details_text(view, canvas->drawn);
        draw_text(view, canvas, 1, to, text != NULL ? text : "memory is exhausted\n");
        free(text);
    } else {
        struct columns columns = lay_out(view, canvas->width);
        if (has_titles) {
            draw_titles(view, canvas, 1, &columns);
        }
        draw_list(view, canvas, has_titles ? 2 : 1, to, &columns);
    }
    if (has_about) {
        draw_about(view, canvas, height - 2);
    }
    if (has_foot) {
        draw_foot(view, canvas, height - 1);
    }
}
