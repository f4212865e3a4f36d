package atomicfile

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A process that is killed by SIGKILL leaves its temporary files. The name of a temporary file says
// which process made it, so that the next process that writes the same file can remove the
// temporary files of dead processes. The name is:
//
//	.NAME.HHHHHHHHBBBBBBBBPPPPPPPPRRRRRRRR.part
//
// H is a checksum of the host's name and the PID namespace, B one of the kernel's boot, P the
// process ID, and R is random, because several goroutines may write the same file. All are in
// hexadecimal.

// machine identifies where a process ID is valid. Both fields are 0 if the host or
// the boot is not known.
type machine struct{ host, boot uint32 }

var thisMachine = sync.OnceValue(func() machine {
	name, err := os.Hostname()
	namespace, err2 := os.Readlink("/proc/self/ns/pid")
	boot, err3 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if errors.Join(err, err2, err3) != nil {
		return machine{}
	}
	return machine{checksum(name + "\n" + namespace), checksum(string(boot))}
})

func checksum(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// temporaryName returns a name that no other process uses, so that several can
// write the same file.
func temporaryName(path string) string {
	m := thisMachine()
	return filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%08x%08x%08x%08x.part",
		filepath.Base(path), m.host, m.boot, os.Getpid(), rand.Uint32()))
}

// temporaryPattern matches temporary names, also those of directories that are being replaced
// (.old) or removed (.gone). Its groups are the fields of the name.
var temporaryPattern = regexp.MustCompile(`(?s)^\.(.+)\.([0-9a-f]{8})([0-9a-f]{8})([0-9a-f]{8})[0-9a-f]{8}\.part(?:\.old|\.gone)*$`)

// abandoned has, for each directory in which this process has written, the temporary files of dead
// processes, by the final name that each was to get. A directory is listed once, because a command
// may write one file for each of 100,000 processes.
var abandoned struct {
	sync.Mutex
	byDirectory map[string]map[string][]string
}

// removeAbandoned removes the temporary files that dead processes of this host left
// for path, a file or directory. Callers have just written path, so no temporary
// file is the only copy.
func removeAbandoned(path string) {
	dir := filepath.Dir(path)
	abandoned.Lock()
	defer abandoned.Unlock()
	byName, listed := abandoned.byDirectory[dir]
	if !listed {
		byName = findAbandoned(dir)
		if abandoned.byDirectory == nil {
			abandoned.byDirectory = map[string]map[string][]string{}
		}
		abandoned.byDirectory[dir] = byName
	}
	for _, left := range byName[filepath.Base(path)] {
		os.RemoveAll(filepath.Join(dir, left))
	}
	delete(byName, filepath.Base(path))
}

// findAbandoned returns this user's temporary files in a directory whose processes are dead, by the
// final name that each was to get.
func findAbandoned(dir string) map[string][]string {
	found := map[string][]string{}
	in, err := os.Open(dir)
	if err != nil {
		return found
	}
	defer in.Close()
	names, _ := in.Readdirnames(-1)
	for _, name := range names {
		part := temporaryPattern.FindStringSubmatch(name)
		if part == nil {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, name))
		if err != nil {
			continue
		}
		owner, ok := info.Sys().(*syscall.Stat_t)
		if ok && int(owner.Uid) == os.Geteuid() && isDead(machine{parseHex(part[2]), parseHex(part[3])}, parseHex(part[4]), info.ModTime()) {
			found[part[1]] = append(found[part[1]], name)
		}
	}
	return found
}

func parseHex(digits string) uint32 {
	n, _ := strconv.ParseUint(digits, 16, 32) // the pattern allows nothing else
	return uint32(n)
}

// isDead reports whether the process that last wrote a file is known to be dead.
// If another process has its ID now, it is taken for alive.
func isDead(where machine, pid uint32, modified time.Time) bool {
	here := thisMachine()
	switch {
	case here == machine{} || where.host != here.host:
		return false
	case where.boot != here.boot:
		// Either this host has been restarted since, or another host has its name.
		return modified.Before(bootTime())
	}
	return errors.Is(syscall.Kill(int(pid), 0), syscall.ESRCH)
}

// bootTime returns when the kernel started; the zero time if that is not known.
func bootTime() time.Time {
	stat, _ := os.ReadFile("/proc/stat")
	for line := range bytes.Lines(stat) {
		if seconds, ok := strings.CutPrefix(string(line), "btime "); ok {
			n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 64)
			if err == nil {
				return time.Unix(n, 0)
			}
		}
	}
	return time.Time{}
}
