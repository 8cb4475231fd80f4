package recordio

import "sync"

// pipeline reads in one goroutine, decodes in others, and delivers chunks in file order. It holds
// one chunk for each goroutine and two more, but only one array more than goroutines to decompress
// into, because fresh memory takes longer to get than to fill.
type pipeline struct {
	order   chan *chunk // chunks read, in order
	work    chan *chunk // the same chunks, for the decoding goroutines
	free    chan *chunk
	chunks  []*chunk    // all chunks
	arrays  chan []byte // arrays to decompress into
	stop    chan struct{}
	current *chunk
	busy    sync.WaitGroup // the goroutines
	win     *window        // the reader's
}

// delivery is a chunk with the framer's state at the time of reading.
type delivery struct {
	dialect Dialect
	err     error // ends the scan; the chunk is empty
}

// newPipeline starts the goroutines. array is an array to decompress into, or nil.
func newPipeline(f *framer, newDecoder func() *chunkDecoder, n int, array []byte) *pipeline {
	f.give = true
	held := n + 2 // one being read and one held by the caller
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

// read cuts the stream into chunks until it ends or the pipeline is closed.
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
		p.order <- c // never blocks: its capacity is that of all chunks
		p.work <- c
		if err != nil {
			return
		}
	}
}

// decode decodes chunks until there are no more. It takes an array before a chunk, so that the
// chunk that is due never waits for an array.
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

// close stops the goroutines and releases the memory after the last one has ended.
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

// adaptive delivers the first chunk from the caller's goroutine and then decides whether to start a
// pipeline: uncompressed files are read faster without one.
type adaptive struct {
	source
	start func(array []byte) source // nil after the decision
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
