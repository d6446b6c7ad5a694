// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** A configured bound is reached. */
public final class FullException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    FullException(String text) {
        super(Outcome.FULL, text, List.of());
    }
}
