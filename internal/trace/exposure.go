package trace

// exposureKey identifies an exposure: the nth time that a target posted a window for an origin.
// This is also the nth time that the origin starts to access the target.
type exposureKey struct {
	origin, target int32 // world ranks
	number         uint32
}

// exposure is a target's exposure epoch for one origin, together with the
// origin's matching access epoch.
type exposure struct {
	key       exposureKey
	post      moment  // the target's Win_post
	complete  moment  // the origin's Win_complete
	starting  []*call // the origin's Win_start and Win_complete, until the post is known
	exposing  *call   // the target's Win_wait, until the Win_complete is known
	completed bool    // whether the origin makes no further calls in the epoch
}

// moment is when and where a call started; lane is nil until that is known.
type moment struct {
	time int64
	lane *lane
	site int32
}

func (c *call) moment() moment { return moment{c.start, c.lane, c.kind.site} }

func (m *moment) cause(p Pattern, in *communicator) cause {
	return cause{m.time, p, m.site, m.lane, in}
}

// exposure returns the exposure with this key, and creates it if needed.
func (w *window) exposure(key exposureKey) *exposure {
	x := w.in.rma.exposures[key]
	if x == nil {
		x = &exposure{key: key}
		w.in.rma.exposures[key] = x
	}
	return x
}

// forget removes an exposure that is no longer needed.
func (w *window) forget(x *exposure) {
	if x.post.lane != nil && x.completed {
		delete(w.in.rma.exposures, x.key)
	}
}

// pair is an origin and a target of a window, seen from one of the two.
type pair struct {
	win   *communicator
	other int32
}

// nextExposures returns the next exposure for each member of a call's group.
func (r *replay) nextExposures(w *window, c *call, counts map[pair]uint32, key func(own, other int32) exposureKey) []*exposure {
	p := c.lane.process
	if c.kind.group < 1 || int(c.kind.group) > len(p.trace.Groups) {
		return nil
	}
	var list []*exposure
	for _, other := range p.trace.Groups[c.kind.group-1] {
		if r.byRank[other] == nil || other < 0 {
			continue
		}
		at := pair{w.in, other}
		counts[at]++
		k := key(p.rank, other)
		k.number = counts[at]
		list = append(list, w.exposure(k))
	}
	return list
}

// startAccess replays a Win_start, which may wait until the targets have
// posted.
func (r *replay) startAccess(w *window, c *call) {
	w.access = r.nextExposures(w, c, c.lane.process.accesses, func(own, other int32) exposureKey {
		return exposureKey{origin: own, target: other}
	})
	r.awaitPosts(w, c)
}

// completeAccess replays a Win_complete. It waits for targets that have not
// posted yet, if Win_start did not wait, and the targets wait for it.
func (r *replay) completeAccess(w *window, c *call) {
	r.awaitPosts(w, c)
	for _, x := range w.access {
		x.complete, x.completed = c.moment(), true
		if x.exposing != nil {
			r.got(x.exposing, x.complete.cause(LateComplete, w.in), nil, false)
			x.exposing = nil
		}
		w.forget(x)
	}
	w.access = nil
	clear(w.pending)
}

func (r *replay) awaitPosts(w *window, c *call) {
	for _, x := range w.access {
		if x.post.lane != nil {
			c.posted(x, w.in)
			continue
		}
		c.open++
		x.starting = append(x.starting, c)
	}
}

// posted adds the target's post as a cause to a call of the origin. The call
// waited for it if the post came between its start and its end.
func (c *call) posted(x *exposure, in *communicator) {
	if x.post.time <= c.end+slack(c.lane.process, x.post.lane.process) {
		c.learn(x.post.cause(LatePost, in))
	}
}

// postExposure replays a Win_post.
func (r *replay) postExposure(w *window, c *call) {
	w.exposures = r.nextExposures(w, c, c.lane.process.postings, func(own, other int32) exposureKey {
		return exposureKey{origin: other, target: own}
	})
	for _, x := range w.exposures {
		x.post = c.moment()
		for _, waiting := range x.starting {
			waiting.posted(x, w.in)
			r.close(waiting)
		}
		x.starting = nil
	}
}

// waitExposure replays a Win_wait, which waits for the Win_complete of each
// origin.
func (r *replay) waitExposure(w *window, c *call) {
	for _, x := range w.exposures {
		if x.complete.lane != nil {
			c.learn(x.complete.cause(LateComplete, w.in))
		} else if x.exposing == nil {
			c.open++
			x.exposing = c
		}
		w.forget(x)
	}
	w.exposures = nil
}

// leftExposures closes the calls whose partner never came.
func (r *replay) leftExposures(in *communicator) {
	for _, x := range in.rma.exposures {
		for _, c := range x.starting {
			r.close(c)
		}
		if x.exposing != nil {
			r.close(x.exposing)
		}
	}
	clear(in.rma.exposures)
}
