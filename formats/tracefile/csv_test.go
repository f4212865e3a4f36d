package tracefile

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

const eventsHeader = "rank,start_ns,duration_ns,bytes,tag,link,seq,call,class,action,direction,comm,peer,peer_kind,callsite,slice,thread,window\n"

func TestCSV(t *testing.T) {
	a, b := jobs.NewProcess("run", 0, 2), jobs.NewProcess("run", 1, 2)
	a.Batch = 1
	dropped := jobs.Call("Cancel", 30, 30)
	dropped.Action, dropped.AbnormalKind, dropped.Slice = profile.Abnormal, profile.CancelledReceive, "=1+1"
	anything := jobs.Recv("Irecv", 20, 25, profile.PeerAnySource, 1<<63, 0)
	anything.Tag, anything.Direction, anything.Link, anything.Callsite = profile.AnyTag, profile.None, 12, "f<a,b> x.cc:1"
	a.Add(jobs.Send("Send", 1<<40, 1<<40+9, 1, 100, 3), anything, dropped)
	b.Add(jobs.Call("Finalize", -5, 5))
	var out strings.Builder
	testenv.NoError(t, WriteCSV(&out, []profile.EventSource{a, b}))
	want := eventsHeader +
		"0,1099511627776,9,100,7,0,3,Send,p2p,call,send,MPI_COMM_WORLD,1,rank,main app.c:1,run,0,\n" +
		"0,20,5,9223372036854775808,-2,12,0,Irecv,p2p,call,none,MPI_COMM_WORLD,,any_source,\"f<a,b> x.cc:1\",run,0,\n" +
		"0,30,0,0,,0,0,Cancel,other,abnormal,cancelled_receives,,,none,main app.c:1,'=1+1,0,\n" +
		"1,-5,10,0,,0,0,Finalize,other,call,none,,,none,main app.c:1,run,0,\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}

func TestCSVOfABrokenSource(t *testing.T) {
	a := jobs.NewProcess("run", 0, 1)
	a.Err = errors.New("damaged")
	if err := WriteCSV(io.Discard, []profile.EventSource{a}); !errors.Is(err, a.Err) {
		t.Errorf("error %v", err)
	}
}
