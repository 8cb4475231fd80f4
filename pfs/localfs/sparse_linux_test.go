package localfs

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// sparseData returns content with data in a few places. Between the last two there is no hole that
// is aligned to holeSize.
func sparseData() []byte {
	data := make([]byte, 5*pfs.ChunkSize+1234)
	for _, off := range []int{0, 3*holeSize + 5, pfs.ChunkSize + 17, 4*pfs.ChunkSize - 1, 4*pfs.ChunkSize + holeSize/2} {
		copy(data[off:], pfstest.Pattern(uint64(off+1), 1000))
	}
	return data
}

// most is the limit for the data of sparseData on the disk.
const most = 9 * holeSize

// wantSparse checks the content of a file and that it takes little space.
func wantSparse(t *testing.T, f *FS, dir, name string, data []byte) {
	t.Helper()
	if got := diskOf(t, filepath.Join(dir, name)); got > most {
		t.Errorf("%s takes %d bytes of the disk, want %d at most", name, got, most)
	}
	pfstest.WantFile(t, f, pfs.Root.Join(name), data)
}

// wantHoles skips the test on file systems without holes.
func wantHoles(t *testing.T, dir string) {
	t.Helper()
	h, err := os.Create(filepath.Join(dir, "try"))
	must(t, err)
	defer h.Close()
	if err := makeHole(h, 0, holeSize); err != nil {
		t.Skip("the file system makes no holes:", err)
	}
	must(t, os.Remove(h.Name()))
}

func TestSparse(t *testing.T) {
	f, dir := openStore(t, Options{})
	wantHoles(t, dir)
	data := sparseData()
	commit := pfs.CommitOptions{Size: int64(len(data)), Digest: digest.Bytes(data)}
	for name, write := range map[string]func(w *staged){
		"pieces": func(w *staged) {
			for off := 0; off < len(data); off += 256 << 10 {
				_, err := w.WriteAt(t.Context(), data[off:min(len(data), off+256<<10)], int64(off))
				must(t, err)
			}
		},
		"backwards": func(w *staged) {
			for off := 5 * pfs.ChunkSize; off >= 0; off -= pfs.ChunkSize {
				_, err := w.WriteAt(t.Context(), data[off:min(len(data), off+pfs.ChunkSize)], int64(off))
				must(t, err)
			}
		},
		"over": func(w *staged) { // replaces wrong bytes
			_, err := w.WriteAt(t.Context(), pfstest.Pattern(9, len(data)), 0)
			must(t, err)
			_, err = w.WriteAt(t.Context(), data, 0)
			must(t, err)
		},
	} {
		w, err := f.create(t.Context(), "test", pfs.Root.Join(name), pfs.CreateOptions{Size: commit.Size})
		must(t, err)
		write(w)
		_, err = w.Commit(t.Context(), commit)
		must(t, err)
		wantSparse(t, f, dir, name, data)
	}

	// Resuming an upload does not allocate its holes.
	w := stage(t, f, "/resumed", pfs.CreateOptions{ID: id, Size: commit.Size}, data[:4*pfs.ChunkSize])
	must(t, w.Suspend(t.Context()))
	w2, err := f.Create(t.Context(), "/resumed", pfs.CreateOptions{ID: id, Size: commit.Size})
	must(t, err)
	_, err = w2.WriteAt(t.Context(), data[4*pfs.ChunkSize:], 4*pfs.ChunkSize)
	must(t, err)
	_, err = w2.Commit(t.Context(), commit)
	must(t, err)
	wantSparse(t, f, dir, "resumed", data)

	must(t, f.WriteBatch(t.Context(), []pfs.BatchEntry{{Path: "/batch", Mode: 0o644, Data: data}})[0])
	wantSparse(t, f, dir, "batch", data)
	_, err = f.CopyFile(t.Context(), "/batch", "/copy", pfs.CopyOptions{}, nil)
	must(t, err)
	wantSparse(t, f, dir, "copy", data)

	// A file that is one hole, and one without holes.
	hole := make([]byte, 2*pfs.ChunkSize)
	pfstest.WriteFile(t, f, "/hole", hole)
	wantSparse(t, f, dir, "hole", hole)
	full := bytes.Repeat([]byte{0, 1}, pfs.ChunkSize/2)
	pfstest.WriteFile(t, f, "/full", full)
	pfstest.WantFile(t, f, "/full", full)
}

func TestStretch(t *testing.T) {
	data, zero := bytes.Repeat([]byte{1}, holeSize), make([]byte, holeSize)
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for _, tt := range []struct {
		p      []byte
		off    int64
		zeros  bool
		length int
	}{
		{data[:1], 0, false, 1},
		{zero[:1], 0, false, 1},
		{zero, 0, true, holeSize},
		{zero, 1, false, holeSize}, // two parts of blocks
		{join(zero, zero, data), 0, true, 2 * holeSize},
		{join(data, zero, data), 0, false, holeSize},
		{join(zero, zero), holeSize - 1, false, 1},
		{join(zero, zero[1:]), 0, true, holeSize},
		{join(zero[1:], data[:1]), 0, false, holeSize},
	} {
		if zeros, n := stretch(tt.p, tt.off); zeros != tt.zeros || n != tt.length {
			t.Errorf("stretch(%d bytes, %d) = %v, %d, want %v, %d", len(tt.p), tt.off, zeros, n, tt.zeros, tt.length)
		}
	}
}

// TestHolesAreNotRead distinguishes holes from data at their edges, and reads both as one file.
func TestHolesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	wantHoles(t, dir)
	const data, size = 4 * holeSize, 8*holeSize + 100 // one block of data, and a hole up to the end
	f, err := os.Create(filepath.Join(dir, "f"))
	must(t, err)
	defer f.Close()
	want := make([]byte, size)
	copy(want[data:], pfstest.Pattern(1, holeSize))
	_, err = f.WriteAt(want[data:data+holeSize], data)
	must(t, err)
	must(t, f.Truncate(size))
	for _, tt := range []struct {
		off, n int64
		hole   bool
	}{
		{0, holeSize, true},
		{0, data, true},
		{0, data + 1, false},
		{data - 1, holeSize, false},
		{data + holeSize - 1, holeSize, false},
		{data + holeSize, holeSize, true},
		{size - holeSize, holeSize, true},
		{size - holeSize + 1, holeSize, false}, // the file ends before
		{size, holeSize, false},
		{size + holeSize, holeSize, false},
	} {
		if got := isHole(f, tt.off, tt.n); got != tt.hole {
			t.Errorf("isHole(%d, %d) = %v", tt.off, tt.n, got)
		}
		p := bytes.Repeat([]byte{1}, int(tt.n))
		n, err := readSparse(f, p, tt.off)
		q := bytes.Repeat([]byte{2}, int(tt.n))
		if wantN, wantErr := f.ReadAt(q, tt.off); n != wantN || err != wantErr || !bytes.Equal(p[:n], q[:n]) {
			t.Errorf("readSparse(%d, %d) = %d, %v; want %d, %v, and the same bytes", tt.off, tt.n, n, err, wantN, wantErr)
		}
	}
}
