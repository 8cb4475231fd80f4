package hdfsfs

import (
	"container/list"
	"runtime"
	"sync"
	"weak"
)

// maxOthers is the number of users whose connections are kept, as far as they are idle.
const maxOthers = 64

// others are the file systems of users other than the service. Whoever asks twice gets
// the same one for as long as anybody has it; those used last are kept for the next
// request.
type others struct {
	mu     sync.Mutex
	all    map[who]weak.Pointer[FS]
	recent list.List // of *FS, the one used last in front
	kept   map[who]*list.Element
}

// get returns the file system of w, made by build if there is none.
func (o *others) get(w who, build func(who) *FS) *FS {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.all[w].Value()
	if f == nil {
		f = build(w)
		if o.all == nil {
			o.all, o.kept = map[who]weak.Pointer[FS]{}, map[who]*list.Element{}
		}
		o.all[w] = weak.Make(f)
		runtime.AddCleanup(f, o.forget, w)
	}
	o.keep(f)
	return f
}

// keep notes that f is in use. The one used the longest time ago is let go: its idle
// sessions end by themselves.
func (o *others) keep(f *FS) {
	if e, ok := o.kept[f.who]; ok {
		o.recent.MoveToFront(e)
		return
	}
	o.kept[f.who] = o.recent.PushFront(f)
	if o.recent.Len() > maxOthers {
		oldest := o.recent.Remove(o.recent.Back()).(*FS)
		delete(o.kept, oldest.who)
	}
}

// forget removes what nobody has any more, unless it was made anew.
func (o *others) forget(w who) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[w].Value() == nil {
		delete(o.all, w)
	}
}

// close closes what is idle of all of them.
func (o *others) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.all {
		if f := p.Value(); f != nil {
			f.pool.close()
		}
	}
}
