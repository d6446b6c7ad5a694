// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/** Of {@link Store#pushMany}: how many items are new, and how many the queue had already. */
public record PushCounts(long added, long duplicates) {}
