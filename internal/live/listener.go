package live

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// maxConnections is the largest number of connections that are served at a time. Those that
// have not shown the token yet may belong to any user of this machine: one more connection
// ends the oldest of them. If all have shown it, up to as many more are answered with status
// 503, and further ones are closed without an answer.
const maxConnections = 64

const busyText = "mpitrace view serves 64 connections at most: try again later\n"

var busy = fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nRetry-After: 5\r\nConnection: close\r\n\r\n%s", len(busyText), busyText)

// limitedListener accepts a limited number of connections.
type limitedListener struct {
	net.Listener
	refused chan struct{} // a value for each connection that is answered with status 503

	mutex   sync.Mutex
	unknown []*servedConn // that have not shown the token, the oldest first
	trusted int           // number of those that have
}

func limit(l net.Listener) *limitedListener {
	return &limitedListener{Listener: l, refused: make(chan struct{}, maxConnections)}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if served := l.serve(c); served != nil {
			return served, nil
		}
		select {
		case l.refused <- struct{}{}:
			go func() {
				refuse(c)
				<-l.refused
			}()
		default:
			c.Close()
		}
	}
}

// serve returns a connection that is to be served; nil if there are too many.
func (l *limitedListener) serve(c net.Conn) *servedConn {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.trusted == maxConnections {
		return nil
	}
	if len(l.unknown)+l.trusted == maxConnections {
		oldest := l.unknown[0]
		l.unknown = l.unknown[1:]
		oldest.ended = true
		oldest.Conn.Close()
	}
	served := &servedConn{Conn: c, of: l}
	l.unknown = append(l.unknown, served)
	return served
}

// refuse tells a client that there are too many. It reads the request first, because closing a
// connection with unread data may discard the answer.
func refuse(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if n, _ := c.Read(make([]byte, 4096)); n > 0 {
		c.Write([]byte(busy))
	}
}

// servedConn is a connection that is served. The mutex of the listener protects the fields.
type servedConn struct {
	net.Conn
	of             *limitedListener
	trusted, ended bool
}

// trust notes that the client has shown the token.
func (c *servedConn) trust() {
	c.of.mutex.Lock()
	defer c.of.mutex.Unlock()
	if !c.trusted && !c.ended {
		c.forget()
		c.trusted = true
		c.of.trusted++
	}
}

// forget removes a connection from those that have not shown the token.
func (c *servedConn) forget() {
	c.of.unknown = slices.DeleteFunc(c.of.unknown, func(other *servedConn) bool { return other == c })
}

// Close implements net.Conn.
func (c *servedConn) Close() error {
	c.of.mutex.Lock()
	switch {
	case c.ended:
	case c.trusted:
		c.of.trusted--
	default:
		c.forget()
	}
	c.ended = true
	c.of.mutex.Unlock()
	return c.Conn.Close()
}

// connKey is the key of a request's connection in its context.
type connKey struct{}

// withConn is the ConnContext of the server.
func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}
