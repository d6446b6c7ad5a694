#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# usage: guide_java.sh JNA_JAR
#
# docs/guides/java-spring.md: its classes compile, against Spring where that is installed and otherwise
# against annotations of the same names, and what Spring would call is called.
. "${0%/*}/harness.sh"
jna=$1
begin_page guides/java-spring.md

# annotation PACKAGE NAME [MEMBER]: that of Spring, as far as the page uses it.
annotation() {
    folder=$here/src/org/springframework/$(echo "$1" | tr . /)
    mkdir -p "$folder"
    cat >"$folder/$2.java" <<END
package org.springframework.$1;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

@Retention(RetentionPolicy.RUNTIME)
public @interface $2 {
    ${3-}
}
END
}

recipe 'Java with Spring: one instance makes the reports, another one names it'
mkdir "$here/src" "$here/classes"
block 'The store is a bean' java >"$here/src/Locks.java"
block 'A scheduled job' java >"$here/src/Reports.java"
spring=''
for name in context core beans; do
    [ ! -e "/usr/share/java/spring-$name.jar" ] || spring=$spring:/usr/share/java/spring-$name.jar
done
if [ -z "$spring" ]; then
    annotation context.annotation Bean 'String destroyMethod() default "";'
    annotation context.annotation Configuration
    annotation scheduling.annotation Scheduled 'long fixedDelay() default -1;'
    annotation stereotype Component
fi
cat >"$here/src/Instance.java" <<'END'
import io.lockkeeper.Lease;
import io.lockkeeper.Store;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.Scheduled;

public class Instance {
    public static void main(String[] arguments) throws Exception {
        if (!Locks.class.getMethod("store").getAnnotation(Bean.class).destroyMethod().equals("close")
                || Reports.class.getMethod("make").getAnnotation(Scheduled.class).fixedDelay() != 60_000) {
            throw new AssertionError("the annotations");
        }
        try (Store store = new Locks().store()) {
            new Reports(store).make();
            try (Lease other = store.acquire("reports").owner("ana").tryNow()) {
                new Reports(store).make();
            }
        }
    }
}
END
find "$docs/../bindings/java/src" "$here/src" -name '*.java' >"$here/sources"
play javac -proc:none -d classes -cp "$jna$spring" @sources
expect_code 0
play java -XX:TieredStopAtLevel=1 -cp "classes:$jna$spring" Instance
expect_code 0
[ "$(sed 's/[0-9][0-9]*$/N/' "$work/out" | tr '\n' ' ')" = \
    'page 1 with token N page 2 with token N page 3 with token N elsewhere: ana ' ] ||
    complain "$(cat "$work/out" "$work/err")"
finish_page
