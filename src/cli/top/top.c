/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lk top: the loop that joins the terminal, the view and the feed. Signals are events like keys
 * and news, so the terminal is put back on every way out but SIGKILL.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/slice.h"
#include "cli/cli.h"
#include "cli/parse/caller.h"
#include "cli/print/say.h"
#include "cli/run/open.h"
#include "cli/run/signals.h"
#include "cli/top/feed.h"
#include "cli/top/terminal.h"
#include "cli/top/view.h"
#include "model/path.h"

enum { PULSE_MS = 1000 }; /* how often the age of what is shown is looked at */

struct top {
    struct lk_terminal *terminal;
    struct lk_feed *feed;
    struct lk_view view;
    struct lk_canvas canvas;
    int signals; /* a signalfd */
    int ended_by;
    bool is_over;
};

/* ---- events ---------------------------------------------------------------------------------- */

static void take_news(struct top *top) {
    struct lk_feed_news news;

    lk_feed_take(top->feed, &news);
    if (news.snapshot != NULL) {
        lk_view_take(&top->view, news.snapshot);
    }
    if (news.has_failed) {
        lk_view_fail(&top->view, &news.failure, news.stale_ms);
    }
    if (news.has_broken) {
        lk_view_broken(&top->view, news.break_error.outcome, news.broken_count,
                       news.break_error.text);
    }
}

static void take_signal(struct top *top) {
    struct signalfd_siginfo info;

    if (read(top->signals, &info, sizeof info) != (ssize_t)sizeof info) {
        return;
    }
    if (info.ssi_signo == SIGWINCH) {
        lk_terminal_resized(top->terminal);
    } else if (info.ssi_signo == SIGTSTP) {
        lk_terminal_suspend(top->terminal);
    } else {
        top->ended_by = (int)info.ssi_signo;
        top->is_over = true;
    }
}

static void ask_for_break(struct top *top) {
    const struct lk_view_target *target = &top->view.target;
    const char *user = target->what.user;
    char owner[LK_VIEW_USER_SIZE + LK_VIEW_OWNER_SIZE + 2];
    char by[LK_OWNER_TEXT_SIZE];

    lk_shell_user(by);
    /* Where several users have an owner of this name, the service wants to know which one. */
    (void)snprintf(owner, sizeof owner, "%s%s%s", user, user[0] != '\0' ? "//" : "",
                   target->what.owner);
    lk_break_request request = {
        .size = sizeof request,
        .path = target->what.path,
        .reason = top->view.input,
        .by = by,
        .owner = target->what.owner[0] != '\0' ? owner : NULL,
        .at_once = target->at_once,
    };
    lk_feed_break(top->feed, &request);
}

static void take_keys(struct top *top) {
    uint32_t key;

    while (!top->is_over && (key = lk_terminal_key(top->terminal)) != 0) {
        switch (lk_view_key(&top->view, key)) {
        case LK_VIEW_QUIT:
            top->is_over = true;
            break;
        case LK_VIEW_BREAK:
            ask_for_break(top);
            break;
        case LK_VIEW_REFRESH:
            lk_feed_refresh(top->feed, top->view.identity.path);
            break;
        case LK_VIEW_NOTHING:
            break;
        }
    }
}

/* False when memory is exhausted. */
static bool draw(struct top *top) {
    int width, height;

    lk_terminal_size(top->terminal, &width, &height);
    if ((width != top->canvas.width || height != top->canvas.height)
        && !lk_canvas_resize(&top->canvas, width, height)) {
        return false;
    }
    lk_view_draw(&top->view, &top->canvas);
    lk_terminal_show(top->terminal, &top->canvas);
    return true;
}

static bool watch(struct top *top) {
    struct pollfd events[] = {
        {.fd = STDIN_FILENO, .events = POLLIN},
        {.fd = top->signals, .events = POLLIN},
        {.fd = lk_feed_descriptor(top->feed), .events = POLLIN},
    };

    while (!top->is_over) {
        lk_view_age(&top->view, lk_feed_stale_ms(top->feed));
        if (!draw(top)) {
            return false;
        }
        if (poll(events, sizeof events / sizeof events[0], PULSE_MS) < 0) {
            continue; /* signals are read from the signalfd */
        }
        if (events[1].revents != 0) {
            take_signal(top);
        }
        if (events[2].revents != 0) {
            take_news(top);
        }
        if ((events[0].revents & POLLIN) != 0) {
            take_keys(top);
        }
        /* The terminal has gone, and its SIGHUP may be ignored. */
        top->is_over = top->is_over || (events[0].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0;
    }
    return true;
}

/* ---- from beginning to end ------------------------------------------------------------------- */

/* Blocks what is read as events, except what our caller has chosen to ignore. */
static int open_signals(sigset_t *ret_former) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP};
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            (void)sigaddset(&set, numbers[i]);
        }
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, ret_former);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* With the store open and the signals blocked. Takes over the store; NULL: it is not there yet. */
static int run(const struct lk_cli *cli, const struct lk_command_line *line, lk_store *store,
               int signals) {
    struct top top = {.signals = signals};
    lk_error error;
    bool went_well = false;

    char *shown_url = lk_cli_store_name(line);
    lk_view_init(&top.view, shown_url != NULL ? shown_url : "");
    lk_outcome outcome = lk_terminal_open(cli->colour, &top.terminal, &error);
    if (outcome != LK_OK) {
        lk_close(store);
        free(shown_url);
        return lk_say_failure(cli, outcome, error.text);
    }
    top.canvas.drawn = lk_terminal_draws_utf8(top.terminal);
    top.feed = lk_feed_open(store, lk_command_line_text(line, LK_OPTION_STORE), line->words[0]);
    if (top.feed != NULL) {
        went_well = watch(&top);
    }
    lk_terminal_close(top.terminal);
    lk_canvas_done(&top.canvas);
    lk_view_done(&top.view);
    free(shown_url);
    if (top.feed == NULL) {
        lk_close(store);
    } else {
        lk_feed_close(top.feed);
    }
    if (!went_well) {
        return lk_say_failure(cli, LK_INTERNAL, "the system has no room for more");
    }
    return top.ended_by != 0 ? LK_EXIT_SIGNAL + top.ended_by : 0;
}

/* Before anything is opened: a terminal, and a prefix that can be one. */
static lk_outcome check(const char *prefix, lk_error *error) {
    struct lk_path path;
    lk_outcome outcome = lk_terminal_check(error);

    if (outcome == LK_OK && prefix != NULL) {
        outcome = lk_path_parse(lk_slice_of(prefix), &path, error);
    }
    return outcome;
}

/* One has ended the opening of the store. */
static int end_by_signal(const struct lk_cli *cli) {
    bool is_from_kernel;
    int signal = lk_run_signals_take_end(&is_from_kernel);

    (void)lk_say_failure(cli, LK_CANCELLED, "ended by a signal");
    return LK_EXIT_SIGNAL + signal;
}

int lk_cli_top(const struct lk_cli *cli, const struct lk_command_line *line) {
    lk_store *store = NULL;
    lk_error error;
    sigset_t former;
    int exit_code;
    lk_outcome outcome = check(line->words[0], &error);

    if (outcome != LK_OK) {
        return lk_say_failure(cli, outcome, error.text);
    }
    int signals = open_signals(&former);
    if (signals < 0) {
        exit_code = lk_say_failure(cli, LK_INTERNAL, strerror(errno));
    } else {
        outcome = lk_run_open_if_there(lk_command_line_text(line, LK_OPTION_STORE), &store, &error);
        exit_code = outcome == LK_OK || outcome == LK_NONE ? run(cli, line, store, signals)
                    : outcome == LK_CANCELLED              ? end_by_signal(cli)
                                              : lk_say_failure(cli, outcome, error.text);
        (void)close(signals);
    }
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    return exit_code;
}
