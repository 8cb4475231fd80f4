package client_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// TestRangesOfOlderServices reads ranges from a service that ignores them.
func TestRangesOfOlderServices(t *testing.T) {
	store := memfs.New(memfs.Options{})
	data := pfstest.Pattern(1, 100_000)
	pfstest.WriteFile(t, store, "/f", data)
	var batches int
	s := start(t, store, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != wire.PathRead {
				h.ServeHTTP(w, r)
				return
			}
			batches++
			w.Header().Set(wire.HeaderProtocol, fmt.Sprint(wire.Version))
			_ = wire.WriteFrame(w, struct {
				Files []wire.ReadResult `msgpack:"files"`
			}{})
		})
	})
	c := s.connect(t, s.URL)
	ranges := []pfs.Range{
		{Path: "/f", Off: 99_990, Data: make([]byte, 20)},
		{Path: "/missing", Data: make([]byte, 1)},
		{Path: "/f", Version: "another", Data: make([]byte, 1)},
		{Path: "/f", Off: 5, Data: make([]byte, 20)},
	}
	errs := c.ReadRanges(t.Context(), ranges)
	if batches != 1 {
		t.Errorf("%d batches", batches)
	}
	for i, want := range []error{nil, pfs.NotExist, pfs.Conflict, nil} {
		if pfs.KindOf(errs[i]) != pfs.KindOf(want) {
			t.Errorf("range %d: %v, want %v", i, errs[i], want)
		}
	}
	if !bytes.Equal(ranges[0].Data, data[99_990:]) || !bytes.Equal(ranges[3].Data, data[5:25]) {
		t.Error("other bytes than were written")
	}
}

// BenchmarkRandomRecords reads random records of 1 KB out of 64 shards from a service with 5 ms of
// latency: with one request a record, and with one a batch of 256 records.
func BenchmarkRandomRecords(b *testing.B) {
	const shards, record, size, latency = 64, 1 << 10, 4 << 20, 5 * time.Millisecond
	store := memfs.New(memfs.Options{})
	name := func(i int) pfs.Path { return pfs.Path(fmt.Sprintf("/shard-%05d", i)) }
	for i := range shards {
		pfstest.WriteFile(b, store, name(i), pfstest.Pattern(uint64(i), size))
	}
	s := start(b, store, true, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(latency)
			h.ServeHTTP(w, r)
		})
	})
	c := s.connect(b, s.URL)
	files := make([]pfs.File, shards)
	for i := range files {
		var err error
		if files[i], err = c.Open(b.Context(), name(i)); err != nil {
			b.Fatal(err)
		}
		defer files[i].Close()
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	place := func() (shard int, off int64) { return rnd.IntN(shards), rnd.Int64N((size-1<<17)/record)*record + 1<<17 }
	b.Run("one by one", func(b *testing.B) {
		p := make([]byte, record)
		for range b.N {
			i, off := place()
			if _, err := files[i].ReadAt(b.Context(), p, off); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "records/s")
	})
	b.Run("batches", func(b *testing.B) {
		ranges := make([]pfs.Range, 256)
		room := make([]byte, len(ranges)*record)
		for range b.N {
			for k := range ranges {
				i, off := place()
				ranges[k] = pfs.Range{Path: name(i), Version: files[i].Info().Version, Off: off, Data: room[k*record:][:record]}
			}
			for _, err := range c.ReadRanges(b.Context(), ranges) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.N*len(ranges))/b.Elapsed().Seconds(), "records/s")
	})
}
