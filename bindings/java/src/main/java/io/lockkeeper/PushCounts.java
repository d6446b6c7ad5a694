// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

/**
 * Of {@link Store#pushMany}: how many items are new, how many the queue had already, and how many
 * of these are changed.
 */
public record PushCounts(long added, long duplicates, long changed) {}
