package recordio

import "sync"

// pipeline reads in one goroutine and decodes in others, and delivers the chunks in
// the order of the file. It holds one chunk for each of these and two more, but only
// one more array to decompress into: that is what costs, for fresh memory takes longer
// to be had than to be filled.
type pipeline struct {
	order   chan *chunk // read, in order
	work    chan *chunk // the same, to whom decodes
	free    chan *chunk
	chunks  []*chunk    // all of them
	arrays  chan []byte // to decompress into
	stop    chan struct{}
	current *chunk
	busy    sync.WaitGroup // the goroutines
	win     *window        // of whom reads
}

// delivery of a chunk together with what the framer knew when it was read.
type delivery struct {
	dialect Dialect
	err     error // ends the scan; the chunk holds nothing
}

// newPipeline starts the goroutines. array is one to decompress into, or nil.
func newPipeline(f *framer, newDecoder func() *chunkDecoder, n int, array []byte) *pipeline {
	f.give = true
	held := n + 2 // one is being read, one is the caller's
	p := &pipeline{
		order: make(chan *chunk, held), work: make(chan *chunk, held), free: make(chan *chunk, held),
		arrays: make(chan []byte, n+1), stop: make(chan struct{}), win: &f.win,
	}
	p.arrays <- array
	for range held {
		c := &chunk{ready: make(chan struct{}, 1)}
		p.chunks = append(p.chunks, c)
		p.free <- c
	}
	for range n {
		p.arrays <- nil
		p.busy.Go(func() { p.decode(newDecoder()) })
	}
	p.busy.Go(func() { p.read(f) })
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

// decode decodes chunks until there are no more. It has an array before it takes a
// chunk, so that nobody waits for one with a chunk that is due.
func (p *pipeline) decode(cd *chunkDecoder) {
	defer cd.close()
	for {
		var array []byte
		select {
		case <-p.stop:
			return
		case array = <-p.arrays:
		}
		c, more := <-p.work
		if !more {
			p.arrays <- array
			return
		}
		c.array = array
		if c.sent.err == nil {
			cd.open(c, c.sent.dialect)
		}
		c.ready <- struct{}{}
	}
}

func (p *pipeline) next() (*chunk, Dialect, error) {
	if p.current != nil {
		p.arrays <- p.current.array
		p.current.array = nil
		p.free <- p.current
	}
	p.current = <-p.order
	<-p.current.ready
	return p.current, p.current.sent.dialect, p.current.sent.err
}

// close ends the goroutines, and gives up the memory once the last of them has ended.
func (p *pipeline) close() {
	close(p.stop)
	go func() {
		p.busy.Wait()
		close(p.arrays)
		for array := range p.arrays {
			giveBuf(array)
		}
		for _, c := range p.chunks {
			giveBuf(c.array)
			giveBuf(c.buf)
		}
		p.win.close()
	}()
}

// adaptive delivers the first chunk from the caller's goroutine and only then
// starts a pipeline: what is not compressed is read fastest without.
type adaptive struct {
	source
	start func(array []byte) source // nil once it is decided
}

func (a *adaptive) next() (*chunk, Dialect, error) {
	d, first := a.source.(*direct)
	if first && a.start != nil && d.chunk.stored != nil {
		if d.chunk.head.comp != None {
			d.decoder.close()
			a.source = a.start(d.chunk.array)
		}
		a.start = nil
	}
	return a.source.next()
}
