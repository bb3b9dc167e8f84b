#!/usr/bin/env bash
# Makes sure that the Postgres server binaries are on this machine. It starts
# nothing: internal/devpg runs a private server from them. Where it looks is
# where internal/devpg looks.
set -euo pipefail

install='apt-get install -y postgresql'

has_server() { [[ -x $1/initdb && -x $1/postgres ]]; }

find_server() {
	if [[ -n ${REFEREE_PG_BIN:-} ]]; then
		has_server "$REFEREE_PG_BIN"
		return
	fi
	local dir
	for dir in /usr/lib/postgresql/*/bin; do
		if has_server "$dir"; then return 0; fi
	done
	dir=$(command -v postgres) && has_server "$(dirname "$dir")"
}

if find_server; then exit 0; fi

if [[ -n ${REFEREE_PG_BIN:-} ]]; then
	echo "REFEREE_PG_BIN names $REFEREE_PG_BIN, which lacks initdb or postgres" >&2
	exit 1
fi

if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
	echo "no Postgres server binaries found; as root, install them with: $install" >&2
	exit 1
fi

echo "no Postgres server binaries found; installing them with: $install"
export DEBIAN_FRONTEND=noninteractive
apt-get update
$install

if ! find_server; then
	echo "still no Postgres server binaries after: $install" >&2
	exit 1
fi
