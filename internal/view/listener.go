package view

import (
	"fmt"
	"net"
	"sync"
	"time"
)

// maxConnections is the largest number of connections that are served at a time. Up to as many
// more are answered with status 503. Further connections are closed without an answer.
const maxConnections = 64

const busyText = "mpitrace view serves 64 connections at most: try again later\n"

var busy = fmt.Sprintf("HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nRetry-After: 5\r\nConnection: close\r\n\r\n%s", len(busyText), busyText)

// limitedListener accepts a limited number of connections.
type limitedListener struct {
	net.Listener
	served, refused chan struct{} // a value for each connection
}

func limit(l net.Listener) *limitedListener {
	return &limitedListener{l, make(chan struct{}, maxConnections), make(chan struct{}, maxConnections)}
}

// Accept implements net.Listener.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.served <- struct{}{}:
			return &servedConn{Conn: c, end: sync.OnceFunc(func() { <-l.served })}, nil
		default:
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

// refuse tells a client that there are too many. It reads the request first, because closing a
// connection with unread data may discard the answer.
func refuse(c net.Conn) {
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	if n, _ := c.Read(make([]byte, 4096)); n > 0 {
		c.Write([]byte(busy))
	}
}

type servedConn struct {
	net.Conn
	end func()
}

// Close implements net.Conn.
func (c *servedConn) Close() error {
	defer c.end()
	return c.Conn.Close()
}
