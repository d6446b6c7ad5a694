// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import io.lockkeeper.internal.Structs.LkError;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * What Store.claim() asks for, made by tryNow(), await() or async(); each may be called again. The
 * options are those of lk_claim_request in work.h. One request belongs to one thread.
 *
 * @param <T> an Optional of one Claim, or of many() a List; empty where there was nothing to claim
 */
public final class ClaimRequest<T> {
    @FunctionalInterface
    private interface Call {
        int of(Pointer store, Structs.ClaimRequest request, PointerByReference found,
            LkError error);
    }

    @FunctionalInterface
    private interface Reading<T> {
        T of(Store store, Table table, Pointer found);
    }

    /** One claim or many: how they are claimed, copied and freed. */
    private record Kind<T>(Call call, Reading<T> read, Consumer<Pointer> free, T nothing,
        Function<T, Stream<Claim>> claims) {}

    private static final Kind<Optional<Claim>> ONE = new Kind<>(
        Functions.LIBRARY::lk_claim_next,
        (store, table, claim) -> Optional.of(Claim.read(store, table, claim)),
        Functions.LIBRARY::lk_claim_free, Optional.empty(), Optional::stream);

    private final Store store;
    private final String queue;
    private final Table table;
    private final Kind<T> kind;
    private String owner;
    private long waitMs = Constants.LK_FOREVER;
    private long ttlMs;
    private int maxAttempts;
    private String note;
    private long patienceMs;

    private ClaimRequest(Store store, String queue, Table table, Kind<T> kind) {
        this.store = store;
        this.queue = queue;
        this.table = table;
        this.kind = kind;
    }

    static ClaimRequest<Optional<Claim>> one(Store store, String queue, Table table) {
        return new ClaimRequest<>(store, queue, table, ONE);
    }

    private <U> ClaimRequest<U> copy(Kind<U> other) {
        ClaimRequest<U> copy = new ClaimRequest<>(store, queue, table, other);
        copy.owner = owner;
        copy.waitMs = waitMs;
        copy.ttlMs = ttlMs;
        copy.maxAttempts = maxAttempts;
        copy.note = note;
        copy.patienceMs = patienceMs;
        return copy;
    }

    /**
     * The same request for up to `most` items, 256 at most, in one step, as soon as there is one.
     * Their claims have one owner and one token, and each is a claim of its own. Not of a table.
     */
    public ClaimRequest<List<Claim>> many(long most) {
        long count = Integer.toUnsignedLong(Memories.number(most, "most"));
        return copy(new Kind<>(
            (handle, request, found, error) -> Functions.LIBRARY.lk_claim_many(
                handle, request, count, found, error),
            Claim::readAll, Functions.LIBRARY::lk_claim_list_free, List.of(), List::stream));
    }

    /** A fresh unique one for each call if not set. */
    public ClaimRequest<T> owner(String name) {
        Memories.check(name, "owner");
        owner = name;
        return this;
    }

    /** For how long await() and async() wait; without limit if not set. */
    public ClaimRequest<T> waitFor(Duration most) {
        waitMs = Memories.milliseconds(most, "wait");
        return this;
    }

    /** 50 ms to 366 days; 60 s if not set. Only Claim.renew() renews it. */
    public ClaimRequest<T> ttl(Duration ttl) {
        ttlMs = Memories.positive(ttl, "ttl");
        return this;
    }

    /** An item that has been claimed this often is parked when it is given back or lost. */
    public ClaimRequest<T> maxAttempts(long most) {
        maxAttempts = Memories.number(most, "maxAttempts");
        return this;
    }

    /** Up to 255 bytes, shown with the claim. */
    public ClaimRequest<T> note(String text) {
        Memories.check(text, "note");
        note = text;
        return this;
    }

    /** How long an unreachable store is asked again before UnavailableException. */
    public ClaimRequest<T> patience(Duration most) {
        patienceMs = Memories.positive(most, "patience");
        return this;
    }

    /** Does not wait. Empty: there is nothing to claim. */
    public T tryNow() {
        return claim(0, new Waits.Cancel());
    }

    /**
     * Waits until there is an item to claim. Empty: there was none within waitFor(). An interrupt
     * ends the wait, and what was claimed all the same is given back.
     */
    public T await() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Waits.Cancel cancel = new Waits.Cancel();
        return Waits.interruptibly(() -> claim(waitMs, cancel), cancel, this::giveBack);
    }

    /**
     * The same in a thread of the binding's. To cancel the future, or to complete it in another
     * way, ends the wait; what is claimed all the same is given back.
     */
    public CompletableFuture<T> async() {
        ClaimRequest<T> copy = copy(kind);
        Waits.Cancel cancel = new Waits.Cancel();
        return Waits.async(() -> copy.claim(copy.waitMs, cancel), cancel, copy::giveBack);
    }

    private void giveBack(T claims) {
        kind.claims().apply(claims).forEach(claim -> {
            try {
                claim.retry(Retry.atOnce().uncounted());
            } catch (RuntimeException error) {
                // It ends at its deadline.
            }
        });
    }

    private T claim(long wait, Waits.Cancel cancel) {
        return store.gate().waiting(cancel, handle -> {
            LkError error = new LkError();
            PointerByReference found = new PointerByReference();
            try (Memories memories = new Memories()) {
                Structs.ClaimRequest request = fill(memories, wait, cancel);
                Outcome outcome = Outcome.of(kind.call().of(handle, request, found, error));
                if (outcome == Outcome.GRANTED) {
                    return kind.read().of(store, table, found.getValue());
                }
                if (outcome == Outcome.BUSY || outcome == Outcome.TIMEOUT) {
                    return kind.nothing();
                }
                throw outcome.exception(Memories.string(error.text));
            } finally {
                kind.free().accept(found.getValue());
            }
        });
    }

    private Structs.ClaimRequest fill(Memories memories, long wait, Waits.Cancel cancel) {
        Structs.ClaimRequest request = new Structs.ClaimRequest();
        request.size = request.size();
        request.queue = memories.optionalText(queue, "queue");
        request.owner = memories.optionalText(owner, "owner");
        request.wait_ms = wait;
        request.ttl_ms = ttlMs;
        request.max_attempts = maxAttempts;
        request.note = memories.optionalText(note, "note");
        request.cancel = cancel.handle();
        request.patience_ms = patienceMs;
        request.table = table == null ? null : table.place(memories);
        return request;
    }
}
