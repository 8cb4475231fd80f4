package hdfsfs

import (
	"encoding/binary"
	"hash/crc32"
	"slices"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"google.golang.org/protobuf/encoding/protowire"
)

// TestSentSums knows from the packets alone what was sent.
func TestSentSums(t *testing.T) {
	c := testbed.HDFS(t)
	f := open(t, options(c, c.Scratch(t)))
	l, err := f.layout(t.Context())
	must(t, err)
	l.small = true
	for _, n := range []int{1, 512, 100_001, 2*small + 7} {
		a, err := f.beginWith(t.Context(), l, pfstest.Pattern(1, n), func() string { return f.at("/f") })
		must(t, err)
		must(t, a.s.do(t.Context(), time.Minute, a.closeFile))
		if !a.s.collected(a.allSums()) {
			t.Errorf("%d bytes: what was sent is not known", n)
		}
		a.discard()
	}
}

// TestSentSumsDiffer takes nothing else for what was to be sent.
func TestSentSumsDiffer(t *testing.T) {
	data := pfstest.Pattern(1, 2*checksumChunk+9)
	var a attempt
	a.sum(data)
	want := a.allSums()
	changed := slices.Clone(want)
	changed[1] ^= 1
	good, half := packetOf(data, checksumChunk), packetOf(data[:checksumChunk], checksumChunk)
	for _, c := range []struct {
		name string
		sent [][]byte
		sums []uint32
		want bool
	}{
		{"all", [][]byte{good}, want, true},
		{"in pieces", [][]byte{half, packetOf(data[checksumChunk:], checksumChunk), packetOf(nil, checksumChunk)}, want, true},
		{"other bytes", [][]byte{good}, changed, false},
		{"too few", [][]byte{half}, want, false},
		{"too many", [][]byte{good, half}, want, false},
		{"something else", [][]byte{good, []byte("else")}, want, false},
		{"nothing", nil, want, false},
	} {
		s := &session{}
		s.collect()
		for _, p := range c.sent {
			s.noteSent(p)
		}
		if got := s.collected(c.sums); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if s.collected(c.sums) {
			t.Errorf("%s: it is still collected", c.name)
		}
	}
}

// packetOf is a packet with data and its checksums.
func packetOf(data []byte, chunk int) []byte {
	var sums []byte
	for at := 0; at < len(data); at += chunk {
		sums = binary.BigEndian.AppendUint32(sums, crc32.Checksum(data[at:min(at+chunk, len(data))], castagnoli))
	}
	head := protowire.AppendFixed32(protowire.AppendTag(nil, 4, protowire.Fixed32Type), uint32(len(data)))
	p := binary.BigEndian.AppendUint32(nil, uint32(4+len(sums)+len(data)))
	p = binary.BigEndian.AppendUint16(p, uint16(len(head)))
	return append(append(append(p, head...), sums...), data...)
}
