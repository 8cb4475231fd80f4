package cachefs

import "context"

// session follows one reader through a sequence of blocks or files.
type session struct {
	next   int64 // after the last one read
	asked  int64 // after the last one requested ahead
	window int64 // how many are requested ahead
	used   int64 // value of sessions.clock at the last read
}

// sessions are the readers of one file or directory. A read that continues none of them replaces the
// one that was idle for the longest time.
type sessions struct {
	clock int64
	list  [4]session
}

// touch notes that item i of end was read, and returns the range of items to request now. The window doubles with each
// sequential read. After a jump, the next session begins with half the window if items were left unread, else with p.first.
func (s *sessions) touch(i int64, p pattern, end int64) (from, to int64) {
	s.clock++
	oldest := &s.list[0]
	for k := range s.list {
		x := &s.list[k]
		if x.used > 0 && x.next-p.slack <= i && i <= x.next+p.slack {
			x.used = s.clock
			if i < x.next {
				return 0, 0 // late
			}
			x.next = i + 1
			x.window = min(max(2*x.window, p.first), p.most)
			return x.ask(p, end)
		}
		if x.used < oldest.used {
			oldest = x
		}
	}
	x := oldest
	if x.asked > x.next {
		x.window /= 4 // half of it after the next sequential read doubles it
	} else {
		x.window = 0
	}
	x.used, x.next, x.asked = s.clock, i+1, i+1
	if i == 0 {
		x.window = p.first
		return x.ask(p, end)
	}
	return 0, 0
}

// ask returns the items of the window that were not requested yet.
func (x *session) ask(p pattern, end int64) (from, to int64) {
	from, to = max(x.asked, x.next), min(x.next+x.window, end)
	if p.halves && to-from < x.window/2 && to < end {
		return 0, 0
	}
	x.asked = max(x.asked, to)
	return from, max(from, to)
}

// waste returns the number of items that were requested and not read.
func (s *sessions) waste() (n int64) {
	for _, x := range s.list {
		n += max(0, x.asked-x.next)
	}
	return n
}

// pattern has the parameters for reading blocks or files ahead.
type pattern struct {
	slack       int64 // by how many several readers may be out of order
	first, most int64 // of the window
	halves      bool  // at least half a window is requested at a time
}

var (
	blocksAhead = pattern{slack: 1, first: 2, most: 32}
	filesAhead  = pattern{slack: 16, first: 8, most: 512, halves: true}
)

// readAhead requests the blocks that a reader of block b will want next.
func (f *File) readAhead(ctx context.Context, b int64) {
	e := f.e
	if e.whole.Load() {
		return
	}
	f.mu.Lock()
	from, to := f.ahead.touch(b, blocksAhead, int64(len(e.states)))
	f.mu.Unlock()
	if from < to {
		// The block that is needed now comes first.
		e.want(ctx, b, demand)
	}
	for ; from < to; from++ {
		if e.want(ctx, from, prefetch) != nil {
			e.fs.stats.ahead.Add(1)
		}
	}
	if e.left.Load()*2 < int64(len(e.states)) && e.completing.CompareAndSwap(false, true) && e.hold() {
		go e.complete(ctx)
	}
}

// complete fetches the missing blocks of a file that is mostly cached, so that it can be given to
// the kernel. It ends when the file has no readers.
func (e *entry) complete(ctx context.Context) {
	defer e.drop()
	defer e.completing.Store(false)
	for b := range e.states {
		if e.readers.Load() == 0 {
			return
		}
		if f := e.want(ctx, int64(b), background); f != nil {
			if <-f.done; f.err != nil {
				return
			}
		}
	}
}
