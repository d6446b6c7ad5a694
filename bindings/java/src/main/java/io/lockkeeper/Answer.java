// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.PartValue;
import io.lockkeeper.internal.Structs.Result;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The answer to a request, renewal or release without keep-alive: lk_result. `token` is 0 unless it
 * is held; `values` are those of the parts, in their order, if they were asked for.
 */
public record Answer(Outcome outcome, List<String> paths, String owner, long ticket, long token,
    List<Long> tokens, Duration ttl, Duration left, long inUse, long position, boolean isCreated,
    boolean isFixed, boolean isRequeued, List<Optional<Value>> values, List<Blocker> blockers,
    List<String> cycle) {

    static Answer read(Pointer result) {
        Result one = new Result(result);
        List<Long> tokens = new ArrayList<>();
        for (long i = 0; i < one.token_count; i++) {
            tokens.add(one.tokens.getLong(i * Long.BYTES));
        }
        List<Optional<Value>> values = new ArrayList<>();
        long size = new PartValue().size();
        for (long i = 0; i < one.value_count; i++) {
            PartValue value = new PartValue(one.values.share(i * size));
            byte[] bytes = Memories.octets(value.value, value.value_size);
            values.add(Optional.ofNullable(bytes).map(b -> new Value(b, value.in_doubt != 0)));
        }
        return new Answer(Outcome.of(one.outcome), Memories.strings(one.paths, one.path_count),
            Memories.string(one.owner), one.ticket, one.token, List.copyOf(tokens),
            Duration.ofMillis(one.ttl_ms), Duration.ofMillis(Math.max(0, one.expires_in_ms)),
            one.in_use, one.position, one.created != 0, one.fixed != 0, one.requeued != 0,
            List.copyOf(values), Blocker.read(one.blockers, one.blocker_count),
            Memories.strings(one.cycle, one.cycle_count));
    }
}
