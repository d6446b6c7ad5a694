/* SPDX-License-Identifier: Apache-2.0 */
/* The note of a request whose user gave none: the command that it is for (R19). */
#ifndef LK_CLI_NOTE_H
#define LK_CLI_NOTE_H

enum { LK_COMMAND_NOTE_BYTES_MAX = 60 };

/*
 * Writes the words of a command (ended by NULL), separated by blanks, and cut at a character.
 * Control characters become blanks, and passwords in URLs are left out. What is no UTF-8 becomes
 * '?'.
 */
void lk_command_note(char *const *words, char ret_note[LK_COMMAND_NOTE_BYTES_MAX + 1]);

#endif
