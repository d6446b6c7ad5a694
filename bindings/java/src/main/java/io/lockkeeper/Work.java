// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import io.lockkeeper.internal.Structs.WorkOptions;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;

/**
 * Claimed items of a queue, for one loop or for a handler; the options come first.
 *
 * <p>To ask for the next item says that the present one is done. What leaves the loop otherwise is
 * not known here: close() gives an item that is not decided on back, as not failed. So call
 * Item.done() before a break, and Item.retry() where it has failed.
 */
public final class Work implements Iterable<Item>, Iterator<Item>, AutoCloseable {
    private static final long RETRY_MIN_MS = 1000; // as in the library, unless retry() says otherwise

    private final Store store;
    private final String queue;
    private final Table table;
    private int workers = 1;
    private long ttlMs;
    private int maxAttempts;
    private String note;
    private long retryMinMs;
    private long retryMaxMs;
    private long patienceMs;
    private boolean isDrained;

    /** The last message of a loop's pool. */
    private record Ended(Throwable error) {}

    private final BlockingQueue<Object> messages = new LinkedBlockingQueue<>(); // Item or Ended
    private final Runnable end = this::leaveBehind;
    private volatile Pool pool;
    private volatile boolean isClosing;
    private volatile boolean isStopped;
    private volatile Item last; // whether the loop has it or not
    private Item item; // the present one
    private Item fetched;
    private boolean isOver;

    Store store() {
        return store;
    }

    Work(Store store, String queue, Table table) {
        this.store = store;
        this.queue = queue;
        this.table = table;
    }

    /** How long a claim is held without a renewal; 60 s if not set. */
    public Work ttl(Duration ttl) {
        ttlMs = Memories.positive(ttl, "ttl");
        return this;
    }

    /** An item that has failed this often is parked. */
    public Work maxAttempts(long most) {
        maxAttempts = Memories.number(most, "maxAttempts");
        return this;
    }

    public Work note(String text) {
        Memories.check(text, "note");
        note = text;
        return this;
    }

    /** The delay after the first failure, and up to which it doubles with each attempt. */
    public Work retry(Duration least, Duration most) {
        retryMinMs = Memories.positive(least, "least");
        retryMaxMs = Memories.positive(most, "most");
        return this;
    }

    public Work patience(Duration most) {
        patienceMs = Memories.positive(most, "patience");
        return this;
    }

    /** Ends when nothing is left: nothing ready, delayed or claimed. */
    public Work drain() {
        isDrained = true;
        return this;
    }

    /** How many handlers of run() at once. */
    public Work workers(long count) {
        workers = Memories.number(count, "workers");
        return this;
    }

    private void fill(WorkOptions options, Memories memories) {
        options.queue = memories.optionalText(queue, "queue");
        options.workers = Integer.toUnsignedLong(workers);
        options.ttl_ms = ttlMs;
        options.max_attempts = maxAttempts;
        options.note = memories.optionalText(note, "note");
        options.retry_min_ms = retryMinMs;
        options.retry_max_ms = retryMaxMs;
        options.drain = (byte) (isDrained ? 1 : 0);
        options.patience_ms = patienceMs;
        options.table = table == null ? null : table.place(memories);
    }

    /**
     * Calls the handler for each item, in threads of the library, until the queue is drained, the
     * store is closed or this thread is interrupted: handlers that run then finish first. An item
     * whose handler throws is claimed again later.
     */
    public WorkCounts run(Consumer<Item> handler) throws InterruptedException {
        Pool own = new Pool(this, store.gate(), claimed -> {
            handler.accept(claimed);
            claimed.decide(Item.DONE); // unless it has decided itself
        });
        Waits.interruptibly(() -> own.run(this::fill), own.canceller(), counts -> { });
        return own.counts();
    }

    /** The claim has gone with the first decision. It is named by its owner and token. */
    void decideAgain(Item decided, int verdict) {
        Claimed claim =
            new Claimed(store, decided.queue(), table, decided.owner(), decided.token());
        if (verdict == Item.DONE) {
            claim.done(decided.id());
        } else if (verdict == Item.FAILED) {
            claim.retry(decided.id(), decided.how() != null ? decided.how()
                : Retry.because(decided.reason(), retryMinMs == 0 ? RETRY_MIN_MS : retryMinMs));
        } else {
            claim.retry(decided.id(), Retry.atOnce().uncounted());
        }
    }

    // ---- the loop ----

    @Override
    public Iterator<Item> iterator() {
        return this;
    }

    private synchronized void start() {
        if (pool != null) {
            return;
        }
        workers = 1;
        pool = new Pool(this, store.gate(), this::deliver);
        if (isClosing) {
            pool.cancel(); // who has stopped it may have come before there was a pool
        }
        store.gate().before(end);
        Waits.post(() -> {
            Throwable trouble = null;
            try {
                pool.run(this::fill);
            } catch (RuntimeException | Error error) {
                trouble = error;
            }
            store.gate().forget(end);
            messages.add(new Ended(trouble));
        });
    }

    private void deliver(Item claimed) {
        last = claimed;
        if (isClosing) {
            claimed.decide(io.lockkeeper.internal.Constants.LK_WORK_GIVE_BACK);
        } else {
            messages.add(claimed);
        }
    }

    private void endClaiming() {
        isClosing = true;
        Pool running = pool;
        if (running != null) {
            running.cancel();
        }
    }

    /**
     * Claims no more: the loop ends with its next turn, and decides on the item that it has. Any
     * thread may call it.
     */
    public void stop() {
        isStopped = true;
        endClaiming();
    }

    /** The store is being closed. A loop that works on an item is told before that goes back. */
    private void leaveBehind() {
        endClaiming();
        Item claimed = last;
        if (claimed != null) {
            claimed.leaveBehind();
        }
    }

    /**
     * The present item is done; waits for the next one. false: drained or closed. An interrupt is a
     * CancelledException, and the thread stays interrupted.
     */
    @Override
    public boolean hasNext() {
        if (item != null) {
            item.decide(Item.DONE);
            item = null;
        }
        if (fetched != null && isClosing) { // it has not been handed out
            fetched.decide(io.lockkeeper.internal.Constants.LK_WORK_GIVE_BACK);
            fetched = null;
        }
        isOver = isOver || (isStopped && pool == null);
        while (fetched == null && !isOver) {
            start();
            take();
        }
        return fetched != null;
    }

    private void take() {
        Object message;
        try {
            message = messages.take();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new CancelledException("the wait for an item was interrupted");
        }
        if (message instanceof Ended) {
            Throwable error = ((Ended) message).error();
            isOver = true;
            if (!(isStopped && error instanceof CancelledException)) {
                fail(error);
            }
        } else if (isClosing) { // it came too late
            ((Item) message).decide(io.lockkeeper.internal.Constants.LK_WORK_GIVE_BACK);
        } else {
            fetched = (Item) message;
        }
    }

    private static void fail(Throwable error) {
        if (error instanceof Error) {
            throw (Error) error;
        }
        if (error != null) {
            throw (RuntimeException) error;
        }
    }

    @Override
    public Item next() {
        if (fetched == null && !hasNext()) {
            throw new NoSuchElementException("nothing is left, or the loop is closed");
        }
        item = fetched;
        fetched = null;
        return item;
    }

    /** What has become of the items of the loop so far. */
    public synchronized WorkCounts counts() {
        return pool == null ? WorkCounts.read(new Structs.WorkCounts()) : pool.counts();
    }

    /** Returns when nothing of this loop is claimed. An item not decided on is given back. */
    @Override
    public void close() {
        endClaiming();
        Item claimed = last;
        if (claimed != null) {
            claimed.decide(io.lockkeeper.internal.Constants.LK_WORK_GIVE_BACK);
        }
        while (pool != null && !isOver) {
            isOver = Item.take(messages) instanceof Ended;
        }
        isOver = true;
    }
}
