package cachefs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestQueueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(1, 10)
		first := q.enter(demand, 10)
		var order []priority
		tickets := map[priority]*ticket{}
		for _, p := range []priority{background, prefetch, demand} {
			waiting := q.enter(p, 10)
			tickets[p] = waiting
			go func() {
				if q.wait(t.Context(), waiting) == nil {
					order = append(order, p)
					q.leave(waiting)
				}
			}()
		}
		synctest.Wait()
		q.raise(tickets[background], demand)
		q.leave(first)
		synctest.Wait()
		if want := []priority{demand, background, prefetch}; !slices.Equal(order, want) {
			t.Errorf("order %v, want %v", order, want)
		}
		if q.running != 0 || q.memory != 10 {
			t.Errorf("%d are running, %d bytes are left", q.running, q.memory)
		}
	})
}

// TestKeptMemory: a request takes the memory of blocks that wait for their readers, at once if a reader waits for it, and else
// when they have waited for a while.
func TestKeptMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := newQueue(8, 30)
		var freed []int
		var kept []*ticket
		for i := range 3 {
			ticket := q.enter(prefetch, 10)
			q.answered(ticket)
			q.keep(ticket, func() { freed = append(freed, i) })
			kept = append(kept, ticket)
		}
		granted := func(t *ticket) bool {
			select {
			case <-t.granted:
				return true
			default:
				return false
			}
		}
		ahead := q.enter(prefetch, 10)
		if granted(ahead) {
			t.Error("reading ahead takes memory that was just filled")
		}
		reader := q.enter(demand, 10)
		if !granted(reader) || !slices.Equal(freed, []int{2}) {
			t.Errorf("demand is granted: %v; it takes the memory of %v", granted(reader), freed)
		}
		if second := q.try(10); second == nil || !slices.Equal(freed, []int{2, 1}) {
			t.Errorf("a second request takes the memory of %v", freed)
		} else {
			time.Sleep(keptFor)
			q.leave(second)
		}
		if !granted(ahead) || len(freed) != 2 {
			t.Errorf("reading ahead is granted: %v, and takes the memory of %v", granted(ahead), freed)
		}
		next := q.enter(prefetch, 10)
		if !granted(next) || !slices.Equal(freed, []int{2, 1, 0}) {
			t.Errorf("reading ahead is granted later: %v; it takes the memory of %v", granted(next), freed)
		}
		for _, k := range kept {
			q.unkeep(k) // nothing is left to do
		}
		for _, used := range []*ticket{ahead, reader, next} {
			q.leave(used)
		}
		if q.running != 0 || q.memory != 30 {
			t.Errorf("%d are running, %d bytes are left", q.running, q.memory)
		}
	})
}

// TestSessions follows readers in order, out of order, interleaved and at random.
func TestSessions(t *testing.T) {
	p := pattern{slack: 2, first: 2, most: 8}
	for name, row := range map[string]struct {
		reads []int64
		want  int64 // requested ahead in all
	}{
		"in order":     {[]int64{0, 1, 2, 3, 4}, 12},
		"out of order": {[]int64{0, 2, 1, 3, 5, 4}, 13},
		"from 50 on":   {[]int64{50, 51, 52, 53}, 10},
		"two readers":  {[]int64{0, 50, 1, 51, 2, 52}, 10 + 5},
		"at random":    {[]int64{90, 10, 40, 70, 25, 60}, 0},
		"at the end":   {[]int64{97, 98, 99}, 1},
	} {
		var s sessions
		asked := map[int64]bool{}
		for _, i := range row.reads {
			from, to := s.touch(i, p, 100)
			for ; from < to; from++ {
				if asked[from] || from <= i && name != "out of order" {
					t.Errorf("%s: %d is requested again or late", name, from)
				}
				asked[from] = true
			}
		}
		if int64(len(asked)) != row.want {
			t.Errorf("%s: %d requested, want %d", name, len(asked), row.want)
		}
	}
}

func TestHedgeAfter(t *testing.T) {
	var l latency
	if _, known := l.hedgeAfter(); known {
		t.Error("known without a request")
	}
	for i := range 100 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	if d, known := l.hedgeAfter(); !known || d < 190*time.Millisecond || d > 200*time.Millisecond {
		t.Errorf("after %v", d)
	}
	n := 0
	for range 100 {
		if l.mayHedge() {
			n++
		}
	}
	if n != 6 {
		t.Errorf("%d of 100 requests are sent twice", n)
	}
}

func TestControlGroupLimit(t *testing.T) {
	files := map[string]string{}
	read := func(name string) ([]byte, error) {
		if s, ok := files[name]; ok {
			return []byte(s), nil
		}
		return nil, fmt.Errorf("%s: %w", name, fs.ErrNotExist)
	}
	for _, row := range []struct {
		files map[string]string
		want  int64
	}{
		{nil, 1 << 62},
		{map[string]string{"/proc/self/cgroup": "0::/a/b\n", "/sys/fs/cgroup/a/b/memory.max": "max\n", "/sys/fs/cgroup/a/memory.max": "1000\n"}, 1000},
		{map[string]string{"/proc/self/cgroup": "0::/\n", "/sys/fs/cgroup/memory.max": "500\n"}, 500},
		{map[string]string{"/proc/self/cgroup": "5:cpu:/x\n4:memory:/pod\n", "/sys/fs/cgroup/memory/pod/memory.limit_in_bytes": "700\n", "/sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 700},
	} {
		files = row.files
		if got := cgroupLimit(read); got != row.want {
			t.Errorf("%v: %d, want %d", row.files, got, row.want)
		}
	}
	if _, err := read("x"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestHeader(t *testing.T) {
	h := header{size: 1 << 40, data: fileID{7, -1}, boot: bootID{1, 2}}
	p := h.encode()
	if got, ok := decodeHeader(p); !ok || got != h {
		t.Errorf("%+v, %v", got, ok)
	}
	for i := range p {
		q := slices.Clone(p)
		q[i]++
		if _, ok := decodeHeader(q); ok {
			t.Errorf("a change of byte %d is not seen", i)
		}
	}
	if _, ok := decodeHeader(p[1:]); ok {
		t.Error("a short header")
	}
}
