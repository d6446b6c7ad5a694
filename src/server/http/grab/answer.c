/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON of each operation. */
#include <event2/http.h>
#include <event2/util.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/text.h"
#include "server/connections/monitor.h"
#include "server/http/grab/grab.h"
#include "server/log/log.h"

/* What an answer is made of. */
struct answering {
    const struct lk_http_listener *listener;
    struct lk_http_grab *grab;
    const struct lk_reply *from; /* the core's */
    struct lk_http_reply *reply;
    struct lk_form_writer writer;
};

/* ---- what all have in common ----------------------------------------------------------------- */

/* Opens the map of the answer; `data` is missing. */
static void open_answer(struct answering *answering, const char *status) {
    const struct lk_grab_ask *asked = &answering->grab->asked;
    char id[sizeof asked->id + sizeof asked->resource];
    struct lk_text text = lk_text_in(id, sizeof id);

    lk_text_add(&text, lk_slice_of(asked->id[0] != '\0' ? asked->id : "unknown"));
    lk_text_add(&text, lk_slice_of(asked->resource));
    answering->writer = lk_form_writer_json(&answering->reply->body);
    answering->reply->status = HTTP_OK;
    lk_form_open_map(&answering->writer, NULL);
    lk_form_add_text(&answering->writer, "op", lk_grab_op_names[asked->op]);
    lk_form_add_text(&answering->writer, "id", id);
    lk_form_add_text(&answering->writer, "resource", asked->resource);
    lk_form_add_text(&answering->writer, "status", status);
}

/* An error, in the form of all other routes; replaces what was written. */
static void fail(struct answering *answering, lk_outcome outcome, const char *text) {
    size_t max = answering->reply->body.max;

    lk_buffer_done(&answering->reply->body);
    answering->reply->body = (struct lk_buffer){.max = max};
    answering->writer = lk_form_writer_json(&answering->reply->body);
    lk_answer_write_failure(&answering->writer, outcome, text);
    answering->reply->status = lk_answer_http_status(outcome);
}

static void fail_to_read(struct answering *answering, lk_outcome outcome) {
    fail(answering, outcome,
         outcome == LK_FULL ? "too many requests for one answer: read them in pages, by "
                              "GET /v1/requests?prefix=PATH"
                            : "no memory for the answer");
}

/* From a deadline to the instant from which the ttl counts, in Unix time. */
static int64_t until_ms(const struct lk_reply *from, int64_t deadline_us) {
    const struct lk_times *times = from->times;

    return deadline_us == LK_NEVER
               ? times->wall_us / 1000
               : (times->wall_us + (deadline_us - times->now_us)) / 1000 - LK_GRAB_TTL_MS;
}

/* ---- grab ------------------------------------------------------------------------------------ */

struct standing {
    size_t positions[LK_PATH_DEPTH_MAX]; /* of the root first */
    int64_t until_ms;
};

/* The latest end among those at the head of the queue that begins at this place. */
static int64_t head_until(const struct answering *answering, const struct lk_grab_queues *queues,
                          size_t first) {
    int64_t latest = 0;

    for (size_t i = first; i < queues->place_count && queues->places[i].group == 1
                           && lk_grab_same_queue(&queues->places[first], &queues->places[i]);
         i++) {
        int64_t ends = until_ms(answering->from, queues->rows[queues->places[i].row].deadline_us);
        latest = ends > latest ? ends : latest;
    }
    return latest;
}

/*
 * Positions in all queues. `until` counts those that must end first: at the head of a queue in
 * which this request is further back.
 */
static void find_standing(const struct answering *answering, const struct lk_grab_queues *queues,
                          struct standing *standing) {
    const struct lk_path *path = &answering->grab->asked.part.path;
    lk_ref request = answering->from->answer->request;
    size_t first = 0;
    unsigned level = 0;

    for (size_t i = 0; i < queues->place_count; i++) {
        const struct lk_grab_place *place = &queues->places[i];

        if (i > 0 && !lk_grab_same_queue(place - 1, place)) {
            first = i;
        }
        if (queues->rows[place->row].request != request) {
            continue;
        }
        while (level < path->depth && path->ends[level] + 1u < place->size) {
            level++;
        }
        standing->positions[level] = place->group;
        if (place->group > 1) {
            int64_t ends = head_until(answering, queues, first);
            standing->until_ms = ends > standing->until_ms ? ends : standing->until_ms;
        }
    }
}

/* Without the queues: 2 wherever one of the first requests in the way is. */
static void guess_standing(const struct answering *answering, struct standing *standing) {
    const struct lk_path *path = &answering->grab->asked.part.path;
    const struct lk_answer *answer = answering->from->answer;
    struct lk_record record;

    for (size_t i = 0; i < answer->blocker_count; i++) {
        unsigned depth;
        int64_t ends;

        lk_model_record(answering->from->model, answer->blockers[i].request, &record);
        depth = record.parts[answer->blockers[i].part].path.depth;
        standing->positions[(depth < path->depth ? depth : path->depth) - 1] = 2;
        ends = until_ms(answering->from, record.deadline_us);
        standing->until_ms = ends > standing->until_ms ? ends : standing->until_ms;
    }
}

/* What is held is at the head of all its queues. */
static void find_position(const struct answering *answering, struct standing *standing) {
    const struct lk_answer *answer = answering->from->answer;
    const struct lk_path *path = &answering->grab->asked.part.path;
    struct lk_grab_queues queues;
    struct lk_record record;

    standing->until_ms = 0;
    for (unsigned i = 0; i < path->depth; i++) {
        standing->positions[i] = 1;
    }
    if (answer->outcome == LK_GRANTED) {
        lk_model_record_head(answering->from->model, answer->request, &record);
        standing->until_ms = until_ms(answering->from, record.deadline_us);
        return;
    }
    if (lk_grab_queues_read(answering->from->model, path, LK_GRAB_ROWS_MAX, &queues) == LK_OK) {
        find_standing(answering, &queues, standing);
    } else {
        guess_standing(answering, standing);
    }
    lk_grab_queues_free(&queues);
}

static void write_standing(struct answering *answering, const struct standing *standing) {
    const struct lk_path *path = &answering->grab->asked.part.path;
    struct lk_buffer scratch = {.max = 0};

    lk_form_open_map(&answering->writer, "data");
    lk_form_open_map(&answering->writer, "pos");
    for (unsigned i = path->depth; standing != NULL && i-- > 0;) {
        struct lk_slice name = {answering->grab->asked.resource, path->ends[i] + 1u};
        lk_form_add_count(&answering->writer, lk_grab_name(&scratch, name), standing->positions[i]);
    }
    lk_form_close(&answering->writer);
    lk_form_add_number(&answering->writer, "until", standing != NULL ? standing->until_ms : 0);
    lk_form_close(&answering->writer);
    answering->writer.failed = answering->writer.failed || scratch.failed;
    lk_buffer_done(&scratch);
}

/* Whether the ask was refused because it is new, and not for another reason. */
static bool is_kept_out(const struct answering *answering) {
    const struct lk_grab_ask *asked = &answering->grab->asked;
    const struct lk_reply *from = answering->from;

    return from->answer->outcome == LK_UNAVAILABLE && from->model != NULL
           && lk_core_is_draining(lk_server_core(answering->listener->server))
           && lk_model_find(from->model, lk_slice_of(asked->owner), &asked->part, 1) == 0;
}

static void answer_grab(struct answering *answering) {
    const struct lk_answer *answer = answering->from->answer;
    const struct lk_grab_ask *asked = &answering->grab->asked;
    struct standing standing;

    if (answer->outcome == LK_GRANTED || answer->outcome == LK_WAITING) {
        find_position(answering, &standing);
        if (answer->created) {
            lk_grab_stats_add(&answering->grab->stats, asked->owner, &asked->part.path,
                              standing.positions);
        }
        open_answer(answering, answer->outcome == LK_GRANTED ? "ok" : "wait");
        write_standing(answering, &standing);
        lk_form_close(&answering->writer);
    } else if (is_kept_out(answering)) {
        open_answer(answering, "shutdown");
        write_standing(answering, NULL);
        lk_form_close(&answering->writer);
    } else {
        fail(answering, answer->outcome, answer->text);
    }
}

/* What is not there any more is released. */
static void answer_release(struct answering *answering) {
    const struct lk_answer *answer = answering->from->answer;

    if (answer->outcome != LK_OK && answer->outcome != LK_LOST) {
        fail(answering, answer->outcome, answer->text);
        return;
    }
    open_answer(answering, "ok");
    lk_form_add_count(&answering->writer, "data",
                      answer->outcome == LK_OK ? answering->grab->moved : 0);
    lk_form_close(&answering->writer);
}

/* ---- peek and dump --------------------------------------------------------------------------- */

/* Writes the group that begins at this place; returns the index behind it. */
static size_t write_group(struct answering *answering, const struct lk_grab_queues *queues,
                          size_t first, const char *name) {
    const struct lk_grab_place *place = &queues->places[first];
    struct lk_form_writer *writer = &answering->writer;
    struct lk_buffer scratch = {.max = 0};
    int64_t latest = 0;
    size_t at = first;

    lk_form_open_map(writer, name);
    lk_form_open_map(writer, "owners");
    for (; at < queues->place_count && queues->places[at].group == place->group
           && lk_grab_same_queue(place, &queues->places[at]);
         at++) {
        const struct lk_grab_row *row = &queues->rows[queues->places[at].row];
        int64_t ends = until_ms(answering->from, row->deadline_us);

        latest = ends > latest ? ends : latest;
        lk_form_add_number(writer, lk_grab_name(&scratch, row->owner), ends);
    }
    lk_form_close(writer);
    lk_form_open_map(writer, "exes");
    lk_form_close(writer);
    lk_form_add_boolean(writer, "shared", place->is_shared);
    lk_form_add_number(writer, "max_timestamp", latest);
    lk_form_close(writer);
    writer->failed = writer->failed || scratch.failed;
    lk_buffer_done(&scratch);
    return at;
}

/* Writes every queue: its head alone (`is_peek`), or an array of its groups. */
static void write_queues(struct answering *answering, const struct lk_grab_queues *queues,
                         bool is_peek) {
    struct lk_buffer scratch = {.max = 0};
    size_t at = 0;

    while (at < queues->place_count) {
        size_t first = at;
        struct lk_slice key = {queues->places[at].key, queues->places[at].size};
        const char *name = lk_grab_name(&scratch, key);

        if (is_peek) {
            (void)write_group(answering, queues, at, name);
        } else {
            lk_form_open_array(&answering->writer, name);
        }
        while (at < queues->place_count
               && lk_grab_same_queue(&queues->places[first], &queues->places[at])) {
            at = is_peek ? at + 1 : write_group(answering, queues, at, NULL);
        }
        if (!is_peek) {
            lk_form_close(&answering->writer);
        }
    }
    answering->writer.failed = answering->writer.failed || scratch.failed;
    lk_buffer_done(&scratch);
}

static void answer_peek(struct answering *answering) {
    const struct lk_grab_ask *asked = &answering->grab->asked;
    struct lk_grab_queues queues = {.row_count = 0};
    lk_outcome outcome =
        asked->has_path
            ? lk_grab_queues_read(answering->from->model, &asked->part.path, LK_PAGE_MAX, &queues)
            : LK_OK;

    if (outcome == LK_OK) {
        open_answer(answering, "ok");
        lk_form_open_map(&answering->writer, "data");
        write_queues(answering, &queues, true);
        lk_form_close(&answering->writer);
        lk_form_close(&answering->writer);
    } else {
        fail_to_read(answering, outcome);
    }
    lk_grab_queues_free(&queues);
}

/* ---- about the service ----------------------------------------------------------------------- */

static int64_t started_ms(const struct answering *answering) {
    return lk_server_monitor(answering->listener->server)->started_wall_us / 1000;
}

/* The address of the listener; empty and 0 for a Unix socket. */
static void write_address(struct answering *answering) {
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t size = sizeof address;
    char host[NI_MAXHOST] = "";
    char port[NI_MAXSERV] = "0";
    evutil_socket_t socket = answering->listener->bound != NULL
                                 ? evhttp_bound_socket_get_fd(answering->listener->bound)
                                 : -1;

    if (answering->listener->listen_socket.path == NULL
        && getsockname(socket, (struct sockaddr *)&address, &size) == 0) {
        (void)getnameinfo((struct sockaddr *)&address, size, host, sizeof host, port, sizeof port,
                          NI_NUMERICHOST | NI_NUMERICSERV);
    }
    lk_form_add_number(&answering->writer, "port", strtol(port, NULL, 10));
    lk_form_add_text(&answering->writer, "host", host);
}

static void write_config(struct answering *answering, const char *name) {
    struct lk_form_writer *writer = &answering->writer;

    lk_form_open_map(writer, name);
    lk_form_add_boolean(writer, "help", false);
    lk_form_add_number(writer, "timestamp", started_ms(answering));
    lk_form_add_text(writer, "hash", "");
    lk_form_add_text(writer, "static_content", "");
    lk_form_add_text(writer, "version", LK_VERSION);
    lk_form_add_boolean(writer, "debug", false);
    write_address(answering);
    lk_form_add_number(writer, "gc_interval", 0);
    lk_form_add_number(writer, "timeout", LK_GRAB_TTL_MS);
    lk_form_close(writer);
}

static void write_stats(struct answering *answering, const char *name) {
    struct lk_times times = lk_server_times(answering->listener->server);

    lk_form_open_map(&answering->writer, name);
    lk_form_add_number(&answering->writer, "uptime", times.wall_us / 1000 - started_ms(answering));
    lk_grab_stats_write(&answering->grab->stats, &answering->writer);
    lk_form_close(&answering->writer);
}

static void answer_dump(struct answering *answering) {
    struct lk_grab_queues queues;
    lk_outcome outcome = lk_grab_queues_read(answering->from->model, NULL, LK_PAGE_MAX, &queues);

    if (outcome == LK_OK) {
        open_answer(answering, "ok");
        lk_form_open_map(&answering->writer, "data");
        write_config(answering, "config");
        write_stats(answering, "stats");
        lk_form_open_map(&answering->writer, "queues");
        write_queues(answering, &queues, false);
        lk_form_close(&answering->writer);
        lk_form_close(&answering->writer);
        lk_form_close(&answering->writer);
    } else {
        fail_to_read(answering, outcome);
    }
    lk_grab_queues_free(&queues);
}

/*
 * The end, if nothing lives. It is that of SIGTERM, so this answer is sent first. The signal is for
 * the process: the thread that stood by may run the loop, and has all signals blocked for itself.
 */
static void answer_shutdown(struct answering *answering) {
    struct lk_model_stats stats;
    bool is_over;

    lk_model_stats(answering->from->model, &stats);
    is_over = stats.live == 0;
    open_answer(answering, is_over ? "ok" : "wait");
    if (is_over) {
        lk_form_add_count(&answering->writer, "data", 0);
        lk_log(LK_LOG_INFO, "grab", "the service ends, as a shutdown asked: nothing is locked");
        (void)kill(getpid(), SIGTERM);
    } else {
        write_standing(answering, NULL);
    }
    lk_form_close(&answering->writer);
}

static void answer_about_service(struct answering *answering) {
    open_answer(answering, "ok");
    if (answering->grab->asked.op == LK_GRAB_STATS) {
        write_stats(answering, "data");
    } else {
        write_config(answering, "data");
    }
    lk_form_close(&answering->writer);
}

void lk_http_grab_fill(const struct lk_http_listener *listener, const struct lk_reply *core_reply,
                       struct lk_http_reply *reply) {
    struct answering answering = {
        .listener = listener, .grab = listener->grab, .from = core_reply, .reply = reply};
    enum lk_grab_op op = listener->grab->asked.op;

    reply->type = "application/json";
    if (op == LK_GRAB_GRAB) {
        answer_grab(&answering);
    } else if (op == LK_GRAB_RELEASE) {
        answer_release(&answering);
    } else if (op == LK_GRAB_STATS || op == LK_GRAB_CONFIG) {
        answer_about_service(&answering);
    } else if (core_reply->answer->outcome != LK_OK) {
        fail(&answering, core_reply->answer->outcome, core_reply->answer->text);
    } else if (op == LK_GRAB_PEEK) {
        answer_peek(&answering);
    } else if (op == LK_GRAB_DUMP) {
        answer_dump(&answering);
    } else {
        answer_shutdown(&answering);
    }
    lk_buffer_add(&reply->body, "\n", 1);
    if (lk_form_writer_failed(&answering.writer)) {
        fail(&answering, LK_FULL, "the answer is too large: use GET /v1/requests");
    }
}
