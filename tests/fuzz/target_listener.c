/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes at the RESP listener of a service: the very code that serves connections, in front of the
 * very core, in a world in which nothing is left to chance. The clock stops until it is
 * moved; the disk is a number of turns that a batch takes; the loop is libevent's, on sockets of
 * this process, whose other end is the test.
 *
 * The first byte decides how the others are cut: into pieces, with turns of the loop between them,
 * into a socket that takes little at a time, to be read slowly, before a disk that takes its time.
 * Whatever that is, what is answered must be what is answered to the same bytes all at once, with a
 * disk that is quick; but for what tells of time itself: events that are pushed when they are
 * durable, and INFO. Half-way through the time that waits are given, who stood in their way goes.
 * At the end the stream is cut off, and nothing of the connection is left.
 */
#include <errno.h>
#include <event2/event.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "server/connections/admission.h"
#include "server/connections/copies.h"
#include "server/connections/host.h"
#include "server/connections/monitor.h"
#include "server/core/exchange.h"
#include "server/resp/resp.h"
#include "target.h"

enum {
    ANSWERS_BYTES_MAX = 4 << 20,
    PIECE_BYTES_MAX = 64,
    DISK_TURNS_MAX = 4,
    QUIET_TURNS = 2 * DISK_TURNS_MAX, /* without progress: there will be none */
};

#define HOUR_US INT64_C(3600000000)

/* ---- the world, in the place of server.c ----------------------------------------------------- */

enum { BUFFER_BYTES_MAX = 1 << 30 };

struct lk_server {
    struct event_base *loop;
    struct lk_core *core;
    struct lk_server_options options;
    struct lk_times times;
    struct lk_listener *listener;
    struct lk_monitor monitor;
    struct lk_copies copies; /* none */
    struct lk_pace pace;
    char address[LK_ADDRESS_BYTES_MAX];
    uint64_t buffered;
    unsigned disk_turns; /* that a batch takes */
    unsigned writing;    /* turns left of the one being written; 0: none is */
};

struct lk_times lk_server_times(struct lk_server *server) {
    return server->times;
}

struct event_base *lk_server_loop(const struct lk_server *server) {
    return server->loop;
}

struct lk_core *lk_server_core(const struct lk_server *server) {
    return server->core;
}

const struct lk_server_options *lk_server_options_of(const struct lk_server *server) {
    return &server->options;
}

struct lk_handshake_thread *lk_server_handshake_thread(const struct lk_server *server) {
    (void)server;
    return NULL;
}

void lk_server_charge(struct lk_server *server, size_t *charged, size_t bytes) {
    server->buffered += bytes;
    server->buffered -= *charged;
    *charged = bytes;
}

bool lk_server_is_full(const struct lk_server *server) {
    return server->buffered > BUFFER_BYTES_MAX;
}

uint64_t lk_server_buffered(const struct lk_server *server) {
    return server->buffered;
}

struct lk_monitor *lk_server_monitor(struct lk_server *server) {
    return &server->monitor;
}

const struct lk_leadership *lk_server_leadership(const struct lk_server *server) {
    (void)server;
    return NULL;
}

struct lk_logins *lk_server_logins(const struct lk_server *server) {
    (void)server;
    return NULL;
}

struct lk_copies *lk_server_copies(struct lk_server *server) {
    return &server->copies;
}

struct lk_pace *lk_server_pace(struct lk_server *server) {
    return &server->pace;
}

struct lk_listener *lk_server_listener(const struct lk_server *server, size_t index) {
    return index == 0 ? server->listener : NULL;
}

uint64_t lk_server_count_clients(const struct lk_server *server) {
    return server->listener->ops->count_clients(server->listener);
}

void lk_server_list_clients(const struct lk_server *server, const struct lk_user *user,
                            struct lk_buffer *out) {
    server->listener->ops->list_clients(server->listener, user, out);
}

static void write_batches(struct lk_server *server) {
    if (server->writing > 0 && --server->writing == 0) {
        lk_core_batch_durable(server->core, &server->times);
    }
    if (server->writing == 0 && lk_core_take_batch(server->core) != NULL) {
        server->writing = server->disk_turns;
    }
}

static void turn(struct lk_server *server) {
    (void)event_base_loop(server->loop, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    if (lk_core_next_due(server->core) <= server->times.now_us) {
        lk_core_tick(server->core, &server->times);
    }
    while (server->listener->ops->turn_end(server->listener)) {
    }
    write_batches(server);
}

static void begin(struct lk_server *server, const char *listen, unsigned disk_turns) {
    const struct lk_core_config config = {.epoch = "fuzz", .hash_seed = 1};
    struct lk_listen_socket socket;
    struct lk_model_config model;
    lk_error error;

    *server = (struct lk_server){
        .loop = event_base_new(),
        .core = lk_core_new(&config),
        .options = {.connections_max = 4, .request_seconds_max = 60},
        .times = {.now_us = HOUR_US, .wall_us = INT64_C(1700000000000000)},
        .disk_turns = disk_turns,
    };
    FUZZ_DEMAND(server->loop != NULL && server->core != NULL);
    model = lk_core_model_config(server->core, &server->times);
    FUZZ_DEMAND(lk_core_restore(server->core, lk_core_snapshot_new(&model), &server->times, &error)
                == LK_OK);
    FUZZ_DEMAND(lk_listen_socket_open(&server->options, listen, &socket, server->address, &error)
                == LK_OK);
    FUZZ_DEMAND(lk_listener_resp_open(server, &socket, &server->listener, &error) == LK_OK);
}

static void end(struct lk_server *server) {
    server->listener->ops->close(server->listener);
    while (!lk_core_is_idle(server->core)) {
        write_batches(server);
    }
    lk_core_free(server->core);
    event_base_free(server->loop);
}

/* ---- the other end --------------------------------------------------------------------------- */

/* How a stream is brought to the listener. */
struct manner {
    uint64_t draws; /* 0: all at once, and as fast as it goes */
};

static unsigned draw(struct manner *manner, unsigned below) {
    manner->draws = manner->draws * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(manner->draws >> 33) % below;
}

struct peer {
    int socket;
    bool is_unheard; /* the listener takes nothing more */
    bool is_cut;     /* ... and has sent everything */
    size_t answer_size;
    char *answers;
};

static void meet(struct lk_server *server, struct peer *peer) {
    struct sockaddr_un place = {.sun_family = AF_UNIX};
    const char *path = server->address + strlen("unix:");

    FUZZ_DEMAND(strlen(path) < sizeof place.sun_path);
    memcpy(place.sun_path, path, strlen(path));
    peer->socket = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    FUZZ_DEMAND(peer->socket >= 0
                && connect(peer->socket, (struct sockaddr *)&place, sizeof place) == 0);
    turn(server);
}

/* Reads up to `max` bytes of what is answered; whether there were any. */
static bool listen_to(struct peer *peer, size_t max) {
    size_t room = ANSWERS_BYTES_MAX - peer->answer_size;
    ssize_t size =
        recv(peer->socket, peer->answers + peer->answer_size, max < room ? max : room, 0);

    FUZZ_DEMAND(room > 0);
    if (size == 0 || (size < 0 && errno != EAGAIN)) {
        peer->is_cut = true;
    }
    peer->answer_size += size > 0 ? (size_t)size : 0;
    return size > 0;
}

/* What the listener has not yet taken of what was said. */
static int unheard(const struct peer *peer) {
    int size = 0;

    (void)ioctl(peer->socket, SIOCOUTQ, &size);
    return size;
}

/* Turns until nothing comes of them any more. */
static void settle(struct lk_server *server, struct peer *peer, size_t read_max) {
    int before = unheard(peer);

    for (unsigned quiet = 0; quiet < QUIET_TURNS && !peer->is_cut; quiet++) {
        turn(server);
        if (listen_to(peer, read_max) || unheard(peer) != before
            || !lk_core_is_idle(server->core)) {
            quiet = 0;
        }
        before = unheard(peer);
    }
}

static void say(struct lk_server *server, struct peer *peer, const char *bytes, size_t size) {
    for (size_t at = 0; at < size && !peer->is_unheard;) {
        ssize_t taken = send(peer->socket, bytes + at, size - at, MSG_NOSIGNAL);
        if (taken > 0) {
            at += (size_t)taken;
        } else if (errno == EAGAIN && unheard(peer) > 0) {
            int before = unheard(peer);
            settle(server, peer, ANSWERS_BYTES_MAX);
            peer->is_unheard = unheard(peer) == before; /* it waits for what blocks */
        } else {
            peer->is_unheard = true;
        }
    }
}

static void bring(struct lk_server *server, struct peer *peer, struct manner manner,
                  const char *bytes, size_t size) {
    bool is_whole = manner.draws == 0;
    struct lk_resp_listener *listener = (struct lk_resp_listener *)(void *)server->listener;
    int little = 1; /* the least that the system allows */

    if (!is_whole) {
        (void)setsockopt(TAILQ_LAST(&listener->all, lk_resp_connections)->socket, SOL_SOCKET,
                         SO_SNDBUF, &little, sizeof little);
    }
    for (size_t at = 0; at < size && !peer->is_unheard;) {
        size_t piece = is_whole ? size : 1 + draw(&manner, PIECE_BYTES_MAX);
        piece = piece < size - at ? piece : size - at;
        say(server, peer, bytes + at, piece);
        at += piece;
        for (unsigned turns = is_whole ? 0 : draw(&manner, 4); turns > 0; turns--) {
            turn(server);
            (void)listen_to(peer, 1 + draw(&manner, PIECE_BYTES_MAX));
        }
    }
    settle(server, peer, is_whole ? ANSWERS_BYTES_MAX : PIECE_BYTES_MAX * PIECE_BYTES_MAX);
}

/* ---- a life ---------------------------------------------------------------------------------- */

static const char holds[] = "ACQUIRE held OWNER holder TTL 7200000\r\n";
static const char lets_go[] = "RELEASE held OWNER holder\r\n";

/* What the listener answers to the bytes, from the first connection to the last. */
static void live(const char *listen, struct manner manner, const char *bytes, size_t size,
                 struct peer *stranger) {
    unsigned disk_turns = manner.draws == 0 ? 1 : 1 + draw(&manner, DISK_TURNS_MAX);
    struct lk_server server;
    struct lk_core_stats stats;
    char answers[1024];
    struct peer holder = {.answers = answers};

    begin(&server, listen, disk_turns);
    meet(&server, &holder);
    say(&server, &holder, holds, strlen(holds));
    settle(&server, &holder, sizeof answers);
    meet(&server, stranger);
    bring(&server, stranger, manner, bytes, size);

    server.times.now_us += HOUR_US / 2;
    server.times.wall_us += HOUR_US / 2;
    settle(&server, stranger, ANSWERS_BYTES_MAX);
    say(&server, &holder, lets_go, strlen(lets_go));
    settle(&server, &holder, sizeof answers - holder.answer_size);
    settle(&server, stranger, ANSWERS_BYTES_MAX);
    FUZZ_DEMAND(holder.answer_size > strlen("+OK\r\n") && !holder.is_cut);

    (void)shutdown(stranger->socket, SHUT_WR);
    settle(&server, stranger, ANSWERS_BYTES_MAX);
    (void)close(stranger->socket);
    for (unsigned i = 0; i < QUIET_TURNS; i++) {
        turn(&server);
    }
    lk_core_stats(server.core, &stats);
    FUZZ_DEMAND(((struct lk_resp_listener *)(void *)server.listener)->count == 1 && stats.bound == 0
                && stats.blocked == 0);
    (void)close(holder.socket);
    end(&server);
}

static bool contains(const struct peer *peer, const char *text) {
    return memmem(peer->answers, peer->answer_size, text, strlen(text)) != NULL;
}

static bool tells_of_time(const struct peer *peer) {
    return contains(peer, "lockkeeper_version") || contains(peer, ">3\r\n$5\r\nevent\r\n")
           || contains(peer, "*3\r\n$7\r\nmessage\r\n");
}

/* One whole answer behind the other, and nothing else. */
static void check_framing(const struct peer *peer) {
    for (size_t at = 0; at < peer->answer_size;) {
        struct lk_resp_measure measure = {.size = 0};
        struct lk_slice rest = {.bytes = peer->answers + at, .size = peer->answer_size - at};
        FUZZ_DEMAND(lk_resp_reply_measure(rest, ANSWERS_BYTES_MAX, &measure) == LK_RESP_DONE);
        at += measure.size;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *folder = getenv("TMPDIR");
    char listen[LK_ADDRESS_BYTES_MAX];
    struct peer whole = {.socket = -1};
    struct peer pieces = {.socket = -1};
    char *bytes;

    if (size == 0 || size > FUZZ_INPUT_MAX) {
        return 0;
    }
    (void)snprintf(listen, sizeof listen, "unix:%s/lk-fuzz-%ld", folder != NULL ? folder : "/tmp",
                   (long)getpid());
    bytes = malloc(size > 1 ? size - 1 : 1);
    whole.answers = malloc(ANSWERS_BYTES_MAX);
    pieces.answers = malloc(ANSWERS_BYTES_MAX);
    FUZZ_DEMAND(bytes != NULL && whole.answers != NULL && pieces.answers != NULL);
    memcpy(bytes, data + 1, size - 1);
    live(listen, (struct manner){.draws = 0}, bytes, size - 1, &whole);
    live(listen, (struct manner){.draws = 1u + data[0]}, bytes, size - 1, &pieces);
    check_framing(&whole);
    check_framing(&pieces);
    FUZZ_DEMAND(tells_of_time(&whole) || tells_of_time(&pieces)
                || (whole.answer_size == pieces.answer_size
                    && memcmp(whole.answers, pieces.answers, whole.answer_size) == 0));
    free(pieces.answers);
    free(whole.answers);
    free(bytes);
    return 0;
}
