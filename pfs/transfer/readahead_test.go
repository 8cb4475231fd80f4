package transfer

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestReadAhead(t *testing.T) {
	fsys := memfs.New(memfs.Options{})
	for _, size := range []int{0, 1, pfs.ChunkSize, 7*pfs.ChunkSize + 3} {
		data := pattern(size)
		pfstest.WriteFile(t, fsys, "/f", data)
		f, err := fsys.Open(t.Context(), "/f")
		if err != nil {
			t.Fatal(err)
		}
		r := NewReadAhead(t.Context(), f, 0, int64(size))
		got, err := io.ReadAll(r)
		r.Stop()
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("%d bytes: %d came back, and not those (%v)", size, len(got), err)
		}
		r = NewReadAhead(t.Context(), f, 0, int64(size)+1)
		if _, err := io.ReadAll(r); !errors.Is(err, pfs.Integrity) {
			t.Errorf("%d bytes, one more announced: %v, want Integrity", size, err)
		}
		if _, err := r.Read(make([]byte, 1)); !errors.Is(err, pfs.Integrity) {
			t.Errorf("after an error: %v, want the same", err)
		}
		r.Stop()
		f.Close()
	}
}

// pattern returns n bytes that differ from chunk to chunk.
func pattern(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i>>22) ^ byte(i*7)
	}
	return data
}
