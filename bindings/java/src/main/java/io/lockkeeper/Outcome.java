// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.LkError;
import java.util.List;

/** The outcomes of lk_outcome, in its order. Those that are no success have an exception each. */
public enum Outcome {
    OK, GRANTED, WAITING, BUSY, TIMEOUT, LOST, DEADLOCK, INVALID, DENIED, FULL, UNSUPPORTED,
    UNAVAILABLE, INTERNAL, NONE, CANCELLED;

    static Outcome of(int outcome) {
        return outcome >= 0 && outcome < values().length ? values()[outcome] : INTERNAL;
    }

    /** Throws what the outcome of a call means for its caller, if that is no success. */
    static void check(int outcome, LkError error) {
        Outcome what = of(outcome);
        if (what != OK && what != GRANTED) {
            throw what.exception(Memories.string(error.text));
        }
    }

    LockkeeperException exception(String text) {
        return exception(text, List.of(), List.of());
    }

    /** The exception for this outcome; its text is never empty. */
    LockkeeperException exception(String told, List<Blocker> blockers, List<String> cycle) {
        String text = told != null && !told.isEmpty() ? told
            : Memories.string(Functions.LIBRARY.lk_outcome_text(ordinal()));
        switch (this) {
            case BUSY:
                return new BusyException(text, blockers);
            case TIMEOUT:
                return new LockTimeoutException(text, blockers);
            case LOST:
                return new LeaseLostException(text);
            case DEADLOCK:
                return new DeadlockException(text, blockers, cycle);
            case INVALID:
                return new InvalidException(text);
            case DENIED:
                return new DeniedException(text);
            case FULL:
                return new FullException(text);
            case UNSUPPORTED:
                return new UnsupportedException(text);
            case UNAVAILABLE:
                return new UnavailableException(text);
            case CANCELLED:
                return new CancelledException(text);
            default:
                return new InternalException(this, text);
        }
    }
}
