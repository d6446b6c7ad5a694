// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.LkError;
import io.lockkeeper.internal.Structs.PartPut;
import java.lang.ref.Cleaner;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.BiFunction;

/**
 * A held request, which the library renews until it is released or lost. One that is thrown away
 * without a release is renewed no more, and ends at its deadline.
 *
 * <p>It is for one try-with-resources statement. Java asks nothing at the begin of one: where a
 * lease is handed on, call check() there. A second statement ends with LeaseLostException, because
 * its block ran without the lock.
 */
public final class Lease extends Held implements AutoCloseable {
    private final Store store; // is not collected before its leases
    private final Cleaner.Cleanable cleanable;
    private LockRequest request;
    private Answer answer;
    private final Object ending = new Object(); // of one release at a time
    private boolean isScopeOver;

    Lease(Store store, LockRequest request, Pointer lease, Answer answer) {
        this.store = store;
        this.request = request;
        this.answer = answer;
        hold(lease);
        Handle own = handle;
        cleanable = Waits.CLEANER.register(this, own::abandonLater);
    }

    boolean isOf(Store other) {
        return store == other;
    }

    @Override
    public long token() {
        return answer().token();
    }

    /** A token for each part, where they lie on several nodes (rule R14); else one for all. */
    public List<Long> tokens() {
        Answer now = answer();
        return now.tokens().isEmpty() ? List.of(now.token()) : now.tokens();
    }

    @Override
    public String owner() {
        return answer().owner();
    }

    public List<String> paths() {
        return answer().paths();
    }

    /** The first part's value at the grant, if it was asked for and there was one. */
    public Optional<Value> value() {
        List<Optional<Value>> all = values();
        return all.isEmpty() ? Optional.empty() : all.get(0);
    }

    /** The values of all parts at the grant, if they were asked for. */
    public List<Optional<Value>> values() {
        return answer().values();
    }

    private synchronized Answer answer() {
        return answer;
    }

    /** Writes a value to the first part's path, only while the lease is held. */
    public void put(byte[] value) {
        check();
        store.write(paths().get(0), java.util.Objects.requireNonNull(value), owner(), token());
    }

    /**
     * Changes modes, limits and units in place (rule R9), for instance to "t?shared". Does not
     * wait: BusyException if another owner is in the way, and the lease stays as it was. What is
     * stronger draws a new token.
     */
    public synchronized void convert(String... parts) {
        check();
        LockRequest wanted = request.converted(parts, answer.owner());
        beginConversion();
        try {
            convert(wanted);
        } finally {
            endConversion();
        }
    }

    private void convert(LockRequest wanted) {
        Lease other;
        try {
            other = wanted.tryNow();
        } catch (BusyException error) {
            if (isLost()) {
                throw new LeaseLostException("the lease is lost");
            }
            throw error;
        }
        Pointer taken = other.handle.take();
        Pointer former = handle.take();
        if (former == null || other.answer().isCreated()) {
            // The lease had ended before it was converted, so the other one is not it.
            Functions.LIBRARY.lk_lease_abandon(former);
            if (!isEnd(Functions.LIBRARY.lk_lease_release_now(taken, null))) {
                Functions.LIBRARY.lk_lease_abandon(taken);
            }
            tellLost();
            throw new LeaseLostException("the lease had ended before it was converted");
        }
        request = wanted;
        answer = other.answer();
        hold(taken);
        Functions.LIBRARY.lk_lease_abandon(former);
    }

    /**
     * release() at the end of a try-with-resources statement, where an exception of the block comes
     * first. At the end of a second one: LeaseLostException.
     */
    @Override
    public void close() {
        synchronized (ending) {
            if (isScopeOver && !handle.isTried()) {
                throw new LeaseLostException(
                    "the lease had ended with an earlier block: this one ran without the lock");
            }
            isScopeOver = true;
            release();
        }
    }

    /**
     * Ends the lease. LeaseLostException: it was not held all the time. UnavailableException:
     * unknown; to call it again asks again. Once it is known to have ended, a further call does
     * nothing. A lease of LockRequest.atLeast() stays until that is over.
     */
    public void release() {
        release(Functions.LIBRARY::lk_lease_release);
    }

    /** The same at once, also before the time of LockRequest.atLeast(). */
    public void releaseNow() {
        release(Functions.LIBRARY::lk_lease_release_now);
    }

    private void release(BiFunction<Pointer, LkError, Integer> call) {
        synchronized (ending) {
            Pointer tried = handle.takeTried();
            Pointer taken = tried != null ? tried : handle.take();
            if (taken == null) {
                return;
            }
            LkError error = new LkError();
            end(taken, call.apply(taken, error), error);
        }
    }

    /** Ends the lease and writes a value to the first part's path, in one step. */
    public void releasePut(byte[] value) {
        releasePut(Map.of(paths().get(0), value));
    }

    /**
     * The same for several of its paths. LeaseLostException: nothing was written.
     * InvalidException: nothing was done, and the lease is held as before. UnavailableException:
     * as of release().
     */
    public void releasePut(Map<String, byte[]> values) {
        synchronized (ending) {
            LkError error = new LkError();
            try (Memories memories = new Memories()) {
                Pointer puts = places(values, memories);
                Pointer tried = handle.takeTried();
                Pointer taken = tried != null ? tried : handle.take();
                if (taken == null) {
                    throw new LeaseLostException("the lease has ended");
                }
                int outcome = Functions.LIBRARY.lk_lease_release_put_all(
                    taken, puts, values.size(), error);
                Outcome what = Outcome.of(outcome);
                if (tried == null && (what == Outcome.INVALID || what == Outcome.UNSUPPORTED)) {
                    putBack(taken);
                    throw what.exception(Memories.string(error.text));
                }
                end(taken, outcome, error);
            }
        }
    }

    static Pointer places(Map<String, byte[]> values, Memories memories) {
        long size = new PartPut().size();
        Pointer puts = memories.room(Math.max(1, values.size()) * size);
        long place = 0;
        for (Map.Entry<String, byte[]> one : values.entrySet()) {
            PartPut put = new PartPut(puts.share(place));
            put.path = memories.text(one.getKey(), "path");
            put.value = memories.bytes(one.getValue());
            put.value_size = one.getValue().length;
            put.write();
            place += size;
        }
        return puts;
    }

    /** Of a release: then the library has freed the handle. */
    private static boolean isEnd(int outcome) {
        Outcome what = Outcome.of(outcome);
        return what == Outcome.OK || what == Outcome.LOST;
    }

    private void end(Pointer taken, int outcome, LkError error) {
        if (isEnd(outcome)) {
            cleanable.clean();
        } else {
            handle.leaveTried(taken); // for another release
        }
        if (Outcome.of(outcome) == Outcome.LOST) {
            tellLost();
        }
        Outcome.check(outcome, error);
    }

    /** Stops the renewals. The lease stays held until its deadline. */
    public void abandon() {
        synchronized (ending) {
            for (Pointer taken : new Pointer[] {handle.take(), handle.takeTried()}) {
                if (taken != null) {
                    Functions.LIBRARY.lk_lease_abandon(taken);
                }
            }
            cleanable.clean();
        }
    }

    /** Of a grant that nothing waits for any more. What its owner held before the call stays. */
    void releaseQuietly() {
        if (!answer().isCreated()) {
            abandon();
            return;
        }
        try {
            releaseNow();
        } catch (LockkeeperException error) {
            // It ends at its deadline, if it has not.
        }
    }

    /** Whether it is one of that store's, perhaps by another handle, and has not been released. */
    boolean isIn(Store other) {
        return other.url().equals(store.url()) && !hasEnded();
    }

    /** Without a release: its end is fixed, or it is renewed no more. */
    synchronized boolean endsByItself() {
        return request.hasFixedEnd() || isLost();
    }

    boolean isAmong(List<Blocker> blockers) {
        return blockers.stream().anyMatch(
            one -> one.owner().equals(owner()) && paths().contains(one.path()));
    }

    /** As lockOf() has asked for them: by their text alone. */
    synchronized List<LockRequest.Part> parts() {
        return request.asked();
    }

    @Override
    public String toString() {
        String state = isLost() ? "lost" : hasEnded() ? "ended" : "held";
        return "Lease " + String.join(" ", paths()) + " token=" + token() + " " + state;
    }
}
