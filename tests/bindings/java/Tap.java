// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.Entry;
import io.lockkeeper.Store;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;

/** Cases as TAP, fresh stores for them, and other virtual machines that use the binding. */
final class Tap {
    /** How many times longer than else times are, on a machine that is busy (tests/timed). */
    static final int STRETCH = Integer.parseInt(System.getenv().getOrDefault("LK_TEST_STRETCH", "1"));
    /** Longer than any time that a case waits for. */
    static final Duration PATIENCE = Duration.ofSeconds(50 + 10 * STRETCH);

    interface Case {
        void play(Stores stores) throws Exception;
    }

    private int count;
    private int failures;
    private final Stores stores;

    Tap(Stores stores) {
        this.stores = stores;
    }

    void test(String title, Case one) {
        count++;
        try {
            one.play(stores);
            System.out.println("ok " + count + " - " + title);
        } catch (Throwable error) {
            failures++;
            System.out.println("not ok " + count + " - " + title);
            error.printStackTrace(new PrintStream(System.out) {
                @Override
                public void println(Object line) {
                    super.println("# " + line);
                }
            });
        }
        System.out.flush();
    }

    int finish() {
        System.out.println("1.." + count);
        return failures == 0 && count > 0 ? 0 : 1;
    }

    // ---- claims ----

    static void same(Object wanted, Object found) {
        if (!Objects.equals(wanted, found)) {
            throw new AssertionError("wanted " + wanted + ", found " + found);
        }
    }

    static void yes(boolean is, String what) {
        if (!is) {
            throw new AssertionError("not so: " + what);
        }
    }

    interface Action {
        void run() throws Exception;
    }

    static <E extends Throwable> E thrown(Class<E> kind, Action action) {
        try {
            action.run();
        } catch (Throwable error) {
            if (kind.isInstance(error)) {
                yes(!(error instanceof io.lockkeeper.LockkeeperException)
                    || !error.getMessage().isEmpty(), "it has a text");
                return kind.cast(error);
            }
            throw new AssertionError("wanted " + kind.getSimpleName(), error);
        }
        throw new AssertionError("wanted " + kind.getSimpleName() + ", nothing was thrown");
    }

    /** Waits for what other threads, processes or the store do. */
    static void until(BooleanSupplier condition, String what) throws InterruptedException {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (!condition.getAsBoolean()) {
            yes(System.nanoTime() < end, what + " has happened");
            Thread.sleep(5);
        }
    }

    static boolean waits(Store store, String owner) {
        return store.list().stream().anyMatch(one -> !one.isHeld() && one.owner().equals(owner));
    }

    static List<String> held(Store store) {
        return store.list().stream().filter(Entry::isHeld).map(Entry::path).toList();
    }

    /** The file of a store that is not to answer, or is again. */
    static void move(String from, String to) {
        for (String part : List.of("", "-wal", "-shm")) {
            var file = new java.io.File(from + part);
            if (file.exists()) {
                yes(file.renameTo(new java.io.File(to + part)), "it is moved");
            }
        }
    }

    // ---- threads and processes ----

    static final class Background<T> {
        private final FutureTask<T> task;
        final Thread thread;

        Background(Callable<T> call) {
            task = new FutureTask<>(call);
            thread = new Thread(task);
            thread.setDaemon(true);
            thread.start();
        }

        T result() throws Exception {
            try {
                return task.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            } catch (java.util.concurrent.ExecutionException error) {
                if (error.getCause() instanceof Exception) {
                    throw (Exception) error.getCause();
                }
                throw error;
            }
        }
    }

    /** What a program prints that ends well. */
    static String printed(List<String> words) throws Exception {
        Process process = new ProcessBuilder(words)
            .redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String printed = new String(process.getInputStream().readAllBytes());
        same(0, process.waitFor());
        return printed;
    }

    /** Another virtual machine that runs a case of Others. */
    static final class Program implements AutoCloseable {
        final Process process;
        private final BufferedReader out;

        Program(String... arguments) throws IOException {
            List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xshare:auto",
                "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"), "Others"));
            command.addAll(List.of(arguments));
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
            out = new BufferedReader(new InputStreamReader(process.getInputStream()));
        }

        String heard() throws IOException {
            return out.readLine();
        }

        void say(String line) throws IOException {
            process.getOutputStream().write((line + "\n").getBytes());
            process.getOutputStream().flush();
        }

        void signal(String name) throws Exception {
            String pid = Long.toString(process.pid());
            same(0, new ProcessBuilder("kill", "-" + name, pid).start().waitFor());
            if (name.equals("STOP")) {
                Path state = Path.of("/proc", pid, "stat");
                until(() -> {
                    try {
                        return Files.readString(state).replaceAll(".*\\)", "").trim().charAt(0)
                            == 'T';
                    } catch (IOException error) {
                        throw new java.io.UncheckedIOException(error);
                    }
                }, "the stop");
            }
        }

        int ended() throws InterruptedException {
            yes(process.waitFor(PATIENCE.toSeconds(), TimeUnit.SECONDS), "the program has ended");
            return process.exitValue();
        }

        @Override
        public void close() {
            process.destroyForcibly();
        }
    }

    // ---- stores ----

    /** Fresh stores: files, or `service`, started for each by LK. */
    static final class Stores implements AutoCloseable {
        private final boolean isService;
        private final String program;
        private final Path place;
        private final List<Process> services = new ArrayList<>();
        private int count;

        Stores(String kind, String program) throws IOException {
            isService = kind.equals("service");
            this.program = program;
            place = Files.createTempDirectory(
                Path.of(System.getenv().getOrDefault("TMPDIR", "/tmp")), "lk-java-");
        }

        String fresh() throws IOException {
            Path path = place.resolve("t" + ++count);
            if (!isService) {
                return "sqlite:" + path + ".db";
            }
            serve(path);
            return "lk+unix:" + path;
        }

        boolean isService() {
            return isService;
        }

        Path place() {
            return place;
        }

        /** A service, which keeps nothing. */
        Process serve(Path path) throws IOException {
            Process service = new ProcessBuilder(program, "serve", "--unix", path.toString(),
                "--listen", "none", "--http", "none", "--ephemeral")
                .redirectError(ProcessBuilder.Redirect.INHERIT).start();
            services.add(service);
            new BufferedReader(new InputStreamReader(service.getInputStream())).readLine();
            return service;
        }

        @Override
        public void close() throws IOException {
            for (Process service : services) {
                service.destroyForcibly().onExit().join();
            }
            try (Stream<Path> all = Files.walk(place)) {
                all.sorted(Comparator.reverseOrder()).forEach(one -> one.toFile().delete());
            }
        }
    }
}

/** usage: Conformance sqlite|service LK: the list of bindings/README.md on fresh stores, as TAP. */
final class Conformance {
    public static void main(String[] arguments) throws Exception {
        int code;
        try (Tap.Stores stores = new Tap.Stores(arguments[0], arguments[1])) {
            Tap tap = new Tap(stores);
            Locks.play(tap);
            Works.play(tap);
            Claims.play(tap);
            Misuse.play(tap);
            code = tap.finish();
        }
        System.exit(code);
    }
}
