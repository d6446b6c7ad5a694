// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import com.sun.jna.ptr.ByteByReference;
import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import io.lockkeeper.internal.Structs.LkError;
import java.lang.ref.Cleaner;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;

/**
 * An open store. Every method may be called from any thread at any time; one of a closed store
 * throws IllegalStateException.
 */
public final class Store implements AutoCloseable {
    private final Gate gate;
    private final String url;
    private final Cleaner.Cleanable cleanable;

    private Store(Pointer handle) {
        gate = new Gate(handle);
        url = Memories.string(Functions.LIBRARY.lk_store_url(handle));
        Gate own = gate;
        cleanable = Waits.CLEANER.register(this, () -> Waits.post(own::close)); // it may wait
    }

    /** The store that the program lk uses. */
    public static Store open() {
        return openAny(null);
    }

    /** sqlite:PATH, lk://HOST, postgresql://HOST/DATABASE, ...: lockkeeper.h lists them. */
    public static Store open(String url) {
        Memories.check(url, "url");
        return openAny(url);
    }

    private static Store openAny(String url) {
        LkError error = new LkError();
        PointerByReference store = new PointerByReference();
        try (Memories memories = new Memories()) {
            Outcome.check(Functions.LIBRARY.lk_open(
                memories.optionalText(url, "url"), store, error), error);
        }
        return new Store(store.getValue());
    }

    /**
     * Ends waits of other threads, which throw CancelledException, and returns when no call is
     * inside any more. Leases that are still held are renewed no more, and end at their deadline.
     */
    @Override
    public void close() {
        gate.close();
        cleanable.clean(); // closes nothing twice
        Held.closed(this);
    }

    Gate gate() {
        return gate;
    }

    /** Without any password. */
    public String url() {
        return url;
    }

    public boolean isClosed() {
        return gate.isClosed();
    }

    /** For how long the store has not answered; 0 while it does. */
    public Duration away() {
        return gate.inside(
            handle -> Duration.ofMillis(Functions.LIBRARY.lk_away_ms(handle, null)));
    }

    @FunctionalInterface
    interface Call {
        int of(Pointer handle, Memories memories, LkError error);
    }

    /** Throws any outcome that is no success. */
    void call(Call call) {
        gate.inside(handle -> {
            LkError error = new LkError();
            try (Memories memories = new Memories()) {
                Outcome.check(call.of(handle, memories, error), error);
            }
            return null;
        });
    }

    // ---- locks ----

    /**
     * A request for all parts together: {@code PATH[?shared][?limit=N[&units=U]]}. Nothing happens
     * before tryNow(), await() or async().
     */
    public LockRequest acquire(String... parts) {
        return new LockRequest(this, parts);
    }

    /** An exclusive lock as java.util.concurrent.locks has it, for the threads of this program
     * and all other users of the store. */
    public Lock lockOf(String path) {
        return new PathLock(acquire(path));
    }

    // ---- values ----

    /** The value at a path, if there is one. */
    public Optional<Value> get(String path) {
        return gate.inside(handle -> {
            LkError error = new LkError();
            PointerByReference found = new PointerByReference();
            try (Memories memories = new Memories()) {
                int outcome = Functions.LIBRARY.lk_value_get(
                    handle, memories.text(path, "path"), found, error);
                if (Outcome.of(outcome) == Outcome.NONE) {
                    return Optional.empty();
                }
                Outcome.check(outcome, error);
                Structs.Value value = new Structs.Value(found.getValue());
                return Optional.of(new Value(
                    Memories.octets(value.bytes, value.size), value.in_doubt != 0));
            } finally {
                Functions.LIBRARY.lk_value_free(found.getValue());
            }
        });
    }

    /** BusyException: another owner has an exclusive lease that covers the path. */
    public void put(String path, byte[] value) {
        write(path, Objects.requireNonNull(value), null, 0);
    }

    /**
     * The same for the owner of such a lease; with its token (0: any) only while that lease covers
     * the path, else LeaseLostException.
     */
    public void put(String path, byte[] value, String owner, long token) {
        write(path, Objects.requireNonNull(value), owner, token);
    }

    /** Deletes a value, if there is one, as put() writes one. */
    public void delete(String path, String owner, long token) {
        write(path, null, owner, token);
    }

    /** Deletes a value, if there is one. */
    public void delete(String path) {
        write(path, null, null, 0);
    }

    /** With a token: only while that lease covers the path. value null: deletes. */
    void write(String path, byte[] value, String owner, long token) {
        call((handle, memories, error) -> Functions.LIBRARY.lk_value_put(handle,
            memories.text(path, "path"), memories.optionalText(owner, "owner"), token,
            value == null ? null : memories.bytes(value), value == null ? 0 : value.length,
            error));
    }

    // ---- work ----

    /** Whether it is added: false where the queue has an item with this id already. */
    public boolean push(String queue, String id, byte[] value) {
        return pushItem(queue, id, value, Push.atOnce()).added();
    }

    /** With a delay, a priority (-32768 to 32767), and parts that a claim locks as well. */
    public boolean push(String queue, String id, byte[] value, Duration delay, int priority,
        List<String> needs) {
        return pushItem(queue, id, value, Push.after(delay).priority(priority).needs(needs))
            .added();
    }

    /** Pushes an item as `how` says. Returns what it has found and done. */
    public PushResult pushItem(String queue, String id, byte[] value, Push how) {
        Structs.PushResult result = new Structs.PushResult();
        call((handle, memories, error) -> {
            Structs.PushRequest request = new Structs.PushRequest();
            fill(request, memories, queue, id, value);
            how.fill(request, memories);
            return Functions.LIBRARY.lk_push_item(handle, request, result, error);
        });
        return PushResult.read(result);
    }

    private static void fill(Structs.PushRequest request, Memories memories, String queue,
        String id, byte[] value) {
        request.size = request.size();
        request.queue = memories.text(queue, "queue");
        request.id = memories.text(id, "id");
        request.value = value == null ? null : memories.bytes(value);
        request.value_size = value == null ? 0 : value.length;
    }

    /**
     * Adds items, values (null: none) by id, in the order of the map: up to 1000 in one step, more
     * in several.
     */
    public PushCounts pushMany(String queue, Map<String, byte[]> items) {
        return pushMany(queue, items, Push.atOnce());
    }

    /** The same, each item as `how` says. */
    public PushCounts pushMany(String queue, Map<String, byte[]> items, Push how) {
        List<Map.Entry<String, byte[]>> all = new ArrayList<>(items.entrySet());
        long added = 0;
        long duplicates = 0;
        long changed = 0;
        for (int first = 0; first < all.size(); first += Constants.LK_MANY_MAX) {
            List<Map.Entry<String, byte[]>> some =
                all.subList(first, Math.min(all.size(), first + Constants.LK_MANY_MAX));
            Structs.PushCounts counts = new Structs.PushCounts();
            call((handle, memories, error) -> {
                long size = new Structs.PushRequest().size();
                Pointer array = memories.room(size * some.size());
                for (int i = 0; i < some.size(); i++) {
                    Structs.PushRequest request = new Structs.PushRequest(array.share(i * size));
                    fill(request, memories, queue, some.get(i).getKey(), some.get(i).getValue());
                    how.fill(request, memories);
                    request.write();
                }
                return Functions.LIBRARY.lk_push_many(handle, array, some.size(), counts, error);
            });
            added += counts.added;
            duplicates += counts.duplicates;
            changed += counts.changed;
        }
        return new PushCounts(added, duplicates, changed);
    }

    /** Claims items of a queue, for a loop or a handler. */
    public Work work(String queue) {
        Memories.check(queue, "queue");
        return new Work(this, queue, null);
    }

    /** The same for the rows of a table in the store's own database (rule R17). */
    public Work work(Table table) {
        return new Work(this, null, Objects.requireNonNull(table));
    }

    /**
     * Claims items of a queue by hand, for work that is no loop: nothing renews such a claim but
     * Claim.renew(), and any process ends it by its owner and token. Nothing happens before
     * tryNow(), await() or async().
     */
    public ClaimRequest<Optional<Claim>> claim(String queue) {
        Memories.check(queue, "queue");
        return ClaimRequest.one(this, queue, null);
    }

    /**
     * The same for the rows of a table in the store's own database (rule R17), once any work(table)
     * has announced them. Claim.done() runs the table's statement; Store.done() does not.
     */
    public ClaimRequest<Optional<Claim>> claim(Table table) {
        return ClaimRequest.one(this, null, Objects.requireNonNull(table));
    }

    /** Claim.renew() of a claim that another process may have made. `token` 0: any. */
    public Duration renew(String queue, String id, String owner, long token) {
        return new Claimed(this, queue, owner, token).renew(id, 0);
    }

    /** With another ttl, from now on. */
    public Duration renew(String queue, String id, String owner, long token, Duration ttl) {
        return new Claimed(this, queue, owner, token).renew(id, Memories.positive(ttl, "ttl"));
    }

    /**
     * Ends a claim and removes the item. LeaseLostException: it is not claimed by this owner any
     * more, or with another token. `token` 0: any. A call that is repeated within five minutes
     * changes nothing.
     */
    public void done(String queue, String id, String owner, long token) {
        new Claimed(this, queue, owner, token).done(id);
    }

    /**
     * done() with a result (null: none) of up to 64 KiB. The item is kept with it, in the state
     * "done", for the longer of `keep` and the time of its push; without either it is removed.
     */
    public void done(String queue, String id, String owner, long token, byte[] result,
        Duration keep) {
        new Claimed(this, queue, owner, token)
            .done(id, result, Memories.milliseconds(keep, "keep"));
    }

    /**
     * Says how far the work on a claimed item is, in up to 1024 bytes (null: nothing any more). It
     * is kept until the next claim of the item, or until it is done. Otherwise as done().
     */
    public void progress(String queue, String id, String owner, long token, String text) {
        new Claimed(this, queue, owner, token)
            .progress(id, text == null ? null : text.getBytes(StandardCharsets.UTF_8));
    }

    /**
     * Ends claims of one owner, up to 1000, in one step. Returns how many are done: fewer than were
     * named if some were lost.
     */
    public long doneMany(String queue, Collection<String> ids, String owner, long token) {
        return new Claimed(this, queue, owner, token).doneMany(List.copyOf(ids));
    }

    /** Gives an item back: it can be claimed again at once. Otherwise as done(). */
    public void retry(String queue, String id, String owner, long token) {
        retry(queue, id, owner, token, Retry.atOnce());
    }

    /** Gives an item back, as `how` says. */
    public void retry(String queue, String id, String owner, long token, Retry how) {
        new Claimed(this, queue, owner, token).retry(id, Objects.requireNonNull(how));
    }

    /** Makes all parked items of a queue ready again. Returns their number. */
    public long unparkAll(String queue) {
        LongByReference count = new LongByReference();
        call((handle, memories, error) -> Functions.LIBRARY.lk_unpark_all(
            handle, memories.text(queue, "queue"), count, error));
        return count.getValue();
    }

    /** Makes a parked item ready again. LeaseLostException: there is no such parked item. */
    public void unpark(String queue, String id) {
        call((handle, memories, error) -> Functions.LIBRARY.lk_unpark(
            handle, memories.text(queue, "queue"), memories.text(id, "id"), error));
    }

    /**
     * Removes items that are not claimed, up to 1000, in one step. Returns how many are removed:
     * fewer than were named if some are claimed, or not there.
     */
    public long drop(String queue, Collection<String> ids) {
        List<String> all = List.copyOf(ids);
        LongByReference count = new LongByReference();
        try {
            call((handle, memories, error) -> Functions.LIBRARY.lk_drop(handle,
                memories.text(queue, "queue"), memories.texts(all, "id"), all.size(), count,
                error));
        } catch (LeaseLostException error) {
            // The others are removed, and counted.
        }
        return count.getValue();
    }

    /** Removes all parked items of a queue. Returns their number. */
    public long dropParked(String queue) {
        LongByReference count = new LongByReference();
        call((handle, memories, error) -> Functions.LIBRARY.lk_drop_parked(
            handle, memories.text(queue, "queue"), count, error));
        return count.getValue();
    }

    /**
     * Removes an item for good, at once if it is not claimed. A claim is revoked, so its worker
     * ends; the item is "cancelled" until then, and goes with the claim. `atOnce` ends the claim
     * now: unsafe while its worker may still be at it. Returns whether the item was claimed.
     * LeaseLostException: there is no such item.
     */
    public boolean cancel(String queue, String id, String reason, String by, boolean atOnce) {
        ByteByReference isClaimed = new ByteByReference();
        call((handle, memories, error) -> {
            Structs.CancelRequest request = new Structs.CancelRequest();
            request.size = request.size();
            request.queue = memories.text(queue, "queue");
            request.id = memories.text(id, "id");
            request.reason = memories.text(reason, "reason");
            request.by = memories.text(by, "by");
            request.at_once = (byte) (atOnce ? 1 : 0);
            return Functions.LIBRARY.lk_cancel_item(handle, request, isClaimed, error);
        });
        return isClaimed.getValue() != 0;
    }

    /** All items of a queue, in any state, oldest first. */
    public List<ItemInfo> items(String queue) {
        return read(Functions.LIBRARY::lk_item_list_free, ItemInfo::read,
            (handle, memories, found, error) -> Functions.LIBRARY.lk_items(
                handle, memories.text(queue, "queue"), found, error));
    }

    /** One item, if the queue has it. */
    public Optional<ItemInfo> item(String queue, String id) {
        return gate.inside(handle -> find((memories, found, error) ->
            Functions.LIBRARY.lk_item_get(handle, memories.text(queue, "queue"),
                memories.text(id, "id"), found, error)));
    }

    /**
     * Waits until an item is "done", with its result as its value, or "parked", and returns it.
     * Empty: there is no such item, as it was done and is not kept, dropped or cancelled.
     * LockTimeoutException: it is neither after `wait`. Its push has to name how long it is kept.
     */
    public Optional<ItemInfo> result(String queue, String id, Duration wait)
        throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        Waits.Cancel cancel = new Waits.Cancel();
        long waitMs = Memories.milliseconds(wait, "wait");
        return Waits.interruptibly(() -> result(queue, id, waitMs, cancel), cancel, item -> { });
    }

    /** The same in a thread of the binding's. To cancel the future ends the wait. */
    public CompletableFuture<Optional<ItemInfo>> resultAsync(String queue, String id,
        Duration wait) {
        Waits.Cancel cancel = new Waits.Cancel();
        long waitMs = Memories.milliseconds(wait, "wait");
        return Waits.async(() -> result(queue, id, waitMs, cancel), cancel, item -> { });
    }

    private Optional<ItemInfo> result(String queue, String id, long waitMs, Waits.Cancel cancel) {
        return gate.waiting(cancel, handle -> find((memories, found, error) ->
            Functions.LIBRARY.lk_item_wait(handle, memories.text(queue, "queue"),
                memories.text(id, "id"), waitMs, cancel.handle(), found, error)));
    }

    /** What looks for one item. */
    private interface Finding {
        int of(Memories memories, PointerByReference found, LkError error);
    }

    private static Optional<ItemInfo> find(Finding finding) {
        LkError error = new LkError();
        PointerByReference found = new PointerByReference();
        try (Memories memories = new Memories()) {
            int outcome = finding.of(memories, found, error);
            if (Outcome.of(outcome) == Outcome.NONE) {
                return Optional.empty();
            }
            Outcome.check(outcome, error);
            return Optional.of(ItemInfo.read(found.getValue()).get(0));
        } finally {
            Functions.LIBRARY.lk_item_list_free(found.getValue());
        }
    }

    public QueueCounts stats(String queue) {
        Structs.QueueStats stats = new Structs.QueueStats();
        call((handle, memories, error) -> Functions.LIBRARY.lk_stats(
            handle, memories.text(queue, "queue"), stats, error));
        return QueueCounts.read(stats);
    }

    // ---- events ----

    /** The events at or below a path, from now on; null: all. */
    public Watch watch(String prefix) {
        return watch(prefix, 0);
    }

    /** Those behind a position of another watch. */
    public Watch watch(String prefix, long after) {
        return new Watch(this, prefix, after);
    }

    // ---- listing and administration ----

    /** Every part at or below the prefix (null: everywhere) of every live request. */
    public List<Entry> list(String prefix) {
        return read(Functions.LIBRARY::lk_listing_free, Entry::read,
            (handle, memories, found, error) -> Functions.LIBRARY.lk_list(
                handle, memories.optionalText(prefix, "prefix"), found, error));
    }

    public List<Entry> list() {
        return list(null);
    }

    /** All parts of every live request with a part related to the path, with blockers. */
    public List<Entry> show(String path) {
        return read(Functions.LIBRARY::lk_listing_free, Entry::read,
            (handle, memories, found, error) -> Functions.LIBRARY.lk_show(
                handle, memories.text(path, "path"), found, error));
    }

    /** What `lk doctor` prints. */
    public String examine() {
        return read(Functions.LIBRARY::lk_report_free,
            report -> Memories.string(new Structs.Report(report).text),
            (handle, memories, found, error) -> Functions.LIBRARY.lk_examine(
                handle, found, error));
    }

    @FunctionalInterface
    private interface Reading {
        int of(Pointer handle, Memories memories, PointerByReference found, LkError error);
    }

    /** Calls what allocates its answer, and copies that. */
    private <T> T read(java.util.function.Consumer<Pointer> free, Function<Pointer, T> copy,
        Reading reading) {
        PointerByReference found = new PointerByReference();
        try {
            call((handle, memories, error) -> reading.of(handle, memories, found, error));
            return copy.apply(found.getValue());
        } finally {
            free.accept(found.getValue());
        }
    }

    /**
     * Ends requests with a part at exactly this path (rule R12). A lease that is broken `atOnce` is
     * unsafe unless its holder is known to be dead. Returns the number of requests.
     */
    public long breakAt(String path, String reason, String by, boolean atOnce) {
        return breakAt(path, reason, by, null, atOnce);
    }

    /** The same for requests of this owner alone; null: of any. */
    public long breakAt(String path, String reason, String by, String owner, boolean atOnce) {
        LongByReference count = new LongByReference();
        call((handle, memories, error) -> {
            Structs.BreakRequest request = new Structs.BreakRequest();
            request.size = request.size();
            request.path = memories.text(path, "path");
            request.reason = memories.text(reason, "reason");
            request.by = memories.text(by, "by");
            request.owner = memories.optionalText(owner, "owner");
            request.at_once = (byte) (atOnce ? 1 : 0);
            return Functions.LIBRARY.lk_break(handle, request, count, error);
        });
        return count.getValue();
    }

    /** The bounds that the store keeps (rule R22). */
    public Limits limits() {
        Structs.Limits limits = Limits.asTheyAre().fill();
        call((handle, memories, error) -> Functions.LIBRARY.lk_limits_get(handle, limits, error));
        return Limits.read(limits);
    }

    /** Sets bounds, for all users of the store; those that are Limits.AS_IS stay. */
    public void setLimits(Limits limits) {
        Structs.Limits wanted = limits.fill();
        call((handle, memories, error) -> Functions.LIBRARY.lk_limits_set(handle, wanted, error));
    }

    @Override
    public String toString() {
        return "Store " + url + (isClosed() ? " closed" : "");
    }
}
