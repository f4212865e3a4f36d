package launch

import (
	"fmt"
	"syscall"
)

// addressSpace is the address space that mpitrace needs, in bytes: Go's runtime
// reserves almost 1 GiB when it starts. mpitrace also starts on each rank
// before the program does. If it failed there, the other ranks would wait for
// that rank.
const addressSpace = 2 << 30

// CheckAddressSpace returns an error if this process may map less memory than
// mpitrace needs.
func CheckAddressSpace() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= addressSpace {
		return nil
	}
	return fmt.Errorf("the address space is limited to %d MiB (ulimit -v), and mpitrace needs %d: raise it, "+
		"or preload the library by hand (LD_PRELOAD and MPITRACE_DIR; `mpitrace build` shows its path)", limit.Cur>>20, addressSpace>>20)
}
