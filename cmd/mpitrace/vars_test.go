package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/internal/mpit"
)

const listText = `library version=An%20MPI standard=3.1
enum id=1 name=boolean value=0 item=false value=1 item=true
cvar index=0 name=a_switch about=Turns%20it%0Aon,%20which%20is%20of%20use%20to%20some. verbosity=user-basic type=int bind=none scope=all-eq enum=1 count=1 value=1
cvar index=1 name=a_pair about=%1B[2J verbosity=user-all type=int bind=comm scope=local count=2
cvar index=2 name=a_path about= verbosity=tuner-all type=char bind=none scope=readonly count=64 value=
pvar index=0 name=queue about=Length. verbosity=tuner-basic class=level type=unsigned bind=comm readonly=1 continuous=1
category index=0 name=top about=Of%20all. category=1 category=2
category index=1 name=left about= cvar=0 cvar=1 category=3
category index=2 name=right about= pvar=0
category index=3 name=deep about= category=1
category index=4 name=ring about= category=5
category index=5 name=knot about= category=4
end lines=12
`

func listed(t *testing.T) *mpit.Catalogue {
	t.Helper()
	l, err := mpit.Parse([]byte(listText))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// printed lists kinds of entries, the width of the terminal, and the text that
// must be printed.
var printed = []struct {
	name  string
	part  func(*mpit.Catalogue) *mpit.Catalogue
	width int
	want  string
}{
	{"a file", variablesOf, 0, `
CONTROL VARIABLE  VALUE     TYPE    SCOPE     BINDING  VERBOSITY   DESCRIPTION
a_switch          1 (true)  int     all-eq    none     user-basic  Turns it on, which is of use to some.
a_pair            -         int[2]  local     comm     user-all    \x1b[2J
a_path            ""        char    readonly  none     tuner-all

PERFORMANCE VARIABLE  VALUE  CLASS  TYPE      BINDING  VERBOSITY    FLAGS                DESCRIPTION
queue                 -      level  unsigned  comm     tuner-basic  readonly,continuous  Length.
`},
	{"a terminal", variablesOf, 40, `
a_switch = 1 (true)
    int, all-eq, user-basic: Turns it
    on, which is of use to some.
a_pair = -
    int[2], local, comm, user-all:
    \x1b[2J
a_path = ""
    char, readonly, tuner-all

queue = -
    level, unsigned, comm, tuner-basic,
    readonly,continuous: Length.
`},
	{"changed", changedOf, 0, `
CONTROL VARIABLE  VALUE     DEFAULT  TYPE  SCOPE   BINDING  VERBOSITY   DESCRIPTION
a_switch          1 (true)  0        int   all-eq  none     user-basic  Turns it on, which is of use to some.
`},
	{"changed, on a terminal", changedOf, 80, `
a_switch = 1 (true)
    default 0, int, all-eq, user-basic: Turns it on, which is of use to some.
`},
	{"categories", categoriesOf, 0, `
top: Of all.
├── left (2 control)
│   └── deep
└── right (1 performance)
ring
└── knot
`},
	{"categories on a terminal", func(*mpit.Catalogue) *mpit.Catalogue {
		return &mpit.Catalogue{Categories: []mpit.Category{{Name: strings.Repeat("long ", 10)}}}
	}, 40, `
long long long long long long long long…
`},
	{"enumerations", func(l *mpit.Catalogue) *mpit.Catalogue { return &mpit.Catalogue{Enums: l.Enums} }, 0, `
ENUMERATION  DESCRIPTION
boolean      0=false, 1=true
`},
}

func variablesOf(l *mpit.Catalogue) *mpit.Catalogue {
	return &mpit.Catalogue{CVars: l.CVars, PVars: l.PVars}
}
func categoriesOf(l *mpit.Catalogue) *mpit.Catalogue {
	return &mpit.Catalogue{Categories: l.Categories}
}

func changedOf(l *mpit.Catalogue) *mpit.Catalogue {
	l.CVars[0].Default = []string{"0"}
	return &mpit.Catalogue{CVars: l.CVars[:1]}
}

func TestPrintVars(t *testing.T) {
	for _, test := range printed {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			mpit.WriteText(&out, test.part(listed(t)), test.width)
			if got := "\n" + out.String(); got != test.want {
				t.Errorf("got %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestVarsUsage(t *testing.T) {
	for _, test := range []struct{ args, want string }{
		{"vars --verbosity all", "unknown verbosity"},
		{"vars --format csv", "it can be table or arrow"},
		{"vars --format arrow", "--format arrow needs -o FILE"},
		{"vars -o x", "only --format arrow writes a file"},
		{"vars --changed --pvars", "only control variables have defaults"},
		{"vars --json --format arrow", "one or the other"},
		{"vars a b", "accepts at most 1 arg"},
		{"vars [", "syntax error in pattern"},
		{"vars --mpi lam", "it can be auto, openmpi"},
	} {
		var out, errs bytes.Buffer
		if code := execute(strings.Fields(test.args), nil, &out, &errs); code != exitUsage || !strings.Contains(errs.String(), test.want) {
			t.Errorf("%s: exit status %d, %s\nwant %d and %q", test.args, code, errs.String(), exitUsage, test.want)
		}
	}
}
