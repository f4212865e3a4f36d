package live

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxQuery is the largest query, in bytes. The longest queries have the ranks of a cell of the
// matrix.
const maxQuery = 6 << 10

// newToken returns 128 random bits as text. Whoever knows the token can read the run.
func newToken() string {
	bits := make([]byte, 16)
	rand.Read(bits) // never fails
	return hex.EncodeToString(bits)
}

// guard passes a request to next if it is allowed, and refuses all others. A request needs the
// token. Pages of other sites in the user's browser can send requests too. Those have another
// Origin or, if the name of the site resolves to this address (DNS rebinding), another Host.
// The token is not kept in a cookie, because the browser would send a cookie to all servers on
// this machine, whatever their port.
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
		if c, ok := r.Context().Value(connKey{}).(*servedConn); ok {
			c.trust()
		}
		s.looked()
		http.NewResponseController(w).SetReadDeadline(time.Time{}) // the request has arrived; the answer may take longer
		next.ServeHTTP(w, r)
	})
}

// refuse returns the status and the reason if a request is refused, and 0 if it is allowed.
func (s *Server) refuse(r *http.Request) (status int, why string) {
	// A request may have several headers of one name. net/http refuses a second Host.
	foreign := slices.ContainsFunc(r.Header.Values("Origin"), func(origin string) bool { return origin != "http://"+r.Host })
	switch {
	case !s.isHost(r.Host):
		return http.StatusForbidden, "open the address that mpitrace view printed: this is another host name"
	case foreign:
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

// isHost reports whether a Host header names this server: by the address on which it listens,
// by the name given for that address, or as 127.0.0.1 or localhost. If other machines can
// connect, the name of this machine and any IP address name it too: such a Host cannot come
// from DNS rebinding, which needs a name of the attacker.
func (s *Server) isHost(host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil { // without a port
		name, port = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), "80"
	}
	if name == "" || port != strconv.Itoa(s.port) {
		return false
	}
	ip := net.ParseIP(name)
	if name == "127.0.0.1" || strings.EqualFold(name, "localhost") || strings.EqualFold(name, s.address) || ip != nil && ip.Equal(s.ip) {
		return true
	}
	own, _ := os.Hostname()
	return !s.loopback && (ip != nil || strings.EqualFold(name, own))
}
