// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper;

import com.sun.jna.Pointer;
import io.lockkeeper.internal.Memories;
import io.lockkeeper.internal.Structs.ClaimInfo;
import io.lockkeeper.internal.Structs.ClaimList;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * An item that was claimed by hand (Store.claim()). The claim ends at its deadline unless renew()
 * is called; then the item is another worker's. Any process may end it, by its owner and token.
 */
public final class Claim {
    private final Claimed claimed;
    private final String id;
    private final byte[] value;
    private final long attempt;
    private final boolean isStolen;
    private final Duration ttl;
    private final Duration left;
    private final String rowId;

    private Claim(Store store, Table table, ClaimInfo claim) {
        claimed = new Claimed(store, Memories.string(claim.queue), table,
            Memories.string(claim.owner), claim.token);
        id = Memories.string(claim.id);
        value = Memories.octets(claim.value, claim.value_size);
        attempt = Integer.toUnsignedLong(claim.attempt);
        isStolen = claim.is_stolen != 0;
        ttl = Duration.ofMillis(claim.ttl_ms);
        left = Duration.ofMillis(claim.expires_in_ms);
        rowId = Memories.string(claim.row_id);
    }

    /** Of a lk_claim_info. */
    static Claim read(Store store, Table table, Pointer claim) {
        return new Claim(store, table, new ClaimInfo(claim));
    }

    /** Of a lk_claim_list. */
    static List<Claim> readAll(Store store, Table table, Pointer place) {
        ClaimList list = new ClaimList(place);
        List<Claim> claims = new ArrayList<>();
        for (long i = 0; i < list.count; i++) {
            claims.add(read(store, table, list.claims.getPointer(i * Long.BYTES)));
        }
        return List.copyOf(claims);
    }

    public String queue() {
        return claimed.queue();
    }

    public String id() {
        return id;
    }

    /** null: it was pushed without one. */
    public byte[] value() {
        return value;
    }

    /** The value as UTF-8; empty where there is none. */
    public String text() {
        return value == null ? "" : new String(value, StandardCharsets.UTF_8);
    }

    /** The fencing token. Pass it to the resource, and let that refuse smaller ones. */
    public long token() {
        return claimed.token();
    }

    public String owner() {
        return claimed.owner();
    }

    /** 1: the first. */
    public long attempt() {
        return attempt;
    }

    /** Whether its former claim perished: its work may be half done. */
    public boolean isStolen() {
        return isStolen;
    }

    /** As it was claimed; renew() may have set another one since. */
    public Duration ttl() {
        return ttl;
    }

    /** How much of the ttl was left when the call that claimed it returned. */
    public Duration left() {
        return left;
    }

    /** The id as the table has it; null where there is no table. */
    public String rowId() {
        return rowId;
    }

    /**
     * Moves the deadline: its present ttl from now on. Returns for how long it is claimed.
     * LeaseLostException: the claim was lost.
     */
    public Duration renew() {
        return claimed.renew(id, 0);
    }

    /** With another ttl, which it then keeps. */
    public Duration renew(Duration ttl) {
        return claimed.renew(id, Memories.positive(ttl, "ttl"));
    }

    /**
     * The item is done and removed; the statement of its table runs. LeaseLostException: the claim
     * was lost, and the item stays. A call that is repeated within five minutes changes nothing.
     */
    public void done() {
        claimed.done(id);
    }

    /**
     * done() with a result (null: none). The item is kept with it for the longer of `keep` and the
     * time of its push: see Store.result(). Not of a row of a table.
     */
    public void done(byte[] result, Duration keep) {
        claimed.done(id, result, Memories.milliseconds(keep, "keep"));
    }

    /** Says how far the work is: see Store.progress(). */
    public void progress(String text) {
        claimed.progress(id, text == null ? null : text.getBytes(StandardCharsets.UTF_8));
    }

    /** Gives the item back: it can be claimed again at once. Otherwise as done(). */
    public void retry() {
        retry(Retry.atOnce());
    }

    /** Gives the item back, as `how` says; it is parked once maxAttempts() is reached. */
    public void retry(Retry how) {
        claimed.retry(id, Objects.requireNonNull(how));
    }

    @Override
    public String toString() {
        return "Claim " + queue() + "/" + id + " attempt=" + attempt + " token=" + token();
    }
}
