// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** The arguments are wrong; the text says what and where. */
public final class InvalidException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    InvalidException(String text) {
        super(Outcome.INVALID, text, List.of());
    }
}
