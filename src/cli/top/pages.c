/* SPDX-License-Identifier: Apache-2.0 */
/* The page of details of one request, with all its blockers (R20), and the page of help. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/human.h"
#include "cli/print/say.h"
#include "cli/top/view.h"

const char *lk_view_help_text(void) {
    return "\n"
           "  up, down, k, j    one line          page up, page down    one screen\n"
           "  home, g           the first line    end, G                the last line\n"
           "  left, right       fold, unfold; left again: to the path above\n"
           "  space             folds or unfolds a path\n"
           "  enter             all about a request: its parts, its blockers down to the\n"
           "                    holders, and its waiters; on a path: folds it\n"
           "  s                 sort by path, age, time left, waiters\n"
           "  /                 show only requests with a text in path, owner or note; esc: all\n"
           "  b                 break: asks for a reason and a confirmation. A lease ends at\n"
           "                    the deadline its holder was last promised, a waiting request\n"
           "                    is withdrawn\n"
           "  B                 break at once: unsafe unless the holder is known to be dead\n"
           "  r                 read the store now (it is read every second)\n"
           "  q                 quit\n"
           "\n"
           "  At a path, holders come first and then waiters, in queue order. A path without a\n"
           "  request is drawn for those below it. A lock on a path covers all below.\n";
}

static bool is_it(const struct lk_view *view, uint64_t ticket, const char *owner) {
    return ticket == view->identity.ticket && strcmp(owner, view->identity.owner) == 0;
}

static bool has_it(const struct lk_view *view, const lk_listing *listing) {
    for (size_t i = 0; i < listing->count; i++) {
        if (is_it(view, listing->entries[i].ticket, listing->entries[i].owner)) {
            return true;
        }
    }
    return false;
}

/* The listing that has most to say of the request: an explanation has all its parts. */
static const lk_listing *listing_of(const struct lk_view *view) {
    for (size_t i = 0; i < view->snapshot->explanation_count; i++) {
        if (has_it(view, view->snapshot->explanations[i])) {
            return view->snapshot->explanations[i];
        }
    }
    return has_it(view, view->snapshot->listing) ? view->snapshot->listing : NULL;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void write_visible(FILE *out, char *visible) {
    (void)fputs(visible != NULL ? visible : "?", out);
    free(visible);
}

static void write_times(FILE *out, const lk_entry *entry) {
    char age[LK_HUMAN_DURATION_SIZE];
    char left[LK_HUMAN_DURATION_SIZE];
    char ttl[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(entry->age_ms, age);
    lk_human_duration(entry->expires_in_ms, left);
    lk_human_duration(entry->ttl_ms, ttl);
    (void)fprintf(out, "  asked   %s ago\n  left    %s%s%s\n", age, left,
                  entry->ttl_ms > 0 ? " of " : "", entry->ttl_ms > 0 ? ttl : "");
}

static void write_request(FILE *out, const struct lk_view *view, const lk_listing *listing) {
    const lk_entry *first = NULL;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        char mode[LK_ENTRY_MODE_SIZE];
        if (is_it(view, entry->ticket, entry->owner)) {
            lk_entry_mode_text(entry, mode);
            (void)fprintf(out, "  %s%s %s\n", first == NULL ? "parts   " : "        ", entry->path,
                          mode);
            first = first != NULL ? first : entry;
        }
    }
    (void)fprintf(out, "  state   %s%s\n", lk_entry_state_text(first),
                  first->revoked ? ": it was broken, and passes on at its deadline" : "");
    write_times(out, first);
    if (first->held) {
        (void)fprintf(out, "  token   %" PRIu64 "\n", first->token);
    }
    (void)fprintf(out, "  ticket  %" PRIu64 "\n", first->ticket);
    if (first->note != NULL && first->note[0] != '\0') {
        (void)fputs("  note    ", out);
        write_visible(out, lk_human_visible(first->note));
        (void)fputc('\n', out);
    }
}

static void write_chain(FILE *out, const struct lk_view *view, bool drawn) {
    struct lk_chain chain;

    lk_chain_make(view->snapshot->waits, view->identity.ticket, view->identity.owner, &chain);
    if (chain.count > 0) {
        (void)fputs("\nIt waits for\n", out);
    }
    for (size_t i = 0; i < chain.count; i++) {
        (void)fputs("  ", out);
        lk_chain_write(out, &chain, i, drawn);
        (void)fputc('\n', out);
    }
}

/* Whether it is among the nearest in the entry's way. */
static bool is_waited_for(const struct lk_view *view, const lk_entry *entry) {
    const lk_blocker_info *nearest[LK_WAIT_GRAPH_NEAREST_MAX];
    size_t unnamed;
    size_t count = lk_wait_graph_nearest(view->snapshot->waits, entry->ticket, entry->owner,
                                         LK_WAIT_GRAPH_NEAREST_MAX, nearest, &unnamed);

    for (size_t i = 0; i < count; i++) {
        if (is_it(view, nearest[i]->ticket, nearest[i]->owner)) {
            return true;
        }
    }
    return false;
}

static void write_waiters(FILE *out, const struct lk_view *view, const lk_listing *listing) {
    size_t found = 0;

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = &listing->entries[i];
        bool is_another_part = i > 0 && entry->request_index == entry[-1].request_index;
        char age[LK_HUMAN_DURATION_SIZE];
        if (entry->held || is_another_part || !is_waited_for(view, entry)) {
            continue;
        }
        lk_human_duration(entry->age_ms, age);
        (void)fputs(found++ == 0 ? "\nNext in the queue behind it\n  " : "  ", out);
        write_visible(out, lk_human_owner_of(entry->owner, entry->user));
        (void)fprintf(out, " waits for %s, for %s\n", entry->path, age);
    }
}

char *lk_view_details_text(const struct lk_view *view, bool drawn) {
    const lk_listing *listing = view->snapshot != NULL ? listing_of(view) : NULL;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    const char *user = view->identity.user;

    if (out == NULL) {
        return NULL;
    }
    (void)fputs("\nRequest of ", out);
    write_visible(out, lk_human_owner_of(view->identity.owner, user[0] != '\0' ? user : NULL));
    (void)fputs("\n\n", out);
    if (listing != NULL) {
        write_request(out, view, listing);
        write_chain(out, view, drawn);
        write_waiters(out, view, listing);
    } else {
        (void)fputs("  It is not there any more: released, withdrawn, broken or past its "
                    "deadline.\n",
                    out);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
