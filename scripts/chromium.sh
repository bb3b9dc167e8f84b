#!/usr/bin/env bash
# Makes sure that this machine has a browser, for the tests of the console and its
# pictures. With "fonts" it also looks for those of Chinese characters, without
# which the pictures would show boxes.
set -euo pipefail

packages=()
if ! command -v chromium >/dev/null && ! command -v chromium-browser >/dev/null && ! command -v google-chrome >/dev/null; then
	packages+=(chromium)
fi
if [[ ${1:-} == fonts ]]; then
	for package in fonts-arphic-ukai fonts-noto-cjk pngquant; do
		if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok'; then packages+=("$package"); fi
	done
fi
if [[ ${#packages[@]} -eq 0 ]]; then exit 0; fi

install="apt-get install -y --no-install-recommends ${packages[*]}"
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
	echo "missing: ${packages[*]}; as root, install with: $install" >&2
	exit 1
fi

echo "missing: ${packages[*]}; installing with: $install"
export DEBIAN_FRONTEND=noninteractive
apt-get update
$install
