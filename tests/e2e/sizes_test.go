package e2e

import (
	"testing"

	"github.com/mpitrace/mpitrace/profile"
)

// sizesSent returns the histogram of the sizes of what rank 0 sent to rank 1.
func sizesSent(t *testing.T, ranks []*profile.Profile) profile.Histogram {
	t.Helper()
	if len(ranks) != 2 {
		t.Fatalf("%d recordings", len(ranks))
	}
	for _, f := range ranks[0].Traffic().Flows {
		if f.Kind == profile.External && f.To == 1 {
			return *f.Histogram
		}
	}
	t.Error("rank 0 sent nothing to rank 1")
	return profile.Histogram{}
}

func TestSizes(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		ranks := m.run(t, 2, m.compile(t, "sizes")).ranks
		// 2^k is the smallest size of its class, 2^k - 1 the largest of the
		// class before.
		classes := profile.Histogram{0: 1, 21: 1, 32: 1}
		v := messages(0, 1, 0, 1<<20, 3<<30)
		for k := range 20 {
			classes[k+1] = 2
			v = v.plus(messages(0, 1, 1<<k, 1<<(k+1)-1))
		}
		diff(t, "sent", v, pointToPoint(ranks))
		diff(t, "size classes", classes, sizesSent(t, ranks))
		checkReceived(t, ranks)
	})
}

// TestUnmatchedSends starts sends that are too large for any machine. They must
// be counted when they start.
func TestUnmatchedSends(t *testing.T) {
	withEach(t, anyMPI, func(t *testing.T, m implementation) {
		classes := profile.Histogram{31: 1024, 41: 1}
		v := message(0, 1, 1<<30).times(1024).plus(message(0, 1, 1<<40))
		var flags []string
		if m.large {
			flags, classes[33] = []string{"-DLARGE"}, 1
			v = v.plus(message(0, 1, 1<<32+5))
		}
		ranks := record(t, nil, m.launch(2, m.compile(t, "unmatched", flags...))...).ranks
		diff(t, "sent", v, pointToPoint(ranks))
		diff(t, "size classes", classes, sizesSent(t, ranks))
	})
}
