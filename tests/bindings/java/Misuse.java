// SPDX-License-Identifier: Apache-2.0
import static java.time.Duration.ofDays;
import static java.time.Duration.ofMillis;

import io.lockkeeper.CancelledException;
import io.lockkeeper.InvalidException;
import io.lockkeeper.Lease;
import io.lockkeeper.Store;
import io.lockkeeper.UnsupportedException;
import io.lockkeeper.Watch;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/** Wrong calls, closed stores, and what the collector finds. None may do anything, or crash. */
final class Misuse {
    private Misuse() {}

    static void play(Tap tap) {
        tap.test("bad texts", Misuse::texts);
        tap.test("bad numbers and durations", Misuse::numbers);
        tap.test("what a store does not do", Misuse::unsupported);
        tap.test("a closed store", Misuse::closed);
        tap.test("a store that is closed ends the waits of other threads", Misuse::closing);
        tap.test("leases and stores that are collected, in any order", Misuse::collected);
    }

    private static void texts(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            String nul = "a\0b";
            String half = "a\ud800";
            for (Tap.Action action : List.<Tap.Action>of(() -> store.acquire(nul).tryNow(),
                () -> store.acquire("t").owner(nul).tryNow(), () -> store.acquire("t").note(nul),
                () -> store.acquire(half).tryNow(), () -> store.get(nul),
                () -> store.put(nul, new byte[0]), () -> store.push("q", nul, null),
                () -> store.work(nul), () -> store.list(nul), () -> store.watch(nul),
                () -> Store.open(nul), () -> store.lockOf(nul))) {
                Tap.thrown(IllegalArgumentException.class, action);
            }
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.acquire("t", (String) null), () -> store.acquire("t").owner(null),
                () -> store.get(null), () -> store.push(null, "1", null),
                () -> Store.open(null), () -> store.show(null))) {
                Tap.thrown(NullPointerException.class, action);
            }
            String longPath = "p".repeat(600);
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.acquire(longPath).tryNow(), () -> store.acquire(longPath).await(),
                () -> store.acquire().tryNow(), () -> store.acquire("").tryNow(),
                () -> store.acquire("a//b").tryNow(), () -> store.acquire("t?nonsense").tryNow(),
                () -> store.acquire("t").owner("o".repeat(200)).tryNow(),
                () -> store.acquire("t").note("n".repeat(300)).tryNow(),
                () -> store.get(longPath), () -> store.put(longPath, new byte[0]),
                () -> store.push(longPath, "1", null), () -> store.push("q", "a/b", null),
                () -> store.work(longPath).next(), () -> store.watch(longPath),
                () -> store.acquire(new String[] {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                    "k", "l", "m", "n", "o", "p", "q"}).tryNow())) {
                Tap.thrown(InvalidException.class, action);
            }
            Tap.thrown(io.lockkeeper.LockkeeperException.class, () -> Store.open("nothing:"));
            Tap.same(List.of(), store.list());
        }
    }

    private static void numbers(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.acquire("t").ttl(ofMillis(-1)), () -> store.acquire("t").limit(0),
                () -> store.acquire("t").ttl(Duration.ZERO), () -> store.acquire("t").limit(-3),
                () -> store.acquire("t").limit(1L << 32), () -> store.acquire("t").units(0),
                () -> store.acquire("t").waitFor(ofMillis(-1)),
                () -> store.acquire("t").ttl(Duration.ofSeconds(Long.MAX_VALUE)),
                () -> store.acquire("t").until(Instant.EPOCH),
                () -> store.push("q", "1", null, ofMillis(-1), 0, List.of()),
                () -> store.work("q").maxAttempts(0), () -> store.work("q").workers(-1))) {
                Tap.thrown(IllegalArgumentException.class, action);
            }
            Tap.thrown(NullPointerException.class, () -> store.acquire("t").ttl(null));
            for (Tap.Action action : List.<Tap.Action>of(
                () -> store.acquire("t").ttl(ofDays(548)).tryNow(), // a year and a half
                () -> store.acquire("t").ttl(ofMillis(49)).tryNow(),
                () -> store.acquire("t").until(Instant.now().minusSeconds(9)).tryNow(),
                () -> store.acquire("t").units(5).limit(4).tryNow(),
                () -> store.push("q", "1", null, ofDays(548), 0, List.of()),
                () -> store.push("q", "1", null, Duration.ZERO, 40000, List.of()),
                () -> store.push("q", "1", new byte[65537]))) {
                Tap.thrown(InvalidException.class, action);
            }
            Tap.same(List.of(), store.list());
            Tap.same(0L, store.stats("q").pushed());
        }
    }

    private static void unsupported(Tap.Stores stores) throws Exception {
        String name = "lk-java-" + ProcessHandle.current().pid();
        try (Store store = Store.open("shm:" + name)) {
            Tap.thrown(UnsupportedException.class, () -> store.get("v"));
        } finally {
            Files.deleteIfExists(Path.of("/dev/shm/canal." + name));
        }
    }

    private static void closed(Tap.Stores stores) throws Exception {
        Store store = Store.open(stores.fresh());
        Watch watch = store.watch(null);
        Lease lease = store.acquire("t").tryNow();
        Lease other = store.acquire("u").tryNow();
        store.close();
        store.close();
        Tap.yes(store.isClosed() && !store.url().isEmpty(), "it is closed");
        for (Tap.Action action : List.<Tap.Action>of(() -> store.acquire("t").tryNow(),
            () -> store.acquire("t").await(), () -> store.get("t"), store::list, store::away,
            () -> store.put("t", new byte[0]), () -> store.push("q", "1", null),
            () -> store.stats("q"), () -> store.watch(null), store::examine,
            () -> store.work("q").next(), () -> store.work("q").run(item -> { }),
            () -> lease.convert("t?shared"), () -> lease.put(new byte[0]),
            () -> store.lockOf("t").lock())) {
            Tap.thrown(IllegalStateException.class, action);
        }
        Tap.yes(lease.token() > 0 && !lease.owner().isEmpty(), "a lease still says what it was");
        Tap.same(false, watch.hasNext());
        Tap.thrown(io.lockkeeper.UnavailableException.class, lease::release);
        other.abandon();
        other.release();
        watch.close();
    }

    private static void closing(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store other = Store.open(url); Lease lease = other.acquire("t").tryNow()) {
            Store store = Store.open(url);
            var waiting = new Tap.Background<>(() -> store.acquire("t").owner("ben").await());
            Tap.until(() -> Tap.waits(other, "ben"), "ben's wait");
            store.close();
            Tap.thrown(CancelledException.class, waiting::result);
            Tap.yes(!Tap.waits(other, "ben") && !lease.isLost(), "it is withdrawn");
        }
    }

    private static void collected(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store watching = Store.open(url)) {
            for (int i = 0; i < 5; i++) {
                forget(url, "s" + i);
            }
            forgetLease(watching);
            CountDownLatch told = new CountDownLatch(1);
            awaitLoss(watching, told);
            for (int i = 0; i < 20; i++) {
                System.gc();
                Thread.sleep(5);
            }
            Tap.same(1L, watching.breakAt("awaited", "a test", "a test", true));
            Tap.until(() -> {
                System.gc();
                return told.getCount() == 0;
            }, "the loss of what is waited for");
            Tap.until(() -> {
                System.gc();
                return watching.list().isEmpty();
            }, "the ends of what was forgotten");
        }
    }

    private static void forget(String url, String name) {
        List<Object> all = new ArrayList<>();
        Store store = Store.open(url);
        all.add(store.acquire(name).ttl(ofMillis(300 * Tap.STRETCH)).tryNow());
        all.add(store.watch(name));
        all.add(store.acquire(name + "/shared").shared());
        Tap.same(2, all.size() - 1);
    }

    private static void awaitLoss(Store store, CountDownLatch told) {
        store.acquire("awaited").ttl(Duration.ofSeconds(3 * Tap.STRETCH)).tryNow().onLost(told::countDown);
    }

    private static void forgetLease(Store store) {
        Lease lease = store.acquire("forgotten").ttl(Duration.ofSeconds(3 * Tap.STRETCH)).tryNow();
        Tap.yes(!lease.isLost(), "it is held");
    }
}
