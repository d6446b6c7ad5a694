// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.internal;

import com.sun.jna.Memory;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;

/**
 * Arguments of one call as C takes them; freed by close(). What C would cut silently is refused
 * here: a text at its first NUL, a number at the width of its type. Everything else is the
 * library's to judge.
 */
public final class Memories implements AutoCloseable {
    private final List<Memory> all = new ArrayList<>();

    private Memory allocate(long size) {
        Memory memory = new Memory(size);
        all.add(memory);
        return memory;
    }

    /** null: NULL. */
    public Pointer optionalText(String text, String name) {
        return text == null ? null : text(text, name);
    }

    public Pointer text(String text, String name) {
        check(text, name);
        byte[] encoded = encode(text, name);
        Memory memory = allocate(encoded.length + 1L);
        memory.write(0, encoded, 0, encoded.length);
        memory.setByte(encoded.length, (byte) 0);
        return memory;
    }

    public static void check(String text, String name) {
        if (text == null) {
            throw new NullPointerException(name + " must not be null");
        }
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException(name + " must not contain a NUL character");
        }
    }

    private static byte[] encode(String text, String name) {
        try {
            ByteBuffer encoded = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            byte[] bytes = new byte[encoded.remaining()];
            encoded.get(bytes);
            return bytes;
        } catch (CharacterCodingException error) {
            throw new IllegalArgumentException(name + " must not contain half a character", error);
        }
    }

    /** An array of `const char *`; null where it is empty. */
    public Pointer texts(List<String> texts, String name) {
        if (texts.isEmpty()) {
            return null;
        }
        Memory array = allocate((long) texts.size() * Long.BYTES);
        for (int i = 0; i < texts.size(); i++) {
            array.setPointer((long) i * Long.BYTES, text(texts.get(i), name));
        }
        return array;
    }

    /** Bytes, never NULL: NULL deletes. */
    public Pointer bytes(byte[] bytes) {
        Memory memory = allocate(bytes.length + 1L);
        memory.write(0, bytes, 0, bytes.length);
        return memory;
    }

    /** Room for that many bytes, all 0. */
    public Pointer room(long size) {
        Memory memory = allocate(size);
        memory.clear();
        return memory;
    }

    @Override
    public void close() {
        all.forEach(Memory::close);
    }

    // ---- numbers ----

    /** A number of 32 bits that is not 0, which in C stands for one that is not given. */
    public static int number(long value, String name) {
        if (value < 1 || value > 0xFFFFFFFFL) {
            throw new IllegalArgumentException(name + " must be 1 to 4294967295, not " + value);
        }
        return (int) value;
    }

    /** Milliseconds, rounded up; may be 0. */
    public static long milliseconds(Duration duration, String name) {
        if (duration == null) {
            throw new NullPointerException(name + " must not be null");
        }
        if (duration.isNegative()) {
            throw new IllegalArgumentException(name + " must not be negative");
        }
        try {
            return duration.plusNanos(999_999).toMillis();
        } catch (ArithmeticException error) {
            throw new IllegalArgumentException(name + " is too long", error);
        }
    }

    /** Longer than 0, which in C stands for the default. */
    public static long positive(Duration duration, String name) {
        long ms = milliseconds(duration, name);
        if (ms == 0) {
            throw new IllegalArgumentException(name + " must be longer than 0");
        }
        return ms;
    }

    // ---- what C has answered ----

    /** null: NULL. */
    public static String string(Pointer text) {
        return text == null ? null : text.getString(0, "UTF-8");
    }

    public static byte[] octets(Pointer bytes, long size) {
        return bytes == null ? null : bytes.getByteArray(0, Math.toIntExact(size));
    }

    public static List<String> strings(Pointer array, long count) {
        List<String> texts = new ArrayList<>();
        for (long i = 0; i < count; i++) {
            texts.add(string(array.getPointer(i * Long.BYTES)));
        }
        return List.copyOf(texts);
    }

    public static String string(byte[] text) {
        int end = 0;
        while (end < text.length && text[end] != 0) {
            end++;
        }
        return new String(text, 0, end, StandardCharsets.UTF_8);
    }
}
