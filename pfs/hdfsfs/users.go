package hdfsfs

import (
	"container/list"
	"runtime"
	"sync"
	"weak"
)

// maxOthers is the number of users whose idle connections are kept.
const maxOthers = 64

// others are the file systems of users other than the service. A user has one as long as it is
// referenced; the most recently used ones are kept for the next request.
type others struct {
	mu     sync.Mutex
	all    map[acting]weak.Pointer[FS]
	recent list.List // of *FS, the one used last in front
	kept   map[acting]*list.Element
}

// get returns the file system of w. It calls build if there is none.
func (o *others) get(w acting, build func(acting) *FS) *FS {
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.all[w].Value()
	if f == nil {
		f = build(w)
		if o.all == nil {
			o.all, o.kept = map[acting]weak.Pointer[FS]{}, map[acting]*list.Element{}
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
	if e, ok := o.kept[f.acting]; ok {
		o.recent.MoveToFront(e)
		return
	}
	o.kept[f.acting] = o.recent.PushFront(f)
	if o.recent.Len() > maxOthers {
		oldest := o.recent.Remove(o.recent.Back()).(*FS)
		delete(o.kept, oldest.acting)
	}
}

// forget removes an FS that is no longer referenced, unless it was built again.
func (o *others) forget(w acting) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all[w].Value() == nil {
		delete(o.all, w)
	}
}

// close closes the idle connections of all users.
func (o *others) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.all {
		if f := p.Value(); f != nil {
			f.client.close()
		}
	}
}
