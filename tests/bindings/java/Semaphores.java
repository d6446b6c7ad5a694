// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.BusyException;
import io.lockkeeper.Lease;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.Store;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * usage: Semaphores URL: what the users of database-semaphore do: at most twenty workers of the
 * kind 'foo' in a cluster whose programs share a database, each of which gives up where there are
 * twenty.
 */
final class Semaphores {
    private static final int MOST = 20;

    private static Lease attempt(Store store, String context) {
        return store.acquire("foo").limit(MOST).ttl(Duration.ofSeconds(30)).note(context).tryNow();
    }

    public static void main(String[] arguments) throws Exception {
        Tap tap = new Tap(null);
        tap.test("twenty get it, the next one a reason", stores -> twenty(arguments[0]));
        tap.test("many at once are never more than twenty", stores -> crowd(arguments[0]));
        tap.test("a lock that was forfeited is not released", stores -> forfeited(arguments[0]));
        System.exit(tap.finish());
    }

    private static void twenty(String url) throws Exception {
        try (Store one = Store.open(url); Store other = Store.open(url)) {
            List<Lease> all = new ArrayList<>();
            for (int i = 0; i < MOST; i++) {
                all.add(attempt(i % 2 == 0 ? one : other, "worker " + i));
            }
            BusyException error = Tap.thrown(BusyException.class, () -> attempt(one, "too many"));
            Tap.yes(error.blockers().get(0).note().startsWith("worker "), "who is in the way");
            all.get(7).release();
            try (Lease next = attempt(one, "next")) {
                Tap.yes(next.token() > all.get(MOST - 1).token(), "a greater token");
            }
            for (Lease lease : all) {
                lease.close();
            }
            Tap.same(List.of(), one.list());
        }
    }

    private static void crowd(String url) throws Exception {
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        AtomicInteger refused = new AtomicInteger();
        try (Store one = Store.open(url); Store other = Store.open(url)) {
            List<Lease> ahead = new ArrayList<>();
            for (int i = 0; i < MOST - 3; i++) {
                ahead.add(attempt(one, "ahead"));
            }
            List<Tap.Background<Void>> workers = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                Store own = i % 2 == 0 ? one : other;
                workers.add(new Tap.Background<>(() -> {
                    for (int turn = 0; turn < 10; turn++) {
                        try (Lease lease = attempt(own, "of the crowd")) {
                            most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                            lease.check();
                            inside.decrementAndGet();
                        } catch (BusyException error) {
                            refused.incrementAndGet();
                        }
                    }
                    return null;
                }));
            }
            for (var worker : workers) {
                worker.result();
            }
            Tap.yes(most.get() >= 1 && most.get() <= 3, "at most three more: " + most);
            ahead.forEach(Lease::close);
        }
    }

    private static void forfeited(String url) throws Exception {
        try (Store store = Store.open(url)) {
            Lease lease = attempt(store, "too slow");
            Tap.same(1L, store.breakAt("foo", "its machine is gone", "a test", true));
            Tap.thrown(LeaseLostException.class, lease::close);
        }
    }
}
