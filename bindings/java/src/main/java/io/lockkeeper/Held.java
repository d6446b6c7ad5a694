// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Callback;
import com.sun.jna.CallbackThreadInitializer;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Structs;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** A lk_lease, as long as it is one; what a Lease and an Item share. Any thread may call it. */
public abstract sealed class Held permits Lease, Item {
    private static final AtomicLong KEYS = new AtomicLong();
    private static final Map<Long, WeakReference<Held>> WATCHED = new ConcurrentHashMap<>();

    // Those that have callbacks: who waits for one may refer to nothing else of the lease.
    private static final Map<Long, Held> AWAITED = new ConcurrentHashMap<>();

    // Called by a thread of the library, which must neither block nor call the library.
    private static final Structs.LeaseOnLost ON_LOST = (context, lease) -> {
        WeakReference<Held> held = WATCHED.get(Pointer.nativeValue(context));
        if (held != null) {
            long key = Pointer.nativeValue(context);
            Waits.post(() -> tell(held, key));
        }
    };

    static {
        threadsOfTheLibrary(ON_LOST);
    }

    /** They stay attached until they end, and do not keep the virtual machine alive. */
    static void threadsOfTheLibrary(Callback callback) {
        Native.setCallbackThreadInitializer(callback,
            new CallbackThreadInitializer(true, false, "lockkeeper of the library"));
    }

    /**
     * The handle, apart from the object, for the collector. Invariant: it is used under the lock of
     * this, and taken out under it before it is freed.
     */
    static final class Handle {
        private Pointer lease;
        private Pointer tried; // unknown whether a release of this one has ended the lease
        private boolean isLost;
        private boolean isConverting; // then a loss is not kept: it may be the conversion
        private long key;

        synchronized Pointer take() {
            Pointer taken = lease;
            lease = null;
            if (taken != null && !isLost && !isConverting) {
                isLost = Functions.LIBRARY.lk_lease_is_lost(taken) != 0;
            }
            WATCHED.remove(key);
            AWAITED.remove(key);
            return taken;
        }

        synchronized void leaveTried(Pointer lease) {
            tried = lease;
        }

        synchronized Pointer takeTried() {
            Pointer taken = tried;
            tried = null;
            return taken;
        }

        synchronized boolean isTried() {
            return tried != null;
        }

        /** Of what was thrown away. It may wait for the library. */
        void abandonLater() {
            for (Pointer taken : new Pointer[] {take(), takeTried()}) {
                if (taken != null) {
                    Waits.post(() -> Functions.LIBRARY.lk_lease_abandon(taken));
                }
            }
        }
    }

    final Handle handle = new Handle();
    private final List<Runnable> callbacks = new ArrayList<>();
    private boolean isTold;

    Held() {}

    final void hold(Pointer lease) {
        long key = KEYS.incrementAndGet();
        WATCHED.put(key, new WeakReference<>(this));
        synchronized (handle) {
            handle.key = key;
            handle.lease = lease;
            Functions.LIBRARY.lk_lease_on_lost(lease, ON_LOST, new Pointer(key));
            if (!callbacks.isEmpty() && !isTold) {
                AWAITED.put(key, this);
            }
        }
    }

    /** Only tells the loss of the present handle: that of a former one means nothing. */
    private static void tell(WeakReference<Held> reference, long key) {
        Held held = reference.get();
        if (held != null && WATCHED.containsKey(key)) {
            held.tellLost();
        }
    }

    /**
     * What renews the present handle may find it lost as soon as the store has converted it. So
     * its loss is neither told nor kept before the end of the conversion.
     */
    final void beginConversion() {
        synchronized (handle) {
            handle.isConverting = true;
            WATCHED.remove(handle.key);
        }
    }

    /** Tells what has been withheld, if it is lost all the same. */
    final void endConversion() {
        synchronized (handle) {
            handle.isConverting = false;
            if (handle.lease == null) {
                return;
            }
            WATCHED.putIfAbsent(handle.key, new WeakReference<>(this));
        }
        if (isLost()) {
            tellLost();
        }
    }

    final void tellLost() {
        List<Runnable> told;
        synchronized (handle) {
            if (isTold) {
                return;
            }
            isTold = true;
            handle.isLost = true;
            AWAITED.remove(handle.key);
            told = List.copyOf(callbacks);
        }
        told.forEach(Waits::post);
    }

    /**
     * Whether it is lost, or must be taken as lost. Never blocks. Once true it stays true, unless a
     * conversion that is under way succeeds. After the end: whether it was lost then.
     */
    public final boolean isLost() {
        synchronized (handle) {
            if (handle.lease == null || handle.isLost) {
                return handle.isLost;
            }
            boolean isLost = Functions.LIBRARY.lk_lease_is_lost(handle.lease) != 0;
            handle.isLost = isLost && !handle.isConverting;
            return isLost;
        }
    }

    /** For how long it is held for certain; 0 when it is lost or has ended. */
    public final Duration remaining() {
        synchronized (handle) {
            return handle.lease == null ? Duration.ZERO
                : Duration.ofMillis(Functions.LIBRARY.lk_lease_remaining_ms(handle.lease));
        }
    }

    /** Runs it once, in a thread of the binding's, when the loss is found; at once if it is. */
    public final void onLost(Runnable callback) {
        java.util.Objects.requireNonNull(callback);
        synchronized (handle) {
            if (!isTold) {
                callbacks.add(callback);
                if (handle.lease != null) {
                    AWAITED.put(handle.key, this);
                }
                return;
            }
        }
        Waits.post(callback);
    }

    /** Throws unless it is held. */
    public final void check() {
        if (isLost()) {
            throw new LeaseLostException("the lease is lost");
        }
        synchronized (handle) {
            if (handle.lease == null) {
                throw new LeaseLostException("the lease has ended");
            }
        }
    }

    /** The store is closed, and its leases end without a report. */
    static void closed(Store store) {
        AWAITED.values().removeIf(held -> held instanceof Lease lease && lease.isOf(store));
    }

    final boolean hasEnded() {
        synchronized (handle) {
            return handle.lease == null;
        }
    }

    /** Puts back what take() has taken: nothing was done. */
    final void putBack(Pointer lease) {
        hold(lease);
    }

    /** The fencing token. Pass it to the resource, and let that refuse smaller ones. */
    public abstract long token();

    public abstract String owner();
}
