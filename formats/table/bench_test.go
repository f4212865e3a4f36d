package table

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"github.com/mpitrace/mpitrace/profile"
	"github.com/mpitrace/mpitrace/tests/jobs"
	"github.com/mpitrace/mpitrace/tests/synth"
	"github.com/mpitrace/mpitrace/tests/testenv"
)

// benchJob returns a job of 256 ranks with 500 rows each.
func benchJob() (ps []*profile.Profile, rows int) {
	for rank := range 256 {
		p := jobs.FullRank("run", rank%4)
		p.Rank = rank
		for len(p.Rows) < 500 {
			r := p.Rows[len(p.Rows)%15]
			r.Callsite += uint64(len(p.Rows)) * 8
			r.Bytes, r.TimeNs = r.Bytes+uint64(rank), r.TimeNs*uint64(len(p.Rows))
			p.Rows = append(p.Rows, r)
		}
		ps, rows = append(ps, p), rows+len(p.Rows)
	}
	return ps, rows
}

func BenchmarkWriteProfile(b *testing.B) {
	ps, rows := benchJob()
	for b.Loop() {
		testenv.NoError(b, WriteProfile(io.Discard, profile.List(ps)))
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(len(encode(b, ps)))/float64(rows), "B/row")
}

// BenchmarkStream writes larger and larger jobs, one process at a time.
func BenchmarkStream(b *testing.B) {
	for _, ranks := range []int{1000, 10_000, 100_000} {
		path := filepath.Join(b.TempDir(), "profile.arrow")
		b.Run("write/"+strconv.Itoa(ranks), func(b *testing.B) {
			src := synth.NewStencil(ranks)
			for b.Loop() {
				writeStream(b, path, src)
			}
			reportStream(b, path, src)
		})
	}
}

func writeStream(b *testing.B, path string, src profile.Source) {
	b.Helper()
	f, err := os.Create(path)
	testenv.NoError(b, err)
	defer f.Close()
	testenv.NoError(b, WriteProfile(f, src))
}

func reportStream(b *testing.B, path string, src *synth.Job) {
	b.Helper()
	info, err := os.Stat(path)
	testenv.NoError(b, err)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(rowsOf(src))*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
	b.ReportMetric(float64(info.Size())/float64(src.Ranks), "B/rank")
	b.ReportMetric(float64(m.Sys)/(1<<20), "MiB")
}

// rowsOf counts the rows of a job.
func rowsOf(src profile.Source) (n int) {
	src.Each(func(p *profile.Profile) error {
		n += len(p.Rows)
		return nil
	})
	return n
}

// BenchmarkWriteText writes the rows of a job as CSV and as JSON lines.
func BenchmarkWriteText(b *testing.B) {
	ps, rows := benchJob()
	for name, write := range map[string]func(io.Writer, profile.Source) error{"csv": WriteCSV, "json": WriteJSON} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				testenv.NoError(b, write(io.Discard, profile.List(ps)))
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
