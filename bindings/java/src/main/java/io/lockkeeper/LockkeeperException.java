// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.util.List;

/** An outcome that is no success. Each has a subclass. */
public abstract class LockkeeperException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final Outcome outcome;
    private final transient List<Blocker> blockers;

    LockkeeperException(Outcome outcome, String text, List<Blocker> blockers) {
        super(text);
        this.outcome = outcome;
        this.blockers = blockers;
    }

    public Outcome outcome() {
        return outcome;
    }

    /** The requests in the way, where the answer names them. */
    public List<Blocker> blockers() {
        return blockers == null ? List.of() : blockers;
    }
}
