/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a store as a whole, and of the program. */
#include "cli/cli.h"
#include "cli/command_rows.h"

const struct lk_cli_command lk_cli_store_commands[] = {
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
        .text = "Shows the tree of paths at or below PREFIX with holders, waiters and blockers,\n"
                "and queues with their items; reads the store every second. Keys: arrows move,\n"
                "enter shows all about a request, s sorts, / filters, b breaks after asking for\n"
                "a reason (B at once), r reads now, ? explains the keys, q quits. Needs a\n"
                "terminal. Uses colours if the terminal has them and $NO_COLOR is not set.",
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
                "of risky settings. A store in a file is searched for damage (UNAVAILABLE). The\n"
                "last line is \"all is well\" if there is no warning. Of a service it says in\n"
                "sentences what its figures mean; -v and --json have the figures.",
        .options = COMMON_OPTIONS | BIT(VERBOSE),
        .own_help = {{LK_OPTION_VERBOSE, "print all figures of a service"}},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk doctor", "the default store"},
                     {"lk -S sqlite:/srv/locks.db doctor", "that file"}},
        .handle = lk_cli_doctor,
    },
    {
        .name = "backup",
        .arguments = "FILE",
        .summary = "copy the store to a new file, while it is used",
        .text = "Copies a store in a SQLite file, or the file of a service, as it is at one\n"
                "moment, to FILE, which must not be there yet and which only this user can read.\n"
                "Others use the store meanwhile. FILE has its name only once it is complete and\n"
                "on disk. A service with users gives a copy to those with the right admin:/. To\n"
                "restore: stop what uses the store, put FILE in its place (that of a service is\n"
                "DIR/locks.db), and remove its -wal and -shm.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk backup /var/backups/locks-$(date +%F).db", "the default store"},
                     {"lk -S lk://127.0.0.1:7420 backup copy.db", "a service, which goes on"}},
        .handle = lk_cli_backup,
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
                "Listens on this machine only, unless it has users or a password,\n"
                "and TLS (--insecure: without). SIGHUP reads the files of all of them again,\n"
                "and that of --config: what can change does, and the log names the rest.\n"
                "With --store several services share a database or an etcd cluster. One of them\n"
                "leads, and sends the clients of the others to itself; if it ends, another one\n"
                "leads.\n"
                "An option that is not given is taken from the environment, as in\n"
                "LK_SERVE_PASSWORD_FILE, or else from the file of --config.",
        .options = COMMON_OPTIONS | BIT(CONFIG) | BIT(LISTEN) | BIT(UNIX) | BIT(HTTP) | BIT(DIR)
                   | BIT(EPHEMERAL) | BIT(FAILOVER) | BIT(ADVERTISE) | BIT(PASSWORD_FILE)
                   | BIT(USERS) | BIT(TLS_CERT) | BIT(TLS_KEY) | BIT(TLS_CA) | BIT(INSECURE)
                   | BIT(ALLOW_HOST) | BIT(GRAB) | BIT(BOUND) | BIT(TCP_KEEPALIVE) | BIT(LOG_LEVEL)
                   | BIT(LOG_FORMAT) | BIT(SLOW_LOG),
        .has_own_stop = true,
        .own_help = {{LK_OPTION_STORE, "keep everything in this database, which several\n"
                                       "services share: postgresql://HOST/DATABASE or\n"
                                       "mysql://HOST/DATABASE, or an etcd cluster:\n"
                                       "etcd://HOST,HOST,HOST"}},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk serve", "on loopback, ports 7420 and 7421"},
                     {"lk serve --unix /run/lk.sock --dir /var/lib/lk",
                      "for programs on this machine"},
                     {"lk serve --grab", "also for clients of \"grab\""},
                     {"lk serve --config /etc/lockkeeper-service.conf", "as a file says"},
                     {"lk serve --store postgresql://db/locks", "one of several on a database"},
                     {"lk serve --store etcd://e1,e2,e3", "one of several on an etcd cluster"},
                     {"lk serve --listen 127.0.0.1:0 --ephemeral", "for a test"}},
        .handle = lk_cli_serve,
    },
    {
        .name = "passwd",
        .arguments = "FILE USER",
        .summary = "add or change a user of a service",
        .text = "Writes the line of USER in FILE, the users of lk serve --users FILE. Asks for a\n"
                "password twice on a terminal, or reads it from stdin; only its hash is kept. A\n"
                "token, for programs, is made by --token instead. The rules of a user that is\n"
                "there are changed by --allow alone. FILE is made if it is not there. It is\n"
                "replaced as a whole, for its owner alone to read. SIGHUP tells a service to\n"
                "read it again.",
        .options = COMMON_OPTIONS | BIT(NEW_TOKEN) | BIT(CERTIFICATE) | BIT(UNTIL) | BIT(ALLOW)
                   | BIT(REMOVE),
        .idle = BIT(STORE),
        .own_help = {{LK_OPTION_UNTIL, "when the token ends: 17:00, or 2030-01-31, or\n"
                                       "2030-01-31T17:00:00Z (without it: never)"}},
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk passwd users ana --allow lock,read:db", "ana may lock below db"},
                     {"lk passwd users ci --token --until 2027-06-30 --allow claim:jobs",
                      "a token for a worker"},
                     {"lk passwd users ana --remove", "ana is no user any more"}},
        .handle = lk_cli_passwd,
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
                "or mysql; default: that of the store), for a DBA to run. The names in it are\n"
                "those that the store's URL chooses (?schema= of PostgreSQL, ?prefix= of MySQL).\n"
                "postgresql-service and mysql-service print the tables of services that share a\n"
                "database (lk serve --store).",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID) | ENDS(LK_UNSUPPORTED) | ENDS(LK_INTERNAL),
        .examples = {{"lk schema sqlite | sqlite3 locks.db", "prepare a file by hand"},
                     {"lk schema postgresql | psql -v ON_ERROR_STOP=1 shop",
                      "prepare a database, as its DBA"},
                     {"lk -S 'mysql://db/shop?prefix=app_' schema | mariadb --comments shop",
                      "the same, for a store with names of its own"}},
        .handle = lk_cli_schema,
    },
    {
        .name = "help",
        .arguments = "[COMMAND]",
        .summary = "list the commands, or describe one",
        .text = "The same as lk COMMAND --help.",
        .options = COMMON_OPTIONS,
        .idle = BIT(STORE),
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
        .idle = BIT(STORE),
        .outcomes = ENDS(LK_OK) | ENDS(LK_INVALID),
        .examples = {{"lk version", "the version of this lk"}},
        .handle = lk_cli_version,
    },
    {.name = NULL},
};
