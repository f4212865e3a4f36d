package trace

// A lane has several clocks, which the replay moves at the same time: one for the ideal network, and
// one for each change of the job that is tried. All are times since the start of the job, in ns.
//
// On the ideal network, calls take only as long as they wait for others. With a change, each call
// takes as long as it did beyond its wait, and waits for the same ranks as before, which may now come
// earlier or later. So a change that changes nothing gives the recorded times, to the nanosecond:
// an error of this model is in both sides of the difference that is shown as the saving.
type clocks [1 + maxChanges]int64

// idealNetwork is the first of the clocks. Those of the changes follow.
const idealNetwork = 0

// maxChanges is how many changes one replay tries. Each takes 8 bytes of each message under way.
const maxChanges = 5

// wait moves the clocks to those of another lane, where these are later.
func (c *clocks) wait(o *clocks) {
	for i := range c {
		c[i] = max(c[i], o[i])
	}
}
