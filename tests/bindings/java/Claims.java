// SPDX-License-Identifier: Apache-2.0
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.lockkeeper.CancelledException;
import io.lockkeeper.Claim;
import io.lockkeeper.Entry;
import io.lockkeeper.InvalidException;
import io.lockkeeper.ItemInfo;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.Retry;
import io.lockkeeper.Store;
import io.lockkeeper.Table;
import io.lockkeeper.UnsupportedException;
import io.lockkeeper.Work;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Claims by hand. */
final class Claims {
    private Claims() {}

    static void play(Tap tap) {
        tap.test("an item is claimed, kept and ended by hand", Claims::one);
        tap.test("an item is given back later, with a reason", Claims::retried);
        tap.test("another store, and another process, end a claim by its token", Claims::others);
        tap.test("a claim that is not renewed is lost to the next one", Claims::lost);
        tap.test("a claim waits until an item is pushed", Claims::waiting);
        tap.test("a wait for an item that is interrupted or cancelled claims nothing",
            Claims::interrupted);
        tap.test("a wait for an item ends with its store, which is closed then", Claims::closed);
        tap.test("tables that are not there, or that the store does not have", Claims::tables);
        tap.test("a row of a table, where the store has tables", Claims::rows);
        tap.test("claims that are wrong", Claims::wrong);
        tap.test("ends of claims that are wrong", Claims::wrongEnds);
    }

    private static Claim claim(Store store, String queue) {
        return store.claim(queue).tryNow().orElseThrow();
    }

    private static List<String> ids(List<Claim> claims) {
        return claims.stream().map(Claim::id).toList();
    }

    private static void pushMany(Store store, String queue, int count) {
        Map<String, byte[]> items = new LinkedHashMap<>();
        for (int i = 0; i < count; i++) {
            items.put("i" + i, null);
        }
        store.pushMany(queue, items);
    }

    private static void one(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Tap.same(Optional.empty(), store.claim("mails").tryNow());
            store.push("mails", "1", "a\0b".getBytes());
            Claim claim = store.claim("mails").owner("bob").ttl(ofSeconds(20)).note("a test")
                .tryNow().orElseThrow();
            Tap.same(List.of("mails", "1", "a\0b", "bob", 1L, false, ofSeconds(20)),
                List.of(claim.queue(), claim.id(), claim.text(), claim.owner(), claim.attempt(),
                    claim.isStolen(), claim.ttl()));
            Tap.yes(Arrays.equals("a\0b".getBytes(), claim.value()), "it has its value");
            Tap.same(null, claim.rowId());
            Tap.yes(claim.left().toMillis() > 0 && claim.left().compareTo(ofSeconds(20)) <= 0,
                "it is claimed for its ttl");
            Entry entry = store.list("mails").get(0);
            Tap.same(List.of("mails/1", claim.token(), "a test", true),
                List.of(entry.path(), entry.token(), entry.note(), entry.isHeld()));
            Tap.same(Optional.empty(), store.claim("mails").waitFor(ofMillis(10)).await());
            Tap.yes(claim.renew(ofSeconds(400)).compareTo(ofSeconds(300)) > 0, "it is renewed");
            Tap.yes(claim.renew().compareTo(ofSeconds(300)) > 0, "it keeps the ttl");
            Tap.same(ofSeconds(400), store.list("mails").get(0).ttl());
            claim.done();
            Tap.same(List.of(1L, 0L), List.of(store.stats("mails").done(),
                store.stats("mails").claimedNow()));
            claim.done(); // again: nothing
            Tap.thrown(LeaseLostException.class, claim::renew);
            store.push("mails", "2", null);
            Claim empty = claim(store, "mails");
            Tap.same("", empty.text());
            Tap.same(null, empty.value());
        }
    }

    private static void retried(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("mails", "1", null);
            Claim first = claim(store, "mails");
            first.retry(Retry.atOnce().error("no \"route\"").exitCode(-3));
            ItemInfo kept = store.items("mails").get(0);
            Tap.same(List.of(-3, "no \"route\"", "ready"),
                List.of(kept.lastExit(), new String(kept.lastError()), kept.state()));
            Claim second = claim(store, "mails");
            Tap.yes(!second.owner().equals(first.owner()) && second.token() > first.token(),
                "it is another claim");
            Throwable why = new IllegalStateException("x".repeat(2000));
            second.retry(Retry.after(ofSeconds(60)).error(why));
            kept = store.items("mails").get(0);
            Tap.yes(new String(kept.lastError()).startsWith(
                "java.lang.IllegalStateException: xxx"), "what was thrown is kept");
            Tap.same("delayed", kept.state());
            Tap.yes(kept.dueIn().compareTo(ofSeconds(30)) > 0, "for a minute");
            store.push("soon", "1", null);
            claim(store, "soon").retry(Retry.after(ofMillis(50)));
            Tap.same(2L, store.claim("soon").waitFor(Tap.PATIENCE).await().get().attempt());
        }
    }

    private static void others(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store store = Store.open(url); Store other = Store.open(url);
            Tap.Program program = new Tap.Program("ends", url)) {
            pushMany(store, "mails", 3);
            Claim first = claim(store, "mails");
            Tap.thrown(LeaseLostException.class,
                () -> other.renew("mails", "i0", first.owner(), first.token() + 1));
            Tap.yes(other.renew("mails", "i0", first.owner(), first.token(), ofSeconds(400))
                .compareTo(ofSeconds(300)) > 0, "it is renewed");
            other.renew("mails", "i0", first.owner(), first.token());
            other.done("mails", "i0", first.owner(), first.token());
            first.done(); // it is
            Claim second = claim(store, "mails");
            other.retry("mails", "i1", second.owner(), 0, Retry.after(ofDays(1)).exitCode(7));
            Tap.thrown(LeaseLostException.class, second::renew);
            Claim third = claim(store, "mails");
            other.retry("mails", "i2", third.owner(), third.token());
            Claim again = claim(store, "mails");
            Tap.same("i2", again.id());
            program.say(again.id() + " " + again.owner() + " " + again.token());
            Tap.same(0, program.ended());
            Tap.same(List.of(2L, 1L, 0L), List.of(store.stats("mails").done(),
                store.stats("mails").delayedNow(), store.stats("mails").claimedNow()));
        }
    }

    private static void lost(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("mails", "1", null);
            Claim first = store.claim("mails").ttl(ofMillis(100)).tryNow().orElseThrow();
            Tap.until(() -> store.stats("mails").readyNow() == 1, "its end");
            Claim second = claim(store, "mails");
            Tap.same(List.of("1", 2L, true),
                List.of(second.id(), second.attempt(), second.isStolen()));
            for (Tap.Action action : List.<Tap.Action>of(first::renew, first::done, first::retry,
                () -> first.retry(Retry.atOnce().error("too late")))) {
                Tap.thrown(LeaseLostException.class, action);
            }
            Tap.same(0L, store.doneMany("mails", List.of("1"), first.owner(), first.token()));
            second.done();
            Tap.same(List.of(1L, 1L), List.of(store.stats("mails").done(),
                store.stats("mails").steals()));
        }
    }

    private static void waiting(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            var one = new Tap.Background<>(() -> store.claim("one").await());
            var many = new Tap.Background<>(() -> store.claim("many").many(9).await());
            var future = store.claim("future").async();
            var futures = store.claim("futures").many(9).async();
            Thread.sleep(50); // most are in their waits then; a push before is as good
            for (String queue : List.of("one", "many", "future", "futures")) {
                store.push(queue, queue, null);
            }
            long seconds = Tap.PATIENCE.toSeconds();
            Tap.same("one", one.result().orElseThrow().id());
            Tap.same(List.of("many"), ids(many.result()));
            Tap.same("future", future.get(seconds, TimeUnit.SECONDS).orElseThrow().id());
            Tap.same(List.of("futures"), ids(futures.get(seconds, TimeUnit.SECONDS)));
            Tap.same(Optional.empty(), store.claim("one").waitFor(Duration.ZERO).async()
                .get(seconds, TimeUnit.SECONDS));
        }
    }

    private static void interrupted(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            var waiting = new Tap.Background<>(() -> store.claim("mails").await());
            var many = new Tap.Background<>(() -> store.claim("mails").many(2).await());
            var future = store.claim("mails").async();
            Thread.sleep(50); // most are in their waits then; an interrupt before is as good
            waiting.thread.interrupt();
            many.thread.interrupt();
            Tap.thrown(InterruptedException.class, waiting::result);
            Tap.thrown(InterruptedException.class, many::result);
            Tap.yes(future.cancel(true), "it is cancelled");
            Tap.thrown(CancellationException.class, future::get);
            store.push("mails", "1", null);
            // A wait that a push ended before its cancellation did has given the item back.
            Claim claim = store.claim("mails").waitFor(Tap.PATIENCE).await().orElseThrow();
            Tap.same(false, claim.isStolen());
            // Whether it is granted or interrupted: afterwards nothing is claimed in secret.
            for (int i = 0; i < 20; i++) {
                String id = "r" + i;
                var racing = new Tap.Background<>(() -> store.claim("race").await());
                var pushing = new Tap.Background<>(() -> store.push("race", id, null));
                LockSupport.parkNanos(i * 100_000L);
                racing.thread.interrupt();
                pushing.result();
                Optional<Claim> got = Optional.empty();
                try {
                    got = racing.result();
                } catch (InterruptedException error) {
                    got = store.claim("race").tryNow();
                }
                Tap.same(id, got.orElseThrow().id());
                got.get().done();
            }
            Tap.same(List.of(0L, 20L), List.of(store.stats("race").claimedNow(),
                store.stats("race").done()));
        }
    }

    private static void closed(Tap.Stores stores) throws Exception {
        Store store = Store.open(stores.fresh());
        store.push("mails", "1", null);
        Claim held = claim(store, "mails");
        var waiting = new Tap.Background<>(() -> store.claim("mails").await());
        var future = store.claim("mails").async();
        Tap.until(() -> waiting.thread.getState() == Thread.State.WAITING, "the wait");
        Thread.sleep(50);
        store.close();
        Tap.thrown(CancelledException.class, waiting::result);
        Tap.yes(Tap.thrown(java.util.concurrent.ExecutionException.class, future::get).getCause()
            instanceof CancelledException, "the future is cancelled, too");
        for (Tap.Action action : List.<Tap.Action>of(() -> store.claim("mails").tryNow(),
            () -> store.claim("mails").await(), () -> store.claim("mails").many(2).tryNow(),
            held::renew, held::done, held::retry, () -> held.retry(Retry.atOnce().exitCode(1)),
            () -> store.done("mails", "1", held.owner(), held.token()),
            () -> store.doneMany("mails", List.of("1"), held.owner(), held.token()))) {
            Tap.thrown(IllegalStateException.class, action);
        }
        Tap.yes(held.token() > 0 && held.toString().contains("mails/1"), "it says what it was");
    }

    private static void tables(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Table table = new Table("absent", null, null);
            if (stores.isService()) {
                Tap.thrown(UnsupportedException.class, () -> store.claim(table).tryNow());
                Tap.thrown(UnsupportedException.class, () -> store.claim(table).many(2).tryNow());
            } else {
                Tap.thrown(InvalidException.class, () -> store.claim(table).tryNow());
            }
        }
    }

    private static void rows(Tap.Stores stores) throws Exception {
        if (stores.isService()) {
            return; // it has no tables
        }
        Path path = stores.place().resolve("orders.db");
        sql(path, "CREATE TABLE orders (id TEXT, sent INTEGER)",
            "INSERT INTO orders VALUES ('a b', 0)");
        Table table = new Table("orders", "sent = 0", "UPDATE orders SET sent = 1 WHERE id = :id");
        try (Store store = Store.open("sqlite:" + path + "?share=yes")) {
            Tap.same(Optional.empty(), store.claim(table).tryNow()); // not announced
            Tap.thrown(UnsupportedException.class, () -> store.claim(table).many(2).tryNow());
            try (Work work = store.work(table)) {
                work.next().giveBack();
            }
            Claim claim = store.claim(table).tryNow().orElseThrow();
            Tap.same(List.of("orders", "a%20b", "a b"),
                List.of(claim.queue(), claim.id(), claim.rowId()));
            claim.renew();
            claim.done();
            Tap.same(false, store.work(table).drain().hasNext());
        }
        Tap.same("[('a b', 1)]", sql(path, "SELECT id, sent FROM orders"));
    }

    /** The rows of the last statement, as Python prints them. */
    private static String sql(Path path, String... statements) throws Exception {
        List<String> words = new ArrayList<>(List.of("python3", "-c", "import sqlite3, sys\n"
            + "with sqlite3.connect(sys.argv[1]) as all:\n"
            + "    print([all.execute(one).fetchall() for one in sys.argv[2:]][-1])",
            path.toString()));
        words.addAll(List.of(statements));
        return Tap.printed(words).strip();
    }

    private static void wrong(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            String nul = "a\0b";
            for (Tap.Action action : List.<Tap.Action>of(() -> store.claim(nul),
                () -> store.claim("q").owner(nul), () -> store.claim("q").note(nul),
                () -> store.claim("q").ttl(ofMillis(-1)), () -> store.claim("q").ttl(ofMillis(0)),
                () -> store.claim("q").waitFor(ofMillis(-1)), () -> store.claim("q").many(0),
                () -> store.claim("q").many(-1), () -> store.claim("q").many(1L << 32),
                () -> store.claim("q").maxAttempts(0), () -> store.claim("q\ud800").tryNow(),
                () -> store.claim("q").ttl(ofSeconds(Long.MAX_VALUE)),
                () -> store.claim(new Table(nul, null, null)).tryNow())) {
                Tap.thrown(IllegalArgumentException.class, action);
            }
            for (Tap.Action action : List.<Tap.Action>of(() -> store.claim((String) null),
                () -> store.claim((Table) null), () -> store.claim("q").owner(null),
                () -> store.claim("q").ttl(null), () -> store.claim("q").waitFor(null))) {
                Tap.thrown(NullPointerException.class, action);
            }
            store.push("q", "1", null);
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.claim("q".repeat(600)).tryNow(), () -> store.claim("").tryNow(),
                () -> store.claim("q".repeat(600)).await(), () -> store.claim("a//b").tryNow(),
                () -> store.claim("q").ttl(ofDays(548)).tryNow(), // a year and a half
                () -> store.claim("q").ttl(ofMillis(49)).tryNow(),
                () -> store.claim("q").owner("o".repeat(200)).tryNow(),
                () -> store.claim("q").note("n".repeat(300)).tryNow(),
                () -> store.claim("q").maxAttempts(1_000_001).tryNow(),
                () -> store.claim("q").many(257).tryNow())) {
                Tap.thrown(InvalidException.class, action);
            }
            Tap.same(List.of(1L, 0L),
                List.of(store.stats("q").readyNow(), store.stats("q").claims()));
        }
    }

    private static void wrongEnds(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("q", "1", null);
            Claim claim = store.claim("q").owner("ana").tryNow().orElseThrow();
            String longQueue = "q".repeat(600);
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.done("q\0", "1", "ana", 0), () -> store.done("q", "1\0", "ana", 0),
                () -> store.done("q", "1", "ana\0", 0), () -> store.renew("q", "1\0", "ana", 0),
                () -> store.retry("q", "1\0", "ana", 0), () -> claim.renew(ofMillis(0)),
                () -> store.doneMany("q", List.of("1", "\0"), "ana", 0),
                () -> Retry.after(ofMillis(-1)))) {
                Tap.thrown(IllegalArgumentException.class, action);
            }
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.done(null, "1", "ana", 0), () -> store.done("q", null, "ana", 0),
                () -> store.done("q", "1", null, 0), () -> store.renew("q", null, "ana", 0),
                () -> store.doneMany("q", null, "ana", 0), () -> claim.retry(null),
                () -> store.doneMany("q", Arrays.asList("1", null), "ana", 0),
                () -> Retry.after(null), () -> Retry.atOnce().error((String) null))) {
                Tap.thrown(NullPointerException.class, action);
            }
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.done(longQueue, "1", "ana", 0), () -> store.done("q", "1", "", 0),
                () -> store.renew(longQueue, "1", "ana", 0),
                () -> store.retry(longQueue, "1", "ana", 0),
                () -> store.doneMany(longQueue, List.of("1"), "ana", 0),
                () -> store.doneMany("q", List.of(), "ana", 0), () -> claim.renew(ofDays(548)),
                () -> claim.renew(ofMillis(49)), () -> claim.retry(Retry.after(ofDays(548))),
                () -> claim.retry(Retry.atOnce().error("x".repeat(1025))))) {
                Tap.thrown(InvalidException.class, action);
            }
            Tap.same(List.of(1L, 0L, 0L), List.of(store.stats("q").claimedNow(),
                store.stats("q").retried(), store.stats("q").done()));
            claim.done();
        }
    }
}
