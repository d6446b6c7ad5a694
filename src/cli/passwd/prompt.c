/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks for a password. While the terminal does not echo, it makes no signals either: Ctrl-C comes
 * as a byte, so that the terminal is always as before when lk ends.
 */
#include "cli/passwd/prompt.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"

enum { CTRL_C = 3 };

/* Byte by byte: what is behind the line is another program's. The size; less than 0: too long. */
static ssize_t read_line(char *ret_line, size_t capacity) {
    ssize_t size = 0;
    char byte;

    for (;;) {
        ssize_t got = read(STDIN_FILENO, &byte, 1);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || byte == '\n') {
            break;
        }
        if ((size_t)size + 1 >= capacity || byte == '\0') {
            return -1;
        }
        ret_line[size++] = byte;
    }
    if (size > 0 && ret_line[size - 1] == '\r') {
        size--;
    }
    ret_line[size] = '\0';
    return size;
}

static lk_outcome take_line(char *ret_line, size_t capacity, lk_error *error) {
    ssize_t size = read_line(ret_line, capacity);

    if (size > 0 && strchr(ret_line, CTRL_C) != NULL) {
        return lk_error_set(error, LK_CANCELLED, "no password was given");
    }
    return size > 0 ? LK_OK
                    : lk_error_set(error, LK_INVALID,
                                   "a password has 1 to %zu bytes, and no byte 0", capacity - 1);
}

static lk_outcome ask(const char *what, char *ret_line, size_t capacity, lk_error *error) {
    struct termios former;
    struct termios quiet;
    lk_outcome outcome;

    if (tcgetattr(STDIN_FILENO, &former) != 0) {
        return take_line(ret_line, capacity, error);
    }
    quiet = former;
    quiet.c_lflag &= ~(tcflag_t)(ECHO | ISIG);
    /* First: what was typed before is discarded, but not what answers the question. */
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    (void)fputs(what, stderr);
    (void)fflush(stderr);
    outcome = take_line(ret_line, capacity, error);
    (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &former);
    (void)fputs("\n", stderr);
    return outcome;
}

lk_outcome lk_prompt_password(char *ret_password, size_t capacity, lk_error *error) {
    char again[1024];
    lk_outcome outcome = ask("password: ", ret_password, capacity, error);

    if (outcome == LK_OK && isatty(STDIN_FILENO) == 1) {
        outcome = ask("the same again: ", again, sizeof again, error);
        if (outcome == LK_OK && strcmp(again, ret_password) != 0) {
            outcome = lk_error_set(error, LK_INVALID, "the two passwords are not the same");
        }
    }
    explicit_bzero(again, sizeof again);
    return outcome;
}
