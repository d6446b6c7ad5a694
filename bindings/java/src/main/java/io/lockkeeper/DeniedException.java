// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** Not allowed. */
public final class DeniedException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    DeniedException(String text) {
        super(Outcome.DENIED, text, List.of());
    }
}
