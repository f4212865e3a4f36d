package view

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// maxQuery is the largest query in bytes. The ranks of a cell of the matrix need most.
const maxQuery = 6 << 10

// newToken returns 128 random bits as text. Who knows it may read the run.
func newToken() string {
	bits := make([]byte, 16)
	rand.Read(bits) // never fails
	return hex.EncodeToString(bits)
}

// guard answers requests that next may not see. A request needs the token. The browser of the
// user also runs pages of others: their requests have another Origin or, if their name leads
// to this address (DNS rebinding), another Host. The token is not kept in a cookie, which the
// browser would send to all servers on this machine, whatever their port.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		head := w.Header()
		head.Set("Cache-Control", "no-store")
		head.Set("Cross-Origin-Opener-Policy", "same-origin")
		head.Set("Cross-Origin-Resource-Policy", "same-origin")
		head.Set("Referrer-Policy", "no-referrer") // the token is in the address
		head.Set("X-Content-Type-Options", "nosniff")
		head.Set("X-Frame-Options", "DENY")
		if status, why := s.refuse(r); status != 0 {
			head.Set("Connection", "close")
			if status == http.StatusMethodNotAllowed {
				head.Set("Allow", "GET, HEAD")
			}
			http.Error(w, why, status)
			return
		}
		s.looked()
		next.ServeHTTP(w, r)
	})
}

// refuse returns the status and the reason with which a request is refused; 0 if it is not.
func (s *Server) refuse(r *http.Request) (status int, why string) {
	origin := r.Header.Get("Origin")
	switch {
	case !s.isHost(r.Host):
		return http.StatusForbidden, "open the address that mpitrace view printed: this is another host name"
	case origin != "" && origin != "http://"+r.Host:
		return http.StatusForbidden, "pages of other origins may not read this run"
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		return http.StatusMethodNotAllowed, "only GET and HEAD: nothing can be changed here"
	case r.ContentLength != 0:
		return http.StatusBadRequest, "requests have no body"
	case len(r.URL.RawQuery) > maxQuery:
		return http.StatusRequestURITooLong, "the query is too long"
	case subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(s.token)) != 1:
		return http.StatusForbidden, "open the address that mpitrace view printed: it ends with a token"
	}
	return 0, ""
}

// isHost reports whether a Host header names this server. If it listens on another address
// than that of this machine itself, any address and the machine's name do; names of others
// never do.
func (s *Server) isHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port != strconv.Itoa(s.port) {
		return false
	}
	if name == "127.0.0.1" || name == "localhost" {
		return true
	}
	if s.loopback {
		return name == s.address
	}
	own, _ := os.Hostname()
	return net.ParseIP(name) != nil || own != "" && strings.EqualFold(name, own)
}
