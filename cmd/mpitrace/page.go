package main

import (
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/mpitrace/mpitrace/internal/export"
	"github.com/mpitrace/mpitrace/internal/views"
	"github.com/mpitrace/mpitrace/internal/views/page"
)

// pageOptions are the flags of commands that write a page.
type pageOptions struct {
	file   string // empty for no page
	force  bool
	source bool
}

// addPage adds the flags --html and --force.
func addPage(cmd *cobra.Command, o *pageOptions) {
	cmd.Flags().StringVar(&o.file, "html", "", "write an HTML page to `FILE` instead of text to stdout")
	cmd.Flags().BoolVarP(&o.force, "force", "f", false, "with --html: overwrite an existing file")
}

// check checks the flags before anything is read.
func (o *pageOptions) check(cmd *cobra.Command) error {
	switch {
	case o.file == "" && cmd.Flags().Changed("html"):
		return errors.New("--html needs the name of a file")
	case o.file == "" && (o.force || o.source):
		return errors.New("--force and --source need --html")
	case o.file == "":
		return nil
	}
	return export.CheckOutput(o.file, o.force)
}

// write writes a page, and names it on stderr.
func (o *pageOptions) write(cmd *cobra.Command, p *page.Page) error {
	if err := export.WriteOutput(o.file, o.force, func(w io.Writer) error { return page.Write(w, p) }); err != nil {
		return err
	}
	warn(cmd.ErrOrStderr(), "the page is "+o.file)
	return nil
}

func made() page.Made {
	return page.Made{At: time.Now().UTC().Truncate(time.Second), Version: versionString()}
}

// page returns the page of a run.
func (s summaries) page(o views.Options, source bool) (*page.Page, error) {
	p := page.NewReport(made(), o.Info, o.Missing)
	for i, job := range s.whole {
		added := p.AddJob(job, s.jobs[i], s.options(s.jobs[i], o))
		if events := s.traced.events[job.Run]; events != nil {
			if err := added.AddTimeline(events, s.traced.waits[job.Run], s.traced.results[job.Run].CriticalPath); err != nil {
				return nil, err
			}
		}
		if source {
			added.AddSources(s.jobs[i].CallSites)
		}
	}
	return p, nil
}
