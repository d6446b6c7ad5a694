// SPDX-License-Identifier: Apache-2.0

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
