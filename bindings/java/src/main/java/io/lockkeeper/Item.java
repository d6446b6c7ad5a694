// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.ClaimInfo;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CancellationException;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * A claimed item. Its claim is a lease, which the library renews until the item is decided on; the
 * first decision counts.
 */
public final class Item extends Held {
    static final int DONE = 0;
    static final int FAILED = 1;

    private final Work work;
    private final String queue;
    private final String id;
    private final String owner;
    private final byte[] value;
    private final long token;
    private final long attempt;
    private final boolean isStolen;
    private final String rowId;
    private final Thread worker = Thread.currentThread(); // the claim ends when it returns
    private final BlockingQueue<Integer> verdicts = new LinkedBlockingQueue<>();
    private final BlockingQueue<Integer> steps = new LinkedBlockingQueue<>();
    private boolean isDecided;
    private volatile boolean isUnknown; // whether the decision has taken effect
    private volatile byte[] reason;
    private volatile Retry how; // null: as the pool does it

    Item(Work work, ClaimInfo claim, Pointer lease) {
        this.work = work;
        queue = Memories.string(claim.queue);
        id = Memories.string(claim.id);
        owner = Memories.string(claim.owner);
        value = Memories.octets(claim.value, claim.value_size);
        token = claim.token;
        attempt = Integer.toUnsignedLong(claim.attempt);
        isStolen = claim.is_stolen != 0;
        rowId = Memories.string(claim.row_id);
        hold(lease);
    }

    public String queue() {
        return queue;
    }

    public String id() {
        return id;
    }

    /** null: it was pushed without one. */
    public byte[] value() {
        return value;
    }

    /** The value as UTF-8; empty where there is none. */
    public String text() {
        return value == null ? "" : new String(value, StandardCharsets.UTF_8);
    }

    @Override
    public long token() {
        return token;
    }

    @Override
    public String owner() {
        return owner;
    }

    /** 1: the first. */
    public long attempt() {
        return attempt;
    }

    /** Whether its former claim perished: its work may be half done. */
    public boolean isStolen() {
        return isStolen;
    }

    /** The id as the table has it; null where there is no table. */
    public String rowId() {
        return rowId;
    }

    /**
     * The item is done and removed. LeaseLostException: the claim was lost, and the item stays.
     * UnavailableException, of this and the next three: unknown; to call one again asks again. In
     * a handler of Work.run() this and the next three only decide: the item ends with the handler.
     */
    public void done() {
        decideAndWait(DONE);
    }

    /** Says how far the work is, and decides nothing: see Store.progress(). */
    public void progress(String text) {
        work.store().progress(queue, id, owner, token, text);
    }

    /** It has failed: claimed again after a delay that grows, or parked. The reason is kept. */
    public void retry(String why) {
        explain(why);
        if (isUnknown) {
            how = null; // that of a call that was not answered
        }
        decideAndWait(FAILED);
    }

    /** It has failed, or cannot be done now: when it is claimed again, and why. */
    public void retry(Retry how) {
        reason = how.reason();
        this.how = how;
        decideAndWait(FAILED);
    }

    /** It cannot succeed: it is parked, whatever its attempts. The reason is kept; null: none. */
    public void park(String why) {
        Retry parked = Retry.atOnce().parked();
        retry(why == null ? parked : parked.error(why));
    }

    /** It has not failed: it can be claimed again at once, and the attempt does not count. */
    public void giveBack() {
        decideAndWait(Constants.LK_WORK_GIVE_BACK);
    }

    void explain(String why) {
        reason = why == null ? null : why.getBytes(StandardCharsets.UTF_8);
    }

    Retry how() {
        return how;
    }

    byte[] reason() {
        byte[] told = reason;
        return told == null ? null : kept(told);
    }

    /** What the library keeps of a reason. */
    static byte[] kept(byte[] told) {
        return Arrays.copyOf(told, Math.min(told.length, Constants.LK_FAILURE_BYTES_MAX));
    }

    /** Whether this call has decided. */
    boolean decide(int verdict) {
        synchronized (verdicts) {
            if (isDecided) {
                return false;
            }
            isDecided = true;
        }
        verdicts.add(verdict);
        return true;
    }

    /** Gives it back while its handler may still run, which is told: isLost(), onLost(). */
    void leaveBehind() {
        synchronized (verdicts) {
            if (isDecided) {
                return;
            }
        }
        tellLost();
        decide(Constants.LK_WORK_GIVE_BACK);
    }

    /**
     * Its handler has thrown. What stops a thread, a wait or the store is no failure of the item
     * while its pool is being stopped. At another time it comes from the work itself: given back at
     * once and uncounted, the item would be claimed again for ever (R16).
     */
    void leave(Throwable error, boolean isStopping) {
        for (Throwable cause = error; isStopping && cause != null; cause = cause.getCause()) {
            if (cause instanceof InterruptedException || cause instanceof CancelledException
                || cause instanceof CancellationException
                || cause instanceof Gate.ClosedException) {
                decide(Constants.LK_WORK_GIVE_BACK);
                return;
            }
        }
        explain(error.toString());
        decide(FAILED);
    }

    private void decideAndWait(int verdict) {
        if (isUnknown) {
            work.decideAgain(this, verdict);
            isUnknown = false;
            return;
        }
        if (!decide(verdict)) {
            throw new IllegalStateException("the item has been decided on");
        }
        if (Thread.currentThread() == worker) {
            return;
        }
        int step = take(steps);
        if (step == Constants.LK_WORK_LOST) {
            throw new LeaseLostException("the claim was lost; the item is left to its next claim");
        }
        if (step == Constants.LK_WORK_UNKNOWN) {
            isUnknown = true;
            throw new UnavailableException("unknown whether the claim has been ended");
        }
    }

    /** By its worker. */
    int verdict() {
        int verdict = take(verdicts);
        handle.take();
        return verdict;
    }

    /** By its worker: what has become of it. */
    void ended(int step) {
        steps.add(step);
    }

    static <T> T take(BlockingQueue<T> messages) {
        boolean isInterrupted = false;
        try {
            while (true) {
                try {
                    return messages.take();
                } catch (InterruptedException error) {
                    isInterrupted = true;
                }
            }
        } finally {
            if (isInterrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public String toString() {
        return "Item " + queue + "/" + id + " attempt=" + attempt + " token=" + token;
    }
}
