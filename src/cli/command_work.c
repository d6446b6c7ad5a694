/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of values and of work. */
#include "cli/cli.h"
#include "cli/command_rows.h"

/* What help says of an option where its own text does not fit the command. */
#define CLAIM_TOKEN                                                                                \
    { LK_OPTION_TOKEN, "only the claim with this token; else LOST" }

#define TABLE_OPTIONS                                                                              \
    (BIT(TABLE) | BIT(ID) | BIT(WHERE) | BIT(ORDER) | BIT(DONE) | BIT(ANNOUNCE_ONLY)               \
     | BIT(NO_ANNOUNCE))

const struct lk_cli_command lk_cli_work_commands[] = {
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
        .own_help = {{LK_OPTION_TOKEN, "only while this owner's lease with this token\n"
                                       "covers PATH; else LOST"}},
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
        .own_help = {{LK_OPTION_TOKEN, "only while this owner's lease with this token\n"
                                       "covers PATH; else LOST"}},
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_BUSY) | ENDS(LK_LOST),
        .examples = {{"lk del config/web", "remove the value"}},
        .handle = lk_cli_del,
    },
    {
        .name = "values",
        .arguments = "[PREFIX]",
        .summary = "list the paths that keep values",
        .text = "Lists every value at or below PREFIX by path, with its size in bytes and whether\n"
                "it is in doubt, not the value itself. A long list is read and printed in pages.\n"
                "UNSUPPORTED in a store of redis:.",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk values", "all of them"},
                     {"lk values config --json", "those below config, one object each"}},
        .only_reads = true,
        .at_store = lk_cli_values,
    },
    {
        .name = "push",
        .arguments = "QUEUE ID [VALUE]",
        .summary = "add work to a queue",
        .text = "Adds an item. If an item with this ID exists, claimed or not, nothing is added,\n"
                "and the duplicate and the item's state are reported: it does no harm to push\n"
                "the same work twice. But news are lost then, if a worker has read the value\n"
                "already. With --again the item is worked on once more: one that waits or is\n"
                "parked gets the new value, priority, delay and needs, and is ready; one that is\n"
                "claimed is ready, with all of these, when its claim ends. Of several such pushes\n"
                "the last one counts, so --again --delay 5s works when nothing was pushed for\n"
                "5 s. With --replace only an item that waits to be claimed is changed. VALUE is\n"
                "passed to the worker that claims the item; - reads it from stdin.\n"
                "With --wait lk waits until the item is done, and prints its result; --keep is\n"
                "10m then unless named. The exit code is 1 if it was parked, dropped or\n"
                "cancelled.\n"
                "lk push QUEUE - adds many: each line of stdin is an object in JSON with id, and\n"
                "perhaps value (or value_base64), needs, delay (or at), priority, again, replace\n"
                "and keep. A line that is wrong ends the call, after those before it are pushed.\n"
                "Prints how many were added.",
        .options = COMMON_OPTIONS | BIT(DELAY) | BIT(AT) | BIT(NEEDS) | BIT(PRIORITY) | BIT(AGAIN)
                   | BIT(REPLACE) | BIT(KEEP) | BIT(WAIT),
        .own_help = {{LK_OPTION_WAIT,
                      "wait at most this long for the result\n(default: do not wait)"}},
        .words = {2, 3},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_FULL) | ENDS(LK_NONE) | ENDS(LK_TIMEOUT),
        .examples = {{"lk push mails 4711 'to: ana'", "one item"},
                     {"lk push mails 4711 --delay 1h --needs 'smtp?limit=3'",
                      "in an hour; three at a time"},
                     {"lk push mails 4711 --needs 'customer/7?strict'",
                      "in order with others of this customer"},
                     {"lk push reports 2030-01-31 --at 2030-01-31T06:00:00Z", "at a time"},
                     {"lk push index doc5 'version 2' --again", "once more, if it is claimed"},
                     {"lk push thumbs cat.png --wait 30s", "wait for its result"},
                     {"lk push mails - <mails.jsonl", "many items"}},
        .handle = lk_cli_push,
    },
    {
        .name = "claim",
        .arguments = "QUEUE",
        .summary = "claim the next item that is due and free",
        .text = "Leases one item and prints ID, token and value, separated by tabs. End the claim\n"
                "with lk done or lk retry before its ttl ends; lk renew QUEUE/ID extends it. When\n"
                "a claim perishes, its item can be claimed again at once. BUSY if there is no\n"
                "free item; --wait waits for one.\n"
                "With --table (and --id, --where, as for lk work) the item's row is checked\n"
                "again; an item whose row no longer matches is dropped. QUEUE defaults to its\n"
                "name.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TTL) | BIT(TRY) | BIT(WAIT) | BIT(NOTE)
                   | BIT(MAX_ATTEMPTS) | BIT(CONFLICT_EXIT_CODE) | BIT(TABLE) | BIT(ID) | BIT(WHERE)
                   | BIT(VERBOSE),
        .own_help = {{LK_OPTION_WAIT, "wait at most this long for an item\n(default: --try)"},
                     {LK_OPTION_VERBOSE, "print the counts of the queue while waiting"}},
        .busy_text = "nothing to claim: no item is due and free",
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
        .text = "LOST if this owner has no claim on the item, or no longer. If its push or --keep\n"
                "names a time, the item is kept for so long with --result: see lk result.\n"
                "With --table (and --id, --where, --done, as for lk work) the statement runs in\n"
                "the transaction that ends the claim, which --token must name. If it fails:\n"
                "INVALID, and the claim is held as before.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(RESULT) | BIT(KEEP) | BIT(TABLE)
                   | BIT(ID) | BIT(WHERE) | BIT(DONE),
        .own_help = {CLAIM_TOKEN},
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk done mails 4711 --token \"$token\"", "if the token is current"},
                     {"lk done thumbs cat.png --result cat-small.png --keep 1h", "with a result"}},
        .at_store = lk_cli_done,
    },
    {
        .name = "retry",
        .arguments = "QUEUE ID",
        .summary = "return a claimed item to the queue",
        .text = "The item can be claimed again at once, or after --delay. It is parked instead if\n"
                "the claim named --max-attempts and has used them up. With --uncounted it has as\n"
                "many attempts as before the claim, and is not parked by it. --park parks it in\n"
                "any case: for work that cannot succeed.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN) | BIT(DELAY) | BIT(AT) | BIT(UNCOUNTED)
                   | BIT(PARK) | BIT(REASON),
        .own_help = {CLAIM_TOKEN, {LK_OPTION_REASON, "why; is kept with the item"}},
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk retry mails 4711 --delay 10m", "in ten minutes"},
                     {"lk retry mails 4711 --uncounted --delay 1m",
                      "not now: no attempt is used up"},
                     {"lk retry mails 4711 --park --reason 'no such address'", "set it aside"}},
        .at_store = lk_cli_retry,
    },
    {
        .name = "report",
        .arguments = "done|retry|park|progress [ID...]",
        .summary = "tell lk work about an item, as its command",
        .text = "For the command of lk work: settles items while it goes on. done: the item is\n"
                "removed, or kept with --result (see lk result). retry: it is returned, to be\n"
                "claimed again after --delay, or after the time that lk work chooses. park: it is\n"
                "set aside, until lk unpark. progress: lk work prints --note, and keeps it with\n"
                "the item. ID is $LK_ITEM_ID where none is named. What is not told of follows the\n"
                "exit code.",
        .options = COMMON_OPTIONS | BIT(DELAY) | BIT(AT) | BIT(UNCOUNTED) | BIT(REASON) | BIT(NOTE)
                   | BIT(RESULT) | BIT(KEEP),
        .own_help = {{LK_OPTION_REASON, "why; is kept with the item"},
                     {LK_OPTION_NOTE, "how far the work is"}},
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk report done", "the item of LK_ITEM_ID"},
                     {"lk report done --result 'sent at 12:01'", "with a result"},
                     {"lk report retry --delay 10m --uncounted", "not now; no attempt is used up"},
                     {"lk report park --reason 'no such address'", "it cannot succeed"},
                     {"lk report done 4711 4712", "two of a batch"}},
        .handle = lk_cli_report,
    },
    {
        .name = "progress",
        .arguments = "QUEUE ID TEXT",
        .summary = "say how far the work on a claimed item is",
        .text = "Keeps TEXT, up to 1024 bytes, with the item, in place of what was said before:\n"
                "lk items and lk result show it. The claim stays as it is. The next claim of the\n"
                "item begins without one. LOST if this owner has no claim on the item, or no\n"
                "longer. The command of lk work can use lk report progress in its place.",
        .options = COMMON_OPTIONS | BIT(OWNER) | BIT(TOKEN),
        .own_help = {CLAIM_TOKEN},
        .words = {3, 3},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk progress mails 4711 '3 of 10 pages'", "of a claim of this process"}},
        .at_store = lk_cli_progress,
    },
    {
        .name = "unpark",
        .arguments = "QUEUE ID",
        .summary = "make a parked item ready again",
        .text = "Sets its count of attempts to 0. LOST if there is no such parked item.",
        .options = COMMON_OPTIONS | BIT(ALL),
        .words = {1, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk unpark mails 4711", "one"}, {"lk unpark mails --all", "all of them"}},
        .at_store = lk_cli_unpark,
    },
    {
        .name = "drop",
        .arguments = "QUEUE ID...",
        .summary = "remove items that are not claimed",
        .text = "Prints how many were removed. LOST if an item is claimed or not there.",
        .options = COMMON_OPTIONS | BIT(PARKED),
        .words = {1, LK_WORDS_ANY},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk drop mails 4711", "one"}, {"lk drop mails --parked", "all of them"}},
        .at_store = lk_cli_drop,
    },
    {
        .name = "cancel",
        .arguments = "QUEUE ID",
        .summary = "remove an item for good, also one that is being worked on",
        .text = "An item that is not claimed is removed at once. The claim of one that is claimed\n"
                "is revoked: its worker is told and ends, and no worker gets the item again. It\n"
                "is removed when the claim ends, at its deadline at the latest. --now ends the\n"
                "claim at once, which is unsafe while its worker may still be at it. The reason\n"
                "and the user are recorded: see lk audit. LOST if there is no such item.",
        .options = COMMON_OPTIONS | BIT(REASON) | BIT(NOW),
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_LOST),
        .examples = {{"lk cancel mails 4711 --reason 'sent by hand'", "whatever its state"}},
        .at_store = lk_cli_cancel,
    },
    {
        .name = "work",
        .arguments = "QUEUE -- CMD [ARG...]",
        .summary = "claim items and run a command for each",
        .text = "Claims one item after another and runs CMD for each, as lk run does under a\n"
                "lease. {id} in an ARG is the item's id, and stdin is its value. The environment\n"
                "has LK_QUEUE, LK_ITEM_ID, LK_TOKEN, LK_TOKENS, LK_OWNER, LK_STORE, LK_PATH and\n"
                "LK_TTL_MS, and LK_REPORT, to which CMD can tell what has become of an item\n"
                "(lk help report). lk renews the claim, and ends CMD if the claim is lost. Exit\n"
                "code 0 of CMD means done; after any other, or --max-time, the item is returned,\n"
                "to be claimed again after 1 s (--backoff), 2 s, 4 s and so on, up to 5 min. Each\n"
                "item that fails has a line on stderr. Each worker is a process and an owner of\n"
                "its own.\n"
                "With --batch CMD runs once for up to N items, which are claimed together: stdin\n"
                "has a JSON object a line, with id, value (or value_base64), token and attempt,\n"
                "and LK_ITEMS has the ids in place of LK_ITEM_ID. Exit code 0 means that all of\n"
                "them are done; else, or if one claim is lost, all are returned that CMD has not\n"
                "told of. Before a last attempt is used up CMD is run again for each half.\n"
                "The first SIGTERM, SIGINT, SIGHUP or SIGALRM stops claiming and lets running\n"
                "commands end; the second, or SIGQUIT, or the end of --stop-after, ends them and\n"
                "returns their items. An attempt that was ended so does not count.\n"
                "With --table the items are the rows of a table or view in the store's own\n"
                "database (or file: sqlite:FILE?share=yes), and QUEUE defaults to its name.\n"
                "Without --done, an item that is done is remembered until its row no longer\n"
                "matches. Your SQL runs as you wrote it; --done can use :id, :token, :owner and\n"
                ":attempt of the claim.",
        .options = PLAIN_OPTIONS | BIT(BATCH) | BIT(WORKERS) | BIT(MAX_ATTEMPTS) | BIT(DRAIN)
                   | BIT(TTL) | BIT(NOTE) | BIT(MAX_TIME) | BIT(BACKOFF) | BIT(STOP_AFTER)
                   | TABLE_OPTIONS,
        .own_help = {{LK_OPTION_TTL, "how long a claim lives unless lk renews it,\n"
                                     "50ms to 366d (60s)"},
                     {LK_OPTION_NOTE, "up to 255 bytes, shown in listings (CMD)"}},
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
                {"lk work mails --batch 100 -- ./send-all", "a hundred at a time, as JSON lines"},
                {"lk work --table orders --where 'sent = 0' -- ./send {id}", "the rows of a table"},
            },
        .handle = lk_cli_work,
    },
    {
        .name = "queues",
        .arguments = "[PREFIX]",
        .summary = "list the queues with their counts",
        .text = "Lists every queue at or below PREFIX by name, with the counts of lk stats, and\n"
                "for how long its oldest ready item has been ready (OLDEST).",
        .options = COMMON_OPTIONS,
        .words = {0, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk queues", "all of them"}, {"lk queues app --json", "those below app"}},
        .only_reads = true,
        .at_store = lk_cli_queues,
    },
    {
        .name = "items",
        .arguments = "QUEUE",
        .summary = "list the items of a queue, oldest first",
        .text = "Lists state (ready, delayed, claimed, parked, done), attempts, the claimant, how\n"
                "far the work is, and why the last attempt failed; with option --json value,\n"
                "needs and priority, too. An item that is done has its result as its value.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk items mails", "a table"}, {"lk items mails --json", "one object each"}},
        .only_reads = true,
        .handle = lk_cli_items,
    },
    {
        .name = "result",
        .arguments = "QUEUE ID",
        .summary = "print what came of an item, or wait for it",
        .text = "Prints the result of an item that is done, which is kept for the time that its\n"
                "push or its done has named (--keep). TIMEOUT if it is not done: the message says\n"
                "its state, and how far the work is. With --wait lk waits for it, and looks after\n"
                "pauses of 10 to 500 ms. Exit code 1 if the item was parked, and stderr has why;\n"
                "or if there is no such item: it was dropped or cancelled, or its time is over.\n"
                "lk drop removes a result early.",
        .options = COMMON_OPTIONS | BIT(WAIT),
        .own_help = {{LK_OPTION_WAIT, "wait at most this long for it (0)"}},
        .words = {2, 2},
        .outcomes = ENDS_COMMON | ENDS(LK_OK) | ENDS(LK_NONE) | ENDS(LK_TIMEOUT),
        .examples = {{"lk result thumbs cat.png", "if it is done"},
                     {"lk result thumbs cat.png --wait 30s --json", "wait; the whole item"}},
        .only_reads = true,
        .handle = lk_cli_result,
    },
    {
        .name = "stats",
        .arguments = "QUEUE",
        .summary = "print the counters of a queue",
        .text = "How often items were pushed, pushed again (duplicates), claimed, stolen (claimed\n"
                "after a claim that perished), done, returned and parked; how many there are now,\n"
                "and for how long the oldest ready item has been. Many duplicates and steals mean\n"
                "that there are too many workers, or that their ttl is too short.",
        .options = COMMON_OPTIONS,
        .words = {1, 1},
        .outcomes = ENDS_COMMON | ENDS(LK_OK),
        .examples = {{"lk stats mails", "one name and number a line"}},
        .only_reads = true,
        .handle = lk_cli_stats,
    },
    {.name = NULL},
};
