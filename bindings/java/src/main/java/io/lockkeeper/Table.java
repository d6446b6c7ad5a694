// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.WorkTable;

/**
 * A table or view in the store's database as the source of a queue (rule R17). `where`, `order` and
 * `done` are SQL of your own, and run unchanged. null: as lk_work_table has it.
 */
public record Table(String name, String id, String where, String order, String done) {
    public Table {
        java.util.Objects.requireNonNull(name);
    }

    public Table(String name, String where, String done) {
        this(name, null, where, null, done);
    }

    /** As C takes it, for one call. */
    Pointer place(Memories memories) {
        return source(memories).getPointer();
    }

    WorkTable source(Memories memories) {
        WorkTable source = new WorkTable(memories.room(new WorkTable().size()));
        source.size = source.size();
        source.name = memories.text(name, "table.name");
        source.id = memories.optionalText(id, "table.id");
        source.where = memories.optionalText(where, "table.where");
        source.order = memories.optionalText(order, "table.order");
        source.done = memories.optionalText(done, "table.done");
        source.write();
        return source;
    }
}
