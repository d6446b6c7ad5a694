// SPDX-License-Identifier: Apache-2.0
import io.lockkeeper.Lease;
import io.lockkeeper.Store;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;

/**
 * usage: Page README PLACE: each example of the page, compiled as it is printed, and run on the
 * store of LK_STORE. What it prints is listed here: an example that is not is a failure.
 */
final class Page {
    private static final List<String> PRINTED = List.of("token \\d+\n",
        "not granted within the time given: mydatabase/mytest is held by test.* test\n",
        "reports\ncounts\n", "makes reports\n", "", "18\n",
        "sends 4711 to: ana\n", "false true ready\n", "has sent 4713 to: bob\n", "granted released\n");

    private static String run(URLClassLoader loader, int number) throws Exception {
        PrintStream out = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true));
        try {
            loader.loadClass("Example" + number).getMethod("run").invoke(null);
        } catch (InvocationTargetException error) {
            throw new AssertionError(error.getCause());
        } finally {
            System.setOut(out);
        }
        return printed.toString();
    }

    public static void main(String[] arguments) throws Exception {
        Matcher blocks = Pattern.compile("^```java\n(.*?)^```$", Pattern.MULTILINE | Pattern.DOTALL)
            .matcher(Files.readString(Path.of(arguments[0])));
        Path place = Path.of(arguments[1]);
        List<String> files = new ArrayList<>(List.of("-d", place.toString()));
        List<String> sources = new ArrayList<>();
        while (blocks.find()) {
            sources.add(blocks.group(1));
            Path file = place.resolve("Example" + sources.size() + ".java");
            Files.writeString(file, "import io.lockkeeper.*;\nimport java.time.Duration;\n"
                + "import static java.time.Duration.*;\npublic class Example" + sources.size()
                + " {\npublic static void run() throws Exception {\n" + blocks.group(1) + "}}\n");
            files.add(file.toString());
        }
        Tap tap = new Tap(null);
        tap.test("the examples compile", stores -> Tap.same(0, ToolProvider.getSystemJavaCompiler()
            .run(null, null, System.out, files.toArray(new String[0]))));
        tap.test("each has its output here", stores -> Tap.same(PRINTED.size(), sources.size()));
        try (URLClassLoader loader = new URLClassLoader(new URL[] {place.toUri().toURL()});
            Store store = Store.open()) {
            for (int i = 0; i < sources.size(); i++) {
                int number = i;
                // A test is in the way of the reset.
                String path = sources.get(i).contains("host/reset") ? "mydatabase/mytest" : "no";
                tap.test("example " + (i + 1), stores -> {
                    try (Lease held = store.acquire(path).owner("test").tryNow()) {
                        String printed = run(loader, number + 1);
                        held.check();
                        Tap.yes(printed.matches(PRINTED.get(number)), "it prints: " + printed);
                    }
                });
            }
        }
        System.exit(tap.finish());
    }
}
