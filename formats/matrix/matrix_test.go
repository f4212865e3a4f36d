package matrix

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mpitrace/mpitrace/aggregate"
)

type entry struct {
	from, to        int
	bytes, messages uint64
}

func matrixOf(entries ...entry) *aggregate.Matrix {
	m := new(aggregate.Matrix)
	for _, e := range entries {
		m.Add(aggregate.Pair{From: e.from, To: e.to}, aggregate.Volume{Bytes: e.bytes, Messages: e.messages})
	}
	return m
}

func TestDirected(t *testing.T) {
	m := matrixOf(entry{0, 1, 5, 2}, entry{1, 0, 7, 2}, entry{2, 2, 1<<64 - 1, 1}, entry{0, 2, 0, 3})
	want := map[Quantity]string{
		Size: "0 5 0 0 \n7 0 0 0 \n0 0 18446744073709551615 0 \n0 0 0 0 \n",
		Msg:  "0 2 3 0 \n2 0 0 0 \n0 0 1 0 \n0 0 0 0 \n",
		Avg:  "0 2 0 0 \n4 0 0 0 \n0 0 18446744073709551615 0 \n0 0 0 0 \n", // 2.5 and 3.5 to even
	}
	for q, text := range want {
		var b strings.Builder
		if err := Write(&b, m, 4, q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, b.String()); diff != "" {
			t.Errorf("%s:\n%s", q, diff)
		}
	}
}

func TestSymmetric(t *testing.T) {
	// 0 and 1: 5+0 bytes in 1+0 messages; 0 and 2: 3+4 in 2+1; rank 1 to itself 6 in 4.
	m := matrixOf(entry{0, 1, 5, 1}, entry{0, 2, 3, 2}, entry{2, 0, 4, 1}, entry{1, 1, 6, 4})
	want := map[Quantity]string{
		Size: "0 2 4 \n2 6 0 \n4 0 0 \n", // 2.5 and 3.5 to even
		Msg:  "0 0 2 \n0 4 0 \n2 0 0 \n", // 0.5 and 1.5 to even
		Avg:  "0 5 2 \n5 2 0 \n2 0 0 \n", // 5, 7/3, 6/4
	}
	for q, text := range want {
		var b strings.Builder
		if err := WriteSymmetric(&b, m, 3, q); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(text, b.String()); diff != "" {
			t.Errorf("%s:\n%s", q, diff)
		}
	}
}

func TestDivideRoundsHalvesToEven(t *testing.T) {
	const most = 1<<64 - 1
	for _, c := range []struct{ a, b, want uint64 }{
		{0, 0, 0}, {9, 0, 0}, {0, 7, 0}, {1, 2, 0}, {3, 2, 2}, {5, 2, 2}, {7, 2, 4},
		{1, 3, 0}, {2, 3, 1}, {1<<53 + 1, 2, 1 << 52}, {1<<53 + 3, 2, 1<<52 + 2},
		{most, 2, 1 << 63}, {most - 1, most, 1}, {1 << 63, most, 1}, {1<<63 - 1, most, 0}, {most, 1, most},
	} {
		if got := divide(c.a, c.b); got != c.want {
			t.Errorf("divide(%d, %d) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestEmpty(t *testing.T) {
	var b strings.Builder
	if err := Write(&b, new(aggregate.Matrix), 2, Avg); err != nil || b.String() != "0 0 \n0 0 \n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
	if Bytes(2) != uint64(b.Len()) {
		t.Errorf("a matrix of zeros has %d bytes, Bytes says %d", b.Len(), Bytes(2))
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorIsReported(t *testing.T) {
	if err := Write(full{}, matrixOf(entry{0, 1, 2, 3}), 2, Size); err == nil {
		t.Error("no error")
	}
}
