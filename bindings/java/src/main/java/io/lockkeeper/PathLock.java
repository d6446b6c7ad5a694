// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A path as a java.util.concurrent.locks.Lock. Threads that share this object stand in line here,
 * and the first one asks the store: so a thread may lock twice, and only the thread that has locked
 * can unlock. unlock() throws LeaseLostException if the lease was not held all the time; it is
 * unlocked then, too. If it throws UnavailableException, other threads can lock this object, but
 * the path may stay locked in the store for the lease's ttl: the same thread can call unlock()
 * again, until the store has answered or it has locked again.
 */
final class PathLock implements Lock {
    private static final Duration FOREVER = Duration.ofMillis(Long.MAX_VALUE); // of the library

    private final LockRequest request; // used by the thread that holds `threads`
    private final ReentrantLock threads = new ReentrantLock(true);
    private Lease lease; // of the thread that holds `threads`
    private final ThreadLocal<Lease> unanswered = new ThreadLocal<>(); // its release, by unlock()

    /** What this thread holds by such locks, which no other thread can unlock. */
    private static final ThreadLocal<Set<Lease>> HELD = ThreadLocal.withInitial(HashSet::new);

    PathLock(LockRequest request) {
        this.request = request;
    }

    static Set<Lease> ownLeases() {
        return HELD.get();
    }

    @Override
    public void lock() {
        threads.lock();
        if (threads.getHoldCount() == 1) {
            ask(request.waitFor(FOREVER)::awaitUninterruptibly);
        }
    }

    @Override
    public void lockInterruptibly() throws InterruptedException {
        threads.lockInterruptibly();
        if (threads.getHoldCount() == 1) {
            ask(request.waitFor(FOREVER)::await);
        }
    }

    @Override
    public boolean tryLock() {
        if (!threads.tryLock()) {
            return false;
        }
        try {
            if (threads.getHoldCount() == 1) {
                ask(request::tryNow);
            }
            return true;
        } catch (BusyException error) {
            return false;
        }
    }

    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        long end = System.nanoTime() + unit.toNanos(time);
        if (!threads.tryLock(time, unit)) {
            return false;
        }
        try {
            if (threads.getHoldCount() == 1) {
                long left = Math.max(0, end - System.nanoTime());
                ask(request.waitFor(Duration.ofNanos(left))::await);
            }
            return true;
        } catch (LockTimeoutException | BusyException error) {
            return false;
        }
    }

    private interface Ask<E extends Exception> {
        Lease lease() throws E;
    }

    /** Leaves the line again unless the store grants. */
    private <E extends Exception> void ask(Ask<E> ask) throws E {
        try {
            lease = ask.lease();
            unanswered.remove();
            HELD.get().add(lease);
        } finally {
            if (lease == null) {
                threads.unlock();
            }
        }
    }

    @Override
    public void unlock() {
        if (!threads.isHeldByCurrentThread()) {
            if (unanswered.get() == null) {
                throw new IllegalMonitorStateException("this thread has not locked it");
            }
            release(unanswered.get());
            return;
        }
        try {
            if (threads.getHoldCount() == 1) {
                Lease held = lease;
                lease = null;
                HELD.get().remove(held);
                release(held);
            }
        } finally {
            threads.unlock();
        }
    }

    /** Keeps it for another unlock() unless the store has answered. */
    private void release(Lease held) {
        unanswered.set(held);
        try {
            held.release();
        } catch (LeaseLostException error) {
            unanswered.remove();
            throw error;
        }
        unanswered.remove();
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a store has no conditions");
    }
}
