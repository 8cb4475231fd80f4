package transfer

import (
	"context"
	"fmt"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
)

func BenchmarkFile(b *testing.B) {
	const size = 256 << 20
	src := memfs.New(memfs.Options{})
	put(b, src, "/f", noise(1, size))
	b.SetBytes(size)
	for b.Loop() {
		dst := memfs.New(memfs.Options{})
		must(b, newJob(b, Options{}).Copy(context.Background(), End{src, "/f"}, End{dst, "/f"}))
	}
}

// BenchmarkFileToNowhere is the engine alone: reading from memory, hashing, and a
// target that takes everything.
func BenchmarkFileToNowhere(b *testing.B) {
	const size = 256 << 20
	src := memfs.New(memfs.Options{})
	put(b, src, "/f", noise(1, size))
	b.SetBytes(size)
	for b.Loop() {
		must(b, newJob(b, Options{}).Copy(context.Background(), End{src, "/f"}, End{nowhere{src}, "/g"}))
	}
}

// nowhere discards all writes.
type nowhere struct{ pfs.FileSystem }

func (n nowhere) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := n.FileSystem.Create(ctx, name, opts)
	return nowhereStaged{w}, err
}

type nowhereStaged struct{ pfs.Staged }

func (nowhereStaged) WriteAt(_ context.Context, p []byte, _ int64) (int, error) { return len(p), nil }

func (w nowhereStaged) Commit(ctx context.Context, opts pfs.CommitOptions) (pfs.Info, error) {
	return pfs.Info{Size: opts.Size}, w.Staged.Close(ctx)
}

func BenchmarkTree(b *testing.B) {
	src := memfs.New(memfs.Options{})
	for i := range 10_000 {
		put(b, src, pfs.Path(fmt.Sprintf("/s/%d/%d", i%100, i)), noise(uint64(i), 4096))
	}
	b.SetBytes(10_000 * 4096)
	for b.Loop() {
		dst := memfs.New(memfs.Options{})
		must(b, newJob(b, Options{}).Copy(context.Background(), End{src, "/s"}, End{dst, "/d"}))
	}
}
