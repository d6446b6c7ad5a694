/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of leases. */
#include "cli/cli.h"
#include "cli/command_rows.h"

#define RUN_OPTIONS                                                                                \
    (BIT(INHERIT) | BIT(ON_LOST) | BIT(MAX_TIME) | BIT(AT_LEAST) | BIT(CLEANUP) | BIT(REPORT)      \
     | BIT(VERBOSE) | BIT(BIND))

/* A request ends with its connection (R18), and that of lk acquire ends with the command. */
#define REFUSED_BOUND                                                                              \
    {                                                                                              \
        .option = LK_OPTION_BOUND,                                                                 \
        .why = "a lease that is bound ends with the connection, and lk acquire ends that; lk run " \
               "--bound keeps it as long as a command runs, lk hold --bound as long as its "       \
               "caller lives; see: Bound requests in docs/cli.md (R18)",                           \
    }

const struct lk_cli_command lk_cli_lock_commands[] = {
    {
        .name = "run",
        .arguments = "PART... -- CMD [ARG...]",
        .summary = "run a command under a lease",
        .text = "Waits for the lease, runs CMD under it, renews the lease, and releases it when\n"
                "CMD ends. A PART is PATH[?shared][?limit=N[&units=U]]; all are granted\n"
                "together or none. Without --owner, each run is an owner of its own; --queue\n"
                "needs one. A run inside a run that holds the same PART is a DEADLOCK; with\n"
                "option --inherit it uses that lease.\n"
                "The environment of CMD has LK_STORE, LK_PATH, LK_OWNER, LK_TOKEN (of the first\n"
                "path), LK_TOKENS (one for each path: they differ in a Redis Cluster) and\n"
                "LK_TTL_MS. CMD never runs past the deadline that the store last promised: if\n"
                "the lease is lost, CMD and all it started get SIGTERM, then SIGKILL.\n"
                "With --bound, on a service (lk://), the lease ends with the connection of lk:\n"
                "at once when lk is killed, without a ttl to wait for.\n"
                "With --at-least D the lease stays until D after its grant, also if CMD fails:\n"
                "so a cron job on many hosts runs once a period (-n -E 0 on each of them).\n"
                "lk cannot end what is not in its process tree (containers, services, ssh,\n"
                "sudo) or runs on a stopped machine; the token guards against these.",
        .options = PLAIN_OPTIONS | REQUEST_OPTIONS | RUN_OPTIONS,
        .own_help = {{LK_OPTION_NOTE, "up to 255 bytes, shown in listings (CMD)"}},
        .words = {1, LK_WORDS_ANY},
        .has_tail = true,
        .has_own_stop = true,
        .outcomes = ENDS_ASK & ~ENDS(LK_GRANTED),
        .more_codes = "124  --max-time is up\n"
                      "126  CMD cannot be executed\n"
                      "127  CMD is not found\n"
                      "  *  otherwise CMD's own; 128+N if it died of signal N\n",
        .examples =
            {
                {"lk run backup -- ./backup.sh", "one backup at a time"},
                {"lk run 'pool?limit=3' -- make test", "at most three at once"},
                {"lk run -n db/t1 -- ./reset || echo busy", "run now, or fail"},
                {"lk run -n -E 0 --at-least 4m nightly -- ./job",
                 "cron on many hosts: one runs it"},
            },
        .handle = lk_cli_run_command,
    },
    {
        .name = "acquire",
        .arguments = "PART...",
        .summary = "take a lease and leave it held until its ttl",
        .text = "Takes the lease and prints its fencing token. The lease stays held until it is\n"
                "released or its ttl ends; lk renew extends it. A PART is\n"
                "PATH[?shared][?limit=N[&units=U]]; all are granted together or none. A second\n"
                "acquire with the same owner and paths makes no second request: it refreshes\n"
                "the existing one.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell, so\n"
                "that acquire and release in one script have the same owner. A caller that is no\n"
                "shell (Python, make, cron) may have several jobs: each acquire is another owner\n"
                "there, unless it names one, such as --owner \"$HOSTNAME:$$:worker3\". Its lease\n"
                "can be renewed and released by its token. Under lk run, the $LK_OWNER that it\n"
                "has set counts only at, above and below the paths of its lease.",
        .options = COMMON_OPTIONS | REQUEST_OPTIONS | BIT(VALUE) | BIT(VERBOSE),
        .refused = REFUSED_BOUND,
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_ASK,
        .examples =
            {
                {"token=$(lk acquire deploy --ttl 10m --note nightly)", "hold it for ten minutes"},
                {"lk acquire -w 30 db/t1 'pool?limit=3'", "both or none, within 30 s"},
                {"lk acquire --queue --json db --owner reset", "enter the queue; repeat to poll"},
            },
        .handle = lk_cli_acquire,
    },
    {
        .name = "hold",
        .arguments = "PART...",
        .summary = "hold a lease as long as the calling process lives",
        .text = "Takes the lease and prints what lk acquire prints, once it is granted. A process\n"
                "in the background renews it as long as the calling shell (or other program, or\n"
                "process N) lives, and releases it when that has ended, by kill -9 too.\n"
                "lk release with the token, or in the same shell, ends it early. The owner is\n"
                "that of lk acquire.\n"
                "If the lease is lost (broken, or the store away past the deadline), the calling\n"
                "process is not ended: the token guards against that. lk run ends its command.\n"
                "CMD2 runs when the process has ended or the lease is lost, but not after a\n"
                "release. It has /dev/null for input and output, and LK_STORE, LK_PATH, LK_OWNER\n"
                "and LK_TOKEN as under lk run.",
        .options = COMMON_OPTIONS | REQUEST_OPTIONS | BIT(VALUE) | BIT(AT_LEAST) | BIT(CLEANUP)
                   | BIT(FOR_PID) | BIT(BIND) | BIT(VERBOSE),
        .own_help = {{LK_OPTION_AT_LEAST, "hold it until D after the grant, if the process\n"
                                          "ends sooner"},
                     {LK_OPTION_CLEANUP, "run this by /bin/sh before the release"}},
        .words = {1, LK_WORDS_ANY},
        .has_own_stop = true,
        .outcomes = ENDS_ASK,
        .more_codes = "128+N  ended by signal N while waiting\n",
        .examples =
            {
                {"token=$(lk hold deploy -w 30) || exit", "for the rest of the script"},
                {"lk hold db --for-pid \"$PPID\"", "as long as the parent of this shell lives"},
                {"lk hold tmp --cleanup 'rm -rf /tmp/job'", "cleans up after a kill -9 too"},
            },
        .handle = lk_cli_hold,
    },
    {
        .name = "renew",
        .arguments = "PART...",
        .summary = "extend a lease",
        .text = "Sets the deadline of a held lease to now + its ttl (--ttl changes the ttl). Only\n"
                "owner and paths are compared; modes and limits are ignored. LOST if the lease\n"
                "has ended or was broken; a lost lease cannot be renewed.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell; the\n"
                "right --token is enough.",
        .options = COMMON_OPTIONS | MODE_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TOKEN),
        .idle = MODE_OPTIONS,
        .own_help = {{LK_OPTION_TTL, "the ttl from now on, 50ms to 366d (as before)"}},
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples =
            {
                {"lk renew deploy", "for its ttl, from now on"},
                {"lk renew deploy --ttl 1h --token \"$token\"",
                 "for an hour, if the token is current"},
            },
        .handle = lk_cli_renew,
    },
    {
        .name = "release",
        .arguments = "PART...",
        .summary = "end a lease, or withdraw a waiting request",
        .text = "Ends the request of this owner for these paths; modes and limits are ignored.\n"
                "LOST if there is none, or if it has another token than --token names.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell; the\n"
                "right --token is enough. The lease of the lk run around this stays held,\n"
                "unless --owner names its owner.",
        .options =
            COMMON_OPTIONS | MODE_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(PUT) | BIT(PUT_FILE),
        .idle = MODE_OPTIONS,
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples =
            {
                {"lk release deploy", "with any token"},
                {"lk release deploy --token \"$token\"", "only if it is still that lease"},
                {"lk release a b --put 1 --put 2", "and write a value to each of the two paths"},
            },
        .handle = lk_cli_release,
    },
    {
        .name = "break",
        .arguments = "PATH",
        .summary = "end requests of other owners at a path",
        .text = "For administrators: ends every request with a part at exactly PATH, or those of\n"
                "one owner (--owner). A waiting request is withdrawn. A held lease is revoked: it\n"
                "cannot be renewed, and ends at the deadline that its holder was last promised,\n"
                "or when it is released. --now ends it at once, which is unsafe unless the\n"
                "holder is known to be dead. Prints until when a revoked lease is held. The\n"
                "reason and the user are recorded: see lk audit.\n"
                "It is no failure if there is nothing to break.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(REASON) | BIT(NOW),
        .own_help = {{LK_OPTION_OWNER, "end only the requests of this owner; of a service\n"
                                       "with users, where several have it: USER//OWNER"}},
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples =
            {
                {"lk break deploy --reason 'host web7 is gone' --now", "the holder is dead"},
                {"lk break db --owner ana --reason 'left for the day'",
                 "one owner, at its deadline"},
            },
        .handle = lk_cli_break,
    },
    {
        .name = "audit",
        .arguments = "[PREFIX]",
        .summary = "list past breaks: when, by which user, why",
        .text = "Lists what was broken at or below PREFIX, oldest first. A PREFIX matches whole\n"
                "segments: db covers db/t1, not db2.",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk audit", "everything"}, {"lk audit db --json", "one object a break"}},
        .only_reads = true,
        .at_store = lk_cli_audit,
    },
    {
        .name = "ls",
        .arguments = "[PREFIX]",
        .summary = "list live requests in queue order",
        .text = "Lists each part at or below PREFIX of every live request, in the order of\n"
                "arrival: owner, mode, time left, note. A PREFIX matches whole segments: db\n"
                "covers db/t1, not db2.",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk ls", "everything"}, {"lk ls db --json", "one object a part"}},
        .only_reads = true,
        .at_store = lk_cli_ls,
    },
    {
        .name = "show",
        .arguments = "PATH",
        .summary = "show holders, waiters and blockers of a path",
        .text = "Shows every request with a part at, above or below PATH: the holders, the\n"
                "waiters, and below each waiter the chain of its blockers down to the holders.\n"
                "Of several blockers only the nearest are printed; their own blockers are one\n"
                "level further down. If all requests are for PATH, they are one queue: a line\n"
                "each, numbered. --json names up to 16 blockers of each waiter.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk show db/t1", "the queue at db/t1"},
                     {"lk show db/t1 --json", "one object a part, with its blockers"}},
        .only_reads = true,
        .at_store = lk_cli_show,
    },
    {.name = NULL},
};
