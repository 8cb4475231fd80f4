package recordio

// workPiece is the minimum data that a goroutine packs at a time, so that the cost of waking it is
// small in comparison.
const workPiece = 512 << 10

// workers pack groups in several goroutines. Results are collected in the order of submission, so
// the output does not depend on the number of goroutines.
type workers struct {
	work  chan *job
	queue []*job // submitted and not collected, oldest first
	free  []*job
}

// job is a part of a chunk's data to be packed.
type job struct {
	raw, out []byte
	members  []block
	err      error
	done     chan struct{}
}

// newWorkers starts n goroutines that compress with c.
func newWorkers(c Compressor, n int) (*workers, error) {
	w := &workers{work: make(chan *job, 2*n)}
	for range n {
		e, err := newEncoder(c)
		if err != nil {
			w.close()
			return nil, err
		}
		go w.run(e)
	}
	for range 2 * n {
		w.free = append(w.free, &job{done: make(chan struct{}, 1)})
	}
	return w, nil
}

func (w *workers) run(e *encoder) {
	for j := range w.work {
		j.out, j.err = e.pack(j.out[:0], j.raw)
		j.members = append(j.members[:0], e.members...)
		e.members = e.members[:0]
		j.done <- struct{}{}
	}
}

// submit queues the first n bytes of arena and returns an arena with the rest.
func (w *workers) submit(p *packer, arena []byte, n int) ([]byte, error) {
	if len(w.free) == 0 {
		if err := w.collect(p); err != nil {
			return arena, err
		}
	}
	j := w.free[len(w.free)-1]
	w.free = w.free[:len(w.free)-1]
	rest := append(j.raw[:0], arena[n:]...)
	j.raw = arena[:n]
	w.queue = append(w.queue, j)
	w.work <- j
	return rest, nil
}

// collect waits for the oldest job and appends its result.
func (w *workers) collect(p *packer) error {
	j := w.queue[0]
	w.queue = w.queue[:copy(w.queue, w.queue[1:])]
	<-j.done
	w.free = append(w.free, j)
	p.out = append(p.out, j.out...)
	p.blocks = append(p.blocks, j.members...)
	p.sum(p.out)
	return j.err
}

// drain collects all jobs.
func (w *workers) drain(p *packer) error {
	for len(w.queue) > 0 {
		if err := w.collect(p); err != nil {
			return err
		}
	}
	return nil
}

// close stops the goroutines after the submitted jobs are done.
func (w *workers) close() { close(w.work) }
