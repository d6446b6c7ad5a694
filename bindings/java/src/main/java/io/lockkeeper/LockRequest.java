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
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/**
 * A request of Store.acquire(), made by tryNow(), await() or async(); each may be called again. The
 * options are those of lk_request in lockkeeper.h. One request belongs to one thread.
 */
public final class LockRequest {
    private static final int BLOCKERS = 16; // that an exception names
    private static final int BLOCKERS_MAX = 1024; // that an answer can name

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

    /** The request that converts a lease of this one. */
    LockRequest converted(String[] others, String holder) {
        LockRequest other = new LockRequest(store, others);
        other.ttlMs = ttlMs;
        other.untilMs = untilMs;
        other.hasValue = hasValue;
        other.isBound = isBound;
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
        Lease own = tryBeside();
        return own != null ? own : Waits.interruptibly(
            () -> acquire(Constants.LK_WAIT, waitMs, cancel), cancel, Lease::releaseQuietly);
    }

    /**
     * Tries before a wait without limit, where this thread has locks of Store.lockOf(). null: it
     * has to wait, but not for itself.
     */
    private Lease tryBeside() {
        Set<Lease> own = PathLock.ownLeases();
        if (own.isEmpty() || waitMs != Constants.LK_FOREVER) {
            return null;
        }
        try {
            return acquire(Constants.LK_TRY, waitMs, new Waits.Cancel(), BLOCKERS_MAX);
        } catch (UnavailableException error) {
            return null; // the wait has its own patience
        } catch (BusyException error) {
            for (Lease held : own) {
                if (held.isAmong(store, error.blockers())) {
                    throw Outcome.DEADLOCK.exception("to wait would be for ever: this thread itself"
                        + " has locked " + String.join(" ", held.paths()), error.blockers(),
                        owner == null ? List.of(held.owner()) : List.of(owner, held.owner()));
                }
            }
            return null;
        }
    }

    /** await() that an interrupt does not end. */
    Lease awaitUninterruptibly() {
        Lease own = tryBeside();
        return own != null ? own : acquire(Constants.LK_WAIT, waitMs, new Waits.Cancel());
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

    private Lease acquire(int style, long wait, Waits.Cancel cancel) {
        return acquire(style, wait, cancel, BLOCKERS);
    }

    private Lease acquire(int style, long wait, Waits.Cancel cancel, int blockers) {
        return store.gate().waiting(cancel, handle -> {
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
                throw outcome.exception(Memories.string(error.text),
                    answer == null ? List.of() : answer.blockers(),
                    answer == null ? List.of() : answer.cycle());
            } finally {
                Functions.LIBRARY.lk_result_free(result.getValue());
                Functions.LIBRARY.lk_lease_abandon(lease.getValue()); // no Lease has taken it
            }
        });
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
        request.cancel = cancel.handle();
        request.patience_ms = patienceMs;
        request.value = (byte) (hasValue ? 1 : 0);
        request.bound = (byte) (isBound ? 1 : 0);
        return request;
    }
}
