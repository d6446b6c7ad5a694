/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The routes of the service that are no commands of the core's: what stands beside the table of
 * commands (command/command.h). Requests are answered by this table, and the description of the
 * interface names what is in both. Within src/server.
 */
#ifndef LK_SERVER_HTTP_ROUTES_H
#define LK_SERVER_HTTP_ROUTES_H

#include "server/http/http.h"

/* ---- routes ---------------------------------------------------------------------------------- */

enum { LK_HTTP_TYPES_MAX = 2 };

struct lk_http_route {
    const struct lk_command_spec *command; /* its method is GET; its members are in the query */
    void (*run)(struct lk_http_listener *listener, struct evhttp_request *request,
                const struct lk_http_route *route);
    bool takes_head;
    bool needs_no_password;
    bool can_be_unready;                  /* 503, with a text */
    const char *types[LK_HTTP_TYPES_MAX]; /* of the answer's content */
};

extern const struct lk_http_route lk_http_routes[];
extern const size_t lk_http_route_count;

/* The route of exactly this path; NULL: there is none. */
const struct lk_http_route *lk_http_route_find(const char *path);

/* Answers a request of any method for the route. */
void lk_http_route_run(struct lk_http_listener *listener, struct evhttp_request *request,
                       const struct lk_http_route *route);

/* 405: the route has no such method; `allowed` lists those that it has. */
void lk_http_refuse_method(struct lk_http_listener *listener, struct evhttp_request *request,
                           const char *allowed);

/* ---- the page -------------------------------------------------------------------------------- */

/*
 * The page at GET /: a few static files that are part of the program (src/server/page). They are
 * the same for every client and tell nothing of the store, so they need no password: the page asks
 * for it. Within src/server.
 */

struct lk_http_page_file {
    const char *path; /* of the request */
    const char *type;
    const char *tag; /* quoted; another one whenever the content is another */
    const unsigned char *bytes;
    size_t size;
};

/* Made of src/server/page by embed.py. */
extern const struct lk_http_page_file lk_http_page_files[];
extern const size_t lk_http_page_file_count;

/* The file at this path; NULL: the page has none there. */
const struct lk_http_page_file *lk_http_page_find(const char *path);

/* Answers a request of any method for the file. */
void lk_http_page_send(struct lk_http_listener *listener, struct evhttp_request *request,
                       const struct lk_http_page_file *file);

#endif
