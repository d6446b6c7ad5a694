// SPDX-License-Identifier: Apache-2.0
import com.sun.jna.Callback;
import com.sun.jna.Pointer;
import com.sun.jna.PointerType;
import com.sun.jna.Structure;
import com.sun.jna.ptr.ByReference;
import io.lockkeeper.Outcome;
import io.lockkeeper.internal.Constants;
import io.lockkeeper.internal.Signatures;
import io.lockkeeper.internal.Structs;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Map;

/** Prints the binding's mirror of the C interface, for layout.py: a line for each thing. */
final class Mirror {
    /** The offsets are known to subclasses alone. */
    private static final class Offsets {
        static int of(Structure structure, String field) throws ReflectiveOperationException {
            Method method = Structure.class.getDeclaredMethod("fieldOffset", String.class);
            method.setAccessible(true);
            return (int) method.invoke(structure, field);
        }
    }

    private static String width(Class<?> kind) {
        if (kind == void.class) {
            return "v";
        }
        if (kind == long.class) {
            return "8";
        }
        if (kind == int.class) {
            return "4";
        }
        if (kind == byte.class) {
            return "1";
        }
        boolean isPointer = Pointer.class.isAssignableFrom(kind)
            || ByReference.class.isAssignableFrom(kind) || Structure.class.isAssignableFrom(kind)
            || Callback.class.isAssignableFrom(kind) || PointerType.class.isAssignableFrom(kind);
        return isPointer ? "p" : "?";
    }

    public static void main(String[] arguments) throws ReflectiveOperationException {
        for (Map.Entry<String, Class<? extends Structure>> entry : Structs.ALL.entrySet()) {
            String inC = entry.getKey();
            Class<? extends Structure> one = entry.getValue();
            Structure structure = one.getConstructor().newInstance();
            System.out.println("struct " + inC + " " + structure.size());
            for (String field : one.getAnnotation(Structure.FieldOrder.class).value()) {
                Field place = one.getField(field);
                boolean isInside = place.getType().isArray()
                    || Structure.class.isAssignableFrom(place.getType());
                System.out.println("field " + inC + " " + field + " "
                    + Offsets.of(structure, field) + " "
                    + (isInside ? "-" : width(place.getType())));
            }
        }
        for (Field one : Constants.class.getFields()) {
            if (one.getType() != String.class) {
                System.out.println("constant " + one.getName() + " " + one.get(null));
            }
        }
        for (Outcome one : Outcome.values()) {
            System.out.println("outcome " + one.name() + " " + one.ordinal());
        }
        for (Method one : Signatures.class.getDeclaredMethods()) {
            if (one.getName().startsWith("lk_")) {
                StringBuilder line = new StringBuilder("function " + one.getName() + " ");
                line.append(width(one.getReturnType()));
                for (Class<?> argument : one.getParameterTypes()) {
                    line.append(' ').append(width(argument));
                }
                System.out.println(line);
            }
        }
        System.out.println("version " + Constants.LK_VERSION);
    }
}
