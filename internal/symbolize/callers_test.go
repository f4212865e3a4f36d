package symbolize

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/tests/testenv"
)

// The number of callers is that of the call instructions that objdump shows.
func TestCallers(t *testing.T) {
	dir := t.TempDir()
	source, program := filepath.Join(dir, "a.c"), filepath.Join(dir, "a")
	text := "#include <stdio.h>\n__attribute__((noinline)) void wrapper(void) { puts(\"\"); __asm__(\"\"); }\n"
	for i := range 5 {
		text += fmt.Sprintf("__attribute__((noinline)) void user%d(void) { wrapper(); __asm__(\"\"); wrapper(); __asm__(\"\"); }\n", i)
	}
	testenv.WriteFile(t, source, text+"int main(void) { user0(); user1(); user2(); user3(); user4(); return 0; }\n")
	tool(t, "gcc", "-O1", source, "-o", program)
	head, line := regexp.MustCompile(`^[0-9a-f]+ <(\w+)>:$`), regexp.MustCompile(`^ *([0-9a-f]+):\s+(?:(?:call|callq|bl)\s.*<(\w+)(?:@plt)?>)?`)
	callers, within := map[string]int{}, map[string]uint64{} // by function: its callers; the return address of its first call
	function, called := "", false
	for _, text := range strings.Split(string(tool(t, "objdump", "-d", "--no-show-raw-insn", program)), "\n") {
		if found := head.FindStringSubmatch(text); found != nil {
			function, called = found[1], false
		} else if found := line.FindStringSubmatch(text); found != nil {
			if called && within[function] == 0 {
				within[function], _ = strconv.ParseUint(found[1], 16, 64)
			}
			if called = found[2] != ""; called {
				callers[found[2]]++
			}
		}
	}
	f, err := openFile(program)
	testenv.NoError(t, err)
	defer f.close()
	if callers["wrapper"] != 10 || callers["user0"] != 1 {
		t.Fatalf("objdump shows %v", callers)
	}
	for _, name := range []string{"wrapper", "user0", "main"} {
		if got := Callers(program, f.buildID, within[name]); got != callers[name] {
			t.Errorf("%s at %#x: %d callers, want %d", name, within[name], got, callers[name])
		}
	}
	if got := Callers(program, "other", within["wrapper"]); got != 0 {
		t.Errorf("of another file: %d", got)
	}
}
