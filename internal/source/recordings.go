package source

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/internal/text"
	"github.com/mpitrace/mpitrace/profile"
)

// MostMerged is the largest number of processes of a run that commands merge without being
// asked to. The profiles of larger runs are not kept.
const MostMerged = 10_000

// openRecordings reads recordings, several at a time, and divides them into jobs.
func (r *Run) openRecordings(files []string, o *Options) {
	members := make([]member, 0, len(files))
	bar := text.StartProgress(r.Log, "looking through recordings", len(files))
	defer bar.Done()
	depth, room := o.Depth, o.Room
	if depth == Whole && len(files) > MostMerged {
		depth = Once
	}
	units := unitsOf(files)
	_ = profile.ReadAhead(len(units), 1, func(i int, give func(opened) error) error {
		if depth != Whole || room.full() {
			return units[i].open(false, give)
		}
		return units[i].open(true, func(o opened) error {
			if o.kept = o.p != nil; o.kept {
				o.p.Physical = r.physicalOf(o.p)
				room.take(o.p)
			}
			return give(o)
		})
	}, func(i int, o opened) error {
		bar.Step()
		if o.err != nil {
			r.damaged.Add(o.err)
			if o.p == nil && o.head == nil {
				r.Lost = append(r.Lost, o.err.Error())
			}
		}
		switch {
		case o.kept:
			r.note(o.p)
			members = append(members, r.memberOf(o.p, keptProfile{o.p}, filepath.Base(o.file), 0))
		case o.p != nil:
			r.note(o.p)
			members = append(members, r.memberOf(o.p, units[i].dir, filepath.Base(o.file), 0))
		case o.head != nil:
			r.noteHead(o.head)
			members = append(members, r.memberOfHead(o.head, units[i].dir))
		}
		return nil
	})
	r.splitJobs(members)
	if depth == Once || depth == Whole && room.full() {
		r.prepareOnce(room)
	}
}

// unit is the recordings in one container, or a recording in a file of its own.
type unit struct {
	dir   *recordingDir
	files []string
	whole bool // the recordings are in a container
}

// unitsOf groups the paths of recordings, those of a container together.
func unitsOf(files []string) []unit {
	var units []unit
	containers := map[string]int{}
	dirs := map[string]*recordingDir{}
	for _, file := range files {
		dir := filepath.Dir(file)
		if i, ok := containers[dir]; ok {
			units[i].files = append(units[i].files, file)
			continue
		}
		if dirs[dir] == nil {
			dirs[dir] = &recordingDir{dir}
		}
		u := unit{dir: dirs[dir], files: []string{file}}
		if strings.HasSuffix(dir, recording.ContainerSuffix) && isRegular(dir) {
			containers[dir], u.whole = len(units), true
		}
		units = append(units, u)
	}
	return units
}

func isRegular(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode().IsRegular()
}

// opened is what was read of one recording: its profile, or its head. err is damage.
type opened struct {
	kept bool // the profile is whole
	file string
	p    *profile.Profile
	head *recording.Head
	err  error
}

// open gives the whole profile of each recording, or only its head.
func (u *unit) open(whole bool, give func(opened) error) error {
	if u.whole && !whole {
		return u.openHeads(give)
	}
	readFile := recording.ReadFile
	if !whole {
		readFile = recording.ReadHead
	}
	if u.whole {
		err := recording.WithContainer(u.dir.path, func(c *recording.Container) error { return giveProblems(c, give) })
		if err != nil {
			return err
		}
	}
	for _, file := range u.files {
		p, err := readFile(file)
		if err == nil && (whole || p.Run == "") {
			err = damageOf(p)
		}
		if err != nil && p != nil && p.Run == "" {
			p = nil
		}
		if err := give(opened{file: file, p: p, err: err}); err != nil {
			return err
		}
	}
	return nil
}

// openHeads gives the heads of the recordings of a container.
func (u *unit) openHeads(give func(opened) error) error {
	c, err := recording.OpenContainer(u.dir.path)
	if err != nil {
		return give(opened{err: err})
	}
	defer c.Close()
	if err := giveProblems(c, give); err != nil {
		return err
	}
	heads := c.Heads()
	wanted := map[string]bool{}
	if len(heads) != len(u.files) { // others are elsewhere
		for _, file := range u.files {
			wanted[filepath.Base(file)] = true
		}
	}
	for i := range heads {
		h := &heads[i]
		if len(wanted) > 0 && !wanted[h.Name] {
			continue
		}
		o := opened{head: h}
		if h.Unreadable || h.Run == "" {
			p, err := c.ReadHead(i)
			if err == nil {
				err = damageOf(p)
			}
			o = opened{file: filepath.Join(c.Path(), h.Name), p: p, err: err}
			if err != nil && p != nil && p.Run == "" {
				o.p = nil
			}
		}
		if err := give(o); err != nil {
			return err
		}
	}
	return nil
}

// giveProblems gives the damage of a container that belongs to no recording.
func giveProblems(c *recording.Container, give func(opened) error) error {
	for _, damage := range containerDamage(c) {
		if err := give(opened{err: damage}); err != nil {
			return err
		}
	}
	return nil
}

func containerDamage(c *recording.Container) (errs []error) {
	for _, problem := range c.Problems() {
		errs = append(errs, fmt.Errorf("%s is damaged: %s", text.Line(c.Path()), text.Line(problem)))
	}
	return errs
}
