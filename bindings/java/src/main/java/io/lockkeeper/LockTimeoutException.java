// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** Not granted within the time given; the request is withdrawn. */
public final class LockTimeoutException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    LockTimeoutException(String text, List<Blocker> blockers) {
        super(Outcome.TIMEOUT, text, blockers);
    }
}
