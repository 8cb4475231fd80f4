package job

import (
	"hash/maphash"
	"time"
)

// LogSeen remembers lines of the log of a worker, so that they are recognized in a copy of the log from
// another place. Times do not order lines exactly, because there are two streams.
type LogSeen struct {
	ring   []lineKey // the last maxSeen lines
	next   int
	before time.Time // the latest time of lines that are no longer in ring
}

type lineKey struct {
	time time.Time
	text uint64
}

// maxSeen is how many lines a LogSeen compares. Older ones are recognized by their time.
const maxSeen = 4096

var lineSeed = maphash.MakeSeed()

func keyOf(l LogLine) lineKey {
	var h maphash.Hash
	h.SetSeed(lineSeed)
	h.WriteString(l.Stream)
	h.Write(l.Text)
	return lineKey{l.Time.UTC(), h.Sum64()}
}

// Add remembers a line.
func (s *LogSeen) Add(l LogLine) {
	if len(s.ring) < maxSeen {
		s.ring = append(s.ring, keyOf(l))
		return
	}
	if old := s.ring[s.next].time; old.After(s.before) {
		s.before = old
	}
	s.ring[s.next] = keyOf(l)
	s.next = (s.next + 1) % maxSeen
}

// Skip returns a function that reports whether a line was added, for the lines of a copy of the log. Each
// time that a line was added counts for one line of the copy.
func (s *LogSeen) Skip() func(LogLine) bool {
	left, before := map[lineKey]int{}, s.before
	for _, k := range s.ring {
		left[k]++
	}
	return func(l LogLine) bool {
		if !l.Time.After(before) && !before.IsZero() {
			return true
		}
		k := keyOf(l)
		left[k]--
		return left[k] >= 0
	}
}
