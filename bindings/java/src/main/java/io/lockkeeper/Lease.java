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

/**
 * A held request, which the library renews until it is released or lost. One that is thrown away
 * without a release is renewed no more, and ends at its deadline.
 */
public final class Lease extends Held implements AutoCloseable {
    private final Store store; // is not collected before its leases
    private final Cleaner.Cleanable cleanable;
    private LockRequest request;
    private Answer answer;

    Lease(Store store, LockRequest request, Pointer lease, Answer answer) {
        this.store = store;
        this.request = request;
        this.answer = answer;
        hold(lease);
        Handle own = handle;
        cleanable = Waits.CLEANER.register(this, own::abandonLater);
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
            Functions.LIBRARY.lk_lease_release(taken, null);
            tellLost();
            throw new LeaseLostException("the lease had ended before it was converted");
        }
        request = wanted;
        answer = other.answer();
        hold(taken);
        Functions.LIBRARY.lk_lease_abandon(former);
    }

    /**
     * Ends the lease. LeaseLostException: it was not held all the time. A second call does nothing.
     * In a try-with-resources statement an exception of the block comes first.
     */
    @Override
    public void close() {
        Pointer taken = handle.take();
        if (taken == null) {
            return;
        }
        LkError error = new LkError();
        end(Functions.LIBRARY.lk_lease_release(taken, error), error);
    }

    /** close(), under the name that lockkeeper.h has for it. */
    public void release() {
        close();
    }

    /** Ends the lease and writes a value to the first part's path, in one step. */
    public void releasePut(byte[] value) {
        releasePut(Map.of(paths().get(0), value));
    }

    /**
     * The same for several of its paths. LeaseLostException: nothing was written.
     * InvalidException: nothing was done, and the lease is held as before.
     */
    public void releasePut(Map<String, byte[]> values) {
        LkError error = new LkError();
        int outcome;
        try (Memories memories = new Memories()) {
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
            Pointer taken = handle.take();
            if (taken == null) {
                throw new LeaseLostException("the lease has ended");
            }
            outcome = Functions.LIBRARY.lk_lease_release_put_all(
                taken, puts, values.size(), error);
            Outcome what = Outcome.of(outcome);
            if (what == Outcome.INVALID || what == Outcome.UNSUPPORTED) {
                putBack(taken);
                throw what.exception(Memories.string(error.text));
            }
        }
        end(outcome, error);
    }

    private void end(int outcome, LkError error) {
        cleanable.clean();
        if (Outcome.of(outcome) == Outcome.LOST) {
            tellLost();
        }
        Calls.check(outcome, error);
    }

    /** Stops the renewals. The lease stays held until its deadline. */
    public void abandon() {
        Pointer taken = handle.take();
        if (taken != null) {
            Functions.LIBRARY.lk_lease_abandon(taken);
        }
        cleanable.clean();
    }

    /** Of a grant that nothing waits for any more. */
    void releaseQuietly() {
        try {
            close();
        } catch (LockkeeperException error) {
            // It ends at its deadline, if it has not.
        }
    }

    @Override
    public String toString() {
        String state = isLost() ? "lost" : hasEnded() ? "ended" : "held";
        return "Lease " + String.join(" ", paths()) + " token=" + token() + " " + state;
    }
}
