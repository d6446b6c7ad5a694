// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.Item;
import io.lockkeeper.Lease;
import io.lockkeeper.LeaseLostException;
import io.lockkeeper.Store;
import java.time.Duration;
import java.util.Scanner;

/** usage: Others CASE URL: what other virtual machines do, until they are killed or told to end. */
final class Others {
    public static void main(String[] arguments) throws Exception {
        Store store = Store.open(arguments[1]);
        switch (arguments[0]) {
            case "holds":
                Lease lease = store.acquire("t").ttl(Duration.ofSeconds(4 * Tap.STRETCH)).value().tryNow();
                System.out.println(lease.token());
                System.in.read();
                break;
            case "notices":
                try (Lease held = store.acquire("t").ttl(Duration.ofSeconds(4 * Tap.STRETCH)).tryNow()) {
                    System.out.println("held");
                    System.in.read();
                    System.out.println(held.isLost() ? "lost" : "held");
                } catch (LeaseLostException error) {
                    System.out.println(error.outcome());
                }
                store.close();
                break;
            case "works":
                for (Item item : store.work("mails").ttl(Duration.ofSeconds(4 * Tap.STRETCH))) {
                    System.out.println(item.id());
                    System.in.read();
                }
                break;
            case "ends": // a claim that it is told of
                String[] claim = new Scanner(System.in).nextLine().split(" ");
                store.done("mails", claim[0], claim[1], Long.parseLong(claim[2]));
                store.close();
                break;
            case "exits": // with all that can be under way
                Lease first = store.acquire("a").ttl(Duration.ofSeconds(3 * Tap.STRETCH)).owner("ana").tryNow();
                first.onLost(() -> System.out.println("too late"));
                store.acquire("a").owner("ben").async();
                store.watch(null);
                store.work("nothing").iterator();
                Thread worker = new Thread(() -> store.work("none").hasNext());
                worker.setDaemon(true);
                worker.start();
                System.out.println("exits");
                System.exit(7);
                break;
            default:
                throw new IllegalArgumentException(arguments[0]);
        }
    }
}
