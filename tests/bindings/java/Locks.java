// SPDX-License-Identifier: Apache-2.0
import static java.time.Duration.ofHours;
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.lockkeeper.BusyException;
import io.lockkeeper.DeadlockException;
import io.lockkeeper.Entry;
import io.lockkeeper.InvalidException;
import io.lockkeeper.Lease;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.LockTimeoutException;
import io.lockkeeper.Outcome;
import io.lockkeeper.Store;
import io.lockkeeper.UnavailableException;
import io.lockkeeper.Value;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Lock;

/** Locks, values and losses. */
final class Locks {
    private Locks() {}

    static void play(Tap tap) {
        tap.test("a lock is held in its scope, and free behind it", Locks::scope);
        tap.test("a lease that was quick stays for its least time", Locks::quick);
        tap.test("a lease is for one block", Locks::scopes);
        tap.test("a release that is not answered is asked for again", Locks::unanswered);
        tap.test("a thread that would wait for itself is told", Locks::oneself);
        tap.test("a limit that others make room in is waited for", Locks::room);
        tap.test("an interrupt ends what a thread with a lock asks for first", Locks::nested);
        tap.test("waits are in order of arrival, and give up by their time", Locks::order);
        tap.test("a deadlock names its cycle", Locks::deadlock);
        tap.test("the library renews; a fixed end is an end", Locks::renewal);
        tap.test("conversion keeps or draws the token", Locks::conversion);
        tap.test("a lease that a conversion replaces is not lost", Locks::replaced);
        tap.test("an interrupt and a cancelled future withdraw their requests", Locks::withdrawn);
        tap.test("a future gets the lease", Locks::future);
        tap.test("java.util.concurrent's Lock", Locks::lock);
        tap.test("an unlock() that is not answered is asked for again", Locks::unlocked);
        tap.test("a lease that is lost is told once, and its scope throws", Locks::loss);
        tap.test("a holder that is killed blocks for its ttl", Locks::killed);
        tap.test("a holder that is stopped finds its lease lost", Locks::stopped);
        tap.test("values: with the grant, with the release, by path, in doubt", Locks::values);
        tap.test("a store that goes away, and comes back", Locks::away);
        tap.test("a program that exits with leases and waits under way", Locks::exits);
    }

    private static void away(Tap.Stores stores) throws Exception {
        Path path = stores.place().resolve("away");
        Process service = stores.serve(path);
        try (Store store = Store.open("lk+unix:" + path)) {
            Lease lease = store.acquire("t").ttl(ofMillis(500 * Tap.STRETCH)).tryNow();
            service.destroyForcibly().waitFor();
            Tap.thrown(UnavailableException.class,
                () -> store.acquire("u").patience(ofMillis(50)).tryNow());
            Tap.until(() -> !store.away().isZero(), "that it is away");
            Tap.until(lease::isLost, "the loss"); // without any answer
            var waiting = new Tap.Background<>(() -> store.acquire("u").await());
            stores.serve(path);
            waiting.result().release();
            store.put("v", "as ever".getBytes());
            Tap.until(() -> store.away().isZero(), "that it is back");
            Tap.same("as ever", new String(store.get("v").orElseThrow().bytes()));
            Tap.thrown(LeaseLostException.class, () -> lease.put("x".getBytes()));
        }
    }

    private static void breakNow(Store store, String path) {
        Tap.same(1L, store.breakAt(path, "a test", "a test", true));
    }

    private static void scope(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lease kept;
            try (Lease lease = store.acquire("db/t").note("ünïcode").tryNow()) {
                kept = lease;
                Tap.yes(lease.token() > 0 && !lease.isLost(), "it is held");
                Tap.yes(lease.remaining().toMillis() > 0, "for some time");
                Entry entry = store.list("db").get(0);
                Tap.same(List.of("db/t", lease.owner(), "ünïcode"),
                    List.of(entry.path(), entry.owner(), entry.note()));
                BusyException busy = Tap.thrown(
                    BusyException.class, () -> store.acquire("db").tryNow());
                Tap.same(Outcome.BUSY, busy.outcome());
                Tap.same(lease.owner(), busy.blockers().get(0).owner());
            }
            Tap.same(List.of(), store.list());
            kept.release(); // again: nothing
            Tap.thrown(LeaseLostException.class, kept::check);
            Tap.yes(!kept.isLost() && kept.remaining().isZero(), "it has ended");
            Tap.yes(!store.examine().isEmpty() && store.away().isZero(), "what it says of itself");
        }
    }

    private static boolean stays(Store store) {
        return store.list().get(0).left().toSeconds() > 600;
    }

    private static void quick(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            try (Lease lease = store.acquire("t").ttl(ofSeconds(10)).atLeast(ofHours(1)).tryNow()) {
                lease.check();
            }
            Tap.yes(stays(store), "until its least time");
            Tap.thrown(BusyException.class, () -> store.acquire("t").tryNow());
            breakNow(store, "t");
            store.acquire("t").atLeast(ofHours(1)).tryNow().releaseNow();
            Tap.same(List.of(), store.list());
            Lease lease = store.acquire("t").atLeast(ofHours(1)).async().get();
            lease.convert("t?shared");
            Tap.thrown(InvalidException.class, () -> lease.releasePut("1".getBytes()));
            lease.check();
            lease.release();
            Tap.yes(stays(store), "after a conversion, too");
            Tap.thrown(InvalidException.class,
                () -> store.acquire("u").atLeast(ofMillis(49)).tryNow());
            Tap.thrown(InvalidException.class,
                () -> store.acquire("u").atLeast(ofSeconds(1)).value().tryNow());
        }
    }

    private static void scopes(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lease lease = store.acquire("t").tryNow();
            for (int block = 1; block <= 2; block++) {
                if (block == 1) {
                    try (lease) {
                        lease.check();
                    }
                } else { // Java asks nothing at the begin; the end tells
                    Tap.thrown(LeaseLostException.class, () -> {
                        try (lease) {
                            Tap.thrown(LeaseLostException.class, lease::check);
                        }
                    });
                }
            }
            try (Lease inside = store.acquire("t").tryNow()) {
                inside.release();
                inside.release();
            }
            Tap.same(List.of(), store.list());
        }
    }

    private static void unanswered(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        if (!url.startsWith("sqlite:")) {
            return; // there it takes the ten seconds for which an unreachable store is asked
        }
        String path = url.substring("sqlite:".length());
        try (Store store = Store.open(url)) {
            Lease first = store.acquire("t").tryNow();
            Lease second = store.acquire("u", "v").tryNow();
            Map<String, byte[]> values = Map.of("u", "one".getBytes(), "v", "two".getBytes());
            Tap.move(path, path + ".away");
            Tap.thrown(UnavailableException.class, first::close);
            for (int i = 0; i < 2; i++) {
                Tap.thrown(UnavailableException.class, first::release);
                Tap.thrown(UnavailableException.class, () -> second.releasePut(values));
            }
            Tap.move(path + ".away", path);
            try (Store other = Store.open(url)) {
                Tap.same(3, other.list().size());
                // That would not be the same release.
                Tap.thrown(InvalidException.class, () -> first.releasePut("x".getBytes()));
                Tap.thrown(InvalidException.class, () -> second.releasePut("x".getBytes()));
                first.close();
                second.releasePut(values);
                Tap.same(List.of(), other.list());
                Tap.same("two", other.get("v").get().text());
            }
            first.release(); // again: nothing
            Tap.thrown(LeaseLostException.class, () -> second.releasePut(new byte[0]));
        }
    }

    private static void oneself(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lock lock = store.lockOf("t");
            lock.lock();
            for (String path : List.of("t", "t/below")) {
                Tap.thrown(DeadlockException.class, () -> store.lockOf(path).lock());
                Tap.thrown(DeadlockException.class, () -> store.acquire(path).await());
            }
            store.acquire("free").await().release();
            Tap.same(false, store.lockOf("t").tryLock(10, TimeUnit.MILLISECONDS));
            var other = new Tap.Background<>(() -> store.acquire("t").owner("ben").await());
            Tap.until(() -> store.list("t").stream().anyMatch(one -> !one.isHeld()), "a wait");
            lock.unlock(); // of another thread: no deadlock
            other.result().release();
        }
    }

    private static void room(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lock first = store.lockOf("sem?limit=2");
            first.lock();
            for (String path : List.of("sem", "sem/below", "sem?limit=1", "sem?limit=2&units=2",
                "/sem/?shared&limit=3&units=3")) {
                Tap.thrown(DeadlockException.class, () -> store.lockOf(path).lock());
            }
            Tap.thrown(DeadlockException.class,
                () -> store.acquire("sem").limit(2).units(2).await());
            Lease others = store.acquire("sem?limit=2").tryNow();
            var released = new Tap.Background<>(() -> {
                Tap.until(() -> store.list("sem").stream().anyMatch(one -> !one.isHeld()),
                    "a wait");
                others.release();
                return null;
            });
            Lock second = store.lockOf("sem?limit=2");
            second.lock();
            released.result();
            // Now all that is taken is this thread's own.
            Tap.thrown(DeadlockException.class, () -> store.lockOf("sem?limit=2").lock());
            Tap.thrown(DeadlockException.class,
                () -> store.acquire("free", "sem").limit(2).await());
            second.unlock();
            first.unlock();
            Tap.same(List.of(), store.list());
        }
    }

    private static void nested(Tap.Stores stores) throws Exception {
        Path path = stores.place().resolve("nested");
        Process service = stores.serve(path);
        try (Store store = Store.open("lk+unix:" + path)) {
            CountDownLatch locked = new CountDownLatch(1);
            var asking = new Tap.Background<>(() -> {
                store.lockOf("t").lock();
                service.destroyForcibly().waitFor();
                locked.countDown();
                return store.acquire("u").patience(ofSeconds(600)).await();
            });
            locked.await();
            Tap.until(() -> !store.away().isZero(), "that it is away");
            Thread.sleep(100); // so that it is likely to be asking
            asking.thread.interrupt();
            Tap.thrown(InterruptedException.class, asking::result);
        }
    }

    private static void order(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lease holder = store.acquire("t").owner("ana").tryNow();
            var second = new Tap.Background<>(() -> store.acquire("t").owner("ben").await());
            Tap.until(() -> Tap.waits(store, "ben"), "ben's wait");
            var third = new Tap.Background<>(() -> store.acquire("t").owner("cem").await());
            Tap.until(() -> Tap.waits(store, "cem"), "cem's wait");
            LockTimeoutException late = Tap.thrown(LockTimeoutException.class,
                () -> store.acquire("t").waitFor(ofMillis(30)).await());
            Tap.yes(late.blockers().stream().anyMatch(one -> one.owner().equals("ana")), "ana");
            Tap.same(2, store.show("t").get(2).blockers().size());
            holder.release();
            Lease lease = second.result();
            Tap.yes(lease.token() > holder.token() && Tap.waits(store, "cem"), "one at a time");
            var released = new Tap.Background<>(() -> {
                lease.release(); // by another thread
                return null;
            });
            released.result();
            third.result().release();
        }
    }

    private static void deadlock(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh());
            Lease first = store.acquire("a").owner("ana").tryNow()) {
            Lease second = store.acquire("b").owner("ben").tryNow();
            var waiting = new Tap.Background<>(() -> store.acquire("b").owner("ana").await());
            Tap.until(() -> Tap.waits(store, "ana"), "ana's wait");
            DeadlockException error = Tap.thrown(DeadlockException.class,
                () -> store.acquire("a").owner("ben").await());
            Tap.same(List.of("ben", "ana"), error.cycle());
            second.release();
            waiting.result().release();
        }
    }

    private static void renewal(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            CountDownLatch over = new CountDownLatch(1);
            Lease fixed = store.acquire("f").until(Instant.now().plusMillis(1200 * Tap.STRETCH)).tryNow();
            fixed.onLost(over::countDown);
            try (Lease lease = store.acquire("t").ttl(ofSeconds(4 * Tap.STRETCH)).tryNow()) {
                Tap.yes(over.await(60, TimeUnit.SECONDS), "the fixed end is told");
                long end = System.nanoTime() + ofSeconds(4 * Tap.STRETCH).toNanos();
                Tap.until(() -> System.nanoTime() > end, "the ttl");
                Tap.yes(!lease.isLost() && Tap.held(store).contains("t"), "renewed");
            }
            Tap.yes(fixed.isLost(), "the fixed one is lost");
            Tap.until(() -> Tap.held(store).isEmpty(), "its end in the store");
            Tap.thrown(LeaseLostException.class, fixed::release);
        }
    }

    private static void conversion(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            try (Lease lease = store.acquire("t").ttl(ofSeconds(30)).tryNow()) {
                long first = lease.token();
                lease.convert("t?shared");
                Tap.same(first, lease.token());
                try (Lease beside = store.acquire("t").shared().tryNow()) {
                    Tap.thrown(BusyException.class, () -> lease.convert("t"));
                    Tap.yes(!lease.isLost() && lease.token() == first, "it stays as it was");
                }
                lease.convert("t");
                Tap.yes(lease.token() > first && !lease.isLost(), "a new token");
                Tap.same(ofSeconds(30), store.list().get(0).ttl());
            }
            Tap.same(List.of(), store.list());
            Lease gone = store.acquire("t").shared().tryNow();
            breakNow(store, "t");
            Tap.thrown(LeaseLostException.class, () -> gone.convert("t"));
            Tap.same(List.of(), store.list());
            Tap.yes(gone.isLost(), "it is lost");
        }
    }

    /** Whether it is converted while the handle that it had before says that it is lost. */
    private static boolean isReplaced(Path path, Process service) throws Exception {
        String pid = Long.toString(service.pid());
        try (Store store = Store.open("lk+unix:" + path);
            Store other = Store.open("lk+unix:" + path)) {
            AtomicInteger told = new AtomicInteger();
            Lease lease = store.acquire("t?shared").owner("ana").ttl(ofSeconds(8)).tryNow();
            lease.onLost(told::incrementAndGet);
            // In the store it is to last longer than its handle knows.
            other.acquire("t?shared").owner("ana").ttl(ofSeconds(600)).tryNow().abandon();
            Tap.same(0, new ProcessBuilder("kill", "-STOP", pid).start().waitFor());
            Tap.until(() -> lease.remaining().toSeconds() < 2, "a deadline that is near");
            var converting = new Tap.Background<>(() -> {
                lease.convert("t");
                return null;
            });
            try {
                Tap.until(lease::isLost, "the deadline of the handle");
            } finally {
                Tap.same(0, new ProcessBuilder("kill", "-CONT", pid).start().waitFor());
            }
            try {
                converting.result();
            } catch (LeaseLostException | UnavailableException error) {
                return false; // renewed just before the stop, or a machine that is too slow
            }
            boolean isLost = lease.isLost();
            if (lease.remaining().isZero()) {
                return false; // the new deadline is over, too
            }
            Tap.same("not lost, told 0 times",
                (isLost ? "lost" : "not lost") + ", told " + told + " times");
            return true;
        }
    }

    private static void replaced(Tap.Stores stores) throws Exception {
        for (int turn = 0; turn < 10; turn++) {
            Path path = stores.place().resolve("replaced" + turn);
            if (isReplaced(path, stores.serve(path))) {
                return;
            }
        }
        throw new AssertionError("it was never converted in time");
    }

    private static void withdrawn(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lease holder = store.acquire("t").tryNow();
            var waiting = new Tap.Background<>(() -> store.acquire("t").owner("ben").await());
            Tap.until(() -> Tap.waits(store, "ben"), "ben's wait");
            waiting.thread.interrupt();
            try {
                waiting.result();
                throw new AssertionError("it was not interrupted");
            } catch (InterruptedException expected) {
                Tap.same(1, store.list().size()); // withdrawn when it throws
            }
            CompletableFuture<Lease> future = store.acquire("t").owner("cem").async();
            Tap.until(() -> Tap.waits(store, "cem"), "cem's wait");
            Tap.yes(future.cancel(true), "it is cancelled");
            Tap.thrown(CancellationException.class, future::get);
            Tap.until(() -> !Tap.waits(store, "cem"), "cem's withdrawal");
            CompletableFuture<Lease> early = store.acquire("t").async();
            early.orTimeout(10, TimeUnit.MILLISECONDS);
            Tap.thrown(java.util.concurrent.ExecutionException.class, early::get);
            Tap.until(() -> store.list().size() == 1, "the other's withdrawal");
            holder.release();
        }
    }

    private static void future(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lease holder = store.acquire("t").tryNow();
            CompletableFuture<Long> token = store.acquire("t").owner("ben").async()
                .thenApply(lease -> {
                    try (lease) {
                        return lease.token();
                    }
                });
            Tap.until(() -> Tap.waits(store, "ben"), "ben's wait");
            holder.release();
            Tap.yes(token.get(60, TimeUnit.SECONDS) > holder.token(), "granted");
            Tap.same(List.of(), store.list());
            Lease again = store.acquire("t").tryNow();
            var late = Tap.thrown(java.util.concurrent.ExecutionException.class,
                () -> store.acquire("t").waitFor(ofMillis(20)).async().get());
            Tap.yes(late.getCause() instanceof LockTimeoutException, "its time-out");
            again.release();
        }
    }

    private static void unlocked(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        if (!url.startsWith("sqlite:")) {
            return; // there it takes the ten seconds for which an unreachable store is asked
        }
        String path = url.substring("sqlite:".length());
        try (Store store = Store.open(url)) {
            Lock lock = store.lockOf("t");
            lock.lock();
            Tap.move(path, path + ".away");
            for (int i = 0; i < 3; i++) {
                Tap.thrown(UnavailableException.class, lock::unlock);
            }
            Tap.move(path + ".away", path);
            Tap.same(List.of("t"), Tap.held(store));
            var other = new Tap.Background<>(() -> {
                Tap.thrown(IllegalMonitorStateException.class, lock::unlock);
                return lock.tryLock(); // this object is free, the path is not
            });
            Tap.same(false, other.result());
            lock.unlock();
            Tap.same(List.of(), store.list());
            Tap.thrown(IllegalMonitorStateException.class, lock::unlock); // it is known
            lock.lock();
            Tap.move(path, path + ".away");
            Tap.thrown(UnavailableException.class, lock::unlock);
            Tap.move(path + ".away", path);
            breakNow(store, "t");
            Tap.thrown(LeaseLostException.class, lock::unlock);
            Tap.thrown(IllegalMonitorStateException.class, lock::unlock);
        }
    }

    private static void lock(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Lock lock = store.lockOf("t");
            lock.lock();
            Tap.yes(lock.tryLock(), "twice by a thread");
            lock.unlock();
            Tap.same(List.of("t"), Tap.held(store));
            var others = new Tap.Background<>(() -> lock.tryLock() || store.lockOf("t").tryLock()
                || store.lockOf("t").tryLock(20, TimeUnit.MILLISECONDS));
            Tap.same(false, others.result());
            Tap.thrown(IllegalMonitorStateException.class,
                () -> new Tap.Background<>(() -> {
                    lock.unlock();
                    return null;
                }).result());
            Lock other = store.lockOf("t");
            var waiting = new Tap.Background<>(() -> {
                other.lockInterruptibly();
                return null;
            });
            Tap.until(() -> store.list().size() == 2, "the wait");
            waiting.thread.interrupt();
            Tap.thrown(InterruptedException.class, waiting::result);
            lock.unlock();
            Tap.same(List.of(), store.list());
            Tap.yes(other.tryLock(1, TimeUnit.SECONDS), "free");
            breakNow(store, "t");
            Tap.thrown(LeaseLostException.class, other::unlock);
            Lease before = store.acquire("t").tryNow();
            var second = new Tap.Background<>(() -> {
                Tap.same(false, other.tryLock(1, TimeUnit.MILLISECONDS));
                other.lock(); // has no limit of its own
                other.unlock();
                return null;
            });
            Tap.until(() -> store.list().size() == 2, "the wait of lock()");
            long end = System.nanoTime() + ofMillis(50).toNanos();
            Tap.until(() -> System.nanoTime() > end, "more than the limit of tryLock()");
            before.release();
            second.result();
            Tap.yes(other.tryLock(), "free again");
            other.unlock();
            Tap.thrown(UnsupportedOperationException.class, lock::newCondition);
            AtomicInteger inside = new AtomicInteger();
            AtomicInteger times = new AtomicInteger();
            List<Tap.Background<Void>> threads = new java.util.ArrayList<>();
            for (int i = 0; i < 4; i++) {
                threads.add(new Tap.Background<>(() -> {
                    for (int turn = 0; turn < 5; turn++) {
                        lock.lock();
                        Tap.same(1, inside.incrementAndGet());
                        times.incrementAndGet();
                        inside.decrementAndGet();
                        lock.unlock();
                    }
                    return null;
                }));
            }
            for (var thread : threads) {
                thread.result();
            }
            Tap.same(20, times.get());
        }
    }

    private static void loss(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            AtomicInteger told = new AtomicInteger();
            CountDownLatch late = new CountDownLatch(2);
            Tap.thrown(LeaseLostException.class, () -> {
                try (Lease lease = store.acquire("t").ttl(ofSeconds(3 * Tap.STRETCH)).tryNow()) {
                    lease.onLost(told::incrementAndGet);
                    lease.onLost(late::countDown);
                    breakNow(store, "t");
                    Tap.until(() -> told.get() > 0, "the report");
                    Tap.yes(lease.isLost(), "it is lost");
                    Tap.thrown(LeaseLostException.class, lease::check);
                    lease.onLost(late::countDown); // at once
                }
            });
            Tap.yes(late.await(60, TimeUnit.SECONDS), "all are told");
            Tap.same(1, told.get());
            IllegalStateException error = Tap.thrown(IllegalStateException.class, () -> {
                try (Lease lease = store.acquire("t").tryNow()) {
                    breakNow(store, "t");
                    throw new IllegalStateException("of the block");
                }
            });
            Tap.yes(error.getSuppressed()[0] instanceof LeaseLostException, "it says both");
        }
    }

    private static void killed(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store store = Store.open(url); Tap.Program holder = new Tap.Program("holds", url)) {
            long token = Long.parseLong(holder.heard());
            Tap.thrown(BusyException.class, () -> store.acquire("t").tryNow());
            holder.signal("KILL");
            try (Lease lease = store.acquire("t").waitFor(Tap.PATIENCE).await()) {
                Tap.yes(lease.token() > token, "a greater token");
            }
            Tap.same(137, holder.ended());
        }
    }

    private static void stopped(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store store = Store.open(url); Tap.Program holder = new Tap.Program("notices", url)) {
            Tap.same("held", holder.heard());
            holder.signal("STOP");
            try (Lease lease = store.acquire("t").waitFor(Tap.PATIENCE).await()) {
                holder.say("go on");
                holder.signal("CONT");
                Tap.same("lost", holder.heard());
                Tap.same("LOST", holder.heard());
                Tap.same(0, holder.ended());
            }
        }
    }

    private static void values(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store store = Store.open(url)) {
            byte[] value = new byte[] {97, 0, -1};
            store.put("v", value);
            Tap.yes(java.util.Arrays.equals(value, store.get("v").get().bytes()), "the same");
            store.delete("v");
            Tap.same(Optional.empty(), store.get("v"));
            Lease first = store.acquire("v").value().tryNow();
            Tap.same(Optional.empty(), first.value());
            first.put("early".getBytes());
            Tap.thrown(InvalidException.class, () -> first.releasePut(new byte[65537]));
            first.check(); // nothing was done
            first.releasePut("first".getBytes());
            Tap.thrown(LeaseLostException.class, () -> first.releasePut(new byte[1]));
            Lease both = store.acquire("v", "w").value().tryNow();
            Tap.same("first", both.value().map(Value::text).get());
            Tap.same(List.of(true, false),
                both.values().stream().map(Optional::isPresent).toList());
            both.releasePut(Map.of("w", "second".getBytes(), "v", new byte[] {0}));
            Tap.same("second", store.get("w").get().text());
            Tap.same(1, store.get("v").get().bytes().length);
            Lease lost = store.acquire("v").tryNow();
            breakNow(store, "v");
            Tap.thrown(LeaseLostException.class, () -> lost.releasePut("late".getBytes()));
            store.put("t", "before".getBytes());
            try (Tap.Program holder = new Tap.Program("holds", url)) {
                holder.heard();
                holder.signal("KILL");
                try (Lease next = store.acquire("t").value().waitFor(Tap.PATIENCE).await()) {
                    Tap.same("before true",
                        next.value().get().text() + " " + next.value().get().isInDoubt());
                }
            }
        }
    }

    private static void exits(Tap.Stores stores) throws Exception {
        try (Tap.Program program = new Tap.Program("exits", stores.fresh())) {
            Tap.same("exits", program.heard());
            Tap.same(7, program.ended());
            Tap.same(null, program.heard());
        }
    }
}
