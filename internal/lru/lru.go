// Package lru is a map of bounded size that drops the least recently used entries.
package lru

import (
	"container/list"
	"iter"
)

// Cache is a map whose entries have at most a given size together, except for a single larger one.
// It drops the least recently used entries. It is not safe for concurrent use.
type Cache[K comparable, V any] struct {
	left    int64
	size    func(V) int64
	entries map[K]*list.Element
	order   list.List // of entry, most recently used first
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns a cache of entries whose sizes add up to at most the given number.
func New[K comparable, V any](most int64, size func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{left: most, size: size, entries: map[K]*list.Element{}}
}

// One is the size of every entry of a cache whose number of entries is limited.
func One[V any](V) int64 { return 1 }

// Get returns the value of key, which becomes the most recently used one.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Add sets the value of key, which becomes the most recently used one, and returns the values of other keys that
// it drops.
func (c *Cache[K, V]) Add(key K, value V) (dropped []V) {
	if old, ok := c.entries[key]; ok {
		c.left += c.size(c.order.Remove(old).(entry[K, V]).value)
	}
	c.entries[key] = c.order.PushFront(entry[K, V]{key, value})
	for c.left -= c.size(value); c.left < 0 && c.order.Len() > 1; {
		oldest := c.order.Remove(c.order.Back()).(entry[K, V])
		delete(c.entries, oldest.key)
		c.left += c.size(oldest.value)
		dropped = append(dropped, oldest.value)
	}
	return dropped
}

// Values yields all values.
func (c *Cache[K, V]) Values() iter.Seq[V] {
	return func(yield func(V) bool) {
		for e := c.order.Front(); e != nil && yield(e.Value.(entry[K, V]).value); e = e.Next() {
		}
	}
}
