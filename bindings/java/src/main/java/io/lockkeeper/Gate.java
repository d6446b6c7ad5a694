// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import java.util.HashSet;
import java.util.Set;
import java.util.function.Function;

/**
 * A lk_store, and the calls inside it. Closing it ends waits, and closes the handle when no call is
 * inside any more. It refers to no Store, so that one that is thrown away can be collected.
 */
final class Gate {
    /** A call on a closed store. */
    static final class ClosedException extends IllegalStateException {
        private static final long serialVersionUID = 1;

        ClosedException() {
            super("the store is closed");
        }
    }

    private static final ThreadLocal<Gate> HANDLED = new ThreadLocal<>();

    private final Pointer store;
    private final Set<Waits.Cancel> cancels = new HashSet<>();
    private final Set<Runnable> ends = new HashSet<>(); // of watches and work: to be called first
    private int inside;
    private boolean isClosed;

    Gate(Pointer store) {
        this.store = store;
    }

    <T> T inside(Function<Pointer, T> call) {
        synchronized (this) {
            if (isClosed) {
                throw new ClosedException();
            }
            inside++;
        }
        try {
            return call.apply(store);
        } finally {
            synchronized (this) {
                inside--;
                notifyAll();
            }
        }
    }

    /** A call that may wait until `cancel` ends that, which is freed. */
    <T> T waiting(Waits.Cancel cancel, Function<Pointer, T> call) {
        try {
            return inside(handle -> {
                synchronized (this) {
                    cancels.add(cancel);
                    if (isClosed) {
                        cancel.now();
                    }
                }
                return call.apply(handle);
            });
        } finally {
            synchronized (this) {
                cancels.remove(cancel);
            }
            cancel.free();
        }
    }

    synchronized boolean isClosed() {
        return isClosed;
    }

    /** Has `end` called before the store is closed, unless it is forgotten before. */
    synchronized void before(Runnable end) {
        ends.add(end);
    }

    synchronized void forget(Runnable end) {
        ends.remove(end);
    }

    /** Calls a handler that must not close the store. */
    void handling(Runnable handler) {
        HANDLED.set(this);
        try {
            handler.run();
        } finally {
            HANDLED.remove();
        }
    }

    void close() {
        if (HANDLED.get() == this) {
            throw new IllegalStateException("a handler cannot close the store that it works for");
        }
        Set<Runnable> first;
        synchronized (this) {
            first = new HashSet<>(ends);
        }
        first.forEach(Runnable::run);
        if (closeOnce()) {
            Functions.LIBRARY.lk_close(store);
        }
    }

    /** Whether this call has closed it. No call is inside any more. */
    private synchronized boolean closeOnce() {
        boolean isFirst = !isClosed;
        isClosed = true;
        cancels.forEach(Waits.Cancel::now);
        boolean isInterrupted = false;
        while (inside > 0) {
            try {
                wait();
            } catch (InterruptedException error) {
                isInterrupted = true;
            }
        }
        if (isInterrupted) {
            Thread.currentThread().interrupt();
        }
        return isFirst;
    }
}
