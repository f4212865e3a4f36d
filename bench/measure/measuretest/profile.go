// Package measuretest holds a profile of callgrind for tests.
package measuretest

// Profile is the profile of a program that calls MPI_Send in a loop, with a library that wraps
// MPI_Send. The wrapper executes 50 instructions itself, 20 in a function of its library, 8 in a
// function of libc, and 5000 in the call that it passes on. 100 of the 5000 are in the same
// function of libc.
const Profile = `# callgrind format
version: 1
desc: Trigger: --dump-after=loop_Send

positions: line
events: Ir
summary: 6078

ob=/tmp/driver
fl=loops.c
fn=loop_Send
0 1000
cob=/tmp/libtool.so
cfn=MPI_Send
calls=10 0
0 5078

ob=/tmp/libtool.so
fn=MPI_Send
0 50
cob=/lib/libc.so.6
cfn=memcpy
calls=10 0
0 8
cfn=note
calls=10 0
0 20
cob=/lib/libmpi.so.40
cfn=PMPI_Send'2
calls=10 0
0 5000

fn=note
0 20

ob=/lib/libmpi.so.40
fn=PMPI_Send
0 4900
cob=/lib/libc.so.6
cfn=memcpy
calls=10 0
0 100

totals: 6078
`
