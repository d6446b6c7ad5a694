/* SPDX-License-Identifier: Apache-2.0 */
/* What the keys do on each page of the view. */
#include <stdio.h>
#include <string.h>

#include "cli/top/view.h"

/* ---- typing ---------------------------------------------------------------------------------- */

static void erase_character(char *input) {
    size_t size = strlen(input);

    while (size > 0 && ((unsigned char)input[--size] & 0xC0) == 0x80) {
    }
    input[size] = '\0';
}

/* Appends a character as UTF-8, if there is room for all of it. */
static void append_character(char *input, uint32_t character) {
    size_t size = strlen(input);
    char bytes[4];
    size_t count = 0;

    if (character < 0x80) {
        bytes[count++] = (char)character;
    } else {
        unsigned rest = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
        static const unsigned char heads[] = {0, 0xC0, 0xE0, 0xF0};
        bytes[count++] = (char)(heads[rest] | (character >> (6 * rest)));
        while (rest-- > 0) {
            bytes[count++] = (char)(0x80 | ((character >> (6 * rest)) & 0x3F));
        }
    }
    if (size + count < LK_VIEW_INPUT_SIZE) {
        (void)memcpy(input + size, bytes, count);
        input[size + count] = '\0';
    }
}

static void type(struct lk_view *view, uint32_t key) {
    if (key == LK_KEY_BACKSPACE) {
        erase_character(view->input);
    } else if (key == LK_KEY_ERASE_ALL) {
        view->input[0] = '\0';
    } else if (key >= ' ' && key < LK_KEY_UP && !(key >= 0x7F && key < 0xA0)) {
        append_character(view->input, key);
    }
}

static enum lk_view_action key_in_filter(struct lk_view *view, uint32_t key) {
    if (key == LK_KEY_ENTER || key == LK_KEY_ESCAPE) {
        (void)snprintf(view->filter, sizeof view->filter, "%s",
                       key == LK_KEY_ENTER ? view->input : "");
        view->page = LK_PAGE_LIST;
    } else {
        type(view, key);
    }
    lk_view_rebuild(view);
    return LK_VIEW_NOTHING;
}

/* ---- breaking -------------------------------------------------------------------------------- */

static void ask_for_reason(struct lk_view *view, bool at_once) {
    const struct lk_view_row *row = lk_view_selected(view);

    if (row == NULL) {
        lk_view_say(view, "there is nothing to break");
        return;
    }
    const struct lk_tree_node *node = &view->tree.nodes[row->node];
    if (node->entry_count == 0) {
        lk_view_say(view, "no request is at %.*s itself: choose one below it", (int)node->path_size,
                    node->path);
        return;
    }
    view->target = (struct lk_view_target){
        .what = view->identity,
        .at_once = at_once,
        .held = row->entry != NULL ? row->entry->held : node->entries[0]->held,
        .left_ms = row->entry != NULL ? row->entry->expires_in_ms : node->entries[0]->expires_in_ms,
    };
    view->input[0] = '\0';
    view->page = LK_PAGE_REASON;
}

static enum lk_view_action key_in_reason(struct lk_view *view, uint32_t key) {
    if (key == LK_KEY_ESCAPE) {
        view->page = LK_PAGE_LIST;
        lk_view_say(view, "nothing was broken");
    } else if (key != LK_KEY_ENTER) {
        type(view, key);
    } else if (strspn(view->input, " ") == strlen(view->input)) {
        lk_view_say(view, "a reason is needed: it goes on record");
    } else {
        view->page = LK_PAGE_CONFIRM;
    }
    return LK_VIEW_NOTHING;
}

static enum lk_view_action key_in_question(struct lk_view *view, uint32_t key) {
    view->page = LK_PAGE_LIST;
    if (key == 'y' || key == 'Y') {
        return LK_VIEW_BREAK;
    }
    lk_view_say(view, "nothing was broken");
    return LK_VIEW_NOTHING;
}

/* ---- moving ---------------------------------------------------------------------------------- */

/* Moves `at` as the key says, among `count` with `page` on the screen. */
static size_t move(size_t at, size_t count, size_t page, uint32_t key) {
    size_t last = count > 0 ? count - 1 : 0;
    size_t step = page > 1 ? page - 1 : 1;

    switch (key) {
    case LK_KEY_UP:
    case 'k':
        return at > 0 ? at - 1 : 0;
    case LK_KEY_DOWN:
    case 'j':
        return at < last ? at + 1 : last;
    case LK_KEY_PAGE_UP:
        return at > step ? at - step : 0;
    case LK_KEY_PAGE_DOWN:
        return last - (at < last ? at : last) > step ? at + step : last;
    case LK_KEY_HOME:
    case 'g':
        return 0;
    case LK_KEY_END:
    case 'G':
        return last;
    default:
        return at;
    }
}

/* To the row of the path above. */
static void select_parent(struct lk_view *view, const struct lk_view_row *row) {
    size_t parent = view->tree.nodes[row->node].parent;

    for (size_t i = 0; i < view->row_count; i++) {
        if (view->rows[i].node == parent) {
            lk_view_select(view, i);
            return;
        }
    }
}

/* Whether there is something that folding would hide. */
static bool can_fold(const struct lk_view *view, const struct lk_view_row *row) {
    const struct lk_tree_node *node = &view->tree.nodes[row->node];

    return node->first_child != LK_TREE_NONE
           || node->entry_count + (node->queue != NULL ? 1 : 0) > 1;
}

static void fold(struct lk_view *view, uint32_t key) {
    const struct lk_view_row *row = lk_view_selected(view);

    if (row == NULL) {
        return;
    }
    if (key == LK_KEY_LEFT && (row->is_folded || !can_fold(view, row))) {
        select_parent(view, row);
    } else if (key == LK_KEY_LEFT) {
        view->identity.owner[0] = '\0';
        lk_view_fold(view, row, true);
    } else if (key == LK_KEY_RIGHT) {
        lk_view_fold(view, row, false);
    } else if (row->is_folded || can_fold(view, row)) {
        view->identity.owner[0] = '\0';
        lk_view_fold(view, row, !row->is_folded);
    }
}

/* Details of a request; a path alone is folded or unfolded. */
static enum lk_view_action enter(struct lk_view *view) {
    const struct lk_view_row *row = lk_view_selected(view);

    if (row != NULL && row->entry == NULL) {
        fold(view, ' ');
    } else if (row != NULL) {
        view->page = LK_PAGE_DETAILS;
        view->page_first = 0;
        return LK_VIEW_REFRESH; /* what is in its way may not have been read yet */
    }
    return LK_VIEW_NOTHING;
}

static enum lk_view_action key_in_list(struct lk_view *view, uint32_t key) {
    switch (key) {
    case 'q':
    case 'Q':
        return LK_VIEW_QUIT;
    case 'r':
    case 'R':
        return LK_VIEW_REFRESH;
    case 's':
        view->order = (enum lk_tree_order)((view->order + 1) % LK_ORDER_COUNT);
        lk_view_say(view, "sorted by %s", lk_tree_order_name(view->order));
        lk_view_rebuild(view);
        return LK_VIEW_NOTHING;
    case '/':
        (void)snprintf(view->input, sizeof view->input, "%s", view->filter);
        view->page = LK_PAGE_FILTER;
        return LK_VIEW_NOTHING;
    case LK_KEY_ESCAPE:
        view->filter[0] = '\0';
        lk_view_rebuild(view);
        return LK_VIEW_NOTHING;
    case '?':
    case 'h':
        view->page = LK_PAGE_HELP;
        view->page_first = 0;
        return LK_VIEW_NOTHING;
    case 'b':
    case 'B':
        ask_for_reason(view, key == 'B');
        return LK_VIEW_NOTHING;
    case LK_KEY_ENTER:
        return enter(view);
    case LK_KEY_LEFT:
    case LK_KEY_RIGHT:
    case ' ':
        fold(view, key);
        return LK_VIEW_NOTHING;
    default:
        lk_view_select(view, move(view->selected, view->row_count, view->page_rows, key));
        return LK_VIEW_NOTHING;
    }
}

/* Details and help: they scroll, and any other key leads back. Drawing keeps page_first in them. */
static enum lk_view_action key_in_text(struct lk_view *view, uint32_t key) {
    size_t to = move(view->page_first, SIZE_MAX, view->page_rows, key);

    if (key == 'r' || key == 'R') {
        return LK_VIEW_REFRESH;
    }
    if (view->page == LK_PAGE_DETAILS && (key == 'b' || key == 'B')) {
        view->page = LK_PAGE_LIST;
        lk_view_rebuild(view);
        ask_for_reason(view, key == 'B');
    } else if (key == 'q' || key == 'Q' || key == LK_KEY_ESCAPE || key == LK_KEY_ENTER
               || key == LK_KEY_LEFT || key == '?') {
        view->page = LK_PAGE_LIST;
        lk_view_rebuild(view);
    } else {
        view->page_first = to;
    }
    return LK_VIEW_NOTHING;
}

enum lk_view_action lk_view_key(struct lk_view *view, uint32_t key) {
    view->message[0] = '\0';
    switch (view->page) {
    case LK_PAGE_FILTER:
        return key_in_filter(view, key);
    case LK_PAGE_REASON:
        return key_in_reason(view, key);
    case LK_PAGE_CONFIRM:
        return key_in_question(view, key);
    case LK_PAGE_DETAILS:
    case LK_PAGE_HELP:
        return key_in_text(view, key);
    case LK_PAGE_LIST:
        break;
    }
    return key_in_list(view, key);
}
