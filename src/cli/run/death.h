/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a program by Ctrl-C or Ctrl-\. A shell that runs a script has had the signal too. It
 * ends the script if the command that it waited for has died of that signal, and goes on if the
 * command has exited, with whatever code. So a call that the terminal's signal has ended gives back
 * what it holds, and then dies of that signal itself.
 */
#ifndef LK_CLI_RUN_DEATH_H
#define LK_CLI_RUN_DEATH_H

#include <stdbool.h>

/*
 * The terminal's `signal` has ended this call: lk_death_conclude() dies of it. Signals but SIGINT
 * and SIGQUIT are ignored here. `spreads`: the signal went to another process group, and has yet to
 * be sent to that of lk.
 */
void lk_death_note(int signal, bool spreads);

/* Dies of the signal that was noted, if one was. Returns `exit_code` otherwise, and where no signal
 * can end this process (it is the first one of a container, or found the signal ignored). */
int lk_death_conclude(int exit_code);

#endif
