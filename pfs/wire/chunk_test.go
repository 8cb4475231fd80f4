package wire

import (
	"bytes"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
)

func chunkBytes(p []byte) []byte {
	b, _ := io.ReadAll(NewChunkReader(p))
	return b
}

func TestChunks(t *testing.T) {
	for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 3*piece + 7} {
		p := make([]byte, n)
		for i := range p {
			p[i] = byte(i * 31)
		}
		sent := chunkBytes(p)
		if int64(len(sent)) != NewChunkReader(p).Len() {
			t.Errorf("%d bytes are %d on the wire, Len says %d", n, len(sent), NewChunkReader(p).Len())
		}
		var direct bytes.Buffer
		if _, err := NewChunkReader(p).WriteTo(&direct); err != nil || !bytes.Equal(direct.Bytes(), sent) {
			t.Errorf("%d bytes: WriteTo and Read differ (%v)", n, err)
		}
		got := make([]byte, n)
		if err := ReadChunk(iotest.HalfReader(bytes.NewReader(sent)), got); err != nil || !bytes.Equal(got, p) {
			t.Errorf("%d bytes did not arrive: %v", n, err)
		}
	}
	// XXH3-128 of nothing, as xxHash's own programs print it.
	const nothing = "\x99\xaa\x06\xd3\x01\x47\x98\xd8\x60\x01\xc3\x24\x46\x8d\x49\x7f"
	if err := iotest.TestReader(NewChunkReader(nil), []byte(nothing)); err != nil {
		t.Error(err)
	}
	leaf := digest.Leaf([]byte("123456789"))
	if err := iotest.TestReader(NewChunkReader([]byte("123456789")), append([]byte("123456789"), leaf[:]...)); err != nil {
		t.Error(err)
	}
}

func TestDamagedChunks(t *testing.T) {
	sent := chunkBytes(bytes.Repeat([]byte("data"), 1000))
	for _, i := range []int{0, 1999, len(sent) - 5, len(sent) - 1} {
		bad := bytes.Clone(sent)
		bad[i] ^= 0x10
		if err := ReadChunk(bytes.NewReader(bad), make([]byte, 4000)); !errors.Is(err, pfs.Integrity) {
			t.Errorf("bit flipped in byte %d: %v, want Integrity", i, err)
		}
	}
	for _, n := range []int{0, 1, 3999, 4015} {
		if err := ReadChunk(bytes.NewReader(sent[:n]), make([]byte, 4000)); err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v, want unexpected EOF", n, err)
		}
	}
}
