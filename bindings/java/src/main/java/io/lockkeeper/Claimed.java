// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.ptr.LongByReference;
import com.sun.jna.ptr.PointerByReference;
import io.lockkeeper.internal.Functions;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs;
import java.time.Duration;
import java.util.List;

/**
 * The calls on items that are claimed, by any owner: named by queue, owner and token. `table`
 * is that of the claim, or null.
 */
record Claimed(Store store, String queue, Table table, String owner, long token) {
    Claimed {
        Memories.check(queue, "queue");
        Memories.check(owner, "owner");
    }

    Claimed(Store store, String queue, String owner, long token) {
        this(store, queue, null, owner, token);
    }

    /** ttlMs 0: the previous one. Returns for how long it is claimed. */
    Duration renew(String id, long ttlMs) {
        Memories.check(id, "id");
        PointerByReference result = new PointerByReference();
        try {
            store.call((handle, memories, error) -> {
                Structs.Request request = new Structs.Request();
                request.size = request.size();
                request.parts = memories.texts(List.of(queue + "/" + id), "id");
                request.part_count = 1;
                request.owner = memories.text(owner, "owner");
                request.ttl_ms = ttlMs;
                return Functions.LIBRARY.lk_renew(handle, request, token, result, error);
            });
            return Duration.ofMillis(new Structs.Result(result.getValue()).expires_in_ms);
        } finally {
            Functions.LIBRARY.lk_result_free(result.getValue());
        }
    }

    void done(String id) {
        store.call((handle, memories, error) -> table == null
            ? Functions.LIBRARY.lk_done(handle, memories.text(queue, "queue"),
                memories.text(id, "id"), memories.text(owner, "owner"), token, error)
            : Functions.LIBRARY.lk_done_row(handle, memories.text(queue, "queue"),
                table.source(memories), memories.text(id, "id"), memories.text(owner, "owner"),
                token, error));
    }

    /** `result` null: none. A row of a table has no result. */
    void done(String id, byte[] result, long keepMs) {
        if (table != null) {
            throw new IllegalArgumentException("a row of a table has no result");
        }
        store.call((handle, memories, error) -> {
            Structs.DoneRequest request = new Structs.DoneRequest();
            request.size = request.size();
            request.queue = memories.text(queue, "queue");
            request.id = memories.text(id, "id");
            request.owner = memories.text(owner, "owner");
            request.token = token;
            request.result = result == null ? null : memories.bytes(result);
            request.result_size = result == null ? 0 : result.length;
            request.keep_ms = keepMs;
            return Functions.LIBRARY.lk_done_item(handle, request, error);
        });
    }

    void progress(String id, byte[] text) {
        store.call((handle, memories, error) -> Functions.LIBRARY.lk_progress(handle,
            memories.text(queue, "queue"), memories.text(id, "id"), memories.text(owner, "owner"),
            token, text == null ? null : memories.bytes(text), text == null ? 0 : text.length,
            error));
    }

    long doneMany(List<String> ids) {
        LongByReference count = new LongByReference();
        try {
            store.call((handle, memories, error) -> Functions.LIBRARY.lk_done_many(handle,
                memories.text(queue, "queue"), memories.texts(ids, "id"), ids.size(),
                memories.text(owner, "owner"), token, count, error));
        } catch (LeaseLostException error) {
            // Some were lost. The others are done, and counted.
        }
        return count.getValue();
    }

    void retry(String id, Retry how) {
        store.call((handle, memories, error) -> {
            Structs.RetryRequest request = new Structs.RetryRequest();
            request.size = request.size();
            request.queue = memories.text(queue, "queue");
            request.id = memories.text(id, "id");
            request.owner = memories.text(owner, "owner");
            request.token = token;
            how.fill(request, memories);
            return Functions.LIBRARY.lk_retry_failed(handle, request, error);
        });
    }
}
