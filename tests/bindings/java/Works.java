// SPDX-License-Identifier: Apache-2.0
import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;

import io.lockkeeper.CancelledException;
import io.lockkeeper.Claim;
import io.lockkeeper.Event;
import io.lockkeeper.InvalidException;
import io.lockkeeper.Item;
import io.lockkeeper.ItemInfo;
import io.lockkeeper.Lease;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.LockTimeoutException;
import io.lockkeeper.Push;
import io.lockkeeper.PushCounts;
import io.lockkeeper.PushResult;
import io.lockkeeper.Retry;
import io.lockkeeper.Store;
import io.lockkeeper.UnavailableException;
import io.lockkeeper.Watch;
import io.lockkeeper.Work;
import io.lockkeeper.WorkCounts;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;

/** Work and events. */
final class Works {
    private Works() {}

    static void play(Tap tap) {
        tap.test("an item is claimed with what it needs, and done", Works::loop);
        tap.test("many items are pushed in one call", Works::many);
        tap.test("an item that is there is left or replaced", Works::found);
        tap.test("an item is kept with its result, and its progress while it is claimed",
            Works::results);
        tap.test("an item that is pushed again while it is worked on", Works::again);
        tap.test("what fails is claimed again, and parked in the end", Works::failures);
        tap.test("an end that is not answered is asked for again", Works::unanswered);
        tap.test("an item chooses when it is tried again", Works::later);
        tap.test("an item that cannot succeed is parked", Works::parked);
        tap.test("an item that is cancelled is lost to its loop", Works::cancelled);
        tap.test("a loop that is left gives its item back", Works::left);
        tap.test("a handler that is interrupted gives back; the store's end waits for it",
            Works::interrupted);
        tap.test("handlers in several threads; one that throws has failed", Works::handlers);
        tap.test("a claim that is lost is told; one of a killed worker is stolen", Works::stolen);
        tap.test("a wait for work is ended by an interrupt, and by the store's end", Works::ended);
        tap.test("a loop that is stopped as it begins claims nothing", Works::stopped);
        tap.test("events in order, with a position to resume from", Works::events);
    }

    private static void many(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Map<String, byte[]> items = new LinkedHashMap<>();
            items.put("b", "a\0b".getBytes());
            items.put("a", null);
            Tap.same(new PushCounts(2, 0, 0), store.pushMany("mails", items));
            items.put("c", new byte[0]);
            Tap.same(new PushCounts(1, 2, 0), store.pushMany("mails", items));
            List<String> seen = new ArrayList<>();
            for (Item item : store.work("mails").drain()) {
                seen.add(item.id() + item.text());
            }
            Tap.same(List.of("ba\0b", "a", "c"), seen);
            Map<String, byte[]> crowd = new LinkedHashMap<>();
            for (int i = 0; i < 2500; i++) {
                crowd.put("i" + i, null);
            }
            Tap.same(new PushCounts(2500, 0, 0), store.pushMany("crowd", crowd));
            Tap.same(new PushCounts(0, 2500, 0), store.pushMany("crowd", crowd));
            Tap.same(new PushCounts(0, 2500, 2500),
                store.pushMany("crowd", crowd, Push.atOnce().again()));
            Tap.same(new PushCounts(0, 0, 0), store.pushMany("crowd", Map.of()));
            items.put("a/b", null);
            Tap.thrown(InvalidException.class, () -> store.pushMany("mails", items));
            items.remove("a/b");
            items.put("a\0b", null);
            Tap.thrown(IllegalArgumentException.class, () -> store.pushMany("mails", items));
            Tap.thrown(InvalidException.class, () -> store.pushMany("p".repeat(600), crowd));
            Tap.thrown(NullPointerException.class, () -> store.pushMany(null, crowd));
            Tap.thrown(NullPointerException.class, () -> store.pushMany("mails", null));
            Tap.same(0L, store.stats("mails").readyNow());
            Tap.same(null, store.stats("mails").oldestReady());
            store.close();
            Tap.thrown(IllegalStateException.class, () -> store.pushMany("mails", crowd));
        }
    }

    private static void found(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            byte[] news = "new".getBytes();
            Push later = Push.after(ofSeconds(1000));
            Tap.same(new PushResult(true, false, null), store.pushItem("q", "1", null, later));
            Tap.same(false, store.push("q", "1", news));
            Tap.same(new PushResult(false, false, "delayed"),
                store.pushItem("q", "1", news, Push.atOnce()));
            Tap.same(null, store.items("q").get(0).value());
            Tap.same(new PushResult(false, true, "delayed"),
                store.pushItem("q", "1", news, Push.atOnce().priority(3).replace()));
            Tap.same(3, store.items("q").get(0).priority());
            Tap.same("ready", store.items("q").get(0).state());
            Push both = Push.atOnce().again().replace();
            Tap.thrown(InvalidException.class, () -> store.pushItem("q", "1", null, both));
            Tap.thrown(InvalidException.class,
                () -> store.pushMany("q", Map.of("1", news), both));
            Tap.thrown(NullPointerException.class, () -> store.pushItem("q", "1", null, null));
            Tap.thrown(IllegalArgumentException.class, () -> Push.after(ofSeconds(-1)));
            Tap.same("new", new String(store.items("q").get(0).value()));
        }
    }

    private static String text(byte[] bytes) {
        return bytes == null ? null : new String(bytes);
    }

    private static void results(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Push kept = Push.atOnce().keep(ofSeconds(3600));
            store.pushItem("q", "1", "in".getBytes(), kept);
            Tap.thrown(LockTimeoutException.class, () -> store.result("q", "1", ofSeconds(0)));
            Claim claim = store.claim("q").tryNow().orElseThrow();
            claim.progress("half");
            Tap.same("half", text(store.item("q", "1").orElseThrow().progress()));
            claim.progress(null);
            Tap.same(null, store.item("q", "1").orElseThrow().progress());
            var waiting = store.resultAsync("q", "1", ofSeconds(600));
            claim.done("out".getBytes(), ofSeconds(0));
            ItemInfo item = waiting.get().orElseThrow();
            Tap.same("done", item.state());
            Tap.same("out", text(item.value()));
            Tap.same(true, item.dueIn().compareTo(ofSeconds(3000)) > 0);
            Tap.same(1L, store.stats("q").doneNow());
            Tap.same("done", store.pushItem("q", "1", null, kept).was());
            Tap.thrown(LeaseLostException.class, () -> store.progress("q", "1", "me", 0, "late"));

            store.push("q", "2", null);
            for (Item one : store.work("q").drain()) {
                one.progress("some");
                Tap.same("some", text(store.item("q", "2").orElseThrow().progress()));
            }
            Tap.same(Optional.empty(), store.item("q", "2"));
            Tap.same(Optional.empty(), store.result("q", "2", ofSeconds(600)));

            store.pushItem("q", "3", null, kept);
            claim = store.claim("q").tryNow().orElseThrow();
            claim.retry(Retry.atOnce().error("no such sum").parked());
            item = store.result("q", "3", ofSeconds(600)).orElseThrow();
            Tap.same("parked", item.state());
            Tap.same("no such sum", text(item.lastError()));

            store.pushItem("q", "4", null, kept);
            var cancelled = store.resultAsync("q", "4", ofSeconds(600));
            Tap.same(true, cancelled.cancel(true));
            Thread.currentThread().interrupt();
            Tap.thrown(InterruptedException.class, () -> store.result("q", "4", ofSeconds(600)));
        }
    }

    private static void again(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Push again = Push.atOnce().again();
            store.push("q", "1", "old".getBytes());
            List<String> seen = new ArrayList<>();
            for (Item item : store.work("q").drain()) {
                seen.add(item.text() + item.attempt());
                if (seen.size() == 1) {
                    Tap.same(new PushResult(false, true, "claimed"),
                        store.pushItem("q", "1", "new".getBytes(), again));
                    Tap.same("again", store.items("q").get(0).state());
                    Tap.same("again", store.pushItem("q", "1", null, Push.atOnce()).was());
                }
            }
            Tap.same(List.of("old1", "new1"), seen);
            Tap.same(List.of(), store.items("q"));
        }
    }

    private static void loop(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("mails", "1", "to: ana".getBytes());
            store.push("mails", "2", null, Duration.ZERO, 9, List.of("mailer?shared"));
            List<String> seen = new ArrayList<>();
            try (Work work = store.work("mails").drain()) {
                for (Item item : work) {
                    seen.add(item.id() + item.text() + item.attempt() + item.isStolen());
                    Tap.yes(item.token() > 0 && !item.isLost(), "it is claimed");
                    Tap.yes(Tap.held(store).contains("mails/" + item.id()), "as a lease");
                    if (item.id().equals("1")) {
                        item.done();
                        Tap.thrown(IllegalStateException.class, () -> item.retry("too late"));
                    } else {
                        Tap.yes(Tap.held(store).contains("mailer"), "with its needs");
                    }
                }
                Tap.same(2L, work.counts().done());
            }
            Tap.same(List.of("21false", "1to: ana1false"), seen);
            Tap.same(2L, store.stats("mails").done());
        }
    }

    private static void failures(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("q", "1", null);
            List<Long> attempts = new ArrayList<>();
            try (Work work =
                store.work("q").maxAttempts(2).retry(ofMillis(1), ofMillis(1)).drain()) {
                for (Item item : work) {
                    attempts.add(item.attempt());
                    item.retry("no address");
                }
                Tap.same(1L, work.counts().parked());
            }
            Tap.same(List.of(1L, 2L), attempts);
            Tap.same(1L, store.stats("q").parkedNow());
            Tap.same(1L, store.unparkAll("q"));
            try (Work work = store.work("q").drain()) {
                Item item = work.next();
                item.giveBack();
                Tap.same(1L, work.next().attempt()); // it has its attempt back
                Tap.same(false, work.hasNext());
            }
            Tap.same(1L, store.stats("q").done());
        }
    }

    private static void later(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("q", "1", null);
            store.push("q", "2", null);
            try (Work work = store.work("q").maxAttempts(2)) {
                for (Item item : work) {
                    Retry how = Retry.after(Duration.ofHours(1)).error("not now").exitCode(4);
                    item.retry(item.id().equals("1") ? how.uncounted() : how);
                    if (item.id().equals("2")) {
                        work.stop();
                    }
                }
            }
            for (int i = 0; i < 2; i++) {
                var item = store.items("q").get(i);
                Tap.same(List.of("delayed", (long) i, "not now", 4), List.of(item.state(),
                    item.attempts(), new String(item.lastError()), item.lastExit()));
                Tap.same(true, item.dueIn().compareTo(Duration.ofMinutes(50)) > 0);
            }
        }
    }

    private static void parked(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.pushMany("q", Map.of("1", new byte[0], "2", new byte[0]));
            try (Work work = store.work("q").maxAttempts(9)) {
                Item item = work.next();
                item.park("no address");
                Tap.thrown(IllegalStateException.class, () -> item.park("too late"));
                Tap.same(List.of(1L, 1L),
                    List.of(work.counts().parked(), work.counts().retried()));
            }
            WorkCounts counts = store.work("q").drain().run(
                item -> item.retry(Retry.atOnce().error("no address").exitCode(4).parked()));
            Tap.same(1L, counts.parked());
            for (var item : store.items("q")) {
                Tap.same(List.of("parked", 1L, "no address"),
                    List.of(item.state(), item.attempts(), new String(item.lastError())));
            }
            Tap.same(2L, store.unparkAll("q"));
            var claim = store.claim("q").maxAttempts(9).tryNow().orElseThrow();
            Tap.thrown(InvalidException.class,
                () -> claim.retry(Retry.after(ofSeconds(1)).parked()));
            claim.retry(Retry.atOnce().parked().error("still none"));
            Tap.same(List.of(1L, 1L),
                List.of(store.stats("q").parkedNow(), store.stats("q").readyNow()));
        }
    }

    private static void cancelled(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("q", "1", null);
            store.push("q", "2", null);
            Tap.same(false, store.cancel("q", "2", "a test", "ana", false));
            Tap.thrown(LeaseLostException.class,
                () -> store.cancel("q", "2", "a test", "ana", false));
            Tap.thrown(InvalidException.class, () -> store.cancel("q", "1", "", "ana", false));
            Tap.thrown(NullPointerException.class,
                () -> store.cancel("q", "1", null, "ana", false));
            try (Work work = store.work("q").ttl(ofSeconds(Tap.STRETCH))) {
                Item item = work.next();
                var told = new java.util.concurrent.CountDownLatch(1);
                item.onLost(told::countDown);
                Tap.same(true, store.cancel("q", "1", "a test", "ana", false));
                for (var one : store.items("q")) { // none: it was slow
                    Tap.same("cancelled", one.state());
                }
                told.await();
                Tap.yes(item.isLost(), "its handler is told");
            }
            Tap.until(() -> store.items("q").isEmpty(), "the end of the item, with its claim");
            store.push("q", "3", null);
            var claim = store.claim("q").tryNow().orElseThrow();
            Tap.same(true, store.cancel("q", "3", "a test", "ana", true));
            Tap.same(List.of(), store.items("q"));
            Tap.thrown(LeaseLostException.class, claim::done);
        }
    }

    /** The one item of the queue, whose worker has no more time for a store that is away. */
    private static Item stopping(Work work) {
        Item item = work.next();
        work.stop();
        return item;
    }

    private static void unanswered(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        if (!url.startsWith("sqlite:")) {
            return; // there it takes the ten seconds for which an unreachable store is asked
        }
        String path = url.substring("sqlite:".length());
        Map<String, Consumer<Item>> ends = new LinkedHashMap<>();
        ends.put("back", Item::giveBack);
        ends.put("parks", item -> item.park("no way"));
        ends.put("fails", item -> item.retry("no route"));
        ends.put("done", Item::done);
        try (Store store = Store.open(url)) {
            for (var end : ends.entrySet()) {
                store.push("q", "1", null);
                try (Work work = store.work("q").retry(ofMillis(1), ofMillis(1))) {
                    Item item = stopping(work);
                    Tap.move(path, path + ".away");
                    for (int i = 0; i < 3; i++) {
                        Tap.thrown(UnavailableException.class, () -> end.getValue().accept(item));
                    }
                    Tap.move(path + ".away", path);
                    Tap.same(1L, store.stats("q").claimedNow());
                    end.getValue().accept(item);
                    Tap.same(0L, store.stats("q").claimedNow());
                    Tap.thrown(IllegalStateException.class, item::done); // it is known
                    Tap.same(false, work.hasNext());
                    Tap.same(1L, work.counts().unknown());
                }
                Tap.same(end.getKey().equals("done") ? 1L : 0L, store.stats("q").done());
                Tap.same(end.getKey().equals("parks") ? 1L : 0L, store.unparkAll("q"));
            }
            store.push("q", "lost", null);
            try (Work work = store.work("q")) {
                Item item = stopping(work);
                Tap.move(path, path + ".away");
                Tap.thrown(UnavailableException.class, item::done);
                Tap.move(path + ".away", path);
                Tap.same(1L, store.breakAt("q/lost", "a test", "a test", true));
                Tap.thrown(LeaseLostException.class, item::done);
            }
            try (Work work = store.work("q")) {
                stopping(work);
                Tap.move(path, path + ".away");
                Tap.same(false, work.hasNext()); // the turn says nothing of the former item
                Tap.same(List.of(1L, 0L), List.of(work.counts().unknown(), work.counts().done()));
                Tap.move(path + ".away", path);
                Tap.same(1L, store.stats("q").claimedNow());
            }
        }
    }

    private static void left(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            store.push("q", "1", null);
            Tap.thrown(ArithmeticException.class, () -> {
                try (Work work = store.work("q").retry(ofSeconds(30), ofSeconds(30))) {
                    for (Item item : work) {
                        throw new ArithmeticException(item.id());
                    }
                }
            });
            Tap.same(1L, store.stats("q").readyNow()); // at once: by what it was left is not known
            try (Work work = store.work("q")) {
                for (Item item : work) {
                    break;
                }
            }
            Tap.same(List.of(1L, 0L),
                List.of(store.stats("q").readyNow(), store.stats("q").done()));
            store.push("q", "2", null);
            try (Work work = store.work("q")) {
                for (Item item : work) {
                    work.stop();
                    Tap.same(1L, store.stats("q").claimedNow());
                }
                Tap.same(List.of(1L, 1L), List.of(work.counts().done(), work.counts().claims()));
            }
            Work never = store.work("q");
            never.stop();
            Tap.same(false, never.hasNext());
            Store other = Store.open(store.url());
            Item item = other.work("q").next();
            var told = new java.util.concurrent.CountDownLatch(1);
            item.onLost(told::countDown);
            Tap.same(false, item.isLost());
            other.close();
            told.await();
            Tap.yes(item.isLost(), "its handler is told");
            Tap.thrown(LeaseLostException.class, item::check);
            Tap.same(1L, store.stats("q").readyNow());
            Work unused = store.work("q");
            unused.close();
            Tap.same(false, unused.hasNext());
            Tap.thrown(java.util.NoSuchElementException.class, unused::next);
        }
    }

    private static void interrupted(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            List<RuntimeException> thrown = List.of(
                new IllegalStateException(new InterruptedException()),
                new java.util.concurrent.CancellationException(),
                new RuntimeException(new java.util.concurrent.CancellationException()));
            store.push("q", "1", null);
            var begins = new java.util.concurrent.atomic.AtomicInteger();
            // Nothing stops the pool: each is a failure, so that an item cannot be tried for ever.
            WorkCounts counts = store.work("q").retry(ofMillis(1), ofMillis(1))
                .maxAttempts(thrown.size()).drain().run(item -> {
                    int begin = begins.getAndIncrement();
                    if (begin <= 2 * thrown.size()) {
                        throw thrown.get(begin % thrown.size());
                    }
                });
            Tap.same(List.of(3, 1L), List.of(begins.get(), counts.parked()));
            store.drop("q", List.of("1"));
            store.push("q", "1", null);
            for (RuntimeException error : thrown) {
                var isHeld = new java.util.concurrent.CountDownLatch(1);
                var isStopped = new java.util.concurrent.CountDownLatch(1);
                var stopped = new Tap.Background<>(() -> store.work("q").run(item -> {
                    isHeld.countDown();
                    try {
                        isStopped.await();
                    } catch (InterruptedException other) {
                        throw new IllegalStateException(other);
                    }
                    throw error;
                }));
                isHeld.await();
                stopped.thread.interrupt();
                Tap.until(() -> !stopped.thread.isInterrupted()
                    && stopped.thread.getState() == Thread.State.WAITING, "the interrupt");
                isStopped.countDown();
                Tap.thrown(InterruptedException.class, stopped::result);
                Tap.same(List.of(1L, 0L), List.of(store.stats("q").readyNow(),
                    Integer.toUnsignedLong((int) store.items("q").get(0).attempts())));
            }
            store.drop("q", List.of("1"));
            store.push("q", "2", null);
            Store other = Store.open(store.url());
            var begun = new java.util.concurrent.CountDownLatch(1);
            var end = new java.util.concurrent.CountDownLatch(1);
            var pool = new Tap.Background<>(() -> other.work("q").run(item -> {
                begun.countDown();
                try {
                    end.await();
                } catch (InterruptedException error) {
                    throw new IllegalStateException(error);
                }
                other.put("v", new byte[0]); // it is closed: no failure of the item
            }));
            begun.await();
            var closing = new Tap.Background<>(() -> {
                other.close();
                return null;
            });
            Tap.until(other::isClosed, "the end of the store");
            Tap.same(1L, store.stats("q").claimedNow());
            end.countDown();
            closing.result();
            Tap.thrown(CancelledException.class, pool::result);
            Tap.same(1L, store.stats("q").readyNow());
        }
    }

    private static void handlers(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            for (int i = 0; i < 20; i++) {
                store.push("q", "i" + i, null);
            }
            Set<String> seen = ConcurrentHashMap.newKeySet();
            WorkCounts counts = store.work("q").workers(3).retry(ofMillis(1), ofMillis(1)).drain()
                .run(item -> {
                    Tap.thrown(IllegalStateException.class, store::close);
                    if (item.id().equals("i7") && item.attempt() == 1) {
                        throw new IllegalArgumentException("once");
                    }
                    seen.add(item.id());
                });
            Tap.same(20, seen.size());
            Tap.same(List.of(20L, 1L), List.of(counts.done(), counts.retried()));
            Tap.thrown(InvalidException.class, () -> store.work("a//b").run(item -> { }));
        }
    }

    private static void stolen(Tap.Stores stores) throws Exception {
        String url = stores.fresh();
        try (Store store = Store.open(url); Tap.Program worker = new Tap.Program("works", url)) {
            store.push("mails", "1", null);
            Tap.same("1", worker.heard());
            worker.signal("KILL");
            Tap.until(() -> store.stats("mails").readyNow() == 1, "the end of its claim");
            try (Work work = store.work("mails").drain()) {
                Item item = work.next();
                Tap.same("2 true", item.attempt() + " " + item.isStolen());
                Tap.same(1L, store.breakAt("mails/1", "a test", "a test", true));
                Tap.thrown(LeaseLostException.class, item::done);
                work.next().done();
            }
        }
    }

    private static void ended(Tap.Stores stores) throws Exception {
        Store store = Store.open(stores.fresh());
        Work work = store.work("q");
        var waiting = new Tap.Background<>(work::hasNext);
        store.push("q", "1", null); // it is in its wait or before: both are the same
        Tap.same(true, waiting.result());
        work.next().done();
        var second = new Tap.Background<>(work::hasNext);
        second.thread.interrupt();
        Tap.thrown(CancelledException.class, second::result);
        var pool = new Tap.Background<>(() -> store.work("q").run(item -> { }));
        pool.thread.interrupt();
        Tap.thrown(InterruptedException.class, pool::result);
        var third = new Tap.Background<>(work::hasNext);
        store.close();
        Tap.thrown(CancelledException.class, third::result);
        work.close();
    }

    private static void stopped(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh())) {
            Work work = store.work("q");
            work.stop();
            // As in a first turn that has asked whether it is stopped just before it was.
            var start = Work.class.getDeclaredMethod("start");
            start.setAccessible(true);
            start.invoke(work);
            var turn = new Tap.Background<>(work::hasNext);
            Tap.same(false, turn.result());
            work.close();
        }
    }

    private static void events(Tap.Stores stores) throws Exception {
        try (Store store = Store.open(stores.fresh()); Watch watch = store.watch("db")) {
            store.acquire("other").tryNow().release();
            try (Lease lease = store.acquire("db/t").owner("ana").tryNow()) {
                lease.check();
            }
            long middle;
            Event granted = watch.next();
            middle = watch.position();
            Tap.same(List.of("granted", "ana", List.of("db/t")),
                List.of(granted.kind(), granted.owner(), granted.paths()));
            Tap.same("released", watch.next().kind());
            Tap.same(Optional.empty(), watch.next(Duration.ZERO));
            try (Watch again = store.watch("db", middle)) {
                Tap.same("released", again.next().kind());
            }
            var waiting = new Tap.Background<>(() -> watch.next(Tap.PATIENCE));
            waiting.thread.interrupt();
            Tap.thrown(InterruptedException.class, waiting::result);
            var other = new Tap.Background<>(watch::hasNext);
            watch.close();
            Tap.same(false, other.result());
            Watch forgotten = store.watch(null); // the store closes it
            Tap.yes(forgotten.position() >= 0, "it is open");
        }
    }
}
