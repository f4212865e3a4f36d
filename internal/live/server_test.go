package live

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mpitrace/mpitrace/aggregate"
	"github.com/mpitrace/mpitrace/formats/recording/recordingtest"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/profile"
)

// served is a server of a run, and what the tests ask of it.
type served struct {
	*testing.T
	*Server
	dir   rundir.Dir
	ended chan error
	stop  context.CancelFunc
}

// serve serves a run of some processes until the test ends.
func serve(t *testing.T, profiles ...*profile.Profile) *served {
	t.Helper()
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		if err := recordingtest.WriteFile(filepath.Join(dir.Recordings(), fmt.Sprintf("%s-%d-%d.rec", p.Host, p.Pid, p.Rank)), p); err != nil {
			t.Fatal(err)
		}
	}
	c := Served{Page: []byte("<!DOCTYPE html>"), Policy: "default-src 'none'", Reader: NewReader(dir, func(*aggregate.Job) any { return []int{} }),
		Report: func() (any, error) { return "the report", nil },
		Pairs: func(job int, from, to profile.RankSet) (any, error) {
			return fmt.Sprintf("job %d: %v to %v", job, from, to), nil
		},
		Events: func(job int, from, to int64) (any, error) { return nil, errors.New("not traced") }}
	s, err := Listen(c, "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out := &served{T: t, Server: s, dir: dir, ended: make(chan error, 1), stop: stop}
	go func() { out.ended <- s.Serve(ctx, time.Hour) }()
	t.Cleanup(func() {
		stop()
		if err := <-out.ended; err != nil {
			t.Error(err)
		}
	})
	return out
}

// stuck is a process that entered MPI_Recv 10 s ago and does not exist on this node.
func stuck(rank int) *profile.Profile {
	now := time.Now().UnixNano()
	return &profile.Profile{Run: "stuck", Rank: rank, Size: 2, Host: "elsewhere", Pid: 100 + rank, Program: "/opt/ring", State: profile.Running,
		Start: now - 15e9, InitEnd: now - 14e9, End: now - 11e9, Threads: 1, Library: "MPI",
		Comms: []profile.Comm{{ID: strings.Repeat("0", 31) + "1", Name: "MPI_COMM_WORLD", Parent: -1, Rank: rank, Members: profile.Group{Stride: 1, N: 2}}},
		Open: []profile.OpenCall{{Call: "Recv", Class: profile.P2P, Direction: profile.Recv, Peer: int32(1 - rank), Source: profile.PeerNone,
			Bytes: 64, Sized: true, Start: now - 10e9}}}
}

// answer is what a server answered.
type answer struct {
	status int
	head   http.Header
	body   string
}

// ask sends a request with a path, which begins with /. change changes the request; it may
// be nil.
func (s *served) ask(path string, change func(*http.Request)) answer {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), "GET", fmt.Sprintf("http://127.0.0.1:%d%s", s.port, path), nil)
	if err != nil {
		s.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		s.Fatal(err)
	}
	return answer{got.StatusCode, got.Header, string(body)}
}

// with returns a path with the token.
func (s *served) with(path string) string {
	if strings.Contains(path, "?") {
		return path + "&token=" + s.token
	}
	return path + "?token=" + s.token
}

var paths = []string{"/", "/data", "/matrices", "/report", "/pair?from=0&to=1", "/events?from=0&to=1"}

// TestToken requires the token on every path, and that it cannot be guessed.
func TestToken(t *testing.T) {
	s := serve(t, stuck(0), stuck(1))
	if len(s.token) != 32 || s.token == newToken() || !strings.HasSuffix(s.URL(), "/?token="+s.token) {
		t.Errorf("token %q, address %q", s.token, s.URL())
	}
	for _, path := range paths {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		for _, token := range []string{"", "token=", "token=" + newToken(), "token=" + s.token[:31], "token=" + s.token + "0", "token=" + strings.ToUpper(s.token) + "x", "Token=" + s.token} {
			if got := s.ask(path+separator+token, nil); got.status != http.StatusForbidden || strings.Contains(got.body, s.token) {
				t.Errorf("%s with %q: %d %q", path, token, got.status, got.body)
			}
		}
		inHead := func(r *http.Request) {
			r.Header.Set("Cookie", "token="+s.token)
			r.Header.Set("Authorization", "Bearer "+s.token)
			r.Header.Set("Referer", s.URL())
		}
		if got := s.ask(path, inHead); got.status != http.StatusForbidden {
			t.Errorf("%s with the token in the head: %d", path, got.status)
		}
	}
	if s.Asked() {
		t.Error("refused requests count as a look")
	}
	if got := s.ask(s.with("/"), nil); got.status != http.StatusOK || got.body != "<!DOCTYPE html>" || !s.Asked() {
		t.Errorf("with the token: %+v", got)
	}
}

// TestOrigins requires the Host of this server and, if there is one, its Origin.
func TestOrigins(t *testing.T) {
	s := serve(t, stuck(0))
	own := fmt.Sprintf("127.0.0.1:%d", s.port)
	for _, c := range []struct {
		host, origin string // several origins are separated by blanks
		want         int
	}{
		{own, "", 200}, {fmt.Sprintf("localhost:%d", s.port), "", 200}, {own, "http://" + own, 200},
		{"attacker.example", "", 403}, {"localhost", "", 403}, {fmt.Sprintf("attacker.example:%d", s.port), "", 403}, {"127.0.0.1", "", 403}, {"127.0.0.1:1", "", 403},
		{fmt.Sprintf("127.0.0.1.attacker.example:%d", s.port), "", 403}, {fmt.Sprintf("[::1]:%d", s.port), "", 403}, {fmt.Sprintf("10.0.0.1:%d", s.port), "", 403},
		{own, "http://attacker.example", 403}, {own, "null", 403}, {own, "https://" + own, 403}, {own, "http://127.0.0.1:1", 403},
		{own, fmt.Sprintf("http://localhost:%d", s.port), 403},
		{own, "http://" + own + " http://attacker.example", 403}, {own, "http://" + own + " http://" + own, 200},
	} {
		got := s.ask(s.with("/"), func(r *http.Request) {
			r.Host = c.host
			for _, origin := range strings.Fields(c.origin) {
				r.Header.Add("Origin", origin)
			}
		})
		if got.status != c.want {
			t.Errorf("host %q, origin %q: %d, want %d", c.host, c.origin, got.status, c.want)
		}
		for name := range got.head {
			if strings.HasPrefix(name, "Access-Control-") {
				t.Errorf("header %s", name)
			}
		}
	}
}

// TestListen checks which names are allowed if other machines may connect.
func TestListen(t *testing.T) {
	host, _ := os.Hostname()
	for _, c := range []struct {
		server *Server
		names  map[string]bool
	}{
		{&Server{address: "0.0.0.0", ip: net.IPv6zero, port: 8080}, map[string]bool{"127.0.0.1:8080": true, "10.1.2.3:8080": true, "[fe80::1]:8080": true,
			host + ":8080": host != "", "attacker.example:8080": false, "10.1.2.3:80": false, "10.1.2.3": false, "": false, ":8080": false}},
		{&Server{address: "login.example", ip: net.IPv4(10, 1, 2, 3), port: 80}, map[string]bool{"login.example": true, "LOGIN.example:80": true, "10.1.2.3": true,
			"[fe80::1]": true, "login.example:8080": false, "attacker.example": false, "": false}},
		{&Server{address: "::1", ip: net.IPv6loopback, port: 80, loopback: true}, map[string]bool{"[::1]": true, "[::1]:80": true, "[0:0::1]:80": true, "localhost": true,
			"10.1.2.3": false, "[fe80::1]": false, host: host == "localhost", "": false}},
		{&Server{address: "", ip: net.IPv6zero, port: 80}, map[string]bool{"": false, ":80": false, "127.0.0.1": true}},
	} {
		for name, want := range c.names {
			if c.server.isHost(name) != want {
				t.Errorf("on %q: %q: %v", c.server.address, name, !want)
			}
		}
	}
	for address, want := range map[string]string{"localhost": "127.0.0.1", "": "127.0.0.1", "0.0.0.0": "127.0.0.1", "127.0.0.2": "127.0.0.2"} {
		s, err := Listen(Served{}, address, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.listener.Close()
		if got := fmt.Sprintf("%s:%d", want, s.port); s.Host() != got && s.Host() != fmt.Sprintf("[::1]:%d", s.port) || !strings.HasPrefix(s.URL(), "http://"+s.Host()+"/?") {
			t.Errorf("on %q: %s, want %s", address, s.URL(), got)
		}
	}
	if _, err := Listen(Served{}, "203.0.113.1", 0); err == nil || !strings.HasPrefix(err.Error(), "listen on 203.0.113.1: ") {
		t.Errorf("an address of another machine: %v", err)
	}
}

// TestMethods requires that nothing but GET and HEAD is answered, without a body.
func TestMethods(t *testing.T) {
	s := serve(t, stuck(0))
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"} {
		got := s.ask(s.with("/data"), func(r *http.Request) { r.Method = method })
		if got.status != http.StatusMethodNotAllowed || got.head.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d, Allow %q", method, got.status, got.head.Get("Allow"))
		}
	}
	if got := s.raw(fmt.Sprintf("OPTIONS * HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", s.port)); !strings.Contains(got, " 405 ") {
		t.Errorf("OPTIONS *: %q", got)
	}
	if got := s.ask(s.with("/"), func(r *http.Request) { r.Method = "HEAD" }); got.status != 200 || got.body != "" {
		t.Errorf("HEAD: %+v", got)
	}
	for _, length := range []int64{4, -1} {
		got := s.ask(s.with("/"), func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("body")), length })
		if got.status != http.StatusBadRequest {
			t.Errorf("with a body of length %d: %d", length, got.status)
		}
	}
}

// TestPaths requires that no path leads to a file, and that damaged queries are refused.
func TestPaths(t *testing.T) {
	s := serve(t, stuck(0))
	for _, path := range []string{"/../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/run.json", "/recordings/", "/index.html",
		"/data/..", "/data/../../etc/passwd", "/..\\..\\etc\\passwd", "/\x00", "/favicon.ico", "/" + strings.Repeat("a/", 500)} {
		line := "GET " + strings.ReplaceAll(path, "\x00", "%00") + "?token=" + s.token
		got := s.raw(line + fmt.Sprintf(" HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", s.port))
		status, _, _ := strings.Cut(got, "\r\n")
		if found := strings.Contains(status, " 404 ") || strings.Contains(status, " 400 ") || strings.Contains(status, " 30"); !found || strings.Contains(got, "root:") {
			t.Errorf("%.60q: %s", path, status)
		}
	}
	for _, query := range []string{"/data?after=x", "/data?after=-1", "/pair?from=&to=", "/pair?from=0", "/pair?from=a&to=b", "/pair?from=5-1&to=0", "/pair?from=0&to=1&job=-1",
		"/pair?from=0&to=1&job=99999999999", "/events?from=2&to=1", "/events?from=-1&to=1", "/events", "/events?from=0&to=1&job=x"} {
		if got := s.ask(s.with(query), nil); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, got.status, got.body)
		}
	}
	for _, query := range []string{"/matrices?job=7", "/matrices?job=x"} {
		if got := s.ask(s.with(query), nil); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", query, got.status)
		}
	}
	if got := s.ask(s.with("/pair?to=0&from="+strings.Repeat("1,", maxQuery/2)), nil); got.status != http.StatusRequestURITooLong {
		t.Errorf("a long query: %d", got.status)
	}
	long := fmt.Sprintf("GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX-Long: %s\r\n\r\n", s.token, s.port, strings.Repeat("x", 100<<10))
	if got := s.raw(long); got != "" && !strings.Contains(got, " 431 ") { // empty if the connection was reset
		t.Errorf("a long head: %.100q", got)
	}
}

// patience is how long tests wait for what must happen. It only ends tests that hang.
const patience = time.Minute

// raw sends a text over a connection of its own and returns the answer.
func (s *served) raw(text string) string {
	s.Helper()
	c := s.dial()
	defer c.Close()
	io.WriteString(c, text) // the server may close before it has read all
	c.SetReadDeadline(time.Now().Add(patience))
	got, _ := io.ReadAll(c)
	return string(got)
}

func (s *served) dial() net.Conn {
	s.Helper()
	c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// TestAnswers checks the answers to what the page asks, and their headers.
func TestAnswers(t *testing.T) {
	begun := time.Now()
	s := serve(t, stuck(0), stuck(1))
	page := s.ask(s.with("/"), nil)
	for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cross-Origin-Resource-Policy": "same-origin"} {
		if got := page.head.Get(name); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	var reading Snapshot
	if err := json.Unmarshal([]byte(s.ask(s.with("/data"), nil).body), &reading); err != nil || len(reading.Jobs) != 1 {
		t.Fatalf("%+v, %v", reading, err)
	}
	job := reading.Jobs[0]
	if s := job.Status; s.Unknown != 2 || len(s.Processes) != 2 || job.ProcessesTotal != 2 || s.Processes[0].Calls[0].WorldPeer != 1-s.Processes[0].Rank {
		t.Errorf("status %+v", s)
	}
	for i, w := range job.Waits {
		// The latest that is known is the start of the call, 10 s ago.
		if want := fmt.Sprintf("rank %d", 1-job.Status.Processes[i].Rank); w.For != want || w.AgeS == nil || *w.AgeS < 10 || *w.AgeS > 10+time.Since(begun).Seconds() {
			t.Errorf("process %d waits for %q, age %v", i, w.For, w.AgeS)
		}
	}
	if got := s.ask(s.with("/matrices"), nil); got.body != "[]" || job.Matrices != reading.Number {
		t.Errorf("matrices %q of reading %d", got.body, job.Matrices)
	}
	if got := s.ask(s.with("/pair?from=0-1,3&to=2"), nil); got.body != `"job 0: ranks 0-1, 3 to rank 2"` {
		t.Errorf("pair %q", got.body)
	}
	if got := s.ask(s.with("/events?from=0&to=1"), nil); got.body != `{"error":"not traced"}` {
		t.Errorf("events %q", got.body)
	}
	if got := s.ask(s.with("/report"), nil); got.status != http.StatusConflict {
		t.Errorf("report of a run that goes on: %d", got.status)
	}
	status := 0
	if err := s.dir.WriteInfo(&rundir.Info{Start: time.Now().Add(-time.Hour), ExitStatus: &status}); err != nil {
		t.Fatal(err)
	}
	reading = Snapshot{}
	if err := json.Unmarshal([]byte(s.ask(s.with("/data?after=1"), nil).body), &reading); err != nil || !reading.Finished {
		t.Errorf("after the end: %+v, %v", reading, err)
	}
	if got := s.ask(s.with("/report"), nil); got.body != `"the report"` {
		t.Errorf("report %q", got.body)
	}
}

// TestReadOnce requires that 50 viewers cause no more readings than one, and that nobody
// causes none.
func TestReadOnce(t *testing.T) {
	s := serve(t, stuck(0))
	time.Sleep(100 * time.Millisecond)
	if s.Reader.Latest() != nil {
		t.Error("a reading without a viewer")
	}
	start := time.Now()
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for number := uint64(0); number < 3; {
				var reading Snapshot
				if err := json.Unmarshal([]byte(s.ask(s.with(fmt.Sprint("/data?after=", number)), nil).body), &reading); err != nil {
					t.Error(err)
					return
				}
				number = reading.Number
			}
		})
	}
	all.Wait()
	took := time.Since(start)
	if n := s.Reader.Latest().Number; n > uint64(took/time.Second)+2 {
		t.Errorf("%d readings in %v", n, took)
	}
	n := s.Reader.Latest().Number
	time.Sleep(2500 * time.Millisecond)
	if after := s.Reader.Latest().Number; after > n+1 { // one may have been asked for
		t.Errorf("%d readings after the last viewer", after-n)
	}
}

// TestManyClients opens 1,000 connections: as many as the limit are served, the next ones are
// told so, and the server answers again when they are gone.
func TestManyClients(t *testing.T) {
	s := serve(t, stuck(0))
	var open []net.Conn
	defer func() {
		for _, c := range open {
			c.Close()
		}
	}()
	for range maxConnections {
		open = append(open, s.dial())
	}
	request := fmt.Sprintf("GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s.token, s.port)
	for _, c := range open { // each is served
		io.WriteString(c, request)
		if status, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(status, " 200 ") {
			t.Fatalf("%q, %v", status, err)
		}
	}
	served, told := 0, 0
	var all sync.WaitGroup
	var mutex sync.Mutex
	for range 1000 - maxConnections {
		all.Go(func() {
			c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port))
			if err != nil {
				return
			}
			defer c.Close()
			c.SetDeadline(time.Now().Add(patience))
			io.WriteString(c, request)
			status, _ := bufio.NewReader(c).ReadString('\n') // empty if it was closed at once
			mutex.Lock()
			defer mutex.Unlock()
			if strings.Contains(status, " 503 ") {
				told++
			} else if strings.Contains(status, " 200 ") {
				served++
			} else if status != "" {
				t.Errorf("answer %q", status)
			}
		})
	}
	all.Wait()
	if served > 0 || told == 0 {
		t.Errorf("of the clients above the limit, %d were served and %d were told", served, told)
	}
	for _, c := range open {
		c.Close()
	}
	open = nil
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		if strings.Contains(s.raw(strings.Replace(request, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1)), " 200 ") {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no answer after the clients have gone")
		}
	}
}

// TestConnectionsOfOthers holds 600 connections without a token, as another user of the machine
// could. Clients with the token are served at once, and those that were served before stay.
func TestConnectionsOfOthers(t *testing.T) {
	s := serve(t, stuck(0))
	request := fmt.Sprintf("GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n", s.token, s.port)
	ask := func(c net.Conn, in *bufio.Reader) {
		t.Helper()
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, request)
		answer, err := http.ReadResponse(in, nil)
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", answer, err)
		}
		io.Copy(io.Discard, answer.Body)
	}
	before := s.dial()
	defer before.Close()
	in := bufio.NewReader(before)
	ask(before, in)
	for i := range 600 {
		c := s.dial()
		defer c.Close()
		if i%3 == 0 {
			io.WriteString(c, "GET /?token=wrong HTTP/1.1\r\n") // goes on
		}
	}
	for range 3 {
		c := s.dial()
		defer c.Close()
		ask(c, bufio.NewReader(c))
	}
	ask(before, in)
}

// TestSlowClients holds all connections with requests that never end. The server closes them,
// so that it answers others.
func TestSlowClients(t *testing.T) {
	s := serve(t, stuck(0))
	for range maxConnections {
		c := s.dial()
		defer c.Close()
		go func() { // a byte from time to time, until the server closes
			for {
				if _, err := io.WriteString(c, "G"); err != nil {
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		}()
	}
	start := time.Now()
	for {
		got := s.raw(fmt.Sprintf("GET /?token=%s HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\n\r\n", s.token, s.port))
		if strings.Contains(got, " 200 ") {
			break
		}
		if time.Since(start) > patience {
			t.Fatalf("no answer within %v: %q", patience, got)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestIdle requires that a server ends when nobody looks, whatever others ask.
func TestIdle(t *testing.T) {
	dir, err := rundir.CreateAt(filepath.Join(t.TempDir(), "run"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := Listen(Served{Reader: NewReader(dir, nil)}, "127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(t.Context(), 300*time.Millisecond) }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
			if _, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.port)); err == nil {
				t.Error("it still listens")
			}
			return
		case <-time.After(50 * time.Millisecond):
			if got, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/", s.port)); err == nil { // without the token
				got.Body.Close()
			}
		}
	}
}

// TestNothingLeft requires that serving a run changes no file in its directory, and that the
// port is closed at the end.
func TestNothingLeft(t *testing.T) {
	s := serve(t, stuck(0), stuck(1))
	before := listing(t, string(s.dir))
	for _, path := range paths {
		s.ask(s.with(path), nil)
	}
	s.stop()
	select {
	case err := <-s.ended:
		s.ended <- err // for serve
	case <-time.After(patience):
		t.Fatal("the server does not end")
	}
	if c, err := net.Dial("tcp", s.Host()); err == nil {
		c.Close()
		t.Error("the port is still open")
	}
	if after := listing(t, string(s.dir)); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

func listing(t *testing.T, dir string) string {
	t.Helper()
	var out strings.Builder
	err := filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			fmt.Fprintln(&out, path, info.Size(), info.ModTime().UnixNano())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestHostileNames requires that names of the job stay data.
func TestHostileNames(t *testing.T) {
	p := stuck(0)
	p.Program, p.Run, p.Comms[0].Name = `/opt/</script><script>alert(1)</script>`, "\"},{\x00", `<img src=x onerror=alert(2)>`
	s := serve(t, p)
	got := s.ask(s.with("/data"), nil)
	var reading Snapshot
	if err := json.Unmarshal([]byte(got.body), &reading); err != nil || got.head.Get("Content-Type") != "application/json" || strings.Contains(got.body, "<") {
		t.Errorf("%v, %s: %s", err, got.head.Get("Content-Type"), got.body)
	}
}
