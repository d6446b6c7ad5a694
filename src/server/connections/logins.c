/* SPDX-License-Identifier: Apache-2.0 */
/* Names and secrets to users, with a memory of passwords that were right, in the service's loop. */
#include "server/connections/logins.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "server/connections/listener.h"
#include "server/connections/loop.h"

enum {
    REMEMBERED_MAX = 1024, /* a power of two */
    US_PER_S = 1000000,
};

/*
 * A password that was right: nothing of it can be read from its digest without the key. It stays
 * when the file is read again, and is right as long as its user has the secret (number_of()).
 */
struct remembered {
    bool is_used;
    unsigned char digest[LK_DIGEST_BYTES];
    struct lk_login_grant grant;
};

struct lk_logins {
    struct lk_users *users;
    struct lk_verifier *verifier;
    int64_t wall_us; /* of the call that decides logins */
    uint64_t seed;   /* of the numbers of secrets */
    unsigned char key[LK_DIGEST_BYTES];
    struct remembered remembered[REMEMBERED_MAX];
};

/* LK_OK; LK_INTERNAL. `users` is borrowed. */
static lk_outcome start_logins(struct lk_users *users, struct lk_logins **ret_logins,
                               lk_error *error) {
    struct lk_logins *logins = calloc(1, sizeof *logins);
    lk_outcome outcome = LK_INTERNAL;

    if (logins != NULL) {
        logins->users = users;
        logins->seed = lk_random_draw();
        outcome = lk_random_secret(logins->key, sizeof logins->key, error);
        if (outcome == LK_OK) {
            outcome = lk_verifier_start(&logins->verifier, error);
        }
    }
    if (outcome != LK_OK) {
        free(logins);
        return outcome;
    }
    *ret_logins = logins;
    return LK_OK;
}

/* Every login has been cancelled. Accepts NULL. */
static void stop_logins(struct lk_logins *logins) {
    if (logins != NULL) {
        lk_verifier_stop(logins->verifier);
        explicit_bzero(logins, sizeof *logins);
        free(logins);
    }
}

/* Calls login->done() of those that are decided. */
static void fetch_decided(struct lk_logins *logins, int64_t wall_us) {
    logins->wall_us = wall_us;
    lk_verifier_fetch(logins->verifier);
}

/* ---- grants ---------------------------------------------------------------------------------- */

static uint64_t number_of(const struct lk_logins *logins, const struct lk_user_secret *secret) {
    return lk_hash_bytes(logins->seed, secret->text);
}

static bool has_ended(int64_t until_s, int64_t wall_us) {
    return until_s != 0 && until_s <= wall_us / US_PER_S;
}

bool lk_grant_is_valid(const struct lk_logins *logins, const struct lk_login_grant *grant,
                       int64_t wall_us) {
    const struct lk_user_entry *entry = grant->user != NULL ? grant->user->entry : NULL;

    if (entry == NULL || has_ended(grant->until_s, wall_us)) {
        return false;
    }
    for (size_t i = 0; i < entry->secret_count; i++) {
        if (number_of(logins, &entry->secrets[i]) == grant->secret) {
            return true;
        }
    }
    return false;
}

bool lk_grant_has_other_rules(struct lk_login_grant *grant) {
    bool has_others = grant->user != NULL && grant->rules_version != grant->user->rules_version;

    if (has_others) {
        grant->rules_version = grant->user->rules_version;
    }
    return has_others;
}

/* ---- passwords that were right --------------------------------------------------------------- */

static struct remembered *place_of(struct lk_logins *logins,
                                   const unsigned char digest[LK_DIGEST_BYTES]) {
    uint32_t at;

    memcpy(&at, digest, sizeof at);
    return &logins->remembered[at % REMEMBERED_MAX];
}

/* A name has no byte 0, so name and password cannot be told apart in one way only. */
static void make_digest(const struct lk_logins *logins, struct lk_slice name,
                        struct lk_slice password, unsigned char ret_digest[LK_DIGEST_BYTES]) {
    char text[LK_USER_BYTES_MAX + 1 + LK_PASSWORD_BYTES_MAX];
    size_t size = name.size + 1 + password.size;

    memcpy(text, name.bytes, name.size);
    text[name.size] = '\0';
    memcpy(text + name.size + 1, password.bytes, password.size);
    lk_keyed_digest(logins->key, (struct lk_slice){text, size}, ret_digest);
    explicit_bzero(text, size);
}

static bool find_remembered(struct lk_logins *logins, const unsigned char digest[LK_DIGEST_BYTES],
                            int64_t wall_us, struct lk_login_grant *ret_grant) {
    const struct remembered *place = place_of(logins, digest);

    if (!place->is_used || memcmp(place->digest, digest, LK_DIGEST_BYTES) != 0
        || !lk_grant_is_valid(logins, &place->grant, wall_us)) {
        return false;
    }
    *ret_grant = place->grant;
    ret_grant->rules_version = ret_grant->user->rules_version;
    return true;
}

/* ---- logins ---------------------------------------------------------------------------------- */

static enum lk_login_state log_in_by_token(struct lk_logins *logins, struct lk_slice name,
                                           struct lk_slice token, int64_t wall_us,
                                           struct lk_login_grant *ret_grant) {
    unsigned char digest[LK_DIGEST_BYTES];
    const struct lk_user_secret *secret;
    const struct lk_user *user;

    lk_token_digest(token, digest);
    user = lk_users_find_token(logins->users, digest, &secret);
    if (user == NULL || has_ended(secret->until_s, wall_us)
        || (name.size > 0 && !lk_slice_equal(name, lk_slice_of(user->name)))) {
        return LK_LOGIN_REFUSED;
    }
    *ret_grant = (struct lk_login_grant){.user = user,
                                         .secret = number_of(logins, secret),
                                         .until_s = secret->until_s,
                                         .rules_version = user->rules_version};
    return LK_LOGIN_GRANTED;
}

static void on_verified(void *context, int which) {
    struct lk_login *login = context;
    struct lk_logins *logins = login->logins;
    struct lk_login_grant grant = {.user = NULL};
    enum lk_login_state state = LK_LOGIN_REFUSED;

    login->verification = NULL;
    if (which == LK_VERIFICATION_REFUSED) {
        state = LK_LOGIN_FULL;
    } else if (which >= 0) {
        grant.user = lk_users_find(logins->users, lk_slice_of(login->name));
        grant.secret = login->secrets[which];
        if (lk_grant_is_valid(logins, &grant, logins->wall_us)) { /* the file may be another now */
            struct remembered *place = place_of(logins, login->digest);

            grant.rules_version = grant.user->rules_version;
            place->is_used = true;
            place->grant = grant;
            memcpy(place->digest, login->digest, LK_DIGEST_BYTES);
            state = LK_LOGIN_GRANTED;
        }
    }
    login->done(login, state, &grant);
}

/* Lists the hashes of the user's passwords, or any hash if it has none. How many. */
static size_t list_hashes(const struct lk_logins *logins, const struct lk_user *user,
                          struct lk_login *login, const char *ret_hashes[LK_USER_SECRETS_MAX]) {
    const struct lk_user_entry *entry = user != NULL ? user->entry : NULL;
    size_t count = 0;

    for (size_t i = 0; entry != NULL && i < entry->secret_count; i++) {
        if (entry->secrets[i].kind == LK_SECRET_PASSWORD) {
            login->secrets[count] = number_of(logins, &entry->secrets[i]);
            ret_hashes[count++] = entry->secrets[i].hash;
        }
    }
    if (count == 0 && lk_users_any_hash(logins->users) != NULL) {
        login->secrets[0] = 0; /* no secret of the user: also the right password is refused */
        login->name[0] = '\0';
        ret_hashes[count++] = lk_users_any_hash(logins->users);
    }
    return count;
}

bool lk_login_by_certificate(const struct lk_logins *logins, const char *name,
                             struct lk_login_grant *ret_grant) {
    const struct lk_user *user = lk_users_find(logins->users, lk_slice_of(name));
    const struct lk_user_entry *entry = user != NULL ? user->entry : NULL;

    for (size_t i = 0; entry != NULL && i < entry->secret_count; i++) {
        if (entry->secrets[i].kind == LK_SECRET_CERTIFICATE) {
            *ret_grant = (struct lk_login_grant){.user = user,
                                                 .secret = number_of(logins, &entry->secrets[i]),
                                                 .rules_version = user->rules_version};
            return true;
        }
    }
    return false;
}

enum lk_login_state lk_login_begin(struct lk_logins *logins, struct lk_slice name,
                                   struct lk_slice secret, int64_t wall_us, struct lk_login *login,
                                   struct lk_login_grant *ret_grant) {
    const char *hashes[LK_USER_SECRETS_MAX];
    size_t count;

    if (secret.size == 0 || secret.size > LK_PASSWORD_BYTES_MAX
        || memchr(secret.bytes, '\0', secret.size) != NULL
        || (name.size > 0 && !lk_user_name_is_valid(name))) {
        return LK_LOGIN_REFUSED;
    }
    if (log_in_by_token(logins, name, secret, wall_us, ret_grant) == LK_LOGIN_GRANTED) {
        return LK_LOGIN_GRANTED;
    }
    if (name.size == 0) {
        return LK_LOGIN_REFUSED;
    }
    make_digest(logins, name, secret, login->digest);
    if (find_remembered(logins, login->digest, wall_us, ret_grant)) {
        return LK_LOGIN_GRANTED;
    }
    memcpy(login->name, name.bytes, name.size);
    login->name[name.size] = '\0';
    count = list_hashes(logins, lk_users_find(logins->users, name), login, hashes);
    if (count == 0) {
        return LK_LOGIN_REFUSED;
    }
    login->logins = logins;
    login->verification = lk_verifier_submit(logins->verifier, login->origin, hashes, count, secret,
                                             on_verified, login);
    return login->verification != NULL ? LK_LOGIN_PENDING : LK_LOGIN_FULL;
}

void lk_login_cancel(struct lk_login *login) {
    if (login->verification != NULL) {
        lk_verification_cancel(login->verification);
        login->verification = NULL;
    }
}

bool lk_login_is_pending(const struct lk_login *login) {
    return login->verification != NULL;
}

/* ---- the loop: one is decided, and a token ends, and with it its connections ----------------- */

#define LOOK_S INT64_C(3600)

static void on_decided(evutil_socket_t descriptor, short what, void *context) {
    struct lk_server *server = context;

    (void)descriptor;
    (void)what;
    fetch_decided(lk_server_logins(server), lk_server_times(server).wall_us);
}

/* The wall clock may be set meanwhile, so it is looked at every hour. */
static void await_end(const struct lk_login_events *events) {
    struct lk_server *server = events->server;
    int64_t wall_us = lk_server_times(server).wall_us;
    int64_t end_s = lk_users_next_end(lk_server_options_of(server)->users, wall_us / US_PER_S);
    struct timeval delay = {.tv_sec = LOOK_S};

    if (end_s < INT64_MAX && end_s * US_PER_S - wall_us < LOOK_S * US_PER_S) {
        delay = lk_loop_delay(end_s * US_PER_S - wall_us);
    }
    (void)event_add(events->ends, &delay);
}

static void check_grants(struct lk_server *server) {
    struct lk_listener *listener;

    for (size_t i = 0; (listener = lk_server_listener(server, i)) != NULL; i++) {
        listener->ops->check_grants(listener);
    }
}

static void on_end(evutil_socket_t descriptor, short what, void *context) {
    const struct lk_login_events *events = context;

    (void)descriptor;
    (void)what;
    check_grants(events->server);
    await_end(events);
}

lk_outcome lk_login_events_begin(struct lk_login_events *events, struct lk_server *server,
                                 lk_error *error) {
    struct lk_users *users = lk_server_options_of(server)->users;
    lk_outcome outcome = users != NULL ? start_logins(users, &events->logins, error) : LK_OK;

    if (outcome != LK_OK || events->logins == NULL) {
        return outcome;
    }
    events->server = server;
    events->decided =
        event_new(lk_server_loop(server), lk_verifier_descriptor(events->logins->verifier),
                  EV_READ | EV_PERSIST, on_decided, server);
    events->ends = evtimer_new(lk_server_loop(server), on_end, events);
    if (events->decided == NULL || events->ends == NULL || event_add(events->decided, NULL) != 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    await_end(events);
    return LK_OK;
}

void lk_login_events_end(struct lk_login_events *events) {
    lk_loop_free_event(events->decided);
    lk_loop_free_event(events->ends);
    stop_logins(events->logins);
}

void lk_login_events_reload(struct lk_login_events *events) {
    if (events->logins == NULL) {
        return;
    }
    check_grants(events->server);
    await_end(events);
}
