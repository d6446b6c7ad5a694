// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** The wait was ended, and what it had queued is withdrawn. */
public final class CancelledException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    CancelledException(String text) {
        super(Outcome.CANCELLED, text, List.of());
    }
}
