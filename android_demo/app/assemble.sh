#!/usr/bin/env bash
# Classes, resources and libraries to a signed APK; called by app/pom.xml, which sets the variables.
set -euo pipefail
: "$CLASSES" "$DEXER" "$ANDROID_JAR" "$RESOURCES" "$LIBRARIES" "$MIN_SDK" "$OUT"
rm -rf "$OUT"
mkdir -p "$OUT/dex" "$OUT/lib"

# The dexer takes jars: a folder of classes becomes one.
inputs=()
IFS=: read -ra entries <<<"$CLASSES"
declare -A seen=()
for entry in "${entries[@]}"; do
    [[ -e $entry && -z ${seen[$entry]:-} ]] || continue
    seen[$entry]=yes
    if [[ -d $entry ]]; then
        jar=$OUT/dex/classes${#inputs[@]}.jar
        (cd "$entry" && zip -q -r -X "$jar" . -i '*.class')
        entry=$jar
    fi
    inputs+=("$entry")
done
java_home=$(dirname "$(dirname "$(readlink -f "$(command -v javac)")")")
# One level lower: static methods of interfaces become classes, or test-apk.sh could not translate them.
java -Xmx1500m -cp "$DEXER" com.android.tools.r8.D8 --release --min-api $((MIN_SDK - 1)) \
    --lib "$ANDROID_JAR" --lib "$java_home" --output "$OUT/dex" "${inputs[@]}" >"$OUT/d8.log" 2>&1 ||
    { cat "$OUT/d8.log" >&2; exit 1; }

cp "$RESOURCES" "$OUT/unaligned.apk"
(cd "$OUT/dex" && zip -q -X "$OUT/unaligned.apk" classes*.dex)
for abi in arm64-v8a x86_64; do
    mkdir -p "$OUT/lib/$abi"
    cp "$LIBRARIES/$abi"/*.so "$OUT/lib/$abi/"
done
# Libraries are stored as they are: the phone maps them from the APK, like the models.
(cd "$OUT" && find lib -name '*.so' | sort | zip -q -X -0 -@ unaligned.apk)
# Mapped tensors begin at 16 bytes, as they do in the file.
zipalign -f -p 16 "$OUT/unaligned.apk" "$OUT/aligned.apk"

# A debug key is no secret, and made anew when there is none: an APK to publish is signed elsewhere.
key=$OUT/debug.keystore
keytool -genkeypair -keystore "$key" -storetype PKCS12 -storepass android -alias debug \
    -dname CN=debug -keyalg RSA -keysize 2048 -validity 10000 2>/dev/null
apk=$OUT/tfdistil-demo.apk
apksigner sign --ks "$key" --ks-pass pass:android --ks-key-alias debug \
    --min-sdk-version "$MIN_SDK" --out "$apk" "$OUT/aligned.apk"

apksigner verify --min-sdk-version "$MIN_SDK" "$apk"
zipalign -c -p 16 "$apk"
aapt dump badging "$apk" >"$OUT/badging.txt"
if grep -E '^uses-permission' "$OUT/badging.txt"; then
    echo "the APK asks for permissions; it is meant to need none" >&2
    exit 1
fi
if unzip -v "$apk" 'assets/*' 'lib/*' | grep -E '\.(tflite|so)$' | grep -v ' Stored '; then
    echo "these are compressed, and cannot be mapped" >&2
    exit 1
fi
grep -E '^(package|sdkVersion|targetSdkVersion|native-code)' "$OUT/badging.txt"
unzip -v "$apk" | awk 'NR > 3 { print $1, $2, $8 }' | grep -E '\.(tflite|so|dex|arsc)$'
ls -l "$apk"
