// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.LkError;

/** What a call's outcome means for its caller. */
final class Calls {
    private Calls() {}

    static void check(int outcome, LkError error) {
        Outcome what = Outcome.of(outcome);
        if (what != Outcome.OK && what != Outcome.GRANTED) {
            throw what.exception(Memories.string(error.text));
        }
    }
}
