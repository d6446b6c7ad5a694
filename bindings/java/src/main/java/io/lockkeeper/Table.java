// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

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
}
