package digest

import (
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

var marks = []Mark{
	{},
	{Size: 1, ModTime: time.Unix(1e9, 5), ID: "0123456789abcdef0123456789abcdef", Digest: "xxh3:0123456789abcdef0123456789abcdef"},
	{Size: 1 << 50, ModTime: time.Unix(-5, 0), ID: "not-hexadecimal", Digest: "blake3:" + strings.Repeat("ab", 32)},
	{Size: 3, ModTime: time.Unix(1, 0), ID: "0123456789abcdefabc", Digest: "xxh3:odd"},
	{Size: 3, ModTime: time.Unix(1, 0), Digest: "xxh3:00"},
}

func TestMark(t *testing.T) {
	for _, want := range marks {
		if want.ModTime.IsZero() {
			want.ModTime = time.Unix(0, 0)
		}
		p := want.Encode()
		got, ok := DecodeMark(p)
		if !ok || !got.Of(want.Size, want.ModTime) || got.ID != want.ID || got.Digest != want.Digest {
			t.Errorf("DecodeMark(%x) = %+v, %v, want %+v", p, got, ok, want)
		}
		for n := range p {
			if got, ok := DecodeMark(p[:n]); ok {
				t.Errorf("DecodeMark of %d of %d bytes = %+v", n, len(p), got)
			}
		}
	}
	// An inode of 256 bytes has 92 for attributes, of which name and entry take 28.
	if n := len(marks[1].Encode()); n > 64 {
		t.Errorf("a mark has %d bytes and does not fit into an inode", n)
	}
}

func TestNewMark(t *testing.T) {
	at := time.Unix(1e9, 5)
	digests := map[string]string{
		"":                                     "",
		"xxh3:0123":                            "xxh3:0123",
		"md5:0123":                             "",
		"xxh3:" + strings.Repeat("a", MaxMark): "",
	}
	for given, want := range digests {
		got := NewMark("id", pfs.CommitOptions{Size: 3, Digest: given}, at)
		if got != (Mark{Size: 3, ModTime: at, ID: "id", Digest: want}) {
			t.Errorf("with digest %.20q it is %+v, want digest %q", given, got, want)
		}
	}
	if m := NewMark("", pfs.CommitOptions{Digest: "md5:0123"}, at); !m.Empty() {
		t.Errorf("%+v is not empty", m)
	}
}

func TestMarkOf(t *testing.T) {
	m := Mark{Size: 5, ModTime: time.Unix(1e9, 5)}
	if !m.Of(5, time.Unix(1e9, 5).UTC()) || m.Of(5, time.Unix(1e9, 6)) || m.Of(6, time.Unix(1e9, 5)) {
		t.Error("it must speak of the file with its size and time, and of no other")
	}
}

func FuzzMark(f *testing.F) {
	for _, m := range marks {
		f.Add(m.Encode())
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		m, ok := DecodeMark(p)
		if !ok {
			return
		}
		again, ok := DecodeMark(m.Encode())
		if !ok || again.ID != m.ID || again.Digest != m.Digest || !again.Of(m.Size, m.ModTime) {
			t.Errorf("%+v became %+v, %v", m, again, ok)
		}
	})
}
