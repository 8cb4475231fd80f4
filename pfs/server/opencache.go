package server

import (
	"container/list"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

// openCache keeps files, uploads and handles open between requests. It closes an entry that no
// request has used for the time life.
type openCache[K comparable, V keeper[K]] struct {
	life  time.Duration
	most  int     // when more are open, idle ones are closed, the least recently used first; 0 for no bound
	close func(V) // closes an entry that no request uses anymore

	mu     sync.Mutex
	open   map[K]V
	recent list.List // of V, most recently used first
	timer  *time.Timer
	closed bool
}

// kept is the part of an entry that its cache needs. All but key is guarded by openCache.mu.
type kept[K comparable] struct {
	key     K
	users   int
	used    time.Time // when the last request ended
	gone    bool      // it is not in the cache, and the last user closes it
	element *list.Element
}

type keeper[K comparable] interface{ entry() *kept[K] }

func (h *kept[K]) entry() *kept[K] { return h }

// find returns the entry of key. The caller releases it.
func (c *openCache[K, V]) find(key K) (v V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if v, ok = c.open[key]; ok {
		c.use(v)
	}
	return v, ok
}

// use counts one more user of v. c.mu is held.
func (c *openCache[K, V]) use(v V) {
	v.entry().users++
	c.recent.MoveToFront(v.entry().element)
}

// install keeps v open. If its key has an entry already, install closes v and returns that entry.
// The caller releases the result.
func (c *openCache[K, V]) install(v V) V {
	c.mu.Lock()
	in, spare := c.put(v, false)
	c.mu.Unlock()
	c.closeEach(spare)
	return in
}

// put is install with c.mu held; the caller closes spare. With replace, v replaces an entry that
// no request uses.
func (c *openCache[K, V]) put(v V, replace bool) (in V, spare []V) {
	h := v.entry()
	if old, ok := c.open[h.key]; ok {
		if !replace || old.entry().users > 0 {
			c.use(old)
			return old, []V{v}
		}
		spare = c.drop(old, spare)
	}
	h.users = 1
	if c.closed {
		h.gone = true
		return v, spare
	}
	if c.open == nil {
		c.open = map[K]V{}
	}
	c.open[h.key] = v
	h.element = c.recent.PushFront(v)
	if c.timer == nil {
		c.timer = time.AfterFunc(c.life/4, c.expire)
	}
	if c.most > 0 {
		spare = c.trim(0, spare)
	}
	return v, spare
}

// drop removes v, and adds it to spare if no request uses it. c.mu is held.
func (c *openCache[K, V]) drop(v V, spare []V) []V {
	h := v.entry()
	if h.gone {
		return spare
	}
	h.gone = true
	delete(c.open, h.key)
	c.recent.Remove(h.element)
	if h.users == 0 {
		spare = append(spare, v)
	}
	return spare
}

// trim removes the entries that have been idle for age, if that is not 0, and those beyond
// c.most. c.mu is held.
func (c *openCache[K, V]) trim(age time.Duration, spare []V) []V {
	for e := c.recent.Back(); e != nil; {
		v, before := e.Value.(V), e.Prev()
		h := v.entry()
		old := age > 0 && time.Since(h.used) >= age
		if h.users == 0 && (old || c.most > 0 && c.recent.Len() > c.most) {
			spare = c.drop(v, spare)
		} else if age == 0 && c.recent.Len() <= c.most {
			break
		}
		e = before
	}
	return spare
}

// expire closes entries that have been idle for life.
func (c *openCache[K, V]) expire() {
	c.mu.Lock()
	spare := c.trim(c.life, nil)
	if c.timer = nil; c.recent.Len() > 0 {
		c.timer = time.AfterFunc(c.life/4, c.expire)
	}
	c.mu.Unlock()
	c.closeEach(spare)
}

// release ends one use of v.
func (c *openCache[K, V]) release(v V) {
	c.mu.Lock()
	h := v.entry()
	h.users--
	h.used = time.Now()
	over := h.gone && h.users == 0
	c.mu.Unlock()
	if over {
		c.closeEach([]V{v})
	}
}

// dropIdle closes the matching entries that no request uses.
func (c *openCache[K, V]) dropIdle(match func(key K) bool) {
	c.mu.Lock()
	var spare []V
	for key, v := range c.open {
		if v.entry().users == 0 && match(key) {
			spare = c.drop(v, spare)
		}
	}
	c.mu.Unlock()
	c.closeEach(spare)
}

// closeAll closes all entries; from then on none is kept.
func (c *openCache[K, V]) closeAll() {
	c.mu.Lock()
	c.closed = true
	if c.timer != nil {
		c.timer.Stop()
	}
	var all []V
	for _, v := range c.open {
		v.entry().users = 0 // requests have ended
		all = c.drop(v, all)
	}
	c.mu.Unlock()
	c.closeEach(all)
}

// count returns the number of entries.
func (c *openCache[K, V]) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.open)
}

func (c *openCache[K, V]) closeEach(spare []V) {
	for _, v := range spare {
		_ = pfs.Guard("server.close", "", func() error {
			c.close(v)
			return nil
		})
	}
}
