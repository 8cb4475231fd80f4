package recordio

// crewPiece is how much a goroutine packs at a time at least: enough that waking it is
// little beside it.
const crewPiece = 512 << 10

// crew packs groups in several goroutines. Its user takes the results in the order
// of submission, so that the output does not depend on their number.
type crew struct {
	work  chan *job
	queue []*job // submitted and not collected, oldest first
	free  []*job
}

// job is one piece of data on its way through a crew.
type job struct {
	raw, out []byte
	members  []block
	err      error
	done     chan struct{}
}

// newCrew starts n goroutines that pack with c.
func newCrew(c Compressor, n int) (*crew, error) {
	t := &crew{work: make(chan *job, 2*n)}
	for range n {
		e, err := newEncoder(c)
		if err != nil {
			t.close()
			return nil, err
		}
		go t.run(e)
	}
	for range 2 * n {
		t.free = append(t.free, &job{done: make(chan struct{}, 1)})
	}
	return t, nil
}

func (t *crew) run(e *encoder) {
	for j := range t.work {
		j.out, j.err = e.pack(j.out[:0], j.raw)
		j.members = append(j.members[:0], e.members...)
		e.members = e.members[:0]
		j.done <- struct{}{}
	}
}

// submit hands the first n bytes of arena out and returns an arena with the rest.
func (t *crew) submit(p *packer, arena []byte, n int) ([]byte, error) {
	if len(t.free) == 0 {
		if err := t.collect(p); err != nil {
			return arena, err
		}
	}
	j := t.free[len(t.free)-1]
	t.free = t.free[:len(t.free)-1]
	rest := append(j.raw[:0], arena[n:]...)
	j.raw = arena[:n]
	t.queue = append(t.queue, j)
	t.work <- j
	return rest, nil
}

// collect waits for the oldest job and appends what it packed.
func (t *crew) collect(p *packer) error {
	j := t.queue[0]
	t.queue = t.queue[:copy(t.queue, t.queue[1:])]
	<-j.done
	t.free = append(t.free, j)
	p.out = append(p.out, j.out...)
	p.blocks = append(p.blocks, j.members...)
	p.sum(p.out)
	return j.err
}

// drain collects all jobs.
func (t *crew) drain(p *packer) error {
	for len(t.queue) > 0 {
		if err := t.collect(p); err != nil {
			return err
		}
	}
	return nil
}

// close ends the goroutines once they have done what was submitted.
func (t *crew) close() { close(t.work) }
