/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logins: from a name and a secret to a user. A token is decided at once; so is a password that was
 * right a while ago, because HTTP sends it with each request. Any other password is verified by a
 * thread (verifier.h). A name that does not exist takes as long as one that does.
 */
#ifndef LK_SERVER_CONNECTIONS_LOGINS_H
#define LK_SERVER_CONNECTIONS_LOGINS_H

#include "access/users.h"
#include "server/connections/host.h"
#include "server/connections/verifier.h"

struct event;

struct lk_logins;

/* By what a connection is a user's. Zeroed: it is none's. */
struct lk_login_grant {
    const struct lk_user *user;
    uint64_t secret;        /* of the user, that was given: a number */
    int64_t until_s;        /* Unix time; 0: without an end */
    uint64_t rules_version; /* of the user, when it was last looked at */
};

enum lk_login_state {
    LK_LOGIN_GRANTED,
    LK_LOGIN_REFUSED, /* no such user, or another secret */
    LK_LOGIN_PENDING, /* is being verified: login->done() is called */
    LK_LOGIN_FULL,    /* too many are being verified; also of one that was pending */
};

/* A login that is pending; embedded in a connection. Zeroed: there is none. */
struct lk_login {
    void (*done)(struct lk_login *login, enum lk_login_state state,
                 const struct lk_login_grant *grant);
    uint64_t origin;                      /* of the connection (admission.h); 0: none */
    struct lk_logins *logins;             /* these are set by lk_login_begin() */
    struct lk_verification *verification; /* NULL: it is not pending */
    char name[LK_USER_BYTES_MAX + 1];
    unsigned char digest[LK_DIGEST_BYTES];
    uint64_t secrets[LK_USER_SECRETS_MAX];
};

/* `name` empty: the secret is a token, which says whose it is. LK_LOGIN_GRANTED with *ret_grant. */
enum lk_login_state lk_login_begin(struct lk_logins *logins, struct lk_slice name,
                                   struct lk_slice secret, int64_t wall_us, struct lk_login *login,
                                   struct lk_login_grant *ret_grant);

/* A client has shown a certificate of this name, which TLS has verified. false: there is no such
 * user, or it does not come in by a certificate. */
bool lk_login_by_certificate(const struct lk_logins *logins, const char *name,
                             struct lk_login_grant *ret_grant);
void lk_login_cancel(struct lk_login *login); /* also one that is not pending */
bool lk_login_is_pending(const struct lk_login *login);

/* Whether the user is still in the file with this secret, which has not ended. */
bool lk_grant_is_valid(const struct lk_logins *logins, const struct lk_login_grant *grant,
                       int64_t wall_us);

/* Whether the rules of the user have changed since this was last asked. */
bool lk_grant_has_other_rules(struct lk_login_grant *grant);

/* ---- logins in the loop of a service with users ---------------------------------------------- */

struct lk_login_events {
    struct lk_server *server;
    struct lk_logins *logins; /* NULL: there are no users */
    struct event *decided;    /* a login is */
    struct event *ends;       /* a token may have ended */
};

/* Starts the thread that verifies passwords, if there are users. To be ended, also if it fails. */
lk_outcome lk_login_events_begin(struct lk_login_events *events, struct lk_server *server,
                                 lk_error *error);
void lk_login_events_end(struct lk_login_events *events); /* after every listener has closed */

/* The users may have changed: what connections may do changes at once. */
void lk_login_events_reload(struct lk_login_events *events);

#endif
