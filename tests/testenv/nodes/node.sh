#!/bin/sh
# A simulated node: run in new network, mount and UTS namespaces, it gives them
# a host name, an address book and a /dev/shm of their own, says that it is
# ready, and stays until its standard input is closed.
#
#   node.sh NAME HOSTS-FILE
set -e
mount --make-rprivate /
mount -t tmpfs -o size=256m shm /dev/shm
mount --bind "$2" /etc/hosts
hostname "$1"
ip link set lo up
echo ready
cat >/dev/null
