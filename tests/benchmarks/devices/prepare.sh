#!/usr/bin/env bash
# What the tests of `tfdistil-benchmark --device` need beside Python: adb, an ssh server, and the
# emulated Arm machine. Tests whose part is missing skip, and say which.
#
#   make test-devices
set -euo pipefail
cd "$(dirname "$0")/../../.."

# What is called, and the Debian package it is in.
declare -A packages=([adb]=adb [ssh]=openssh-client [sshd]=openssh-server)
missing=()
for program in "${!packages[@]}"; do
    PATH="$PATH:/usr/sbin" command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
status=0
if ((${#missing[@]})); then
    if ((EUID != 0)) || [[ -d /run/systemd/system ]]; then
        # Debian's package of the ssh server also starts it where systemd runs.
        echo "These Debian packages are missing: ${missing[*]}. Install them as root:" >&2
        echo "  apt-get install --no-install-recommends ${missing[*]}" >&2
        status=2
    else
        apt-get update -q &&
            DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends \
                "${missing[@]}" || status=2
    fi
fi
.venv/bin/python -m tfdistil.benchmarks.prepare_arm64 || status=2
exit $status
