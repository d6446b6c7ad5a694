// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.PartValue;
import io.lockkeeper.internal.Structs.Result;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** What is used of a lk_result, copied. */
record Answer(List<String> paths, String owner, long token, List<Long> tokens, boolean isCreated,
    List<Optional<Value>> values, List<Blocker> blockers, List<String> cycle) {

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
        return new Answer(Memories.strings(one.paths, one.path_count), Memories.string(one.owner),
            one.token, List.copyOf(tokens), one.created != 0, List.copyOf(values),
            Blocker.read(one.blockers, one.blocker_count),
            Memories.strings(one.cycle, one.cycle_count));
    }
}
