package live

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// compressed is the size in bytes from which answers are compressed.
const compressed = 64 << 10

// packed is the body of an answer, which can be sent to many clients.
type packed struct {
	plain []byte
	gzip  []byte // the same compressed; nil if it is small
}

func pack(body []byte) packed {
	if len(body) < compressed {
		return packed{plain: body}
	}
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestSpeed) // the level is valid, and a buffer takes all
	z.Write(body)
	z.Close()
	return packed{body, out.Bytes()}
}

// packJSON returns a value as JSON, or {"error": text}.
func packJSON(v any, err error) packed {
	var body []byte
	if err == nil {
		body, err = json.Marshal(v)
	}
	if err != nil {
		body, _ = json.Marshal(map[string]string{"error": err.Error()}) // text can be encoded
	}
	return pack(body)
}

// send answers with a body. The time that the client has to read it starts here, because some
// answers take long to compute.
func send(w http.ResponseWriter, r *http.Request, kind string, body packed) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTime))
	w.Header().Set("Content-Type", kind)
	out := body.plain
	if body.gzip != nil && strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		w.Header().Set("Content-Encoding", "gzip")
		out = body.gzip
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	if r.Method != http.MethodHead {
		w.Write(out)
	}
}
