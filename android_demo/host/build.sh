#!/usr/bin/env bash
# Makes a phone's x86_64 library loadable by a JVM on Linux: glibc under the names of Android's libc.
#
#   build.sh LIBRARY.so FOLDER
#
# The library itself is copied as it is. Load libc.so, libm.so, libdl.so and liblog.so of the folder
# first; what it asks of them then comes from here.
set -euo pipefail
library=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"

own=$(grep -oP '^EXPORT\(\K\w+' "$here/bionic.c"; echo __sF)
nm -D --undefined-only "$library" | grep -oP '\w+(?=@LIBC)' | grep -vxF "$own" |
    while read -r name; do
        # A jump of the same name to glibc's function.
        printf '.globl bionic_%s\nbionic_%s: jmp %s@PLT\n.symver bionic_%s, %s@LIBC\n' \
            "$name" "$name" "$name" "$name" "$name"
    done >"$folder/same.s"
echo '.section .note.GNU-stack,"",@progbits' >>"$folder/same.s"
echo 'LIBC { };' >"$folder/version.map"
link=(gcc -shared -fPIC -O2 -Wl,--version-script,"$folder/version.map")
"${link[@]}" -Wall -Wextra -Wl,-soname,libc.so -o "$folder/libc.so" "$here/bionic.c" "$folder/same.s" -lm
for name in libm libdl liblog; do
    "${link[@]}" -Wl,-soname,$name.so -o "$folder/$name.so" -x c /dev/null
done
cp "$library" "$folder/"
