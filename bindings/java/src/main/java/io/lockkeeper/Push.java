// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.PushRequest;
import java.time.Duration;
import java.util.List;

/**
 * How an item is pushed: when and before which others it can be claimed, and what happens to one
 * with its id that the queue has already. Each method returns another one.
 */
public final class Push {
    private final long delayMs;
    private final int priority;
    private final List<String> needs;
    private final boolean isAgain;
    private final boolean replaces;
    private final long keepMs;

    private Push(long delayMs, int priority, List<String> needs, boolean isAgain, boolean replaces,
        long keepMs) {
        this.delayMs = delayMs;
        this.priority = priority;
        this.needs = needs;
        this.isAgain = isAgain;
        this.replaces = replaces;
        this.keepMs = keepMs;
    }

    public static Push atOnce() {
        return after(Duration.ZERO);
    }

    /** Not claimed before this time has passed; up to 366 days. */
    public static Push after(Duration delay) {
        return new Push(Memories.milliseconds(delay, "delay"), 0, List.of(), false, false, 0);
    }

    /** -32768 to 32767: the greatest is claimed first. */
    public Push priority(int level) {
        return new Push(delayMs, level, needs, isAgain, replaces, keepMs);
    }

    /** Parts that a claim locks as well, up to 15. */
    public Push needs(List<String> parts) {
        return new Push(delayMs, priority, List.copyOf(parts), isAgain, replaces, keepMs);
    }

    /**
     * An item that is there gets what this push says, also if it is parked; if it is claimed, it is
     * worked on once more when the claim ends.
     */
    public Push again() {
        return new Push(delayMs, priority, needs, true, replaces, keepMs);
    }

    /** The same, but only for an item that waits to be claimed. Not both. */
    public Push replace() {
        return new Push(delayMs, priority, needs, isAgain, true, keepMs);
    }

    /** How long the item is kept with its result once it is done; up to 366 days. */
    public Push keep(Duration time) {
        return new Push(delayMs, priority, needs, isAgain, replaces,
            Memories.milliseconds(time, "keep"));
    }

    void fill(PushRequest request, Memories memories) {
        request.delay_ms = delayMs;
        request.priority = priority;
        request.needs = memories.texts(needs, "need");
        request.need_count = needs.size();
        request.again = (byte) (isAgain ? 1 : 0);
        request.replaces = (byte) (replaces ? 1 : 0);
        request.keep_ms = keepMs;
    }
}
