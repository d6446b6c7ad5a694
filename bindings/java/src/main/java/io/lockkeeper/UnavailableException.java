// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** The store cannot be reached; unknown whether the call took effect. Repeat it. */
public final class UnavailableException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    UnavailableException(String text) {
        super(Outcome.UNAVAILABLE, text, List.of());
    }
}
