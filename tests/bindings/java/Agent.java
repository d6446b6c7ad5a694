// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.Answer;
import io.lockkeeper.Blocker;
import io.lockkeeper.Claim;
import io.lockkeeper.ClaimRequest;
import io.lockkeeper.DeadlockException;
import io.lockkeeper.Entry;
import io.lockkeeper.ItemInfo;
import io.lockkeeper.Limits;
import io.lockkeeper.LockRequest;
import io.lockkeeper.LockkeeperException;
import io.lockkeeper.Push;
import io.lockkeeper.PushCounts;
import io.lockkeeper.PushResult;
import io.lockkeeper.QueueCounts;
import io.lockkeeper.Retry;
import io.lockkeeper.Store;
import io.lockkeeper.Style;
import io.lockkeeper.Value;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;

/** usage: Agent: makes the calls that ../conformance.py asks for, by the methods of the binding. */
final class Agent {
    private static final PrintStream OUT =
        new PrintStream(System.out, false, StandardCharsets.US_ASCII);
    private static Store store;

    /** The arguments of a call. */
    private static final class Given {
        private final Map<String, List<String>> fields = new HashMap<>();

        Given(String[] words) {
            for (int i = 1; i < words.length; i++) {
                String[] pair = words[i].split("=", 2);
                String value = pair[1].replace("+", "%2B"); // which stands for itself
                fields.computeIfAbsent(pair[0], name -> new ArrayList<>())
                    .add(URLDecoder.decode(value, StandardCharsets.UTF_8));
            }
        }

        List<String> texts(String name) {
            return fields.getOrDefault(name, List.of());
        }

        String text(String name) {
            return texts(name).isEmpty() ? null : texts(name).get(0);
        }

        byte[] octets(String name) {
            return text(name) == null ? null : text(name).getBytes(StandardCharsets.UTF_8);
        }

        long number(String name, long otherwise) {
            return text(name) == null ? otherwise : Long.parseLong(text(name));
        }

        boolean flag(String name) {
            return "yes".equals(text(name));
        }

        /** Calls the setter, if there is such an argument. */
        void ifText(String name, Consumer<String> set) {
            texts(name).forEach(set);
        }

        void ifNumber(String name, Consumer<Long> set) {
            ifText(name, text -> set.accept(Long.parseLong(text)));
        }

        void ifDuration(String name, Consumer<Duration> set) {
            ifNumber(name, ms -> set.accept(Duration.ofMillis(ms)));
        }

        String queue() {
            return text("queue");
        }

        String id() {
            return text("id");
        }

        String owner() {
            return text("owner");
        }

        long token() {
            return number("token", 0); // any
        }
    }

    /** A line of an answer; what is null is left out. */
    private static final class Line {
        private final StringBuilder text;

        Line(String word) {
            text = new StringBuilder(word);
        }

        Line with(String name, Object value) {
            if (value instanceof List<?> list) {
                list.forEach(one -> with(name, one));
            } else if (value != null) {
                text.append(' ').append(name).append('=').append(quoted(value));
            }
            return this;
        }

        private static String quoted(Object value) {
            byte[] bytes = value instanceof byte[] octets ? octets
                : value instanceof Boolean is ? (is ? "yes" : "no").getBytes()
                : (value instanceof Duration time ? Long.toString(time.toMillis()) : value.toString())
                    .getBytes(StandardCharsets.UTF_8);
            return URLEncoder.encode(new String(bytes, StandardCharsets.ISO_8859_1),
                StandardCharsets.ISO_8859_1).replace("+", "%20");
        }

        void say() {
            OUT.println(text);
        }
    }

    private static void done() {
        new Line("ok").say();
    }

    private static void count(long count) {
        new Line("ok").with("count", count).say();
    }

    private static void say(List<Blocker> blockers) {
        for (Blocker one : blockers) {
            new Line("blocker").with("path", one.path()).with("owner", one.owner())
                .with("note", one.note()).with("held", one.isHeld()).say();
        }
    }

    private static void say(Answer answer) {
        new Line(answer.outcome().name().toLowerCase(Locale.ROOT)).with("path", answer.paths())
            .with("owner", answer.owner()).with("ticket", answer.ticket())
            .with("token", answer.token()).with("ttl", answer.ttl())
            .with("expires_in", answer.left()).with("in_use", answer.inUse())
            .with("position", answer.position()).with("created", answer.isCreated())
            .with("fixed", answer.isFixed()).say();
        say(answer.blockers());
        for (Optional<Value> one : answer.values()) {
            new Line("value").with("value", one.map(Value::bytes).orElse(null))
                .with("in_doubt", one.map(Value::isInDoubt).orElse(false)).say();
        }
    }

    private static void sayEntries(List<Entry> entries) {
        done();
        for (Entry one : entries) {
            new Line("entry").with("path", one.path()).with("owner", one.owner())
                .with("note", one.note()).with("ticket", one.ticket()).with("token", one.token())
                .with("held", one.isHeld()).with("shared", one.isShared())
                .with("revoked", one.isRevoked()).with("limit", one.limit())
                .with("units", one.units()).with("ttl", one.ttl()).with("expires_in", one.left())
                .with("age", one.age()).with("position", one.position()).say();
            say(one.blockers());
        }
    }

    // ---- calls ----

    private static LockRequest request(Given given) {
        LockRequest request = store.acquire(given.texts("part").toArray(new String[0]));
        given.ifText("owner", request::owner);
        given.ifText("note", request::note);
        given.ifNumber("limit", request::limit);
        given.ifNumber("units", request::units);
        given.ifDuration("wait", request::waitFor);
        given.ifDuration("ttl", request::ttl);
        given.ifNumber("until", ms -> request.until(Instant.ofEpochMilli(ms)));
        if (given.flag("shared")) {
            request.shared();
        }
        if (given.flag("value")) {
            request.value();
        }
        return request;
    }

    private static void release(Given given) {
        Map<String, byte[]> values = new LinkedHashMap<>();
        for (int i = 0; i < given.texts("put_path").size(); i++) {
            values.put(given.texts("put_path").get(i),
                given.texts("put").get(i).getBytes(StandardCharsets.UTF_8));
        }
        say(values.isEmpty() ? request(given).release(given.token())
            : request(given).release(given.token(), values));
    }

    private static void read(Given given) {
        Optional<Value> value = store.get(given.text("path"));
        new Line(value.isPresent() ? "ok" : "none").say();
        value.ifPresent(one -> new Line("value").with("value", one.bytes())
            .with("in_doubt", one.isInDoubt()).say());
    }

    private static void push(Given given) {
        Push how = Push.after(Duration.ofMillis(given.number("delay", 0)))
            .priority((int) given.number("priority", 0)).needs(given.texts("need"));
        how = given.text("keep") == null ? how : how.keep(Duration.ofMillis(given.number("keep", 0)));
        PushResult result =
            store.pushItem(given.queue(), given.id(), given.octets("value"), found(given, how));
        new Line("ok").with("added", result.added()).with("changed", result.changed())
            .with("was", result.was()).say();
    }

    /** What is to happen to an item that is there. */
    private static Push found(Given given, Push how) {
        Push perhapsAgain = given.flag("again") ? how.again() : how;
        return given.flag("replace") ? perhapsAgain.replace() : perhapsAgain;
    }

    private static void pushMany(Given given) {
        Map<String, byte[]> items = new LinkedHashMap<>();
        given.texts("id").forEach(id -> items.put(id, given.octets("value")));
        Push how = Push.atOnce().keep(Duration.ofMillis(given.number("keep", 0)));
        PushCounts counts = store.pushMany(given.queue(), items, found(given, how));
        new Line("ok").with("count", counts.added()).with("changed", counts.changed()).say();
    }

    private static <T> T claimed(Given given, ClaimRequest<T> request)
        throws InterruptedException {
        given.ifText("owner", request::owner);
        given.ifText("note", request::note);
        given.ifDuration("ttl", request::ttl);
        given.ifDuration("wait", request::waitFor);
        given.ifNumber("attempts", request::maxAttempts);
        return given.text("wait") == null ? request.tryNow() : request.await();
    }

    private static void claim(Given given) throws InterruptedException {
        ClaimRequest<Optional<Claim>> one = store.claim(given.queue());
        List<Claim> claims = given.text("max") == null ? claimed(given, one).stream().toList()
            : claimed(given, one.many(given.number("max", 0)));
        new Line(claims.isEmpty() ? "none" : "granted").say();
        for (Claim claim : claims) {
            new Line("claim").with("id", claim.id()).with("owner", claim.owner())
                .with("value", claim.value()).with("token", claim.token())
                .with("attempt", claim.attempt()).with("stolen", claim.isStolen())
                .with("ttl", claim.ttl()).with("expires_in", claim.left()).say();
        }
    }

    private static void retry(Given given) {
        Retry how = Retry.after(Duration.ofMillis(given.number("delay", 0)));
        how = given.text("error") == null ? how : how.error(given.text("error"));
        how = given.text("exit") == null ? how : how.exitCode((int) given.number("exit", 0));
        how = given.flag("uncounted") ? how.uncounted() : how;
        how = given.flag("park") ? how.parked() : how;
        store.retry(given.queue(), given.id(), given.owner(), given.token(), how);
        done();
    }

    private static void unpark(Given given) {
        if (given.id() == null) {
            count(store.unparkAll(given.queue()));
            return;
        }
        store.unpark(given.queue(), given.id());
        count(1);
    }

    private static void stats(Given given) {
        QueueCounts counts = store.stats(given.queue());
        new Line("ok").with("pushed", counts.pushed()).with("duplicates", counts.duplicates())
            .with("claims", counts.claims()).with("steals", counts.steals())
            .with("done", counts.done()).with("retried", counts.retried())
            .with("parked", counts.parked()).with("ready_now", counts.readyNow())
            .with("delayed_now", counts.delayedNow()).with("claimed_now", counts.claimedNow())
            .with("parked_now", counts.parkedNow()).with("done_now", counts.doneNow()).say();
    }

    private static void bound(Given given) {
        store.setLimits(new Limits(given.number("live", Limits.AS_IS),
            given.number("live_per_owner", Limits.AS_IS),
            given.number("live_per_root", Limits.AS_IS),
            given.number("waiters_per_path", Limits.AS_IS), given.number("events", Limits.AS_IS)));
        done();
    }

    private static void sayItems(List<ItemInfo> items) {
        done();
        for (ItemInfo one : items) {
            new Line("item").with("id", one.id()).with("state", one.state())
                .with("owner", one.owner()).with("value", one.value())
                .with("attempts", one.attempts()).with("due_in", one.dueIn())
                .with("expires_in", one.left()).with("need", one.needs())
                .with("priority", one.priority()).with("exit", one.lastExit())
                .with("error", one.lastError()).with("progress", one.progress()).say();
        }
    }

    private static void call(String verb, Given given) throws InterruptedException {
        switch (verb) {
            case "open" -> {
                store = Store.open(given.text("url"));
                done();
            }
            case "close" -> {
                store.close();
                done();
            }
            case "ask" -> say(request(given).ask(
                Style.valueOf(given.text("style").toUpperCase(Locale.ROOT))));
            case "renew" -> say(request(given).renew(given.token()));
            case "release" -> release(given);
            case "break" -> count(store.breakAt(given.text("path"), given.text("reason"),
                given.text("by"), given.owner(), given.flag("now")));
            case "put" -> {
                store.put(given.text("path"), given.octets("value"), given.owner(), given.token());
                done();
            }
            case "delete" -> {
                store.delete(given.text("path"), given.owner(), given.token());
                done();
            }
            case "read" -> read(given);
            default -> callOfQueue(verb, given);
        }
    }

    private static void callOfQueue(String verb, Given given) throws InterruptedException {
        switch (verb) {
            case "push" -> push(given);
            case "push_many" -> pushMany(given);
            case "claim" -> claim(given);
            case "done" -> {
                store.done(given.queue(), given.id(), given.owner(), given.token(),
                    given.octets("result"), Duration.ofMillis(given.number("keep", 0)));
                done();
            }
            case "done_many" -> count(store.doneMany(
                given.queue(), given.texts("id"), given.owner(), given.token()));
            case "progress" -> {
                store.progress(given.queue(), given.id(), given.owner(), given.token(),
                    given.texts("put").stream().findFirst().orElse(null));
                done();
            }
            case "retry" -> retry(given);
            case "unpark" -> unpark(given);
            case "cancel" -> count(store.cancel(given.queue(), given.id(), given.text("reason"),
                given.text("by"), given.flag("now")) ? 1 : 0);
            case "drop" -> count(given.id() == null ? store.dropParked(given.queue())
                : store.drop(given.queue(), given.texts("id")));
            case "stats" -> stats(given);
            case "bound" -> bound(given);
            case "list" -> sayEntries(store.list(given.text("prefix")));
            case "show" -> sayEntries(store.show(given.text("path")));
            case "items" -> sayItems(store.items(given.queue()));
            default -> throw new AssertionError("there is no call " + verb);
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            try {
                call(words[0], new Given(words));
            } catch (LockkeeperException error) {
                new Line(error.outcome().name().toLowerCase(Locale.ROOT))
                    .with("says", error.getMessage())
                    .with("cycle", error instanceof DeadlockException cycle ? cycle.cycle() : null)
                    .say();
                say(error.blockers());
            } catch (IllegalArgumentException error) { // which the binding itself refuses
                new Line("invalid").with("says", error.getMessage()).with("refused", true).say();
            }
            OUT.println();
            OUT.flush();
        }
    }
}
