// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import io.lockkeeper.internal.Structs.ClaimInfo;
import io.lockkeeper.internal.Structs.LkError;
import io.lockkeeper.internal.Structs.WorkOptions;
import io.lockkeeper.internal.Structs.WorkProgress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BiConsumer;
import java.util.function.Consumer;

/**
 * One lk_work(). Each item goes to `workOn`, in the thread of its worker, which decides on it. The
 * library claims, renews, finishes and retries.
 */
final class Pool {
    private final Work work;
    private final Gate gate;
    private final Consumer<Item> workOn;
    private final Waits.Cancel cancel = new Waits.Cancel();
    private final Map<Long, Item> items = new ConcurrentHashMap<>(); // by the place of the claim
    private final Map<Long, Memory> reasons = new ConcurrentHashMap<>(); // borrowed by the library
    private volatile WorkCounts counts = WorkCounts.read(new Structs.WorkCounts());

    // Strong: C knows only their addresses.
    private final Structs.Handle handle = this::handle;
    private final Structs.Progress progress = this::progress;
    private final Structs.Explain explain = this::explain;

    Pool(Work work, Gate gate, Consumer<Item> workOn) {
        this.work = work;
        this.gate = gate;
        this.workOn = workOn;
        Held.threadsOfTheLibrary(handle);
        Held.threadsOfTheLibrary(progress);
        Held.threadsOfTheLibrary(explain);
    }

    void cancel() {
        cancel.now();
    }

    Waits.Cancel canceller() {
        return cancel;
    }

    WorkCounts counts() {
        return counts;
    }

    /** Until it is drained; throws any other outcome. `fill` sets the options of the user. */
    Void run(BiConsumer<WorkOptions, Memories> fill) {
        return gate.waiting(cancel, store -> {
            LkError error = new LkError();
            Structs.WorkCounts told = new Structs.WorkCounts();
            try (Memories memories = new Memories()) {
                WorkOptions options = new WorkOptions();
                options.size = options.size();
                fill.accept(options, memories);
                options.handle = handle;
                options.progress = progress;
                options.explain = explain;
                options.cancel = cancel.handle();
                int outcome = Functions.LIBRARY.lk_work(store, options, told, error);
                counts = WorkCounts.read(told);
                Outcome.check(outcome, error);
            }
            return null;
        });
    }

    // Called by the library. An exception here would count as "done".

    private int handle(Pointer context, Pointer claim, Pointer lease) {
        try {
            Item item = new Item(work, new ClaimInfo(claim), lease);
            items.put(Pointer.nativeValue(claim), item);
            try {
                gate.handling(() -> workOn.accept(item));
            } catch (Throwable error) {
                item.leave(error, cancel.isNow() || gate.isClosed());
            }
            return item.verdict();
        } catch (Throwable error) {
            error.printStackTrace();
            return Item.FAILED;
        }
    }

    private void explain(Pointer context, Pointer claim, Pointer place) {
        Item item = items.get(Pointer.nativeValue(claim));
        byte[] reason = item == null ? null : item.reason();
        Structs.WorkFailure failure = new Structs.WorkFailure(place);
        if (reason != null && reason.length > 0) {
            Memory text = new Memory(reason.length);
            text.write(0, reason, 0, reason.length);
            reasons.put(Pointer.nativeValue(claim), text);
            failure.text = text;
            failure.text_size = reason.length;
        }
        if (item != null && item.how() != null) {
            item.how().fill(failure);
        }
        failure.write();
    }

    private void progress(Pointer context, Pointer place) {
        WorkProgress told = new WorkProgress(place);
        counts = WorkCounts.read(told.counts);
        if (told.claim != null && told.step != io.lockkeeper.internal.Constants.LK_WORK_CLAIMED) {
            reasons.remove(Pointer.nativeValue(told.claim));
            Item item = items.remove(Pointer.nativeValue(told.claim));
            if (item != null) {
                item.ended(told.step);
            }
        }
    }
}
