// Package live serves the page of a run over HTTP while the run goes on. It only reads: the
// recordings, and nothing that a request names. docs/page.md describes what it answers.
package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mpitrace/mpitrace/profile"
)

// IdleLimit is how long a server waits for a request before it ends.
const IdleLimit = time.Hour

// Times that a client has. A request is small; answers may be large and the network slow.
const (
	headerTime = 5 * time.Second
	readTime   = 10 * time.Second
	writeTime  = 2 * time.Minute
	idleTime   = 30 * time.Second
	pollTime   = 8 * time.Second // longest time for which /data waits for a reading
)

// Served is what a server shows.
type Served struct {
	Page   []byte // the application, without data
	Policy string // its Content-Security-Policy
	Reader *Reader
	// Report returns the data of the report's page, after the run ended.
	Report func() (any, error)
	// Pairs returns what ranks sent to others in a job, given by its index.
	Pairs func(job int, from, to profile.RankSet) (any, error)
	// Events returns the calls of a window of time of a job, in ns since its first event.
	Events func(job int, from, to int64) (any, error)
}

// Server serves the page of one run.
type Server struct {
	Served
	token    string
	address  string // as the user gave it
	ip       net.IP // on which it listens
	port     int
	loopback bool // only this machine can connect
	listener net.Listener
	last     atomic.Int64 // Unix ns of the latest request that was allowed
	asked    atomic.Bool  // whether there was one

	slow   sync.Mutex // held while a request reads the whole run
	report *packed    // the report or why there is none, once it cannot change
}

// Listen returns a server that listens on an address of this machine, and on a port that the
// system chooses if port is 0.
func Listen(c Served, address string, port int) (*Server, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	at := l.Addr().(*net.TCPAddr)
	s := &Server{Served: c, token: newToken(), address: address, ip: at.IP, port: at.Port, loopback: at.IP.IsLoopback(), listener: l}
	s.last.Store(time.Now().UnixNano())
	return s, nil
}

// Port returns the port on which the server listens.
func (s *Server) Port() int { return s.port }

// Loopback reports whether only this machine can connect.
func (s *Server) Loopback() bool { return s.loopback }

// Host returns the IP address, with the port, at which this machine reaches the server.
func (s *Server) Host() string {
	host := s.ip.String()
	if s.ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, strconv.Itoa(s.port))
}

// URL returns the address of the page, with the token.
func (s *Server) URL() string { return "http://" + s.Host() + "/?token=" + s.token }

// Serve serves until the context ends, or nobody looked for the idle limit.
func (s *Server) Serve(ctx context.Context, idle time.Duration) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go s.Reader.Run(ctx)
	server := &http.Server{Handler: s.guard(s.routes()), ReadHeaderTimeout: headerTime, ReadTimeout: readTime, WriteTimeout: writeTime,
		IdleTimeout: idleTime, MaxHeaderBytes: maxQuery + 4<<10, DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0),
		ConnContext: withConn, BaseContext: func(net.Listener) context.Context { return ctx }}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limit(s.listener)) }()
	defer server.Close()
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		case <-time.After(min(time.Second, idle)):
			if s.Idle() > idle {
				return nil
			}
		}
	}
}

// looked notes a request that was allowed.
func (s *Server) looked() {
	s.last.Store(time.Now().UnixNano())
	s.asked.Store(true)
}

// Idle returns the time since the latest request, or since the start.
func (s *Server) Idle() time.Duration { return time.Since(time.Unix(0, s.last.Load())) }

// Asked reports whether anybody ever looked.
func (s *Server) Asked() bool { return s.asked.Load() }

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", s.servePage)
	mux.HandleFunc("/data", s.serveData)
	mux.HandleFunc("/matrices", s.serveMatrices)
	mux.HandleFunc("/report", s.serveReport)
	mux.HandleFunc("/pair", s.servePair)
	mux.HandleFunc("/events", s.serveEvents)
	return mux
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", s.Policy+"; frame-ancestors 'none'")
	send(w, r, "text/html; charset=utf-8", pack(s.Page))
}

// serveData answers with the first reading after the one that the page has.
func (s *Server) serveData(w http.ResponseWriter, r *http.Request) {
	after, err := strconv.ParseUint(r.FormValue("after"), 10, 64)
	if err != nil && r.FormValue("after") != "" {
		http.Error(w, "after: not a number", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), pollTime)
	defer cancel()
	reading, err := s.Reader.After(ctx, after)
	if err != nil {
		w.WriteHeader(http.StatusNoContent) // the recordings are still being read
		return
	}
	send(w, r, "application/json", reading.encoded())
}

// serveMatrices answers with the latest matrices of a job.
func (s *Server) serveMatrices(w http.ResponseWriter, r *http.Request) {
	job, latest := jobIndex(r), s.Reader.Latest()
	at := -1
	if latest != nil {
		at = slices.IndexFunc(latest.Jobs, func(j LiveJob) bool { return j.Index == job })
	}
	if at < 0 {
		http.Error(w, "no such job", http.StatusNotFound)
		return
	}
	send(w, r, "application/json", latest.sheets[at].packed())
}

// jobIndex returns the job that a request is about; -1 if that is no number.
func jobIndex(r *http.Request) int {
	if r.FormValue("job") == "" {
		return 0
	}
	job, err := strconv.ParseUint(r.FormValue("job"), 10, 16)
	if err != nil {
		return -1
	}
	return int(job)
}

func (s *Server) serveReport(w http.ResponseWriter, r *http.Request) {
	latest := s.Reader.Latest()
	if latest == nil || !latest.Finished {
		http.Error(w, "the run has not ended", http.StatusConflict)
		return
	}
	s.whole(w, r, func() packed {
		if s.report != nil {
			return *s.report
		}
		out := packJSON(s.Report())
		if latest.final {
			s.report = &out
		}
		return out
	})
}

// whole answers with what compute returns. compute reads the whole run, so one request does so
// at a time. Sending does not hold up other requests: a client may read slowly.
func (s *Server) whole(w http.ResponseWriter, r *http.Request, compute func() packed) {
	body, done := s.alone(r.Context(), compute)
	if done {
		send(w, r, "application/json", body)
	}
}

// alone calls compute when no other request does. done is false if the client has gone before.
func (s *Server) alone(ctx context.Context, compute func() packed) (out packed, done bool) {
	s.slow.Lock()
	defer s.slow.Unlock()
	if ctx.Err() != nil {
		return packed{}, false
	}
	return compute(), true
}

func (s *Server) servePair(w http.ResponseWriter, r *http.Request) {
	from, errFrom := profile.ParseRankSet(r.FormValue("from"))
	to, errTo := profile.ParseRankSet(r.FormValue("to"))
	job := jobIndex(r)
	if err := errors.Join(errFrom, errTo); err != nil || job < 0 {
		http.Error(w, "from and to are ranks, as 3 or 0-2,5", http.StatusBadRequest)
		return
	}
	s.whole(w, r, func() packed { return packJSON(s.Pairs(job, from, to)) })
}

func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	from, errFrom := strconv.ParseInt(r.FormValue("from"), 10, 64)
	to, errTo := strconv.ParseInt(r.FormValue("to"), 10, 64)
	job := jobIndex(r)
	if errFrom != nil || errTo != nil || from < 0 || to < from || job < 0 {
		http.Error(w, "from and to are times in ns since the first event", http.StatusBadRequest)
		return
	}
	s.whole(w, r, func() packed { return packJSON(s.Events(job, from, to)) })
}
