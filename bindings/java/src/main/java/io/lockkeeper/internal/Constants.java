// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.internal;

/** The constants of the headers that the binding uses; compared as the structs are. */
public final class Constants {
    public static final int LK_TRY = 0;
    public static final int LK_WAIT = 2;
    public static final int LK_ERROR_TEXT_MAX = 384;
    public static final int LK_OUTCOME_COUNT = 15;
    public static final int LK_WATCH_KIND_COUNT = 18;
    public static final int LK_MANY_MAX = 1000;
    public static final int LK_WORK_GIVE_BACK = -1;
    public static final int LK_WORK_CLAIMED = 0;
    public static final int LK_WORK_LOST = 4;
    public static final int LK_WORK_UNKNOWN = 5;
    public static final long LK_FOREVER = Long.MAX_VALUE;

    private Constants() {}
}
