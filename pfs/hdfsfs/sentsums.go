package hdfsfs

import "encoding/binary"

// sentSums are the checksums in the packets of a file on their way to a DataNode. If they
// are those of the bytes that were to be written, and all DataNodes of the pipeline have
// acknowledged, then they have these bytes: the last one has compared them with these
// checksums, and each keeps the checksums beside what it keeps.
type sentSums struct {
	all     []byte
	unclear bool // something was sent that could not be understood
}

// collect begins to note what is sent.
func (s *session) collect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sums = &sentSums{}
}

// noteSent looks at what the library sends to a DataNode.
func (s *session) noteSent(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sums == nil {
		return
	}
	sums, _, err := parsePacket(p)
	s.sums.all = append(s.sums.all, sums...)
	s.sums.unclear = s.sums.unclear || err != nil
}

// collected ends collect, and reports whether what was sent has the sums that are wanted.
func (s *session) collected(want []uint32) bool {
	s.mu.Lock()
	got := s.sums
	s.sums = nil
	s.mu.Unlock()
	if got == nil || got.unclear || len(got.all) != len(want)*sumSize {
		return false
	}
	for i, sum := range want {
		if binary.BigEndian.Uint32(got.all[i*sumSize:]) != sum {
			return false
		}
	}
	return true
}
