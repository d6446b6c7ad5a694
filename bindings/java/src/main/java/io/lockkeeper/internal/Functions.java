// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.internal;

import com.sun.jna.Library;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Structs.LkError;

/**
 * The functions of liblockkeeper that are called. Only this class knows how the library is found.
 *
 * <p>An outcome is an int. Texts are terminated UTF-8 in memory that the caller owns
 * ({@link Memories}), so that no encoding of JNA's own comes in between.
 */
public interface Functions extends Library {
    String SONAME = "liblockkeeper.so.0";
    String VERSION = "0.1.0";
    Functions LIBRARY = load();

    Pointer lk_version();

    Pointer lk_outcome_text(int outcome);

    Pointer lk_watch_kind_name(int kind);

    int lk_open(Pointer url, PointerByReference store, LkError error);

    void lk_close(Pointer store);

    Pointer lk_store_url(Pointer store);

    long lk_away_ms(Pointer store, LkError error);

    void lk_result_free(Pointer result);

    void lk_value_free(Pointer value);

    int lk_value_get(Pointer store, Pointer path, PointerByReference value, LkError error);

    int lk_value_put(Pointer store, Pointer path, Pointer owner, long token, Pointer bytes,
        long size, LkError error);

    int lk_acquire(Pointer store, Structs.Request request, PointerByReference lease,
        PointerByReference result, LkError error);

    int lk_renew(Pointer store, Structs.Request request, long token, PointerByReference result,
        LkError error);

    int lk_release(Pointer store, Structs.Request request, long token, PointerByReference result,
        LkError error);

    int lk_release_put_all(Pointer store, Structs.Request request, long token, Pointer puts,
        long count, PointerByReference result, LkError error);

    int lk_lease_release(Pointer lease, LkError error);

    int lk_lease_release_put_all(Pointer lease, Pointer puts, long count, LkError error);

    void lk_lease_abandon(Pointer lease);

    byte lk_lease_is_lost(Pointer lease);

    long lk_lease_remaining_ms(Pointer lease);

    void lk_lease_on_lost(Pointer lease, Structs.OnLost callback, Pointer context);

    Pointer lk_cancel_new();

    void lk_cancel_free(Pointer cancel);

    void lk_cancel_now(Pointer cancel);

    void lk_listing_free(Pointer listing);

    int lk_list(Pointer store, Pointer prefix, PointerByReference listing, LkError error);

    int lk_show(Pointer store, Pointer path, PointerByReference listing, LkError error);

    int lk_break(Pointer store, Structs.BreakRequest request, LongByReference count,
        LkError error);

    void lk_report_free(Pointer report);

    int lk_examine(Pointer store, PointerByReference report, LkError error);

    int lk_push(Pointer store, Structs.PushRequest request, ByteByReference added, LkError error);

    int lk_push_many(Pointer store, Pointer requests, long count, Structs.PushCounts counts,
        LkError error);

    void lk_claim_free(Pointer claim);

    int lk_claim_next(Pointer store, Structs.ClaimRequest request, PointerByReference claim,
        LkError error);

    void lk_claim_list_free(Pointer list);

    int lk_claim_many(Pointer store, Structs.ClaimRequest request, long max,
        PointerByReference list, LkError error);

    int lk_done(Pointer store, Pointer queue, Pointer id, Pointer owner, long token,
        LkError error);

    int lk_done_row(Pointer store, Pointer queue, Pointer table, Pointer id, Pointer owner,
        long token, LkError error);

    int lk_done_many(Pointer store, Pointer queue, Pointer ids, long count, Pointer owner,
        long token, LongByReference done, LkError error);

    int lk_retry(Pointer store, Pointer queue, Pointer id, Pointer owner, long token,
        long delayMs, LkError error);

    int lk_retry_failed(Pointer store, Structs.RetryRequest request, LkError error);

    int lk_unpark_all(Pointer store, Pointer queue, LongByReference count, LkError error);

    int lk_stats(Pointer store, Pointer queue, Structs.QueueStats stats, LkError error);

    int lk_work(Pointer store, Structs.WorkOptions options, Structs.WorkCounts counts,
        LkError error);

    int lk_watch_open(Pointer store, Structs.WatchOptions options, PointerByReference watch,
        LkError error);

    int lk_watch_next(Pointer watch, long waitMs, Pointer cancel, PointerByReference event,
        LkError error);

    long lk_watch_position(Pointer watch);

    void lk_watch_close(Pointer watch);

    /** $LK_LIBRARY is the path of another library than the system's. */
    private static Functions load() {
        String named = System.getenv("LK_LIBRARY");
        String name = named == null || named.isEmpty() ? SONAME : named;
        Functions library;
        String version;
        try {
            library = Native.load(name, Functions.class);
            version = library.lk_version().getString(0, "UTF-8");
        } catch (UnsatisfiedLinkError error) {
            throw new UnsatisfiedLinkError("cannot load " + name + ": " + error.getMessage()
                + "; install Lockkeeper's library (make install), let the linker find it"
                + " (ldconfig, as root; or LD_LIBRARY_PATH), or name its file by LK_LIBRARY");
        }
        // Before 1.0, a minor version may change structs that the library allocates.
        if (!minor(version).equals(minor(VERSION)) || Native.SIZE_T_SIZE != Long.BYTES) {
            throw new UnsatisfiedLinkError(
                name + " is version " + version + "; this binding is for " + VERSION + ", 64 bits");
        }
        return library;
    }

    private static String minor(String version) {
        return version.substring(0, version.lastIndexOf('.'));
    }
}
