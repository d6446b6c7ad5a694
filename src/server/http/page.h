/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page at GET /: a few static files that are part of the program (src/server/page). They are
 * the same for every client and tell nothing of the store, so they need no password: the page asks
 * for it. Within src/server.
 */
#ifndef LK_SERVER_HTTP_PAGE_H
#define LK_SERVER_HTTP_PAGE_H

#include "server/http/http.h"

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
