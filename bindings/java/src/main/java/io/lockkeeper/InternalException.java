// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** A defect or exhausted memory; the text says where. */
public final class InternalException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    InternalException(Outcome outcome, String text) {
        super(outcome, text, List.of());
    }
}
