// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** Not held, or not held all the time: another owner may have the lock. */
public final class LeaseLostException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    LeaseLostException(String text) {
        super(Outcome.LOST, text, List.of());
    }
}
