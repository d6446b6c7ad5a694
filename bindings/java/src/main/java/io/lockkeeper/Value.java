// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import java.nio.charset.StandardCharsets;

/**
 * The value at a path. `isInDoubt`: its last holder perished after it was written, and what it
 * describes may be half done.
 */
public record Value(byte[] bytes, boolean isInDoubt) {
    /** The bytes as UTF-8. */
    public String text() {
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
