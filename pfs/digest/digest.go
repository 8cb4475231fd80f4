// Package digest computes the tree digests that pfs keeps with files and compares
// them by.
//
// A file is a row of leaves of pfs.ChunkSize bytes, the last one possibly short;
// an empty file has none. With H the hash of the algorithm, the digest is
//
//	H( size as 8 bytes big-endian | H(leaf 0) | H(leaf 1) | ... )
//
// written "algorithm:hex". So it can be computed in parallel, checked for a range
// and resumed, and two files of one size and digest are the same but for a
// collision.
//
// Algorithms: "xxh3" is XXH3-128 (16 bytes, big-endian): it finds every accident
// and costs almost nothing, and is what transfers use to ask "is it the same
// file". "blake3" is BLAKE3-256: it also resists an adversary, and is used where a
// digest is a promise to others (verify, manifests).
package digest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"runtime"
	"strings"
	"sync"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/zeebo/blake3"
	"github.com/zeebo/xxh3"
)

// The algorithms.
const (
	XXH3   = "xxh3"
	BLAKE3 = "blake3"
)

// Leaf returns the XXH3-128 of one leaf.
func Leaf(p []byte) pfs.LeafDigest { return xxh3.Hash128(p).Bytes() }

// Algorithm returns the part of a digest before the colon; "" if it has none.
func Algorithm(d string) string {
	a, _, _ := strings.Cut(d, ":")
	return a
}

// hasher computes one hash: of a leaf, or of the whole.
type hasher interface {
	io.Writer
	Sum(b []byte) []byte
	Reset()
}

// xxh3Hasher gives the streaming XXH3-128 the form of a hash.Hash.
type xxh3Hasher struct{ xxh3.Hasher }

func (h *xxh3Hasher) Sum(b []byte) []byte {
	sum := h.Sum128().Bytes()
	return append(b, sum[:]...)
}

// newHasher returns the hash of an algorithm, nil if that is not known.
func newHasher(name string) hasher {
	switch name {
	case XXH3:
		return &xxh3Hasher{}
	case BLAKE3:
		return blake3.New()
	}
	return nil
}

// Known reports whether name is an algorithm of this package.
func Known(name string) bool { return newHasher(name) != nil }

// Tree computes the digest of one file from its leaves in order.
type Tree struct {
	name string
	root hasher
}

// NewTree begins the digest of a file of size bytes. It answers Unsupported for an
// unknown algorithm.
func NewTree(name string, size int64) (*Tree, error) {
	t := &Tree{name: name, root: newHasher(name)}
	if t.root == nil {
		return nil, pfs.Errorf("digest.NewTree", "", pfs.Unsupported,
			"digest algorithm %q: this program knows %q and %q", name, XXH3, BLAKE3)
	}
	t.root.Write(binary.BigEndian.AppendUint64(nil, uint64(size)))
	return t, nil
}

// LeafOf returns the hash of one leaf by any algorithm of this package; nil if it is unknown.
func LeafOf(name string, p []byte) []byte {
	h := newHasher(name)
	if h == nil {
		return nil
	}
	_, _ = h.Write(p)
	return h.Sum(nil)
}

// Add takes the hash of the next leaf, as LeafOf returns it; for XXH3 that is Leaf's.
func (t *Tree) Add(leaf []byte) { t.root.Write(leaf) }

// Sum returns the digest once every leaf was added.
func (t *Tree) Sum() string { return t.name + ":" + hex.EncodeToString(t.root.Sum(nil)) }

// Bytes returns the XXH3 digest of a file that is in memory.
func Bytes(p []byte) string {
	t, _ := NewTree(XXH3, int64(len(p)))
	for len(p) > 0 {
		n := min(len(p), pfs.ChunkSize)
		d := Leaf(p[:n])
		t.Add(d[:])
		p = p[n:]
	}
	return t.Sum()
}

// CheckKept answers Integrity if info keeps another XXH3 digest with its file than sum, which
// the bytes of that give. op and name are for the error.
func CheckKept(op string, name pfs.Path, info pfs.Info, sum string) error {
	if Algorithm(info.Digest) != XXH3 || info.Digest == sum {
		return nil
	}
	return pfs.Errorf(op, name, pfs.Integrity,
		"damaged where it is stored: its bytes give %s and it was stored as %s: remove it and copy it anew from where it is whole", sum, info.Digest)
}

// ReadFunc fills p from offset off or fails.
type ReadFunc func(p []byte, off int64) error

// pieceSize is how much of a leaf is read and hashed at a time, so that memory does not
// depend on the size of leaves, and a turn (pfs.InTurn) is short.
const pieceSize = 256 << 10

var pieces = sync.Pool{New: func() any { return new([pieceSize]byte) }}

// readAt is the ReadAt of a file.
type readAt = func(ctx context.Context, p []byte, off int64) (int, error)

// addLeaf adds the n bytes at off to h, piece by piece; read may read fewer at the end of
// the file. It returns how many there are.
func addLeaf(ctx context.Context, h hasher, read readAt, off, n int64) (done int64, err error) {
	for done < n && err == nil {
		want, k := min(n-done, pieceSize), 0
		err = pfs.InTurn(ctx, func() (err error) {
			buf := pieces.Get().(*[pieceSize]byte) // taken in turn, so that those who wait hold none
			defer pieces.Put(buf)
			k, err = read(ctx, buf[:want], off+done)
			_, _ = h.Write(buf[:k])
			return err
		})
		if done += int64(k); int64(k) < want {
			break
		}
	}
	if err == io.EOF {
		err = nil
	}
	return done, err
}

// maxJobs bounds the leaves of one file that are read at a time. More would take memory,
// and no store is faster by it.
const maxJobs = 4

// Of reads the size bytes of a file, up to jobs leaves at a time, and returns its digest.
// Of calls progress, if not nil, with the number of bytes done so far. Memory is at most a small piece of
// each of those leaves.
func Of(ctx context.Context, read ReadFunc, size int64, name string, jobs int, progress func(done int64)) (string, error) {
	t, err := NewTree(name, size)
	if err != nil {
		return "", err
	}
	leaves := pfs.Leaves(size)
	jobs = int(min(int64(max(jobs, 1)), maxJobs, max(leaves, 1)))

	if leaves <= 1 {
		w := worker{hash: newHasher(name), read: read}
		if leaves == 1 {
			r := w.one(ctx, 0, size)
			if r.err != nil {
				return "", r.err
			}
			t.Add(r.sum)
		}
		if progress != nil {
			progress(size)
		}
		return t.Sum(), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	workers := make([]worker, jobs)
	for i := range workers {
		w := &workers[i]
		*w = worker{hash: newHasher(name), read: read, size: size, first: int64(i), step: int64(jobs), results: make(chan result)}
		wg.Go(func() { w.run(ctx) })
	}
	for i := range leaves {
		r := workers[i%int64(jobs)].next(ctx)
		if r.err != nil {
			return "", r.err
		}
		t.Add(r.sum)
		if progress != nil {
			progress(min(size, (i+1)*pfs.ChunkSize))
		}
	}
	return t.Sum(), nil
}

// worker hashes every step-th leaf of a file, from first on. One result taken from each worker in turn is the row
// of leaves, and a worker is at most one ahead.
type worker struct {
	hash        hasher
	read        ReadFunc
	size        int64
	first, step int64
	results     chan result
}

// result is the hash of one leaf, or why there is none.
type result struct {
	sum []byte
	err error
}

// run hands over results until all are, or ctx is done.
func (w *worker) run(ctx context.Context) {
	for i := w.first; i < pfs.Leaves(w.size); i += w.step {
		off := i * pfs.ChunkSize
		select {
		case w.results <- w.one(ctx, off, min(pfs.ChunkSize, w.size-off)):
		case <-ctx.Done():
			return
		}
	}
}

// one hashes the leaf of n bytes at off.
func (w *worker) one(ctx context.Context, off, n int64) result {
	w.hash.Reset()
	read := func(ctx context.Context, p []byte, off int64) (int, error) {
		err := pfs.CheckContext(ctx, "digest.Of", "")
		if err == nil {
			err = pfs.Guard("digest.Of", "", func() error { return w.read(p, off) })
		}
		return len(p), err
	}
	if _, err := addLeaf(ctx, w.hash, read, off, n); err != nil {
		return result{err: err}
	}
	return result{sum: w.hash.Sum(nil)}
}

// next takes the next result.
func (w *worker) next(ctx context.Context) result {
	select {
	case r := <-w.results:
		return r
	case <-ctx.Done():
		return result{err: pfs.CheckContext(ctx, "digest.Of", "")}
	}
}

// Leaves returns the digests of up to n leaves from first on, of content of size bytes;
// fewer where there is less to read. It is what the LeafDigests of a store does that has
// to read: read is its ReadAt, op and name are for the error.
func Leaves(ctx context.Context, op string, name pfs.Path, read readAt, size, first int64, n int) ([]pfs.LeafDigest, error) {
	if size < 0 || first < 0 || n < 0 {
		return nil, pfs.Errorf(op, name, pfs.Invalid, "%d leaves from %d on, of %d bytes", n, first, size)
	}
	count := min(int64(n), pfs.Leaves(size)-first)
	var leaves []pfs.LeafDigest
	for i := first; i < first+count; i++ {
		length := min(pfs.ChunkSize, size-i*pfs.ChunkSize)
		d, k, err := LeafAt(ctx, read, i*pfs.ChunkSize, length)
		if err != nil {
			return nil, err
		}
		if k < length {
			break
		}
		leaves = append(leaves, d)
	}
	return leaves, nil
}

// LeafAt returns the digest of the leaf of n bytes at off, and how many of them could be
// read; read is a ReadAt.
func LeafAt(ctx context.Context, read readAt, off, n int64) (d pfs.LeafDigest, done int64, err error) {
	var h xxh3Hasher
	done, err = addLeaf(ctx, &h, read, off, n)
	return h.Sum128().Bytes(), done, err
}

// OfFile returns the digest of an open file.
func OfFile(ctx context.Context, f pfs.File, name string, jobs int, progress func(done int64)) (string, error) {
	read := func(p []byte, off int64) error { return pfs.ReadFull(ctx, f, p, off) }
	return Of(ctx, read, f.Info().Size, name, jobs, progress)
}

// OfCopy returns the digest of w, a copy of src that nobody has published yet, read back
// and compared with the digest that is kept with src, or else with one computed from it.
// It answers Integrity if they differ. op and name are for the error.
func OfCopy(ctx context.Context, op string, name pfs.Path, w pfs.Staged, from pfs.Path, src pfs.File) (string, error) {
	size, want := src.Info().Size, src.Info().Digest
	jobs := runtime.GOMAXPROCS(0)
	var err error
	if !Known(Algorithm(want)) {
		if want, err = OfFile(ctx, src, XXH3, jobs, nil); err != nil {
			return "", err
		}
	}
	read := func(p []byte, off int64) error {
		n, err := w.ReadAt(ctx, p, off)
		switch {
		case n == len(p):
			return nil
		case err == nil || err == io.EOF:
			return pfs.Errorf(op, name, pfs.Integrity, "%d of %d bytes were staged", off+int64(n), size)
		}
		return err
	}
	got, err := Of(ctx, read, size, Algorithm(want), jobs, nil)
	if err != nil {
		return "", err
	}
	if got != want {
		return "", pfs.Errorf(op, name, pfs.Integrity,
			"the copy is %s, and %s is %s: one of them does not have the bytes that were written", got, from, want)
	}
	return got, nil
}

// Stored returns the digest of the file name computed from its bytes now: by the
// file system where it can, else by reading.
func Stored(ctx context.Context, fsys pfs.FileSystem, name pfs.Path, algorithm string, progress func(done int64)) (string, error) {
	if c, ok := fsys.(pfs.Digester); ok {
		d, err := c.Digest(ctx, name, algorithm, progress)
		if !errors.Is(err, pfs.Unsupported) {
			return d, err
		}
	}
	f, err := fsys.Open(ctx, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return OfFile(ctx, f, algorithm, 2, progress)
}
