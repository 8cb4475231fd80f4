package recordio

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// TestBuffersHaveOneOwner repeatedly writes and reads files of several sizes at the same time, so
// that arrays are passed between them: a shared array would mix their records.
func TestBuffersHaveOneOwner(t *testing.T) {
	var wg sync.WaitGroup
	for who := range 4 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(who), 1))
			for round := range 4 {
				c := Compressors()[(who+round)%len(Compressors())]
				name := fmt.Sprintf("%d, round %d, %v", who, round, c)
				recs := largeRecords(rnd, byte(who), 5<<19)
				opts := WriterOptions{Compressor: c, ChunkBytes: 1 << (20 + rnd.IntN(2)), Parallelism: rnd.IntN(3)}
				file := write(t, recs, opts)
				leave(file, rnd.IntN(len(recs)), ScanOptions{Parallelism: rnd.IntN(3)})
				equal(t, name, scanAll(t, file, ScanOptions{Parallelism: rnd.IntN(3)}), recs)
			}
		})
	}
	wg.Wait()
}

// largeRecords returns records of about size bytes in total, all of one letter.
func largeRecords(rnd *rand.Rand, letter byte, size int) (recs [][]byte) {
	for size > 0 {
		rec := bytes.Repeat([]byte{letter}, rnd.IntN(64<<10))
		recs = append(recs, rec)
		size -= len(rec)
	}
	return recs
}

// leave reads n records and closes the Scanner in the middle of the file.
func leave(file []byte, n int, opts ScanOptions) {
	s := NewScanner(bytes.NewReader(file), opts)
	for i := 0; i < n && s.Scan(); i++ {
	}
	s.Close()
}

func TestPooledBuffersFit(t *testing.T) {
	for _, n := range []int{0, 1, leastPooled - 1} {
		if takeBuf(n) != nil {
			t.Errorf("%d bytes: small arrays are not kept", n)
		}
	}
	giveBuf(nil)
	giveBuf(make([]byte, 5<<20, 6<<20))
	for _, n := range []int{7 << 20, 2 << 20, 5 << 20} {
		if p := takeBuf(n); p != nil && (len(p) < n || len(p) > 4*n) {
			t.Errorf("%d bytes: an array of %d", n, len(p))
		}
	}
}

func TestReserveKeepsWhatIsThere(t *testing.T) {
	p := []byte("abc")
	for _, n := range []int{0, 1, 100, leastPooled, 3 * leastPooled} {
		if p = reserve(p, n); string(p) != "abc" || cap(p)-len(p) < n {
			t.Errorf("room for %d: %q with %d", n, p, cap(p)-len(p))
		}
	}
}
