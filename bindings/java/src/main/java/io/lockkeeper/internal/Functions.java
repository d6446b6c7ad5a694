// SPDX-License-Identifier: Apache-2.0
package io.lockkeeper.internal;

import com.sun.jna.Native;

/** The library, loaded. Only this class knows how it is found. */
public interface Functions extends Signatures {
    Functions LIBRARY = load();

    /** The system's or, without one, the jar's. $LK_LIBRARY is the path of another one. */
    private static Functions load() {
        String named = System.getenv("LK_LIBRARY");
        String name = named == null || named.isEmpty() ? Constants.SONAME : named;
        Functions library;
        String version;
        try {
            library = Native.load(name, Functions.class);
            version = library.lk_version().getString(0, "UTF-8");
        } catch (UnsatisfiedLinkError error) {
            throw new UnsatisfiedLinkError("cannot load " + name + ": " + error.getMessage()
                + "; install Lockkeeper's library (make install), let the linker find it"
                + " (ldconfig, as root; or LD_LIBRARY_PATH), or name its file by LK_LIBRARY");
        }
        // Before 1.0, a minor version may change structs that the library allocates.
        if (!minor(version).equals(minor(Constants.LK_VERSION)) || Native.SIZE_T_SIZE != Long.BYTES) {
            throw new UnsatisfiedLinkError(
                name + " is version " + version + "; this binding is for " + Constants.LK_VERSION
                    + ", 64 bits");
        }
        return library;
    }

    private static String minor(String version) {
        return version.substring(0, version.lastIndexOf('.'));
    }
}
