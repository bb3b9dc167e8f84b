#!/usr/bin/env bash
# Makes sure that this machine has Python 3, for the tests alone: the second
# implementation of the verifier, internal/verify/testdata/verify.py, shares no
# code and no language with the first.
set -euo pipefail

install='apt-get install -y python3'

if command -v python3 >/dev/null; then exit 0; fi

if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
	echo "no python3 found; as root, install it with: $install" >&2
	exit 1
fi

echo "no python3 found; installing it with: $install"
export DEBIAN_FRONTEND=noninteractive
apt-get update
$install
