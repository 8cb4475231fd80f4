package job

import (
	"hash/maphash"
	"slices"
	"sort"
	"time"
)

// LogSeen remembers lines of the log of a worker, so that they are recognized in a copy of the log from another source. In the
// copy, the time of a line may be up to maxLater later, because a node records it after the launcher, and the two streams may not
// be distinguished.
type LogSeen struct {
	ring   []seenLine // the last maxSeen lines
	next   int
	before time.Time // the latest time of lines that are no longer in ring
}

type seenLine struct {
	time time.Time
	text uint64
}

const (
	maxSeen  = 4096            // how many lines a LogSeen compares; older ones are recognized by their time
	maxLater = 2 * time.Second // less than the time between two runs of a program that begin with the same line
)

var lineSeed = maphash.MakeSeed()

// Add remembers a line.
func (s *LogSeen) Add(l LogLine) {
	seen := seenLine{l.Time, maphash.Bytes(lineSeed, l.Text)}
	if len(s.ring) < maxSeen {
		s.ring = append(s.ring, seen)
		return
	}
	if old := s.ring[s.next].time; old.After(s.before) {
		s.before = old
	}
	s.ring[s.next] = seen
	s.next = (s.next + 1) % maxSeen
}

// Skip returns a function that reports whether a line of a copy of the log was added before. A line that was
// added n times matches n lines of the copy.
func (s *LogSeen) Skip() func(LogLine) bool {
	left, before := map[uint64][]time.Time{}, s.before // the times of each text
	for _, seen := range s.ring {
		left[seen.text] = append(left[seen.text], seen.time)
	}
	for _, times := range left {
		slices.SortFunc(times, time.Time.Compare)
	}
	return func(l LogLine) bool {
		if !l.Time.After(before) && !before.IsZero() {
			return true
		}
		text := maphash.Bytes(lineSeed, l.Text)
		times := left[text]
		i := sort.Search(len(times), func(i int) bool { return times[i].After(l.Time) }) - 1
		if i < 0 || l.Time.Sub(times[i]) > maxLater {
			return false
		}
		left[text] = slices.Delete(times, i, i+1)
		return true
	}
}
