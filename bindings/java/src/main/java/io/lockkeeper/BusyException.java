// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** Not granted now; nothing new stays in the queue. */
public final class BusyException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    BusyException(String text, List<Blocker> blockers) {
        super(Outcome.BUSY, text, blockers);
    }
}
