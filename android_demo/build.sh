#!/usr/bin/env bash
# Builds and tests the demo from nothing: JDK, Maven Central and Debian's packages, no Android SDK.
#
#   android_demo/build.sh          or `make android`
#
# Leaves app/target/apk/tfdistil-demo.apk.
set -euo pipefail
cd "$(dirname "$0")"

# What is called, and the Debian package it is in.
declare -A packages=(
    [javac]=openjdk-17-jdk-headless [mvn]=maven [aapt]=aapt [aapt2]=aapt [zipalign]=zipalign
    [apksigner]=apksigner [enjarify]=enjarify [gcc]=gcc [nm]=binutils [zip]=zip [unzip]=unzip
)
missing=()
for program in "${!packages[@]}"; do
    command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
if ((${#missing[@]})); then
    mapfile -t missing < <(printf '%s\n' "${missing[@]}" | sort -u)
    if ((EUID != 0)); then
        echo "These Debian packages are missing: ${missing[*]}. Install them as root:" >&2
        echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
        exit 2
    fi
    apt-get update -q
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
fi

./make_models.sh
mvn --batch-mode --no-transfer-progress package
ls -l app/target/apk/tfdistil-demo.apk
