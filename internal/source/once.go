package source

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/mpitrace/mpitrace/internal/symbolize"
	"github.com/mpitrace/mpitrace/profile"
)

// oncePass is what is found out while the jobs of a run are read, if not all profiles are kept.
type oncePass struct {
	mutex   sync.Mutex
	sites   symbolize.Sites
	symbols profile.Symbols        // of all places found so far; an empty name if none was found
	failed  map[string]bool        // texts of errs
	errs    []*symbolize.FileError // of files whose call sites stay addresses
	damage  DamageList
}

// siteNames names the call sites of profiles one after the other.
type siteNames struct {
	*oncePass
	symbols profile.Symbols // a copy, so that reading it needs no lock
	checked map[uint64]bool // addresses of the profile that are known
}

// mostSampled is the number of processes of a job whose call sites are looked up together before
// the jobs are read. Later call sites are looked up one by one when they are found, which takes
// longer.
const mostSampled = 64

// prepareOnce reads and keeps the profiles of some processes, to find the names of their call
// sites. If processes recorded with --stack auto, it reads the profiles of all processes, because
// only all stacks together show which functions are wrappers. Profiles that do not fit in the room
// are read again later.
func (r *Run) prepareOnce(room *Room) {
	r.once = &oncePass{sites: r.sites, symbols: profile.Symbols{}, failed: map[string]bool{}}
	for _, j := range r.Jobs {
		step := max(1, (len(j.Members)+mostSampled-1)/mostSampled)
		if r.stackAuto {
			step = 1
		}
		var some []int
		for i := 0; i < len(j.Members); i += step {
			if _, kept := j.Members[i].From.(keptProfile); !kept {
				some = append(some, i)
			}
		}
		// An error occurs again when the job is read.
		_ = profile.ReadAhead(len(some), 1, func(i int, give func(*profile.Profile) error) error {
			if p, err := r.read(&j.Members[some[i]]); p != nil {
				return cmp.Or(err, give(p))
			}
			return nil
		}, func(i int, p *profile.Profile) error {
			r.once.sites.Add(p, j.Start)
			r.Wraps.Note(p)
			if m := &j.Members[some[i]]; step > 1 || room.take(p) {
				kind := *m.memberKind
				kind.From = keptProfile{p}
				m.memberKind = &kind
			}
			return nil
		})
	}
}

// symbolizeSome finds the names of the call sites that prepareOnce noted.
func (r *Run) symbolizeSome(known profile.Symbols) {
	maps.Copy(r.once.symbols, known)
	r.once.lookUp()
	r.Wraps.Find(r.once.symbols)
}

// lookUp finds the names of the places that were found in profiles.
func (o *oncePass) lookUp() {
	symbols, errs := o.sites.Symbols(o.symbols)
	for _, err := range errs {
		if !o.failed[err.Error()] {
			o.failed[err.Error()] = true
			o.errs = append(o.errs, err)
		}
	}
	for place := range o.sites.Places() {
		if _, named := symbols[place]; !named {
			symbols[place] = profile.Symbol{} // so that it is not looked up again
		}
	}
	o.symbols = symbols
}

// names returns a siteNames for the profiles that one goroutine reads. It returns nil if call sites
// are not named while profiles are read.
func (r *Run) names() *siteNames {
	if r.once == nil {
		return nil
	}
	return &siteNames{oncePass: r.once, symbols: maps.Clone(r.once.symbols), checked: map[uint64]bool{}}
}

// give names the call sites of a profile, and notes its damage. start is when its job began.
func (n *siteNames) give(p *profile.Profile, start int64) {
	if !n.know(p) {
		n.learn(p, start)
	}
	p.Symbols = n.symbols
	n.note(damageOf(p))
}

// note adds damage, unless it is nil.
func (o *oncePass) note(damage error) {
	if damage != nil {
		o.mutex.Lock()
		defer o.mutex.Unlock()
		o.damage.Add(damage)
	}
}

// know reports whether the names of all places of a profile were looked up.
func (n *siteNames) know(p *profile.Profile) bool {
	clear(n.checked)
	all := true
	p.EachAddress(func(a uint64) {
		if !n.checked[a] {
			n.checked[a] = true
			place := p.Place(a)
			_, known := n.symbols[place]
			all = all && (known || place.Path == "")
		}
	})
	return all
}

// learn looks up the places of a profile.
func (n *siteNames) learn(p *profile.Profile, start int64) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.sites.Add(p, start)
	n.lookUp()
	n.symbols = maps.Clone(n.oncePass.symbols)
}

// Names returns the names of call sites that are known so far.
func (r *Run) Names() profile.Symbols {
	if r.once == nil {
		return r.Symbols
	}
	r.once.mutex.Lock()
	defer r.once.mutex.Unlock()
	return maps.Clone(r.once.symbols)
}

// Unnamed returns the errors of files whose call sites stay addresses, as far as known. Files
// that merely have no symbols are no errors.
func (r *Run) Unnamed() (errs []error) {
	for _, e := range r.UnnamedFiles() {
		if !e.Stripped {
			errs = append(errs, e)
		}
	}
	return errs
}

// UnnamedFiles says of files why their call sites have no names, as far as known.
func (r *Run) UnnamedFiles() []*symbolize.FileError {
	if r.once == nil {
		return r.unnamed
	}
	r.once.mutex.Lock()
	defer r.once.mutex.Unlock()
	return slices.Clone(r.once.errs)
}

// Damage returns an error for each damaged recording, as far as known. A recording is left
// out if it cannot be read at all or its job is not known; otherwise its readable parts are
// used.
func (r *Run) Damage() []error {
	if r.once != nil {
		r.once.mutex.Lock()
		defer r.once.mutex.Unlock()
		slices.SortFunc(r.once.damage.Errors, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
		r.damaged.Add(r.once.damage.Errors...)
	}
	return r.damaged.Errors
}
