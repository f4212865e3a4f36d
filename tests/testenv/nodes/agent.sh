#!/bin/sh
# A launch agent as strict as a batch system's: it runs a command on a
# simulated node with an empty environment, but for the PATH that any login
# has; Open MPI's daemon does not start without one.
#
#   agent.sh [-x] NODE COMMAND...
#
# NODE.pid beside this script holds the process id of the node.
dir=$(dirname "$0")
while [ "${1#-}" != "$1" ]; do shift; done # options for ssh
pid=$(cat "$dir/$1.pid")
shift
cd /
exec nsenter -t "$pid" -n -m -u env -i PATH=/usr/bin:/bin /bin/sh -c "$*"
