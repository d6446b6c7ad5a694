// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** This store cannot do that. */
public final class UnsupportedException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    UnsupportedException(String text) {
        super(Outcome.UNSUPPORTED, text, List.of());
    }
}
