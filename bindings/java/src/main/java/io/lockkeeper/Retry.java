// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import io.lockkeeper.internal.Structs.RetryRequest;
import java.nio.charset.StandardCharsets;
import java.time.Duration;

/**
 * How an item is given back: when it can be claimed again, and why it has failed, which is kept
 * with it. Each method returns another one.
 */
public final class Retry {
    private final long delayMs;
    private final byte[] error;
    private final Integer exitCode;
    private final boolean isUncounted;
    private final boolean isParked;

    private Retry(long delayMs, byte[] error, Integer exitCode, boolean isUncounted,
        boolean isParked) {
        this.delayMs = delayMs;
        this.error = error;
        this.exitCode = exitCode;
        this.isUncounted = isUncounted;
        this.isParked = isParked;
    }

    public static Retry atOnce() {
        return after(Duration.ZERO);
    }

    /** Up to 366 days. */
    public static Retry after(Duration delay) {
        return new Retry(Memories.milliseconds(delay, "delay"), null, null, false, false);
    }

    /** `reason` null: not said. */
    static Retry because(byte[] reason, long delayMs) {
        return new Retry(delayMs, reason, null, false, false);
    }

    /** Why it has failed, in up to 1024 bytes of UTF-8. */
    public Retry error(String why) {
        byte[] told = why.getBytes(StandardCharsets.UTF_8);
        return new Retry(delayMs, told, exitCode, isUncounted, isParked);
    }

    /** Its kind and text, cut where they are longer than that. */
    public Retry error(Throwable why) {
        byte[] told = why.toString().getBytes(StandardCharsets.UTF_8);
        return new Retry(delayMs, Item.kept(told), exitCode, isUncounted, isParked);
    }

    /** What the work ended with, where it was a program. */
    public Retry exitCode(int code) {
        return new Retry(delayMs, error, code, isUncounted, isParked);
    }

    /** The attempt does not count, and the item is not parked: it was stopped, or "not now". */
    public Retry uncounted() {
        return new Retry(delayMs, error, exitCode, true, isParked);
    }

    /** The item is parked, whatever its attempts: it cannot succeed. There is no delay then. */
    public Retry parked() {
        return new Retry(delayMs, error, exitCode, isUncounted, true);
    }

    byte[] reason() {
        return error;
    }

    void fill(Structs.WorkFailure failure) {
        failure.has_exit = (byte) (exitCode == null ? 0 : 1);
        failure.exit_code = exitCode == null ? 0 : exitCode;
        failure.has_delay = 1;
        failure.delay_ms = delayMs;
        failure.uncounted = (byte) (isUncounted ? 1 : 0);
        failure.parks = (byte) (isParked ? 1 : 0);
    }

    void fill(RetryRequest request, Memories memories) {
        request.delay_ms = delayMs;
        request.has_exit = (byte) (exitCode == null ? 0 : 1);
        request.exit_code = exitCode == null ? 0 : exitCode;
        request.error = error == null ? null : memories.bytes(error);
        request.error_size = error == null ? 0 : error.length;
        request.uncounted = (byte) (isUncounted ? 1 : 0);
        request.parks = (byte) (isParked ? 1 : 0);
    }
}
