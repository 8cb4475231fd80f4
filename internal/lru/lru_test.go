package lru

import (
	"slices"
	"testing"
)

func TestCache(t *testing.T) {
	c := New[string](2, One[int])
	c.Add("a", 1)
	c.Add("b", 2)
	c.Get("a")
	if dropped := c.Add("c", 3); !slices.Equal(dropped, []int{2}) {
		t.Errorf("Add dropped %v, want 2", dropped)
	}
	for key, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := c.Get(key); ok != want {
			t.Errorf("Get(%q) = %v, want %v", key, ok, want)
		}
	}
	if got := slices.Sorted(c.Values()); !slices.Equal(got, []int{1, 3}) || len(c.entries) != c.order.Len() {
		t.Errorf("values %v, %d entries, %d in order", got, len(c.entries), c.order.Len())
	}
}

// A value that is larger than the cache is kept alone.
func TestLargeValue(t *testing.T) {
	c := New[string](100, func(n int64) int64 { return n })
	c.Add("a", 60)
	c.Add("b", 30)
	c.Add("c", 200)
	if got := slices.Collect(c.Values()); !slices.Equal(got, []int64{200}) {
		t.Errorf("values %v, want 200", got)
	}
	c.Add("d", 10)
	if got := slices.Collect(c.Values()); !slices.Equal(got, []int64{10}) || c.left != 90 {
		t.Errorf("values %v, %d left", got, c.left)
	}
}

// A value that replaces another takes its place alone.
func TestReplace(t *testing.T) {
	c := New[string](2, One[int])
	c.Add("a", 1)
	c.Add("b", 2)
	if dropped := c.Add("a", 3); dropped != nil {
		t.Errorf("Add dropped %v, though there is room", dropped)
	}
	c.Add("c", 4)
	if got, ok := c.Get("a"); got != 3 || !ok || c.order.Len() != 2 {
		t.Errorf("Get = %v, %v, %d in order; want the newer value and 2", got, ok, c.order.Len())
	}
}
