/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands. */
#include "cli/command.h"

#include <string.h>

#include "cli/cli.h"
#include "cli/likeness.h"

#define BIT(name) LK_OPTION_BIT(LK_OPTION_##name)

/* What every command knows. `run` and `work` leave stdout to CMD, and so take no --json. */
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

const struct lk_command lk_commands[] = {
    {
        .name = "run",
        .arguments = "PART... -- CMD [ARG...]",
        .summary = "run a command under a lease",
        .text = "Waits for the lease, runs CMD under it, keeps the lease alive and releases it\n"
                "however CMD ends. A PART is PATH[?shared][?limit=N[&units=U]]; all are granted\n"
                "together or none. The owner is a fresh unique one unless --owner names it.\n"
                "CMD finds LK_STORE, LK_PATH, LK_OWNER, LK_TOKEN and LK_TTL_MS in its\n"
                "environment. It never outlives the deadline that the store last promised: if\n"
                "the lease is lost, CMD and all it started get SIGTERM, then SIGKILL.\n"
                "What leaves the process tree (containers, ssh, sudo, a stopped machine) is out\n"
                "of reach; there the token is the guard.",
        .options = PLAIN_OPTIONS | REQUEST_OPTIONS | RUN_OPTIONS,
        .words_min = 1,
        .words_max = LK_WORDS_ANY,
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
                {"lk run -n db/t1 -- ./reset || echo busy", "now or not at all"},
            },
        .handle = lk_cli_run_command,
    },
    {
        .name = "acquire",
        .arguments = "PART...",
        .summary = "take a lease and leave it held until its ttl",
        .text = "Takes the lease, prints its fencing token and leaves it held until its ttl is\n"
                "over: renew it, or release it. A PART is PATH[?shared][?limit=N[&units=U]]; all\n"
                "are granted together or none. Asking again with the same owner and paths never\n"
                "makes a second request: it refreshes the one that is there.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell, so\n"
                "that acquire and release in one script belong together.",
        .options = COMMON_OPTIONS | REQUEST_OPTIONS | BIT(VALUE),
        .words_min = 1,
        .words_max = LK_WORDS_ANY,
        .outcomes = ENDS_ASK,
        .examples =
            {
                {"token=$(lk acquire deploy --ttl 10m --note nightly)", "hold it for ten minutes"},
                {"lk acquire -w 30 db/t1 'pool?limit=3'", "both or none, within 30 s"},
                {"lk acquire --queue --json db --owner reset", "get in line; ask again to poll"},
            },
        .handle = lk_cli_acquire,
    },
    {
        .name = "renew",
        .arguments = "PART...",
        .summary = "set the deadline of a lease anew",
        .text = "Sets the deadline of a held lease to now + its ttl (--ttl changes it). Compares\n"
                "owner and paths; modes and limits are ignored. LOST if the lease is not held\n"
                "any more, or somebody broke it: nothing revives it.\n"
                "The owner is --owner, else $LK_OWNER, else one made for the calling shell.",
        .options = COMMON_OPTIONS | MODE_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TOKEN),
        .words_min = 1,
        .words_max = LK_WORDS_ANY,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples =
            {
                {"lk renew deploy", "so long again as it was asked for"},
                {"lk renew deploy --ttl 1h --token \"$token\"", "an hour, if it is still mine"},
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
        .words_min = 1,
        .words_max = LK_WORDS_ANY,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples =
            {
                {"lk release deploy", "whatever the token is"},
                {"lk release deploy --token \"$token\"", "only if it is still that lease"},
            },
        .handle = lk_cli_release,
    },
    {
        .name = "break",
        .arguments = "PATH",
        .summary = "end other people's requests at a path",
        .text = "An administrator's end of every request with a part at exactly PATH, or of one\n"
                "owner's (--owner). Waiting ones are withdrawn. A held one is revoked: it cannot\n"
                "be renewed, and passes on at the deadline that its holder was last promised, or\n"
                "when it is released. With --now it passes on at once, which is unsafe unless\n"
                "the holder is known to be dead. The reason, and who gave it, go on record: see\n"
                "lk audit. Breaking nothing is no failure.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(REASON) | BIT(NOW),
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples =
            {
                {"lk break deploy --reason 'host web7 is gone' --now", "the holder is dead"},
                {"lk break db --owner ana --reason 'left for the day'",
                 "one owner's, at its deadline"},
            },
        .handle = lk_cli_break,
    },
    {
        .name = "audit",
        .arguments = "[PREFIX]",
        .summary = "list past breaks: who, when, why, what",
        .text = "Lists what was broken at or below PREFIX, oldest first. A PREFIX matches whole\n"
                "segments: db covers db/t1, not db2.",
        .options = COMMON_OPTIONS,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk audit", "everything"}, {"lk audit db --json", "one object a break"}},
        .handle = lk_cli_audit,
    },
    {
        .name = "ls",
        .arguments = "[PREFIX]",
        .summary = "list live requests in queue order",
        .text = "Lists each part at or below PREFIX of every live request, in the order of\n"
                "arrival: who, how, how long, note. A PREFIX matches whole segments: db covers\n"
                "db/t1, not db2.",
        .options = COMMON_OPTIONS,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk ls", "everything"}, {"lk ls db --json", "one object a part"}},
        .handle = lk_cli_ls,
    },
    {
        .name = "show",
        .arguments = "PATH",
        .summary = "who holds a path, who waits, and for whom",
        .text = "Shows every request with a part at, above or below PATH: those that hold it,\n"
                "those that wait, and below each that waits the chain of those in its way, down\n"
                "to the holders. Of somebody in the way only the nearest is named: whom that one\n"
                "waits for stands below it. --json names all that are in the way.",
        .options = COMMON_OPTIONS,
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk show db/t1", "the queue at db/t1"},
                     {"lk show db/t1 --json", "one object a part, with its blockers"}},
        .handle = lk_cli_show,
    },
    {
        .name = "get",
        .arguments = "PATH",
        .summary = "print the value kept at a path",
        .text = "Prints the value, whoever holds the path. Says so on stderr when it is in doubt:\n"
                "when a holder that had asked for it died since it was written.",
        .options = COMMON_OPTIONS,
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_NONE),
        .examples = {{"lk get config/web", "the value"},
                     {"lk get config/web --json", "with in_doubt"}},
        .handle = lk_cli_get,
    },
    {
        .name = "put",
        .arguments = "PATH VALUE",
        .summary = "write the value kept at a path",
        .text = "Writes up to 64 KiB; - reads them from stdin. BUSY while another owner holds an\n"
                "exclusive lease that covers PATH. With --token: only while this owner's lease\n"
                "with that token covers it, else LOST.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(CONFLICT_EXIT_CODE),
        .words_min = 2,
        .words_max = 2,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_BUSY) | ENDS(LK_LOST),
        .examples = {{"lk put config/web on", "a word"},
                     {"lk put config/web - < web.conf", "a file"}},
        .handle = lk_cli_put,
    },
    {
        .name = "del",
        .arguments = "PATH",
        .summary = "delete the value kept at a path",
        .text = "Refused as put is. Deleting what is not there is no failure.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(CONFLICT_EXIT_CODE),
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_BUSY) | ENDS(LK_LOST),
        .examples = {{"lk del config/web", "forget it"}},
        .handle = lk_cli_del,
    },
    {
        .name = "push",
        .arguments = "QUEUE ID [VALUE]",
        .summary = "add a piece of work to a queue",
        .text = "Adds an item; where one with this ID is already, claimed or not, nothing is\n"
                "added, and that is said and counted: announcing the same work twice is\n"
                "harmless. VALUE is for whoever claims it; - reads it from stdin.",
        .options = COMMON_OPTIONS | BIT(DELAY) | BIT(NEEDS),
        .words_min = 2,
        .words_max = 3,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk push mails 4711 'to: ana'", "one item"},
                     {"lk push mails 4711 --delay 1h --needs 'smtp?limit=3'",
                      "in an hour, three at once"}},
        .handle = lk_cli_push,
    },
    {
        .name = "claim",
        .arguments = "QUEUE",
        .summary = "claim the oldest item that is free",
        .text = "Leases one item and prints ID, token and value with tabs between. Finish it by\n"
                "lk done or lk retry before the ttl is over (lk renew QUEUE/ID sets it anew);\n"
                "a claim that perishes makes its item claimable again at once. BUSY when there\n"
                "is nothing to claim; --wait waits for something.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TRY) | BIT(WAIT) | BIT(NOTE)
                   | BIT(MAX_ATTEMPTS) | BIT(CONFLICT_EXIT_CODE),
        .words_min = 1,
        .words_max = 1,
        .outcomes =
            ENDS_COMMON | ENDS(LK_GRANTED) | ENDS(LK_BUSY) | ENDS(LK_TIMEOUT) | ENDS(LK_FULL),
        .examples = {{"lk claim mails --ttl 5m", "one item, for five minutes"},
                     {"lk claim mails --wait 1h --json", "wait for work"}},
        .handle = lk_cli_claim,
    },
    {
        .name = "done",
        .arguments = "QUEUE ID",
        .summary = "finish a claim: the item is removed",
        .text = "LOST if the item is not claimed by this owner (any more).",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN),
        .words_min = 2,
        .words_max = 2,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk done mails 4711 --token \"$token\"", "if it is still mine"}},
        .handle = lk_cli_done,
    },
    {
        .name = "retry",
        .arguments = "QUEUE ID",
        .summary = "give a claimed item back",
        .text = "It can be claimed again at once, or after --delay; or it is parked, when the\n"
                "claim named --max-attempts and they are used up.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(DELAY),
        .words_min = 2,
        .words_max = 2,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk retry mails 4711 --delay 10m", "later"}},
        .handle = lk_cli_retry,
    },
    {
        .name = "unpark",
        .arguments = "QUEUE ID",
        .summary = "make a parked item ready again",
        .text = "Its attempts are forgotten. LOST if there is no such parked item.",
        .options = COMMON_OPTIONS,
        .words_min = 2,
        .words_max = 2,
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk unpark mails 4711", "once more"}},
        .handle = lk_cli_unpark,
    },
    {
        .name = "work",
        .arguments = "QUEUE -- CMD [ARG...]",
        .summary = "claim items and run a command for each",
        .text = "Claims item after item and runs CMD for each, as lk run does under a lease: {id}\n"
                "in an ARG is the item's id, stdin is its value, and LK_QUEUE, LK_ITEM_ID,\n"
                "LK_TOKEN, LK_OWNER, LK_STORE, LK_PATH and LK_TTL_MS are in its environment. The\n"
                "claim is kept alive; CMD is ended when it is lost. CMD's exit code 0 means done;\n"
                "after any other the item is given back, to be claimed after 1 s, 2 s, 4 s and\n"
                "so on, up to 5 min. Each worker is a process and an owner of its own.\n"
                "SIGTERM, SIGINT or SIGHUP: claims nothing more and lets what runs end; once\n"
                "more, or SIGQUIT: ends it and gives its items back.\n"
                "With --table the items are the rows of a table or view in the store's own\n"
                "database (or file: sqlite:FILE?share=yes), and QUEUE is its name unless given.\n"
                "What is done without --done is remembered until its row does not fit any more.\n"
                "Of the SQL, which is yours and runs as it is, --done knows :id, :token, :owner\n"
                "and :attempt of the claim.",
        .options = PLAIN_OPTIONS | BIT(WORKERS) | BIT(MAX_ATTEMPTS) | BIT(DRAIN) | BIT(TTL)
                   | BIT(NOTE) | TABLE_OPTIONS,
        .words_min = 1,
        .words_max = 1,
        .for_words = BIT(TABLE),
        .for_tail = BIT(ANNOUNCE_ONLY),
        .has_tail = true,
        .has_own_stop = true,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .more_codes = "126  CMD cannot be executed\n"
                      "127  CMD is not found\n"
                      "  *  128+N when signal N had CMD ended\n",
        .examples =
            {
                {"lk work mails --workers 4 -- ./send {id}", "four at once, until it is stopped"},
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
        .text = "State (ready, delayed, claimed, parked), attempts, and who has claimed it.",
        .options = COMMON_OPTIONS,
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk items mails", "a table"}, {"lk items mails --json", "one object each"}},
        .handle = lk_cli_items,
    },
    {
        .name = "stats",
        .arguments = "QUEUE",
        .summary = "what was counted of a queue",
        .text = "How often items were pushed, pushed again (duplicates), claimed, stolen (claimed\n"
                "after a claim that perished), done, given back and parked; and how many there\n"
                "are now. Many duplicates and steals say that there are too many workers, or\n"
                "that their ttl is too short.",
        .options = COMMON_OPTIONS,
        .words_min = 1,
        .words_max = 1,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk stats mails", "one name and number a line"}},
        .handle = lk_cli_stats,
    },
    {
        .name = "watch",
        .arguments = "[PREFIX]",
        .summary = "follow what happens, a line an event",
        .text = "Prints every event at or below PREFIX as it happens, until interrupted: queued,\n"
                "granted, converted, released, withdrawn, perished, broken, refused,\n"
                "value_written; of items pushed, claimed, stolen, done, retried, parked,\n"
                "unparked. Nothing need be set up: a store keeps events while somebody watches,\n"
                "and --after goes on where another watch ended. What is not known any more is\n"
                "told as gap, and never left out silently. lk limits events=N keeps the last N\n"
                "at all times.",
        .options = COMMON_OPTIONS | BIT(AFTER),
        .words_max = 1,
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
        .text = "Shows the bounds that the store keeps, after setting those that are named, for\n"
                "everybody who uses it; 0: none. Past a bound on live requests (live: in all,\n"
                "live-per-owner, live-per-root) or on requests waiting at one path\n"
                "(waiters-per-path) the answer is FULL; what is there already stays. events is\n"
                "how many events lk watch can look back on at all times.",
        .options = COMMON_OPTIONS,
        .words_max = 5,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk limits", "what holds now"},
                     {"lk limits live=10000 live-per-owner=100", "both, at once"},
                     {"lk limits events=1000", "keep the last thousand events"}},
        .handle = lk_cli_limits,
    },
    {
        .name = "top",
        .arguments = "[PREFIX]",
        .summary = "watch holders and waiters live, full screen",
        .text = "Shows the tree of paths at or below PREFIX with all that is held and all who\n"
                "wait, and for whom; read anew every second. Keys: arrows move, enter shows all\n"
                "about a request, s sorts, / filters, b breaks after asking for a reason (B at\n"
                "once), r reads now, ? explains the keys, q quits. Needs a terminal; colours\n"
                "only where it has them and $NO_COLOR is not set.",
        .options = PLAIN_OPTIONS,
        .words_max = 1,
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
        .text = "Says whether the store can be reached, what it is and can do, how long a round\n"
                "trip takes and how far its clock is from this machine's, and warns of what may\n"
                "hurt.",
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
                "Redis client; lk -S lk://HOST:PORT) or HTTP. Prints where its doors are once\n"
                "they are open. What it answered is on the disk, unless --ephemeral: it can be\n"
                "killed and started anew. SIGTERM and SIGINT end it: who waits is sent away and\n"
                "keeps the place in line for the next start.\n"
                "Listens on this machine only, unless there is a password, or --insecure.",
        .options = COMMON_OPTIONS | BIT(LISTEN) | BIT(UNIX) | BIT(HTTP) | BIT(DIR) | BIT(EPHEMERAL)
                   | BIT(PASSWORD_FILE) | BIT(INSECURE) | BIT(BOUND),
        .has_own_stop = true,
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk serve", "on loopback, ports 7420 and 7421"},
                     {"lk serve --unix /run/lk.sock --http none --dir /var/lib/lk",
                      "for this machine's programs"},
                     {"lk serve --listen 127.0.0.1:0 --ephemeral", "for a test"}},
        .handle = lk_cli_serve,
    },
    {
        .name = "bench",
        .arguments = "",
        .summary = "measure acquire and release against the store",
        .text = "Clients, each with an owner and a connection of its own, acquire and release as\n"
                "fast as they can, below a fresh path that meets nobody's locks. Prints pairs a\n"
                "second and how long acquires and releases took, in microseconds; where they\n"
                "take turns also the hand-off, from sending a release to the next one's grant.",
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
        .text = "Prints what Lockkeeper makes in an empty store of that dialect (sqlite,\n"
                "postgresql or mysql; unless named, that of the store), for somebody else to\n"
                "run.",
        .options = COMMON_OPTIONS,
        .words_max = 1,
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID) | ENDS(LK_UNSUPPORTED) | ENDS(LK_INTERNAL),
        .examples = {{"lk schema sqlite | sqlite3 locks.db", "prepare a file by hand"},
                     {"lk schema postgresql | psql -v ON_ERROR_STOP=1 shop",
                      "prepare a database, as its DBA"}},
        .handle = lk_cli_schema,
    },
    {
        .name = "help",
        .arguments = "[COMMAND]",
        .summary = "this list, or all about one command",
        .text = "The same as lk COMMAND --help.",
        .options = COMMON_OPTIONS,
        .words_max = 1,
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
        .examples = {{"lk version", "which lk is this"}},
        .handle = lk_cli_version,
    },
    {.name = NULL},
};

const struct lk_command *lk_command_by_name(const char *name) {
    for (const struct lk_command *command = lk_commands; command->name != NULL; command++) {
        if (strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

const struct lk_command *lk_command_like(const char *name) {
    const struct lk_command *best = NULL;
    size_t best_distance = LK_LIKENESS_NONE;

    for (const struct lk_command *command = lk_commands; command->name != NULL; command++) {
        size_t distance = lk_likeness(name, strlen(name), command->name);
        if (distance < best_distance) {
            best = command;
            best_distance = distance;
        }
    }
    return best;
}
