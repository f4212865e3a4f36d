package perfetto

import (
	"bytes"
	"encoding/json"
	"io"
	"strconv"

	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// sink writes the array of events, one line each. It keeps the first error.
type sink struct {
	w    io.Writer
	line []byte // events that are not yet written, and the one being made
	n    int    // number of events
	err  error
}

// room is the number of bytes that are written at once.
const room = 64 << 10

// begin starts an event with a phase (the format's "ph") on a track.
func (s *sink) begin(phase byte, pid, tid int) []byte {
	if len(s.line) > room {
		s.flush()
	}
	b := s.line
	if s.n++; s.n > 1 {
		b = append(b, ',')
	}
	b = append(b, "\n{\"ph\":\""...)
	b = append(b, phase)
	b = append(b, `","pid":`...)
	b = strconv.AppendInt(b, int64(pid), 10)
	b = append(b, `,"tid":`...)
	b = strconv.AppendInt(b, int64(tid), 10)
	return append(b, ',')
}

// end finishes the event that begin started.
func (s *sink) end(b []byte) { s.line = append(b, '}') }

func (s *sink) flush() {
	if s.err == nil {
		_, s.err = s.w.Write(s.line)
	}
	s.line = s.line[:0]
}

// appendMicroseconds appends a time in µs, the format's unit, without loss:
// importers round to ns.
func appendMicroseconds(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	rest := ns % 1000
	if rest == 0 {
		return b
	}
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// appendText appends a JSON string. Control characters that a terminal would
// obey are escaped. The < and > of C++ names are not, unlike in encoding/json.
func appendText(b []byte, s string) []byte {
	var quoted bytes.Buffer
	e := json.NewEncoder(&quoted)
	e.SetEscapeHTML(false)
	e.Encode(s) // cannot fail for a string and a buffer
	return append(b, text.JSON(bytes.TrimSuffix(quoted.Bytes(), []byte("\n")))...)
}

// kindJSON holds the JSON of an event kind, made once.
type kindJSON struct {
	profile.EventKind
	head []byte // name, category and the arguments that are the same for all its events
}

func newKind(k profile.EventKind, t *profile.Trace) kindJSON {
	b := append([]byte(nil), `"name":`...)
	b = appendText(b, k.Call)
	b = append(b, `,"cat":`...)
	b = appendText(b, k.Class.String())
	b = append(b, `,"args":{"callsite":`...)
	b = appendText(b, k.Callsite)
	b = append(b, `,"slice":`...)
	b = appendText(b, k.Slice)
	if k.Comm >= 0 && int(k.Comm) < len(t.Comms) {
		b = append(b, `,"comm":`...)
		b = appendText(b, t.Comms[k.Comm].Label)
	}
	if k.Peer != profile.PeerNone {
		b = append(b, peerName(k)...)
		b = appendPeer(b, k.Peer)
	}
	return kindJSON{k, b}
}

func peerName(k profile.EventKind) string {
	if k.Class.Collective() {
		return `,"root":`
	}
	return `,"peer":`
}

func appendPeer(b []byte, peer int32) []byte {
	if peer >= 0 {
		return strconv.AppendInt(b, int64(peer), 10)
	}
	names := map[int32]string{profile.PeerProcNull: "MPI_PROC_NULL", profile.PeerAnySource: "MPI_ANY_SOURCE",
		profile.PeerRoot: "MPI_ROOT", profile.PeerElsewhere: "in another world"}
	if name, ok := names[peer]; ok {
		return appendText(b, name)
	}
	return append(b, `"unknown"`...)
}

// appendCall appends the JSON of a call, from its name on.
func (k *kindJSON) appendCall(b []byte, bytes uint64, tag int32) []byte {
	b = append(b, k.head...)
	if k.Direction != profile.None {
		b = append(b, `,"bytes":`...)
		b = strconv.AppendUint(b, bytes, 10)
	}
	switch tag {
	case profile.NoTag:
	case profile.AnyTag:
		b = append(b, `,"tag":"MPI_ANY_TAG"`...)
	default:
		b = append(b, `,"tag":`...)
		b = strconv.AppendInt(b, int64(tag), 10)
	}
	return append(b, '}')
}
