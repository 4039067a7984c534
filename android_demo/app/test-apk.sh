#!/usr/bin/env bash
# The tests of the screen on what is in the APK: its dex, made JVM classes again by a tool that has
# nothing in common with the one that made it, and its own resources. Called by app/pom.xml.
set -euo pipefail
: "$APK" "$TESTS" "$CLASSPATH" "$JVM_OPTIONS" "$ROBOLECTRIC" "$OUT"
rm -rf "$OUT"
mkdir -p "$OUT"
cp -r "$TESTS" "$OUT/tests"
sed -i "s#^android_resource_apk=.*#android_resource_apk=$APK#" \
    "$OUT/tests/com/android/tools/test_config.properties"
PATH=/usr/bin:/bin enjarify -f -o "$OUT/apk.jar" "$APK" >"$OUT/enjarify.log"

# Nothing that is in the APK may come from elsewhere.
ours='/(nlp|tflite)-[^/]*\.jar$|/org/jetbrains/(annotations|kotlin/kotlin-stdlib)/'
rest=$(tr : '\n' <<<"$CLASSPATH" | grep '\.jar$' | grep -vE "$ours" | paste -sd:)
tests=$(cd "$OUT/tests" && find org -name '*Test.class' | sed 's#/#.#g; s#\.class$##' | sort)
cd "$(dirname "$0")"
# shellcheck disable=SC2086
java $JVM_OPTIONS -Drobolectric.offline=true -Drobolectric.dependency.dir="$ROBOLECTRIC" \
    -cp "$OUT/tests:$OUT/apk.jar:$rest" org.junit.runner.JUnitCore $tests
