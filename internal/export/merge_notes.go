package export

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/mpitrace/mpitrace/formats/recording"
	"github.com/mpitrace/mpitrace/formats/table"
	"github.com/mpitrace/mpitrace/internal/rundir"
	"github.com/mpitrace/mpitrace/internal/source"
	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/profile"
)

// notesVersion changes when notes, plans or units change.
const notesVersion = 3

// notes is what must be known of some recordings.
type notes struct {
	Kinds   []kindNote
	Members []memberNote
	Reduced []*profile.Profile // see table.Reducer
	Of      []int32            // members of Reduced, by index
	Folds   profile.Folds
	Damaged []string
	Lost    []string // those of Damaged of recordings without a note
	HasRead bool     // whether a process has read performance variables
}

// kindNote is what processes have in common.
type kindNote struct {
	Run, Host, Program, Library string
	Command                     []string
	Size                        int
	Variables                   []profile.Variable // only of rank 0
}

// memberNote is a process.
type memberNote struct {
	File      int32 // index in merger.files
	Kind      int32
	Rank, Pid int32
	Start     int64
	State     profile.State
}

// profile returns the profile of a process, as far as notes have it.
func (n *notes) profile(m *memberNote) *profile.Profile {
	kind := &n.Kinds[m.Kind]
	return &profile.Profile{Run: kind.Run, Host: kind.Host, Program: kind.Program, Library: kind.Library, Command: kind.Command, Size: kind.Size,
		Variables: kind.Variables, Rank: int(m.Rank), Pid: int(m.Pid), Start: m.Start, State: m.State}
}

// kindKey is a kindNote as a key.
type kindKey struct {
	run, host, program, library, command string
	size                                 int
}

// notesMaker makes notes.
type notesMaker struct {
	notes
	kinds   map[kindKey]int32
	reducer *table.Reducer
}

func (m *merger) writeNotes(unit int, w io.Writer) error {
	first, end := unit*m.size, min((unit+1)*m.size, len(m.files))
	made := newNotesMaker()
	err := m.eachReading(end-first, func(i int) string { return m.files[first+i] }, func(i int, r reading) error {
		p, err := r.p, r.err
		if err == nil {
			err = source.Damage(p)
		}
		if err != nil {
			made.Damaged = append(made.Damaged, err.Error())
		}
		if p != nil && (err == nil || p.Run != "") {
			made.add(p, first+i)
		} else {
			made.Lost = append(made.Lost, err.Error())
		}
		return nil
	})
	if err != nil {
		return err
	}
	return gob.NewEncoder(w).Encode(&made.notes)
}

func newNotesMaker() *notesMaker {
	return &notesMaker{kinds: map[kindKey]int32{}, reducer: table.NewReducer()}
}

func (n *notesMaker) add(p *profile.Profile, file int) {
	n.Folds.Note(p)
	n.HasRead = n.HasRead || len(p.Readings) > 0
	n.reduce(p)
	kind := kindNote{p.Run, p.Host, p.Program, p.Library, p.Command, p.Size, nil}
	if p.Rank == 0 {
		kind.Variables = p.Variables
	}
	n.Members = append(n.Members, memberNote{int32(file), n.kind(&kind, p.Rank == 0), int32(p.Rank), int32(p.Pid), p.Start, p.State})
}

// reduce keeps what is new in the profile of the next member.
func (n *notesMaker) reduce(p *profile.Profile) {
	if reduced := n.reducer.Reduce(p); reduced != nil {
		n.Reduced, n.Of = append(n.Reduced, reduced), append(n.Of, int32(len(n.Members)))
	}
}

// kind returns the index of a kind. first tells that it is of rank 0: these have
// variables, and are not shared.
func (n *notesMaker) kind(kind *kindNote, first bool) int32 {
	key := kindKey{kind.Run, kind.Host, kind.Program, kind.Library, strings.Join(kind.Command, "\x00"), kind.Size}
	if at, known := n.kinds[key]; known && !first {
		return at
	}
	at := int32(len(n.Kinds))
	n.Kinds = append(n.Kinds, *kind)
	if !first {
		n.kinds[key] = at
	}
	return at
}

// joinNotes joins notes, and reduces again what they have of each process.
func (m *merger) joinNotes(names []string, w io.Writer) error {
	made := newNotesMaker()
	for _, name := range names {
		n, err := m.readNotes(name)
		if err != nil {
			return err
		}
		made.join(n)
	}
	return gob.NewEncoder(w).Encode(&made.notes)
}

func (m *merger) readNotes(name string) (*notes, error) {
	n := new(notes)
	err := m.tasks.Read(name, func(r *io.SectionReader) error { return gob.NewDecoder(r).Decode(n) })
	return n, cmp.Or(err, n.check(len(m.files)))
}

// check returns an error if an index is that of nothing.
func (n *notes) check(files int) error {
	fit := len(n.Of) == len(n.Reduced)
	for _, of := range n.Of {
		fit = fit && within(of, len(n.Members))
	}
	for i := range n.Members {
		fit = fit && within(n.Members[i].Kind, len(n.Kinds)) && within(n.Members[i].File, files)
	}
	if !fit {
		return errors.New("read notes of the merge: their indices do not fit")
	}
	return nil
}

func (n *notesMaker) join(o *notes) {
	n.Damaged, n.Lost = append(n.Damaged, o.Damaged...), append(n.Lost, o.Lost...)
	n.HasRead = n.HasRead || o.HasRead
	for fold := range o.Folds {
		n.Folds.Add(fold)
	}
	next := 0 // in o.Reduced
	for i, member := range o.Members {
		if next < len(o.Of) && int(o.Of[next]) == i {
			n.reduce(o.Reduced[next])
			next++
		}
		member.Kind = n.kind(&o.Kinds[member.Kind], member.Rank == 0)
		n.Members = append(n.Members, member)
	}
}

// plan is what follows from the notes of all recordings. In its file, it is
// followed by the planMembers of each unit.
type plan struct {
	Tables    *table.Dictionaries
	Jobs      []plannedJob
	Infos     []rundir.JobInfo
	Processes int
	Folds     profile.Folds
	Wraps     profile.Wrappers
	Symbols   []namedPlace
	HasRead   bool
	Damaged   []string // and ranks without a recording
	Lost      []string // see profile.Profile.Lost
	Unnamed   []string // files whose call sites have no names
	Blobs     []int    // lengths in bytes
}

// plannedJob is a job without its processes.
type plannedJob struct {
	Run, Stem string
	Start     int64
}

type namedPlace struct {
	profile.Place
	profile.Symbol
}

// planHead is the size in bytes of the length before a plan.
const planHead = 8

// planMember is a process of a unit.
type planMember struct{ Job, File int32 }

// planner makes a plan.
type planner struct {
	*merger
	plan
	notes   []*notes
	members []source.Member // index is that of the recording
	of      []*memberNote
	unitOf  []*notes // by index of the recording
	jobOf   []int32
}

func (m *merger) writePlan(w io.Writer, names []string) error {
	p := &planner{merger: m, of: make([]*memberNote, len(m.files)), unitOf: make([]*notes, len(m.files)), jobOf: make([]int32, len(m.files))}
	for _, name := range names {
		n, err := m.readNotes(name)
		if err != nil {
			return err
		}
		p.notes = append(p.notes, n)
		p.note(n)
	}
	p.noteContainers()
	jobs := new(source.Run)
	for file, note := range p.of {
		if note != nil {
			p.members = append(p.members, jobs.MemberOf(p.unitOf[file].profile(note), nil, "", file))
		}
	}
	jobs.SplitJobs(p.members)
	for i, j := range jobs.Jobs {
		p.Jobs, p.Infos = append(p.Jobs, plannedJob{j.Run, j.Stem, j.Start}), append(p.Infos, j.Info())
		for k := range j.Members {
			p.jobOf[j.Members[k].Index] = int32(i)
		}
	}
	p.Damaged = append(p.Damaged, jobs.MissingText()...)
	if err := p.collect(jobs); err != nil {
		return err
	}
	return p.write(w, jobs)
}

// noteContainers notes the damage of containers that belongs to no recording.
func (p *planner) noteContainers() {
	for _, file := range rundir.Stored(p.files) {
		if !strings.HasSuffix(file, recording.ContainerSuffix) {
			continue
		}
		_ = recording.WithContainer(file, func(c *recording.Container) error { // an error was noted
			for _, err := range source.ContainerDamage(c) {
				p.Damaged, p.Lost = append(p.Damaged, err.Error()), append(p.Lost, err.Error())
			}
			return nil
		})
	}
}

func (p *planner) note(n *notes) {
	p.Processes += len(n.Members)
	p.Damaged, p.Lost = append(p.Damaged, n.Damaged...), append(p.Lost, n.Lost...)
	p.HasRead = p.HasRead || n.HasRead
	for fold := range n.Folds {
		p.Folds.Add(fold)
	}
	for i := range n.Members {
		file := n.Members[i].File
		p.of[file], p.unitOf[file] = &n.Members[i], n
	}
}

// reduced returns the reduced profiles, with their jobs.
func (p *planner) reduced(jobs *source.Run) iter.Seq2[*source.Job, *profile.Profile] {
	return func(yield func(*source.Job, *profile.Profile) bool) {
		for _, n := range p.notes {
			for k, of := range n.Of {
				if !yield(jobs.Jobs[p.jobOf[n.Members[of].File]], n.Reduced[k]) {
					return
				}
			}
		}
	}
}

// collect finds names of call sites and wrappers, and collects dictionaries.
func (p *planner) collect(jobs *source.Run) error {
	var sites symbolize.Sites
	for j, reduced := range p.reduced(jobs) {
		sites.Add(reduced, j.Start)
		p.Wraps.Note(reduced)
	}
	symbols := p.run.Symbols
	if symbols == nil {
		var errs []error
		symbols, errs = sites.Symbols(source.Known(p.dir))
		for _, err := range errs {
			p.Unnamed = append(p.Unnamed, err.Error())
		}
	}
	p.Wraps.Find(symbols)
	for place := range sites.Places() {
		if name, ok := symbols[place]; ok {
			p.Symbols = append(p.Symbols, namedPlace{place, name})
		}
	}
	slices.SortFunc(p.Symbols, func(a, b namedPlace) int { return a.Place.Compare(b.Place) })
	words := table.NewVocabulary()
	for _, j := range jobs.Jobs {
		for i := range j.Members {
			file := j.Members[i].Index
			process := p.unitOf[file].profile(p.of[file])
			process.Run = j.Run
			words.NoteProcess(process)
		}
	}
	jobs.Folds, jobs.Wraps, jobs.Symbols, jobs.Exits = p.Folds, p.Wraps, symbols, p.run.Exits
	for j, reduced := range p.reduced(jobs) {
		j.Complete(reduced, nil)
		if err := words.Note(reduced); err != nil {
			return err
		}
	}
	p.Tables = words.Dictionaries()
	return nil
}

// write writes the plan: its length in planHead bytes, the plan, and the processes of
// each unit.
func (p *planner) write(w io.Writer, jobs *source.Run) error {
	var members []planMember
	for i, j := range jobs.Jobs {
		for k := range j.Members {
			members = append(members, planMember{int32(i), j.Members[k].Index})
		}
	}
	var blobs bytes.Buffer
	for unit := range slices.Chunk(members, p.size) {
		before := blobs.Len()
		if err := gob.NewEncoder(&blobs).Encode(unit); err != nil {
			return err
		}
		p.Blobs = append(p.Blobs, blobs.Len()-before)
	}
	var head bytes.Buffer
	if err := gob.NewEncoder(&head).Encode(&p.plan); err != nil {
		return err
	}
	length := binary.LittleEndian.AppendUint64(nil, uint64(head.Len()))
	for _, part := range [][]byte{length, head.Bytes(), blobs.Bytes()} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}
