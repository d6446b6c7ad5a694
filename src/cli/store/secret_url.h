/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A password of the store's URL, for `lk` inside a command that `lk` runs. The environment and the
 * command line of that command do not show it: it is in memory of this process, which the variable
 * LK_STORE_URL_FILE names as a file below /proc. Programs of the same user can read it, as they can
 * read the process's other memory, whichever descriptors they were given; no other user can. It
 * ends with this process.
 */
#ifndef LK_CLI_STORE_SECRET_URL_H
#define LK_CLI_STORE_SECRET_URL_H

/* The store's URL, with its password: `url`, or where that is NULL the default one (lk_open()).
 * For free(); NULL: memory is exhausted, or there is none. */
char *lk_secret_url_of(const char *url);

/*
 * The path of a file that has `url`, for free(); NULL: the URL has no password, or the system no
 * such file. There is one for each process: a second call returns the first file.
 */
char *lk_secret_url_offer(const char *url);

#endif
