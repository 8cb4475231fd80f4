package recordio

// pipeline reads in one goroutine and decodes in others, and delivers the chunks in
// the order of the file. It holds one chunk for each of these and two more.
type pipeline struct {
	order   chan *chunk // read, in order
	work    chan *chunk // the same, to whom decodes
	free    chan *chunk
	stop    chan struct{}
	current *chunk
}

// delivery of a chunk together with what the framer knew when it was read.
type delivery struct {
	dialect Dialect
	err     error // ends the scan; the chunk holds nothing
}

// newPipeline starts the goroutines.
func newPipeline(f *framer, newStage func() *stage, n int) *pipeline {
	f.give = true
	held := n + 2 // one is being read, one is the caller's
	p := &pipeline{
		order: make(chan *chunk, held), work: make(chan *chunk, held), free: make(chan *chunk, held), stop: make(chan struct{}),
	}
	for range held {
		p.free <- &chunk{ready: make(chan struct{}, 1)}
	}
	for range n {
		go p.decode(newStage())
	}
	go p.read(f)
	return p
}

// read cuts the stream into chunks until it ends or nobody wants more.
func (p *pipeline) read(f *framer) {
	defer close(p.work)
	for {
		var c *chunk
		select {
		case <-p.stop:
			return
		case c = <-p.free:
		}
		err := f.next(c)
		c.sent = delivery{dialect: f.dialect, err: err}
		p.order <- c // there is room for all chunks
		p.work <- c
		if err != nil {
			return
		}
	}
}

// decode decodes chunks until there are no more.
func (p *pipeline) decode(s *stage) {
	defer s.close()
	for c := range p.work {
		if c.sent.err == nil {
			s.open(c, c.sent.dialect)
		}
		c.ready <- struct{}{}
	}
}

func (p *pipeline) next() (*chunk, Dialect, error) {
	if p.current != nil {
		p.free <- p.current
	}
	p.current = <-p.order
	<-p.current.ready
	return p.current, p.current.sent.dialect, p.current.sent.err
}

func (p *pipeline) close() { close(p.stop) }

// adaptive delivers the first chunk from the caller's goroutine and only then
// starts a pipeline: what is not compressed is read fastest without.
type adaptive struct {
	source
	start func() source // nil once it is decided
}

func (a *adaptive) next() (*chunk, Dialect, error) {
	d, first := a.source.(*direct)
	if first && a.start != nil && d.chunk.stored != nil {
		if d.chunk.head.comp != None {
			d.close()
			a.source = a.start()
		}
		a.start = nil
	}
	return a.source.next()
}
