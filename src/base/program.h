/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of the program: `lk`, or the one that it was installed under (`make install NAME=...`)
 * or is called by. Messages and help texts tell that name, so that what they advise can be typed.
 * What is no command's name stays: LK_ variables, lk:// and the functions of C.
 */
#ifndef LK_BASE_PROGRAM_H
#define LK_BASE_PROGRAM_H

/* The name for messages; static. That of the build until lk_program_set(). */
const char *lk_program(void);

/*
 * Takes the last component of argv[0], which is borrowed for ever. A word that is no name of a
 * program (messages are one line) changes nothing. Called once, before there are threads.
 */
void lk_program_set(const char *argv0);

/*
 * A text of this program's own, in which each word `lk` that means the program is its name; to be
 * freed. NULL: memory is exhausted. Not for texts that users have written.
 */
char *lk_program_in(const char *text);

#endif
