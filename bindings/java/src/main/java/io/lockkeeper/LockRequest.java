// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.LkError;
import io.lockkeeper.internal.Structs.Request;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * A request of Store.acquire(), made by tryNow(), await() or async(); each may be called again. The
 * options are those of lk_request in lockkeeper.h. One request belongs to one thread.
 */
public final class LockRequest {
    private static final int BLOCKERS = 16; // that an exception names

    private final Store store;
    private final List<String> parts;
    private boolean isShared;
    private int limit;
    private int units;
    private long ttlMs;
    private long untilMs;
    private long waitMs = Constants.LK_FOREVER;
    private long patienceMs;
    private String owner;
    private String note;
    private boolean hasValue;
    private boolean isBound;
    private long atLeastMs;

    LockRequest(Store store, String... parts) {
        this.store = store;
        for (String part : parts) {
            Memories.check(part, "path");
        }
        this.parts = List.of(parts);
    }

    /** For every part that names no mode, as do limit() and units(). */
    public LockRequest shared() {
        isShared = true;
        return this;
    }

    /** At most this many units at once: a semaphore. */
    public LockRequest limit(long most) {
        limit = Memories.number(most, "limit");
        return this;
    }

    public LockRequest units(long count) {
        units = Memories.number(count, "units");
        return this;
    }

    /** 50 ms to 366 days; 60 s if not set. The library renews it. */
    public LockRequest ttl(Duration ttl) {
        ttlMs = Memories.positive(ttl, "ttl");
        return this;
    }

    /** A fixed end in place of a ttl; it is not renewed. */
    public LockRequest until(Instant end) {
        long ms = end.toEpochMilli();
        if (ms <= 0) {
            throw new IllegalArgumentException("until must be after 1970");
        }
        untilMs = ms;
        return this;
    }

    /** For how long await() and async() wait; without limit if not set. */
    public LockRequest waitFor(Duration most) {
        waitMs = Memories.milliseconds(most, "wait");
        return this;
    }

    /** How long an unreachable store is asked again before UnavailableException. */
    public LockRequest patience(Duration most) {
        patienceMs = Memories.positive(most, "patience");
        return this;
    }

    /** A fresh unique one if not set. */
    public LockRequest owner(String name) {
        Memories.check(name, "owner");
        owner = name;
        return this;
    }

    /** Up to 255 bytes, shown with the request. */
    public LockRequest note(String text) {
        Memories.check(text, "note");
        note = text;
        return this;
    }

    /** Returns the values of all parts with the grant: Lease.value(). */
    public LockRequest value() {
        hasValue = true;
        return this;
    }

    /** Services only: the lease also ends with its connection (rule R18). */
    public LockRequest bound() {
        isBound = true;
        return this;
    }

    /**
     * A release before leaves the lease held until this long after the grant: so a job that was
     * quicker is not done again at once by another machine, whose clock differs.
     */
    public LockRequest atLeast(Duration least) {
        atLeastMs = Memories.positive(least, "atLeast");
        return this;
    }

    /** The request that converts a lease of this one. */
    LockRequest converted(String[] others, String holder) {
        LockRequest other = new LockRequest(store, others);
        other.ttlMs = ttlMs;
        other.untilMs = untilMs;
        other.hasValue = hasValue;
        other.isBound = isBound;
        other.atLeastMs = atLeastMs;
        other.patienceMs = patienceMs;
        other.owner = holder;
        return other;
    }

    /** Does not wait. BusyException: another owner is in the way. */
    public Lease tryNow() {
        Waits.Cancel cancel = new Waits.Cancel();
        return acquire(Constants.LK_TRY, waitMs, cancel);
    }

    /**
     * Waits until it is granted. LockTimeoutException: not within waitFor(). An interrupt withdraws
     * the request.
     */
    public Lease await() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Waits.Cancel cancel = new Waits.Cancel();
        Set<Lease> own = PathLock.ownLeases(); // of this thread, which stands still meanwhile
        return Waits.interruptibly(() -> acquireBeside(own, cancel), cancel, Lease::releaseQuietly);
    }

    /** await() that an interrupt does not end. */
    Lease awaitUninterruptibly() {
        return acquireBeside(PathLock.ownLeases(), new Waits.Cancel());
    }

    /** Waits, for a thread that has these locks of Store.lockOf(), but never for itself. */
    private Lease acquireBeside(Set<Lease> own, Waits.Cancel cancel) {
        return store.gate().waiting(cancel, handle -> {
            Lease tried = own.isEmpty() || waitMs != Constants.LK_FOREVER ? null
                : tryBeside(handle, own, cancel);
            return tried != null ? tried
                : ask(handle, Constants.LK_WAIT, waitMs, cancel, BLOCKERS);
        });
    }

    /** Tries before a wait without limit. null: it has to wait, but not for itself. */
    private Lease tryBeside(Pointer handle, Set<Lease> own, Waits.Cancel cancel) {
        try {
            return ask(handle, Constants.LK_TRY, waitMs, cancel, Constants.LK_BLOCKERS_MAX);
        } catch (UnavailableException error) {
            if (patienceMs != 0) {
                throw error; // all of it is spent
            }
            return null; // the wait lasts as long as the store is away
        } catch (BusyException error) {
            Lease held = endless(own, error.blockers());
            if (held != null) {
                throw Outcome.DEADLOCK.exception("to wait would be for ever: this thread itself"
                    + " has locked " + String.join(" ", held.paths()), error.blockers(),
                    owner == null ? List.of(held.owner()) : List.of(owner, held.owner()));
            }
            return null;
        }
    }

    /**
     * One of these leases that blocks the request even when those of all others have ended; null:
     * none, or it ends by itself.
     */
    private Lease endless(Set<Lease> own, List<Blocker> blockers) {
        List<Lease> staying =
            own.stream().filter(held -> held.isIn(store) && !held.endsByItself()).toList();
        List<Part> held = staying.stream().flatMap(one -> one.parts().stream()).toList();
        for (Part wanted : asked()) {
            long taken = held.stream().filter(one -> one.path.equals(wanted.path))
                .mapToLong(Part::units).sum();
            boolean isFull = wanted.limit != 0 && taken + wanted.units > wanted.limit;
            for (Lease lease : staying) {
                if (lease.isAmong(blockers) && lease.parts().stream().anyMatch(one ->
                    one.conflicts(wanted) || isFull && one.path.equals(wanted.path))) {
                    return lease;
                }
            }
        }
        return null;
    }

    /** A part as the store reads it (rule R2). A limit of 0: none. */
    record Part(String path, boolean isShared, long limit, long units) {
        /** Rule R6, where their owners differ. */
        boolean conflicts(Part other) {
            return !(isShared && other.isShared) && (path.equals(other.path)
                || path.startsWith(other.path + "/") || other.path.startsWith(path + "/"));
        }
    }

    /** What is asked for, in a form that the store has accepted. */
    List<Part> asked() {
        return parts.stream().map(this::part).toList();
    }

    private Part part(String text) {
        String[] words = text.split("\\?", 2); // the path may contain `&`
        String path = words[0].replaceAll("^/|/$", "");
        boolean isWeak = isShared;
        long most = Integer.toUnsignedLong(limit);
        long count = Integer.toUnsignedLong(units);
        for (String word : words.length == 1 ? new String[0] : words[1].split("[?&]")) {
            if (word.equals("shared")) {
                isWeak = true;
            } else if (word.startsWith("limit=")) {
                most = Long.parseLong(word.substring("limit=".length()));
            } else if (word.startsWith("units=")) {
                count = Long.parseLong(word.substring("units=".length()));
            }
        }
        isWeak = isWeak || most != 0;
        return new Part(path, isWeak, most, !isWeak ? 0 : Math.max(count, 1));
    }

    boolean hasFixedEnd() {
        return untilMs != 0;
    }

    /**
     * The same in a thread of the binding's. To cancel the future, or to complete it in another
     * way, withdraws the request; a lease that is granted all the same is released.
     */
    public CompletableFuture<Lease> async() {
        LockRequest copy = converted(parts.toArray(new String[0]), owner);
        copy.isShared = isShared;
        copy.limit = limit;
        copy.units = units;
        copy.waitMs = waitMs;
        copy.note = note;
        Waits.Cancel cancel = new Waits.Cancel();
        return Waits.async(() -> copy.acquire(Constants.LK_WAIT, copy.waitMs, cancel), cancel,
            Lease::releaseQuietly);
    }

    // ---- without keep-alive ----

    /**
     * Asks for a lease that another process may renew or release. It ends at its deadline unless
     * renew() is called. An interrupt ends a wait, and withdraws the request.
     */
    public Answer ask(Style style) throws InterruptedException {
        Objects.requireNonNull(style);
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Waits.Cancel cancel = new Waits.Cancel();
        return style != Style.WAIT ? answered(style, cancel)
            : Waits.interruptibly(() -> answered(style, cancel), cancel, this::forget);
    }

    private Answer answered(Style style, Waits.Cancel cancel) {
        return store.gate().waiting(cancel, handle -> answered((memories, result, error) -> {
            Request request = fill(memories, style.ordinal(), waitMs, cancel);
            request.blockers_max = BLOCKERS;
            request.outlives = 1;
            return Functions.LIBRARY.lk_ask(handle, request, result, error);
        }));
    }

    /** Ends what was granted to an ask that an interrupt has ended. */
    private void forget(Answer answer) {
        if (answer.isCreated()) { // else its owner had it before
            try {
                converted(parts.toArray(new String[0]), answer.owner()).release(answer.token());
            } catch (RuntimeException error) {
                // It ends at its deadline.
            }
        }
    }

    /** Renews a lease of ask(), named by owner(), by its token (0: any) or by both. */
    public Answer renew(long token) {
        return store.gate().inside(handle -> answered((memories, result, error) ->
            Functions.LIBRARY.lk_renew(handle, fill(memories, Constants.LK_TRY, 0, null), token,
                result, error)));
    }

    /** Ends a lease of ask(), or withdraws its request; named as in renew(). */
    public Answer release(long token) {
        return store.gate().inside(handle -> answered((memories, result, error) ->
            Functions.LIBRARY.lk_release(handle, fill(memories, Constants.LK_TRY, 0, null), token,
                result, error)));
    }

    /** The same, and writes values to its paths: all, or with LeaseLostException none. */
    public Answer release(long token, Map<String, byte[]> values) {
        return store.gate().inside(handle -> answered((memories, result, error) ->
            Functions.LIBRARY.lk_release_put_all(handle,
                fill(memories, Constants.LK_TRY, 0, null), token, Lease.places(values, memories),
                values.size(), result, error)));
    }

    @FunctionalInterface
    private interface Asking {
        int of(Memories memories, PointerByReference result, LkError error);
    }

    private static Answer answered(Asking asking) {
        LkError error = new LkError();
        PointerByReference result = new PointerByReference();
        try (Memories memories = new Memories()) {
            Outcome outcome = Outcome.of(asking.of(memories, result, error));
            Pointer told = result.getValue();
            Answer answer = told == null ? null : Answer.read(told);
            if (answer != null && EnumSet.of(Outcome.OK, Outcome.GRANTED, Outcome.WAITING)
                .contains(outcome)) {
                return answer;
            }
            throw refusal(outcome, error, answer);
        } finally {
            Functions.LIBRARY.lk_result_free(result.getValue());
        }
    }

    private static LockkeeperException refusal(Outcome outcome, LkError error, Answer answer) {
        return outcome.exception(Memories.string(error.text),
            answer == null ? List.of() : answer.blockers(),
            answer == null ? List.of() : answer.cycle());
    }

    // ---- with keep-alive ----

    private Lease acquire(int style, long wait, Waits.Cancel cancel) {
        return store.gate().waiting(cancel, handle -> ask(handle, style, wait, cancel, BLOCKERS));
    }

    private Lease ask(Pointer handle, int style, long wait, Waits.Cancel cancel, int blockers) {
        LkError error = new LkError();
        PointerByReference lease = new PointerByReference();
        PointerByReference result = new PointerByReference();
        try (Memories memories = new Memories()) {
            Request request = fill(memories, style, wait, cancel);
            request.blockers_max = blockers;
            Outcome outcome = Outcome.of(
                Functions.LIBRARY.lk_acquire(handle, request, lease, result, error));
            Pointer told = result.getValue();
            Answer answer = told == null ? null : Answer.read(told);
            if (outcome == Outcome.GRANTED && answer != null) {
                LockRequest kept = converted(parts.toArray(new String[0]), owner);
                Lease granted = new Lease(store, kept, lease.getValue(), answer);
                lease.setValue(null);
                return granted;
            }
            throw refusal(outcome, error, answer);
        } finally {
            Functions.LIBRARY.lk_result_free(result.getValue());
            Functions.LIBRARY.lk_lease_abandon(lease.getValue()); // no Lease has taken it
        }
    }

    private Request fill(Memories memories, int style, long wait, Waits.Cancel cancel) {
        Request request = new Request();
        request.size = request.size();
        request.parts = memories.texts(parts, "path");
        request.part_count = parts.size();
        request.owner = memories.optionalText(owner, "owner");
        request.style = style;
        request.wait_ms = wait;
        request.ttl_ms = ttlMs;
        request.until_unix_ms = untilMs;
        request.shared = (byte) (isShared ? 1 : 0);
        request.limit = limit;
        request.units = units;
        request.note = memories.optionalText(note, "note");
        request.cancel = cancel == null ? null : cancel.handle();
        request.patience_ms = patienceMs;
        request.value = (byte) (hasValue ? 1 : 0);
        request.bound = (byte) (isBound ? 1 : 0);
        request.at_least_ms = atLeastMs;
        return request;
    }
}
