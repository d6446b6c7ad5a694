/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "cli/command.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/parse/likeness.h"
#include "cli/parse/other_words.h"

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

/* The options of every command. `run` and `work` leave stdout to CMD, and so take no --json. */
#define PLAIN_OPTIONS (BIT(QUIET) | BIT(STORE) | BIT(HELP) | BIT(VERSION))
#define COMMON_OPTIONS (PLAIN_OPTIONS | BIT(JSON))

/* What fills in a PART that does not say it; renew and release compare paths and ignore it. */
#define MODE_OPTIONS (BIT(SHARED) | BIT(EXCLUSIVE) | BIT(LIMIT) | BIT(UNITS))
#define REQUEST_OPTIONS                                                                            \
    (MODE_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(UNTIL) | BIT(TRY) | BIT(WAIT) | BIT(QUEUE)         \
     | BIT(NOTE) | BIT(CONFLICT_EXIT_CODE))
#define RUN_OPTIONS (BIT(INHERIT) | BIT(ON_LOST) | BIT(MAX_TIME) | BIT(CLEANUP) | BIT(VERBOSE))

#define TABLE_OPTIONS                                                                              \
    (BIT(TABLE) | BIT(ID) | BIT(WHERE) | BIT(ORDER) | BIT(DONE) | BIT(ANNOUNCE_ONLY)               \
     | BIT(NO_ANNOUNCE))

#define ENDS(outcome) (1u << (outcome))
#define ENDS_COMMON                                                                                \
    (ENDS(LK_INVALID) | ENDS(LK_UNAVAILABLE) | ENDS(LK_INTERNAL) | ENDS(LK_DENIED)                 \
     | ENDS(LK_UNSUPPORTED))
#define ENDS_ASK                                                                                   \
    (ENDS_COMMON | ENDS(LK_GRANTED) | ENDS(LK_WAITING) | ENDS(LK_BUSY) | ENDS(LK_TIMEOUT)          \
     | ENDS(LK_DEADLOCK) | ENDS(LK_FULL) | ENDS(LK_LOST))

const struct lk_cli_command lk_cli_commands[] = {
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
                "lk cannot end what is not in its process tree (containers, services, ssh,\n"
                "sudo) or runs on a stopped machine; the token guards against these.",
        .options = PLAIN_OPTIONS | REQUEST_OPTIONS | RUN_OPTIONS,
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
                "that acquire and release in one script have the same owner.",
        .options = COMMON_OPTIONS | REQUEST_OPTIONS | BIT(VALUE),
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
        .name = "renew",
        .arguments = "PART...",
        .summary = "extend a lease",
        .text = "Sets the deadline of a held lease to now + its ttl (--ttl changes the ttl). Only\n"
                "owner and paths are compared; modes and limits are ignored. LOST if the lease\n"
                "has ended or was broken; a lost lease cannot be renewed.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell.",
        .options = COMMON_OPTIONS | MODE_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TOKEN),
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
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell.",
        .options =
            COMMON_OPTIONS | MODE_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(PUT) | BIT(PUT_FILE),
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples =
            {
                {"lk release deploy", "with any token"},
                {"lk release deploy --token \"$token\"", "only if it is still that lease"},
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
                "holder is known to be dead. The reason and the user are recorded: see lk audit.\n"
                "It is no failure if there is nothing to break.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(REASON) | BIT(NOW),
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
    {
        .name = "get",
        .arguments = "PATH",
        .summary = "print the value kept at a path",
        .text = "Prints the value, also while the path is held. Prints a note on stderr if the\n"
                "value is in doubt: a holder that had asked for it has died since it was\n"
                "written.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_NONE),
        .examples = {{"lk get config/web", "the value"},
                     {"lk get config/web --json", "the same, with in_doubt"}},
        .only_reads = true,
        .handle = lk_cli_get,
    },
    {
        .name = "put",
        .arguments = "PATH VALUE",
        .summary = "write the value kept at a path",
        .text = "Writes up to 64 KiB; with - from stdin. BUSY while another owner holds an\n"
                "exclusive lease that covers PATH. With --token: only while this owner's lease\n"
                "with that token covers it, else LOST.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(CONFLICT_EXIT_CODE),
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_BUSY) | ENDS(LK_LOST),
        .examples = {{"lk put config/web on", "a word"},
                     {"lk put config/web - < web.conf", "a file"}},
        .handle = lk_cli_put,
    },
    {
        .name = "del",
        .arguments = "PATH",
        .summary = "delete the value kept at a path",
        .text = "BUSY and LOST as for lk put. It is no failure if there is no value.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(CONFLICT_EXIT_CODE),
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_BUSY) | ENDS(LK_LOST),
        .examples = {{"lk del config/web", "remove the value"}},
        .handle = lk_cli_del,
    },
    {
        .name = "push",
        .arguments = "QUEUE ID [VALUE]",
        .summary = "add a piece of work to a queue",
        .text = "Adds an item. If an item with this ID exists, claimed or not, nothing is added,\n"
                "and the duplicate is reported and counted: it does no harm to push the same\n"
                "work twice. VALUE is passed to the worker that claims the item; - reads it from\n"
                "stdin.",
        .options = COMMON_OPTIONS | BIT(DELAY) | BIT(NEEDS),
        .words = {2, 3},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk push mails 4711 'to: ana'", "one item"},
                     {"lk push mails 4711 --delay 1h --needs 'smtp?limit=3'",
                      "in an hour; three at a time"}},
        .handle = lk_cli_push,
    },
    {
        .name = "claim",
        .arguments = "QUEUE",
        .summary = "claim the oldest item that is free",
        .text = "Leases one item and prints ID, token and value, separated by tabs. End the claim\n"
                "with lk done or lk retry before its ttl ends; lk renew QUEUE/ID extends it. When\n"
                "a claim perishes, its item can be claimed again at once. BUSY if there is no\n"
                "free item; --wait waits for one.\n"
                "With --table (and --id, --where, as for lk work) the item's row is checked\n"
                "again; an item whose row no longer matches is dropped. QUEUE defaults to its\n"
                "name.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TRY) | BIT(WAIT) | BIT(NOTE)
                   | BIT(MAX_ATTEMPTS) | BIT(CONFLICT_EXIT_CODE) | BIT(TABLE) | BIT(ID)
                   | BIT(WHERE),
        .words = {1, 1},
        .for_words = BIT(TABLE),
        .outcomes =
            ENDS_COMMON | ENDS(LK_GRANTED) | ENDS(LK_BUSY) | ENDS(LK_TIMEOUT) | ENDS(LK_FULL),
        .examples = {{"lk claim mails --ttl 5m", "one item, for five minutes"},
                     {"lk claim mails --wait 1h --json", "wait for work"}},
        .at_store = lk_cli_claim,
    },
    {
        .name = "done",
        .arguments = "QUEUE ID",
        .summary = "end a claim and remove the item",
        .text = "LOST if this owner has no claim on the item, or no longer.\n"
                "With --table (and --id, --where, --done, as for lk work) the statement runs in\n"
                "the transaction that ends the claim, which --token must name. If it fails:\n"
                "INVALID, and the claim is held as before.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(TABLE) | BIT(ID) | BIT(WHERE)
                   | BIT(DONE),
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk done mails 4711 --token \"$token\"", "if the token is current"}},
        .at_store = lk_cli_done,
    },
    {
        .name = "retry",
        .arguments = "QUEUE ID",
        .summary = "return a claimed item to the queue",
        .text = "The item can be claimed again at once, or after --delay. It is parked instead if\n"
                "the claim named --max-attempts and has used them up.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(DELAY),
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk retry mails 4711 --delay 10m", "in ten minutes"}},
        .at_store = lk_cli_retry,
    },
    {
        .name = "unpark",
        .arguments = "QUEUE ID",
        .summary = "make a parked item ready again",
        .text = "Sets its count of attempts to 0. LOST if there is no such parked item.",
        .options = COMMON_OPTIONS,
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk unpark mails 4711", "try the item again"}},
        .at_store = lk_cli_unpark,
    },
    {
        .name = "work",
        .arguments = "QUEUE -- CMD [ARG...]",
        .summary = "claim items and run a command for each",
        .text = "Claims one item after another and runs CMD for each, as lk run does under a\n"
                "lease. {id} in an ARG is the item's id, and stdin is its value. The environment\n"
                "has LK_QUEUE, LK_ITEM_ID, LK_TOKEN, LK_TOKENS, LK_OWNER, LK_STORE, LK_PATH and\n"
                "LK_TTL_MS. lk renews the claim, and ends CMD if the claim is lost. Exit code 0\n"
                "of CMD means done; after any other, or --max-time, the item is returned, to be\n"
                "claimed again after 1 s (--backoff), 2 s, 4 s and so on, up to 5 min. Each item\n"
                "that fails has a line on stderr. Each worker is a process and an owner of its\n"
                "own.\n"
                "The first SIGTERM, SIGINT or SIGHUP stops claiming and lets running commands\n"
                "end; the second, or SIGQUIT, ends them and returns their items.\n"
                "With --table the items are the rows of a table or view in the store's own\n"
                "database (or file: sqlite:FILE?share=yes), and QUEUE defaults to its name.\n"
                "Without --done, an item that is done is remembered until its row no longer\n"
                "matches. Your SQL runs as you wrote it; --done can use :id, :token, :owner and\n"
                ":attempt of the claim.",
        .options = PLAIN_OPTIONS | BIT(WORKERS) | BIT(MAX_ATTEMPTS) | BIT(DRAIN) | BIT(TTL)
                   | BIT(NOTE) | BIT(MAX_TIME) | BIT(BACKOFF) | TABLE_OPTIONS,
        .words = {1, 1},
        .for_words = BIT(TABLE),
        .for_tail = BIT(ANNOUNCE_ONLY),
        .has_tail = true,
        .has_own_stop = true,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .more_codes = "  1  --drain, and an item was parked meanwhile\n"
                      "126  CMD cannot be executed\n"
                      "127  CMD is not found\n"
                      "  *  128+N when signal N had CMD ended\n",
        .examples =
            {
                {"lk work mails --workers 4 -- ./send {id}", "four at once, until stopped"},
                {"lk work mails --drain --max-attempts 5 -- ./send {id}",
                 "until nothing is left; park what fails five times"},
                {"lk work mails -- sh -c 'send \"$LK_ITEM_ID\"'", "in a shell, by the environment"},
                {"lk work --table orders --where 'sent = 0' -- ./send {id}", "the rows of a table"},
            },
        .handle = lk_cli_work,
    },
    {
        .name = "items",
        .arguments = "QUEUE",
        .summary = "list the items of a queue, oldest first",
        .text = "Lists state (ready, delayed, claimed, parked), attempts, and the claim's owner.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk items mails", "a table"}, {"lk items mails --json", "one object each"}},
        .only_reads = true,
        .handle = lk_cli_items,
    },
    {
        .name = "stats",
        .arguments = "QUEUE",
        .summary = "print the counters of a queue",
        .text = "How often items were pushed, pushed again (duplicates), claimed, stolen (claimed\n"
                "after a claim that perished), done, returned and parked; and how many there are\n"
                "now. Many duplicates and steals mean that there are too many workers, or that\n"
                "their ttl is too short.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk stats mails", "one name and number a line"}},
        .only_reads = true,
        .handle = lk_cli_stats,
    },
    {
        .name = "watch",
        .arguments = "[PREFIX]",
        .summary = "print events as they happen",
        .text = "Prints every event at or below PREFIX as it happens, until interrupted: queued,\n"
                "granted, converted, released, withdrawn, perished, broken, refused,\n"
                "value_written; of items pushed, claimed, stolen, done, retried, parked,\n"
                "unparked. A store keeps events while a watch runs, and --after continues where\n"
                "another watch ended. Events that are no longer kept are reported as gap. lk\n"
                "limits events=N keeps the last N at all times.",
        .options = COMMON_OPTIONS | BIT(AFTER),
        .words = {0, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .more_codes = "128+N  ended by signal N\n",
        .examples = {{"lk watch", "everything"},
                     {"lk watch db --json | jq -r .event", "one object an event"}},
        .handle = lk_cli_watch,
    },
    {
        .name = "limits",
        .arguments = "[NAME=N]...",
        .summary = "show or set the bounds of a store",
        .text = "Sets the bounds that are named, for all clients of the store, and prints all of\n"
                "them; 0: none. A request past a bound on live requests (live: in all,\n"
                "live-per-owner, live-per-root) or on requests waiting at one path\n"
                "(waiters-per-path) is answered FULL; existing requests stay. events is the\n"
                "number of past events that the store keeps for lk watch.",
        .options = COMMON_OPTIONS,
        .words = {0, 5},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk limits", "the present bounds"},
                     {"lk limits live=10000 live-per-owner=100", "both, at once"},
                     {"lk limits events=1000", "keep the last thousand events"}},
        .handle = lk_cli_limits,
    },
    {
        .name = "top",
        .arguments = "[PREFIX]",
        .summary = "watch holders and waiters live, full screen",
        .text = "Shows the tree of paths at or below PREFIX with holders, waiters and blockers;\n"
                "reads the store every second. Keys: arrows move, enter shows all about a\n"
                "request, s sorts, / filters, b breaks after asking for a reason (B at once), r\n"
                "reads now, ? explains the keys, q quits. Needs a terminal. Uses colours if the\n"
                "terminal has them and $NO_COLOR is not set.",
        .options = PLAIN_OPTIONS,
        .words = {0, 1},
        .has_own_stop = true,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .more_codes = "128+N  ended by signal N\n",
        .examples = {{"lk top", "everything"}, {"lk top db", "db and all below it"}},
        .handle = lk_cli_top,
    },
    {
        .name = "doctor",
        .arguments = "",
        .summary = "check the store",
        .text = "Checks whether the store can be reached. Prints what it is, what it can do, how\n"
                "long a round trip takes and how far its clock is from this machine's, and warns\n"
                "of risky settings.",
        .options = COMMON_OPTIONS,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk doctor", "the default store"},
                     {"lk -S sqlite:/srv/locks.db doctor", "that file"}},
        .handle = lk_cli_doctor,
    },
    {
        .name = "serve",
        .arguments = "",
        .summary = "run a Lockkeeper service",
        .text = "Keeps locks, values and work for clients that speak the Redis protocol (any\n"
                "Redis client; lk -S lk://HOST:PORT) or HTTP. Prints its addresses once it\n"
                "listens. Every acknowledged change is on disk (unless --ephemeral), so the\n"
                "service can be killed and restarted at any time. SIGTERM and SIGINT end it:\n"
                "blocked calls end with UNAVAILABLE; their requests keep their place in the\n"
                "queue across the restart.\n"
                "Listens on this machine only, unless there is a password, or --insecure.",
        .options = COMMON_OPTIONS | BIT(LISTEN) | BIT(UNIX) | BIT(HTTP) | BIT(DIR) | BIT(EPHEMERAL)
                   | BIT(PASSWORD_FILE) | BIT(INSECURE) | BIT(ALLOW_HOST) | BIT(BOUND)
                   | BIT(TCP_KEEPALIVE),
        .has_own_stop = true,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk serve", "on loopback, ports 7420 and 7421"},
                     {"lk serve --unix /run/lk.sock --dir /var/lib/lk",
                      "for programs on this machine"},
                     {"lk serve --listen 127.0.0.1:0 --ephemeral", "for a test"}},
        .handle = lk_cli_serve,
    },
    {
        .name = "bench",
        .arguments = "",
        .summary = "measure acquire and release against the store",
        .text = "Runs clients that acquire and release as fast as they can, each with its own\n"
                "owner and connection, below a fresh path. Prints pairs a second and the latency\n"
                "of acquire and release in microseconds; where clients take turns also the\n"
                "hand-off, from sending a release to the grant of the next client.",
        .options = COMMON_OPTIONS | BIT(PATTERN) | BIT(CLIENTS) | BIT(SECONDS),
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST) | ENDS(LK_FULL),
        .examples = {{"lk bench", "one client"},
                     {"lk -S lk://locks:7420 bench --clients 20 --pattern one",
                      "twenty take turns at one key"}},
        .handle = lk_cli_bench,
    },
    {
        .name = "schema",
        .arguments = "[DIALECT]",
        .summary = "print the SQL that a store needs",
        .text = "Prints the SQL that prepares an empty store of that dialect (sqlite, postgresql\n"
                "or mysql; default: that of the store), for a DBA to run.",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID) | ENDS(LK_UNSUPPORTED) | ENDS(LK_INTERNAL),
        .examples = {{"lk schema sqlite | sqlite3 locks.db", "prepare a file by hand"},
                     {"lk schema postgresql | psql -v ON_ERROR_STOP=1 shop",
                      "prepare a database, as its DBA"}},
        .handle = lk_cli_schema,
    },
    {
        .name = "help",
        .arguments = "[COMMAND]",
        .summary = "list the commands, or describe one",
        .text = "The same as lk COMMAND --help.",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID),
        .examples = {{"lk help acquire", "options, examples and exit codes of acquire"}},
        .handle = lk_cli_help,
    },
    {
        .name = "version",
        .arguments = "",
        .summary = "print the version",
        .text = "The same as lk --version.",
        .options = COMMON_OPTIONS,
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID),
        .examples = {{"lk version", "the version of this lk"}},
        .handle = lk_cli_version,
    },
    {.name = NULL},
};

const struct lk_cli_command *lk_cli_command_by_name(const char *name) {
    for (const struct lk_cli_command *command = lk_cli_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

const struct lk_cli_command *lk_cli_command_like(const char *name) {
    const struct lk_cli_command *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;
    const char *own = lk_other_command(name, strlen(name));

    if (own != NULL) {
        return lk_cli_command_by_name(own);
    }
    for (const struct lk_cli_command *command = lk_cli_commands; command->name != NULL; command++) {
        size_t distance = lk_likeness(name, strlen(name), command->name);
        if (distance < best_distance) {
            best = command;
            best_distance = distance;
        }
    }
    return best;
}
