#!/bin/sh
# A launch agent as strict as a batch system's: it runs a command on a
# simulated node with an empty environment, but for what any login has: the daemons
# of Open MPI 4 and 5 do not start without a PATH and a HOME.
#
#   agent.sh [-x] NODE COMMAND...
#
# NODE.pid beside this script holds the process id of the node.
dir=$(dirname "$0")
while [ "${1#-}" != "$1" ]; do shift; done # options for ssh
pid=$(cat "$dir/$1.pid")
shift
cd /
exec nsenter -t "$pid" -n -m -u env -i HOME=/ PATH=/usr/bin:/bin /bin/sh -c "$*"
