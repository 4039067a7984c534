#!/usr/bin/env bash
# Whether Kotlin's parser accepts the files of Android Studio's build, and tomllib the catalog. What the
# names in them mean, only Gradle with Google's Maven repository knows. Called by app/pom.xml.
set -euo pipefail
: "$REPOSITORY" "$KOTLIN_VERSION" "$OUT"
cd "$(dirname "$0")"
rm -rf "$OUT"
mkdir -p "$OUT"
for file in settings.gradle.kts build.gradle.kts nlp/build.gradle.kts app/build.gradle.kts; do
    # Statements stand alone in a script, and in a function elsewhere.
    { echo "fun script() {"; cat "$file"; echo "}"; } >"$OUT/$(tr / - <<<"$file" | sed 's/\.kts$/.kt/')"
done
classpath=$(find "$REPOSITORY/org/jetbrains" -name '*.jar' |
    grep -E "/($KOTLIN_VERSION/kotlin-(compiler|stdlib|script-runtime)-|kotlin-reflect-|trove4j|annotations-|kotlinx-coroutines-core)" |
    paste -sd:)
# Every name is unknown to it, so it always fails; what counts is why.
java -Xmx1g -cp "$classpath" org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect \
    -d "$OUT/classes" "$OUT" >"$OUT/log" 2>&1 || true
grep -q 'unresolved reference' "$OUT/log" || { cat "$OUT/log" >&2; exit 1; }
if grep 'syntax error' "$OUT/log" >&2; then exit 1; fi
python3 -c 'import sys, tomllib; tomllib.load(open("gradle/libs.versions.toml", "rb"))'
