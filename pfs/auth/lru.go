package auth

import "container/list"

// lru is a map with a maximum number of entries. It removes the least recently used ones. It is not
// safe for concurrent use.
type lru[K comparable, V any] struct {
	most    int
	entries map[K]*list.Element
	order   *list.List // of lruEntry, most recently used first
}

type lruEntry[K comparable, V any] struct {
	key   K
	value V
}

func newLRU[K comparable, V any](most int) *lru[K, V] {
	return &lru[K, V]{most: most, entries: map[K]*list.Element{}, order: list.New()}
}

func (c *lru[K, V]) get(key K) (value V, ok bool) {
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(lruEntry[K, V]).value, true
}

// add inserts a new key.
func (c *lru[K, V]) add(key K, value V) {
	c.entries[key] = c.order.PushFront(lruEntry[K, V]{key, value})
	if c.order.Len() > c.most {
		oldest := c.order.Remove(c.order.Back()).(lruEntry[K, V])
		delete(c.entries, oldest.key)
	}
}
