// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.LkError;
import io.lockkeeper.internal.Structs.WatchOptions;
import java.lang.ref.Cleaner;
import java.time.Duration;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;

/**
 * The events of a store, in order (rule R21), for one thread. A gap is an event of the kind "gap";
 * more than 20 seconds between two calls may cause one. After UnavailableException the next call
 * misses no event.
 */
public final class Watch implements Iterator<Event>, Iterable<Event>, AutoCloseable {
    /** A lk_watch, apart from the object, for the collector. The store closes it before itself. */
    private static final class Handle {
        private final Gate gate;
        private final Runnable end = this::close;
        private Pointer watch;
        private long position;
        private volatile Waits.Cancel waiting;
        private volatile boolean isClosed;

        Handle(Gate gate, String prefix, long after) {
            this.gate = gate;
            PointerByReference opened = new PointerByReference();
            gate.inside(store -> {
                LkError error = new LkError();
                try (Memories memories = new Memories()) {
                    WatchOptions options = new WatchOptions();
                    options.size = options.size();
                    options.prefix = memories.optionalText(prefix, "prefix");
                    options.after = after;
                    Outcome.check(Functions.LIBRARY.lk_watch_open(store, options, opened, error),
                        error);
                }
                gate.before(end);
                return null;
            });
            watch = opened.getValue();
            position = Functions.LIBRARY.lk_watch_position(watch);
        }

        /** null: not within that time, or closed. */
        synchronized Event next(long waitMs, Waits.Cancel cancel) {
            if (watch == null) {
                cancel.free();
                return null;
            }
            return gate.waiting(cancel, store -> {
                waiting = cancel;
                if (isClosed) {
                    cancel.now();
                }
                LkError error = new LkError();
                PointerByReference event = new PointerByReference();
                try {
                    Outcome outcome = Outcome.of(Functions.LIBRARY.lk_watch_next(
                        watch, waitMs, cancel.handle(), event, error));
                    if (outcome == Outcome.OK) {
                        return Event.read(event.getValue());
                    }
                    if (outcome == Outcome.TIMEOUT || isClosed) {
                        return null;
                    }
                    throw outcome.exception(Memories.string(error.text));
                } finally {
                    waiting = null;
                    position = Functions.LIBRARY.lk_watch_position(watch);
                }
            });
        }

        synchronized long position() {
            return position;
        }

        void close() {
            isClosed = true;
            Waits.Cancel cancel = waiting;
            if (cancel != null) {
                cancel.now();
            }
            synchronized (this) {
                Functions.LIBRARY.lk_watch_close(watch);
                watch = null;
            }
            gate.forget(end);
        }
    }

    private final Store store; // is not collected before
    private final Handle handle;
    private final Cleaner.Cleanable cleanable;
    private Event fetched; // by hasNext(), or by a wait that was interrupted

    Watch(Store store, String prefix, long after) {
        this.store = store;
        handle = new Handle(store.gate(), prefix, after);
        Handle own = handle;
        cleanable = Waits.CLEANER.register(this, () -> Waits.post(own::close));
    }

    /** The next event, if it comes within that time and the watch is not closed. */
    public Optional<Event> next(Duration wait) throws InterruptedException {
        return Optional.ofNullable(take(Memories.milliseconds(wait, "wait")));
    }

    private Event take(long waitMs) throws InterruptedException {
        if (fetched == null) {
            fetched = handle.next(0, new Waits.Cancel()); // what is there needs no thread
        }
        if (fetched == null && waitMs > 0 && !handle.isClosed) {
            Waits.Cancel cancel = new Waits.Cancel();
            fetched = Waits.interruptibly(
                () -> handle.next(waitMs, cancel), cancel, event -> fetched = event);
        }
        Event event = fetched;
        fetched = null;
        return event;
    }

    /**
     * Waits for an event; false: the watch is closed. An interrupt is a CancelledException, and the
     * thread stays interrupted.
     */
    @Override
    public boolean hasNext() {
        try {
            fetched = take(Constants.LK_FOREVER);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            throw new CancelledException("the wait for an event was interrupted");
        }
        return fetched != null;
    }

    @Override
    public Event next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the watch is closed");
        }
        Event event = fetched;
        fetched = null;
        return event;
    }

    @Override
    public Iterator<Event> iterator() {
        return this;
    }

    /** The sequence to continue after, by another watch. */
    public long position() {
        return fetched == null ? handle.position() : fetched.sequence() - 1;
    }

    /** Ends the iteration, also of another thread that waits. */
    @Override
    public void close() {
        handle.close();
        cleanable.clean();
    }

    @Override
    public String toString() {
        return "Watch of " + store;
    }
}
