package placement

// A gainQueue is a binary heap of vertices, the vertex with the highest gain first. Gains may
// change.
type gainQueue struct {
	heap []int32
	at   []int32 // by vertex: where it is in the heap; -1 if it is not in this queue
	gain []int64 // by vertex; both queues of a bisection share it
}

func newGainQueue(gain []int64) *gainQueue {
	q := &gainQueue{at: make([]int32, len(gain)), gain: gain}
	for v := range q.at {
		q.at[v] = -1
	}
	return q
}

func (q *gainQueue) has(v int32) bool { return q.at[v] >= 0 }

func (q *gainQueue) clear() {
	for _, v := range q.heap {
		q.at[v] = -1
	}
	q.heap = q.heap[:0]
}

func (q *gainQueue) push(v int32) {
	q.at[v] = int32(len(q.heap))
	q.heap = append(q.heap, v)
	q.up(len(q.heap) - 1)
}

func (q *gainQueue) remove(v int32) {
	i, last := int(q.at[v]), len(q.heap)-1
	q.at[v] = -1
	moved := q.heap[last]
	q.heap = q.heap[:last]
	if i < last {
		q.heap[i], q.at[moved] = moved, int32(i)
		q.fix(moved)
	}
}

// fix puts a vertex in its place after a change of its gain.
func (q *gainQueue) fix(v int32) {
	i := int(q.at[v])
	q.up(i)
	q.down(int(q.at[v]))
}

func (q *gainQueue) up(i int) {
	v := q.heap[i]
	for i > 0 {
		above := (i - 1) / 2
		if q.gain[q.heap[above]] >= q.gain[v] {
			break
		}
		q.heap[i] = q.heap[above]
		q.at[q.heap[i]] = int32(i)
		i = above
	}
	q.heap[i], q.at[v] = v, int32(i)
}

func (q *gainQueue) down(i int) {
	v := q.heap[i]
	for {
		below := 2*i + 1
		if below >= len(q.heap) {
			break
		}
		if below+1 < len(q.heap) && q.gain[q.heap[below+1]] > q.gain[q.heap[below]] {
			below++
		}
		if q.gain[v] >= q.gain[q.heap[below]] {
			break
		}
		q.heap[i] = q.heap[below]
		q.at[q.heap[i]] = int32(i)
		i = below
	}
	q.heap[i], q.at[v] = v, int32(i)
}
