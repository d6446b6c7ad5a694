// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** How LockRequest.ask() asks (rule R10); the styles of lk_style, in its order. */
public enum Style {
    /** Granted now, or BusyException. */
    TRY,
    /** Granted now, or queued until its deadline: Outcome.WAITING. To ask again keeps the place. */
    QUEUE,
    /** Waits until it is granted. */
    WAIT
}
