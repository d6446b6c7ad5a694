// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.internal;

import com.sun.jna.Callback;
import com.sun.jna.Pointer;
import com.sun.jna.Structure;
import java.util.List;

/**
 * The structs of include/lockkeeper/*.h, in its order and with its names. tests/bindings/java
 * compares each with what the C compiler says, so that a change of the header fails there.
 *
 * <p>A bool is a byte: JNA's boolean is as long as an int. A size_t is a long: 64-bit systems only.
 */
public final class Structs {
    private Structs() {}

    public interface OnLost extends Callback {
        void call(Pointer context, Pointer lease);
    }

    public interface Handle extends Callback {
        int call(Pointer context, Pointer claim, Pointer lease);
    }

    public interface Progress extends Callback {
        void call(Pointer context, Pointer progress);
    }

    public interface Explain extends Callback {
        void call(Pointer context, Pointer claim, Pointer failure);
    }

    @Structure.FieldOrder({"outcome", "text"})
    public static class LkError extends Structure {
        public int outcome;
        public byte[] text = new byte[Constants.LK_ERROR_TEXT_MAX];

        public LkError() {}

        public LkError(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "parts", "part_count", "owner", "style", "wait_ms", "ttl_ms",
        "until_unix_ms", "shared", "limit", "units", "note", "blockers_max", "cancel",
        "patience_ms", "value", "outlives", "bound"})
    public static class Request extends Structure {
        public long size;
        public Pointer parts;
        public long part_count;
        public Pointer owner;
        public int style;
        public long wait_ms;
        public long ttl_ms;
        public long until_unix_ms;
        public byte shared;
        public int limit;
        public int units;
        public Pointer note;
        public long blockers_max;
        public Pointer cancel;
        public long patience_ms;
        public byte value;
        public byte outlives;
        public byte bound;

        public Request() {}

        public Request(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"path", "owner", "note", "ticket", "held", "expires_in_ms", "user"})
    public static class BlockerInfo extends Structure {
        public Pointer path;
        public Pointer owner;
        public Pointer note;
        public long ticket;
        public byte held;
        public long expires_in_ms;
        public Pointer user;

        public BlockerInfo() {}

        public BlockerInfo(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"value", "value_size", "in_doubt"})
    public static class PartValue extends Structure {
        public Pointer value;
        public long value_size;
        public byte in_doubt;

        public PartValue() {}

        public PartValue(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"outcome", "error", "paths", "path_count", "owner", "ticket", "token",
        "ttl_ms", "expires_in_ms", "in_use", "position", "created", "fixed", "blockers",
        "blocker_count", "cycle", "cycle_count", "value", "value_size", "in_doubt", "tokens",
        "token_count", "requeued", "values", "value_count"})
    public static class Result extends Structure {
        public int outcome;
        public Pointer error;
        public Pointer paths;
        public long path_count;
        public Pointer owner;
        public long ticket;
        public long token;
        public long ttl_ms;
        public long expires_in_ms;
        public long in_use;
        public long position;
        public byte created;
        public byte fixed;
        public Pointer blockers;
        public long blocker_count;
        public Pointer cycle;
        public long cycle_count;
        public Pointer value;
        public long value_size;
        public byte in_doubt;
        public Pointer tokens;
        public long token_count;
        public byte requeued;
        public Pointer values;
        public long value_count;

        public Result() {}

        public Result(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"path", "value", "value_size"})
    public static class PartPut extends Structure {
        public Pointer path;
        public Pointer value;
        public long value_size;

        public PartPut() {}

        public PartPut(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"bytes", "size", "in_doubt"})
    public static class ValueRead extends Structure {
        public Pointer bytes;
        public long size;
        public byte in_doubt;

        public ValueRead() {}

        public ValueRead(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"path", "owner", "note", "ticket", "token", "held", "shared",
        "revoked", "limit", "units", "ttl_ms", "expires_in_ms", "age_ms", "request_index",
        "blockers", "blocker_count", "position", "user"})
    public static class EntryInfo extends Structure {
        public Pointer path;
        public Pointer owner;
        public Pointer note;
        public long ticket;
        public long token;
        public byte held;
        public byte shared;
        public byte revoked;
        public int limit;
        public int units;
        public long ttl_ms;
        public long expires_in_ms;
        public long age_ms;
        public long request_index;
        public Pointer blockers;
        public long blocker_count;
        public long position;
        public Pointer user;

        public EntryInfo() {}

        public EntryInfo(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"entries", "count"})
    public static class Listing extends Structure {
        public Pointer entries;
        public long count;

        public Listing() {}

        public Listing(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "path", "reason", "by", "owner", "at_once"})
    public static class BreakRequest extends Structure {
        public long size;
        public Pointer path;
        public Pointer reason;
        public Pointer by;
        public Pointer owner;
        public byte at_once;

        public BreakRequest() {}

        public BreakRequest(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"text", "warnings", "round_trip_us", "clock_offset_us"})
    public static class Report extends Structure {
        public Pointer text;
        public Pointer warnings;
        public long round_trip_us;
        public long clock_offset_us;

        public Report() {}

        public Report(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "queue", "id", "value", "value_size", "delay_ms", "needs",
        "need_count", "priority"})
    public static class PushRequest extends Structure {
        public long size;
        public Pointer queue;
        public Pointer id;
        public Pointer value;
        public long value_size;
        public long delay_ms;
        public Pointer needs;
        public long need_count;
        public int priority;

        public PushRequest() {}

        public PushRequest(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"added", "duplicates"})
    public static class PushCounts extends Structure {
        public long added;
        public long duplicates;
    }

    @Structure.FieldOrder({"queue", "id", "owner", "value", "value_size", "token", "attempt",
        "is_stolen", "ttl_ms", "expires_in_ms", "row_id"})
    public static class ClaimInfo extends Structure {
        public Pointer queue;
        public Pointer id;
        public Pointer owner;
        public Pointer value;
        public long value_size;
        public long token;
        public int attempt;
        public byte is_stolen;
        public long ttl_ms;
        public long expires_in_ms;
        public Pointer row_id;

        public ClaimInfo() {}

        public ClaimInfo(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "queue", "owner", "wait_ms", "ttl_ms", "max_attempts", "note",
        "cancel", "patience_ms", "table"})
    public static class ClaimRequest extends Structure {
        public long size;
        public Pointer queue;
        public Pointer owner;
        public long wait_ms;
        public long ttl_ms;
        public int max_attempts;
        public Pointer note;
        public Pointer cancel;
        public long patience_ms;
        public Pointer table;
    }

    @Structure.FieldOrder({"claims", "count"})
    public static class ClaimList extends Structure {
        public Pointer claims;
        public long count;

        public ClaimList() {}

        public ClaimList(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "queue", "id", "owner", "token", "delay_ms", "has_exit",
        "exit_code", "error", "error_size"})
    public static class RetryRequest extends Structure {
        public long size;
        public Pointer queue;
        public Pointer id;
        public Pointer owner;
        public long token;
        public long delay_ms;
        public byte has_exit;
        public int exit_code;
        public Pointer error;
        public long error_size;
    }

    @Structure.FieldOrder({"pushed", "duplicates", "claims", "steals", "done", "retried",
        "parked", "ready_now", "delayed_now", "claimed_now", "parked_now"})
    public static class QueueStats extends Structure {
        public long pushed;
        public long duplicates;
        public long claims;
        public long steals;
        public long done;
        public long retried;
        public long parked;
        public long ready_now;
        public long delayed_now;
        public long claimed_now;
        public long parked_now;

        public QueueStats() {}

        public QueueStats(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "name", "id", "where", "order", "done"})
    public static class WorkTable extends Structure {
        public long size;
        public Pointer name;
        public Pointer id;
        public Pointer where;
        public Pointer order;
        public Pointer done;

        public WorkTable() {}

        public WorkTable(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"claims", "steals", "done", "retried", "parked", "lost", "unknown",
        "announced", "duplicates", "left", "skipped"})
    public static class WorkCounts extends Structure {
        public long claims;
        public long steals;
        public long done;
        public long retried;
        public long parked;
        public long lost;
        public long unknown;
        public long announced;
        public long duplicates;
        public long left;
        public long skipped;

        public WorkCounts() {}

        public WorkCounts(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"step", "claim", "delay_ms", "counts", "text"})
    public static class WorkProgress extends Structure {
        public int step;
        public Pointer claim;
        public long delay_ms;
        public WorkCounts counts;
        public Pointer text;

        public WorkProgress() {}

        public WorkProgress(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "has_exit", "exit_code", "text", "text_size"})
    public static class WorkFailure extends Structure {
        public long size;
        public byte has_exit;
        public int exit_code;
        public Pointer text;
        public long text_size;

        public WorkFailure() {}

        public WorkFailure(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "queue", "handle", "progress", "context", "workers", "ttl_ms",
        "max_attempts", "note", "retry_min_ms", "retry_max_ms", "drain", "cancel", "patience_ms",
        "table", "loops", "explain", "batch", "handle_batch"})
    public static class WorkOptions extends Structure {
        public long size;
        public Pointer queue;
        public Handle handle;
        public Progress progress;
        public Pointer context;
        public long workers;
        public long ttl_ms;
        public int max_attempts;
        public Pointer note;
        public long retry_min_ms;
        public long retry_max_ms;
        public byte drain;
        public Pointer cancel;
        public long patience_ms;
        public Pointer table;
        public int loops;
        public Explain explain;
        public long batch;
        public Pointer handle_batch;

        public WorkOptions() {}

        public WorkOptions(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"kind", "refusal", "sequence", "at_unix_ms", "paths", "parts",
        "part_count", "owner", "note", "ticket", "token", "queue", "id", "attempt", "is_deletion",
        "by", "reason", "user"})
    public static class WatchEvent extends Structure {
        public int kind;
        public int refusal;
        public long sequence;
        public long at_unix_ms;
        public Pointer paths;
        public Pointer parts;
        public long part_count;
        public Pointer owner;
        public Pointer note;
        public long ticket;
        public long token;
        public Pointer queue;
        public Pointer id;
        public int attempt;
        public byte is_deletion;
        public Pointer by;
        public Pointer reason;
        public Pointer user;

        public WatchEvent() {}

        public WatchEvent(Pointer place) {
            super(place);
            read();
        }
    }

    @Structure.FieldOrder({"size", "prefix", "after"})
    public static class WatchOptions extends Structure {
        public long size;
        public Pointer prefix;
        public long after;

        public WatchOptions() {}

        public WatchOptions(Pointer place) {
            super(place);
            read();
        }
    }

    /** For the comparison: a struct's name in C follows from that of its class, but for three. */
    public static final List<Class<? extends Structure>> ALL = List.of(
        LkError.class, Request.class, BlockerInfo.class, PartValue.class,
        Result.class, PartPut.class, ValueRead.class, EntryInfo.class,
        Listing.class, BreakRequest.class, Report.class, PushRequest.class, PushCounts.class,
        ClaimInfo.class, ClaimRequest.class, ClaimList.class, RetryRequest.class,
        QueueStats.class, WorkTable.class, WorkCounts.class, WorkProgress.class,
        WorkFailure.class, WorkOptions.class, WatchEvent.class, WatchOptions.class);
}
