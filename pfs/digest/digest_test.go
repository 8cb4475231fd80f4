package digest

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/zeebo/blake3"
	"github.com/zeebo/xxh3"
)

// content returns a reader of size pseudo-random bytes.
func content(size int64) []byte {
	p := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(p)
	return p
}

func reader(p []byte) ReadFunc {
	return func(b []byte, off int64) error {
		if copy(b, p[off:]) < len(b) {
			return io.ErrUnexpectedEOF
		}
		return nil
	}
}

// byDefinition follows the package documentation word by word.
func byDefinition(p []byte, name string) string {
	hash := func(b []byte) []byte {
		if name == XXH3 {
			d := xxh3.Hash128(b).Bytes()
			return d[:]
		}
		d := blake3.Sum256(b)
		return d[:]
	}
	all := binary.BigEndian.AppendUint64(nil, uint64(len(p)))
	for off := 0; off < len(p); off += 4 << 20 {
		all = append(all, hash(p[off:min(off+4<<20, len(p))])...)
	}
	return name + ":" + hex.EncodeToString(hash(all))
}

func TestDigestFollowsItsDefinition(t *testing.T) {
	for _, size := range []int64{0, 1, pfs.ChunkSize - 1, pfs.ChunkSize, pfs.ChunkSize + 1, 5*pfs.ChunkSize + 3} {
		p := content(size)
		for _, name := range []string{XXH3, BLAKE3} {
			want := byDefinition(p, name)
			for _, jobs := range []int{0, 1, 3, 64} {
				var last int64
				got, err := Of(context.Background(), reader(p), size, name, jobs, func(done int64) { last = done })
				if err != nil || got != want {
					t.Errorf("%d bytes, %s, %d jobs: %s, %v, want %s", size, name, jobs, got, err, want)
				}
				if last != size {
					t.Errorf("%d bytes: progress ended at %d", size, last)
				}
			}
		}
		if got := Bytes(p); got != byDefinition(p, XXH3) {
			t.Errorf("Bytes of %d bytes: %s", size, got)
		}
	}
}

func TestDigestErrors(t *testing.T) {
	ctx := context.Background()
	if _, err := Of(ctx, reader(nil), 0, "md5", 1, nil); !errors.Is(err, pfs.Unsupported) {
		t.Errorf("unknown algorithm: %v", err)
	}
	broken := errors.New("broken")
	synctest.Test(t, func(t *testing.T) { // which fails if a goroutine is left
		_, err := Of(t.Context(), func(_ []byte, off int64) error {
			if off >= 3*pfs.ChunkSize {
				return broken
			}
			return nil
		}, 100*pfs.ChunkSize, XXH3, 4, nil)
		if err != broken {
			t.Errorf("got %v, want the read's error", err)
		}
	})
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := Of(done, reader(content(10)), 10, XXH3, 1, nil); !errors.Is(err, pfs.Canceled) {
		t.Errorf("canceled: %v", err)
	}
}

// BenchmarkLeaf compares the digest of a leaf with the usual sum of a chunk.
func BenchmarkLeaf(b *testing.B) {
	p := content(pfs.ChunkSize)
	table := crc32.MakeTable(crc32.Castagnoli)
	for name, sum := range map[string]func(){
		"XXH3":   func() { Leaf(p) },
		"CRC32C": func() { crc32.Checksum(p, table) },
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(pfs.ChunkSize)
			for b.Loop() {
				sum()
			}
		})
	}
}

func TestLeaves(t *testing.T) {
	p := content(2*pfs.ChunkSize + 1000)
	size := int64(len(p))
	failed := errors.New("a disk that fails")
	read := func(_ context.Context, b []byte, off int64) (int, error) { return bytes.NewReader(p).ReadAt(b, off) }
	fails := func(context.Context, []byte, int64) (int, error) { return 0, failed }
	all := []pfs.LeafDigest{Leaf(p[:pfs.ChunkSize]), Leaf(p[pfs.ChunkSize : 2*pfs.ChunkSize]), Leaf(p[2*pfs.ChunkSize:])}
	tests := []struct {
		name        string
		read        readAt
		size, first int64
		n           int
		want        []pfs.LeafDigest
		err         error
	}{
		{"all", read, size, 0, 10, all, nil},
		{"some", read, size, 1, 1, all[1:2], nil},
		{"behind the end", read, size, 3, 1, nil, nil},
		{"far behind the end", read, size, math.MaxInt64, math.MaxInt, nil, nil},
		{"of more than is there", read, size + 1, 0, 10, all[:2], nil},
		{"of nothing", read, 0, 0, 10, nil, nil},
		{"less than none", read, size, 0, -1, nil, pfs.Invalid},
		{"of less than nothing", read, -1, 0, 1, nil, pfs.Invalid},
		{"from before the start", read, size, -1, 1, nil, pfs.Invalid},
		{"fails", fails, size, 0, 1, nil, failed},
	}
	for _, test := range tests {
		got, err := Leaves(t.Context(), "test.LeafDigests", "/f", test.read, test.size, test.first, test.n)
		if !slices.Equal(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("%s: %x, %v, want %x, %v", test.name, got, err, test.want, test.err)
		}
	}
}
