package launch

import (
	"fmt"
	"syscall"
)

// addressSpace is what mpitrace must be allowed to map, in bytes: Go's runtime
// reserves the most of a GiB when it starts. It starts on each rank, too, before
// the program does, where the others would wait for it.
const addressSpace = 2 << 30

// CheckAddressSpace returns an error if this process may map less than mpitrace needs.
func CheckAddressSpace() error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= addressSpace {
		return nil
	}
	return fmt.Errorf("the address space is limited to %d MiB (ulimit -v), and mpitrace needs %d: raise it, "+
		"or preload the library by hand (LD_PRELOAD and MPITRACE_DIR; `mpitrace build` shows its path)", limit.Cur>>20, addressSpace>>20)
}
