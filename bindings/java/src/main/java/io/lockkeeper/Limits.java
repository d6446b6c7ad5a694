// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Structs;

/** The bounds that a store keeps (rule R22). 0: none. */
public record Limits(long live, long livePerOwner, long livePerRoot, long waitersPerPath,
    long events) {

    /** Of Store.setLimits(): this bound stays as it is. */
    public static final long AS_IS = Constants.LK_LIMIT_AS_IS;

    /** All as they are. */
    public static Limits asTheyAre() {
        return new Limits(AS_IS, AS_IS, AS_IS, AS_IS, AS_IS);
    }

    static Limits read(Structs.Limits limits) {
        return new Limits(limits.live, limits.live_per_owner, limits.live_per_root,
            limits.waiters_per_path, limits.events);
    }

    Structs.Limits fill() {
        Structs.Limits limits = new Structs.Limits();
        limits.size = limits.size();
        limits.live = checked(live);
        limits.live_per_owner = checked(livePerOwner);
        limits.live_per_root = checked(livePerRoot);
        limits.waiters_per_path = checked(waitersPerPath);
        limits.events = checked(events);
        return limits;
    }

    private static long checked(long bound) {
        if (bound < 0 && bound != AS_IS) {
            throw new IllegalArgumentException("a bound must not be negative");
        }
        return bound;
    }
}
