// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** To wait would close a cycle of owners; nothing stays in the queue. */
public final class DeadlockException extends LockkeeperException {
    private static final long serialVersionUID = 1;

    private final transient List<String> cycle;

    DeadlockException(String text, List<Blocker> blockers, List<String> cycle) {
        super(Outcome.DEADLOCK, text, blockers);
        this.cycle = cycle;
    }

    /** The owners, the caller first. */
    public List<String> cycle() {
        return cycle == null ? List.of() : cycle;
    }
}
