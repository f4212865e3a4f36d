#!/bin/bash
# A Slurm cluster of simulated nodes: run as the first process of new network, mount,
# UTS and process namespaces. All processes end with this one, which stays until its
# standard input is closed. Nothing is written outside of SHARED, a directory that
# all nodes share.
#
#   slurm.sh SHARED NODES CORES DIRECTORY...
#
# The nodes see the DIRECTORIES too. All else below /tmp is their own.
set -eu
shared=$1 nodes=$2 cores=$3
etc=$shared/.slurm
mkdir -p "$etc/ctld" "$shared/tmp"
mount --make-rprivate /
mount -t tmpfs -o size=256m shm /dev/shm
hostname login
ip link set lo up
# Slurm starts only where there is an address beside 127.0.0.1.
ip link add out0 type veth peer name out1
ip address add 10.98.0.1/24 dev out0
ip link set out0 up
ip link set out1 up
{
    echo "127.0.0.1 localhost login"
    for i in $(seq "$nodes"); do echo "127.0.0.1 n$i"; done
} >"$etc/hosts"
mount --bind "$etc/hosts" /etc/hosts

# A job that is started again waits until its credentials have expired.
cat >"$etc/slurm.conf" <<C
ClusterName=simulated
SlurmctldHost=login(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$etc/munge.socket,cred_expire=5
CryptoType=crypto/munge
StateSaveLocation=$etc/ctld
SlurmdSpoolDir=$etc/%n
SlurmctldPidFile=$etc/ctld.pid
SlurmdPidFile=$etc/%n.pid
SlurmctldLogFile=$etc/ctld.log
SlurmdLogFile=$etc/%n.log
SlurmctldPort=16817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=pmi2
ReturnToService=2
SlurmdTimeout=60
KillWait=5
JobRequeue=1
MailProg=/bin/true
SlurmdParameters=config_overrides
TopologyPlugin=topology/tree
C
for i in $(seq "$nodes"); do
    mkdir -p "$etc/n$i"
    echo "NodeName=n$i NodeAddr=127.0.0.1 NodeHostname=n$i Port=$((17000 + i)) Sockets=1 CoresPerSocket=$cores ThreadsPerCore=1 RealMemory=1000"
done >>"$etc/slurm.conf"
echo "PartitionName=simulated Nodes=ALL Default=YES MaxTime=INFINITE State=UP" >>"$etc/slurm.conf"
half=$((nodes / 2))
printf 'SwitchName=s0 Nodes=n[1-%d]\nSwitchName=s1 Nodes=n[%d-%d]\nSwitchName=top Switches=s[0-1]\n' $half $((half + 1)) "$nodes" >"$etc/topology.conf"

# As root, munged only warns about what --force allows.
head -c 1024 /dev/urandom >"$etc/munge.key"
chmod 400 "$etc/munge.key"
munged --force --key-file="$etc/munge.key" --socket="$etc/munge.socket" --pid-file="$etc/munge.pid" \
    --log-file="$etc/munge.log" --seed-file="$etc/munge.seed" 2>"$etc/munge.warnings"

export SLURM_CONF=$etc/slurm.conf
slurmctld -f "$SLURM_CONF"
for i in $(seq "$nodes"); do
    unshare --uts --mount --propagation private bash -euc '
        hostname "$1"
        mount -t tmpfs -o mode=1777 shm /dev/shm
        cd /
        mount --bind /tmp /mnt
        mount -t tmpfs -o mode=1777 tmp /tmp
        for dir in "${@:2}"; do
            case $dir in /tmp/*) mkdir -p "$dir"; mount --bind "/mnt${dir#/tmp}" "$dir" ;; esac
        done
        umount /mnt
        exec slurmd -N "$1"' node "n$i" "$shared" "${@:4}"
done
for _ in $(seq 240); do
    [ "$(sinfo -h -o %t%D 2>/dev/null)" != "idle$nodes" ] || break
    sleep 0.25
done
[ "$(sinfo -h -o %t%D)" = "idle$nodes" ]
echo ready
cat >/dev/null
