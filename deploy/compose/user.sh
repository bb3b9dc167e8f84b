#!/bin/sh
# Makes the user that the replicas connect as, or sets its password.
set -eu
psql --host postgres --username owner --dbname referee --set ON_ERROR_STOP=1 --set password="$REPLICA_PASSWORD" <<'END'
SELECT format('CREATE USER replica IN ROLE referee_server')
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'replica') \gexec
ALTER USER replica PASSWORD :'password';
END
