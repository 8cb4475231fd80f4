package wire

import (
	"bytes"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func TestDecodeRoundTrip(t *testing.T) {
	want := ListReply{
		Entries: []Info{{Name: "a b", Size: 1 << 40, Mode: 0o100644, Time: Time{-5, 999}, Digest: "xxh3:00"}, {Name: "日本"}},
		Unnamed: []string{`"\xff"`}, Next: "token",
	}
	var got ListReply
	if err := Decode(Encode(want), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestDecodeRefusesWhatIsNotThere(t *testing.T) {
	tests := []struct {
		name string
		b    []byte
		says string
	}{
		{"nothing", nil, "cut off"},
		{"array of 4 billion", []byte{0xdd, 0xff, 0xff, 0xff, 0xff}, "count"},
		{"map of 4 billion", []byte{0xdf, 0xff, 0xff, 0xff, 0xff}, "count"},
		{"string of 4 billion", []byte{0xdb, 0xff, 0xff, 0xff, 0xff}, "length"},
		{"bytes of 2 billion", []byte{0xc6, 0x7f, 0xff, 0xff, 0xff}, "length"},
		{"array cut in its head", []byte{0xdc, 0x00}, "cut off"},
		{"extension", []byte{0xd4, 0x00, 0x00}, "type"},
		{"nested too deep", bytes.Repeat([]byte{0x91}, 100), "deep"},
		{"bytes after the end", []byte{0x80, 0x00}, "after its end"},
		{"entries of 4 billion in a reply", append([]byte{0x81, 0xa7}, append([]byte("entries"), 0xdd, 0xff, 0xff, 0xff, 0xf0)...), "count"},
		{"four million elements", append([]byte{0x81, 0xa7}, append([]byte("entries"), append([]byte{0xdd, 0, 0x3f, 0xff, 0}, make([]byte, 0x3fff00)...)...)...), "elements"},
		{"one array again and again", repeated(4096), "values"},
		{"a map of many keys", append([]byte{0xde, 0x00, 0x41}, make([]byte, 130)...), "elements"},
		{"too long", make([]byte, MaxMessage+1), "limit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := Decode(tt.b, &ListReply{})
			runtime.ReadMemStats(&after)
			if pfs.KindOf(err) != pfs.Invalid || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Decode: %v, want Invalid and %q", err, tt.says)
			}
			if grew := after.TotalAlloc - before.TotalAlloc; grew > 1<<20 {
				t.Errorf("Decode allocated %d bytes", grew)
			}
		})
	}
}

// repeated is a map whose key entries comes as often as a map may have keys, each time
// with n elements.
func repeated(n int) []byte {
	b := []byte{0xde, 0x00, maxKeys}
	for range maxKeys {
		b = append(b, 0xa7)
		b = append(b, "entries"...)
		b = append(b, 0xdc, byte(n>>8), byte(n))
		b = append(b, bytes.Repeat([]byte{0xc0}, n)...)
	}
	return b
}

func TestTheLongestMessagesFit(t *testing.T) {
	when := NewTime(time.Now())
	page := ListReply{Next: "token"}
	batch := BatchRequest{}
	for range pfs.MaxPage {
		page.Entries = append(page.Entries, Info{Name: "n", Owner: "o", Group: "g", Target: "t", Version: "v", Digest: "d"})
		page.Unnamed = append(page.Unnamed, "u")
	}
	for range MaxBatchEntries {
		batch.Entries = append(batch.Entries, BatchEntry{Path: "/p", Time: &when, Digest: "d"})
	}
	for _, m := range []any{page, batch} {
		if err := Decode(Encode(m), reflect.New(reflect.TypeOf(m)).Interface()); err != nil {
			t.Errorf("%T: %v", m, err)
		}
	}
}

func TestUnknownFieldsAreIgnored(t *testing.T) {
	type newer struct {
		Path string   `msgpack:"path"`
		More []string `msgpack:"more"`
	}
	var got PathRequest
	if err := Decode(Encode(newer{Path: "/a", More: []string{"x"}}), &got); err != nil || got.Path != "/a" {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestFrames(t *testing.T) {
	var b bytes.Buffer
	want := Frame{Progress: 7, Done: true, Error: &Error{Kind: 3, Text: "x"}, Reply: []byte{1, 2}}
	if err := WriteFrame(&b, want); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	for n := range whole {
		if err := ReadFrame(bytes.NewReader(whole[:n]), &Frame{}); err != io.ErrUnexpectedEOF {
			t.Errorf("cut at %d: %v, want unexpected EOF", n, err)
		}
	}
	var got Frame
	if err := ReadFrame(&b, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(Encode(ListReply{Entries: []Info{{Name: "a"}}}))
	f.Add(Encode(BatchRequest{Entries: []BatchEntry{{Path: "/a", Time: &Time{}}}}))
	f.Add([]byte{0xdd, 0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []any{&ListReply{}, &BatchRequest{}, &CommitRequest{}, &Frame{}, &BatchReply{}} {
			if err := Decode(b, m); err != nil && pfs.KindOf(err) != pfs.Invalid {
				t.Errorf("%T: %v", m, err)
			}
		}
	})
}

// TestSpaceOfAnOlderPeer checks that fields that one side does not know do not change the meaning
// of the others.
func TestSpaceOfAnOlderPeer(t *testing.T) {
	type older struct {
		Total int64 `msgpack:"total"`
		Free  int64 `msgpack:"free"`
	}
	whole := pfs.Space{Total: 100, Used: 60, Free: 20}
	for _, c := range []struct {
		message any
		want    pfs.Space
	}{
		{NewSpaceReply(whole), whole},
		{NewSpaceReply(pfs.Space{Total: 100, Free: 90}), pfs.Space{Total: 100, Free: 90}},
		{older{100, 20}, pfs.Space{Total: 100, Used: 80, Free: 20}},
	} {
		var got SpaceReply
		if err := Decode(Encode(c.message), &got); err != nil || got.Space() != c.want {
			t.Errorf("%+v: got %+v, %v, want %+v", c.message, got.Space(), err, c.want)
		}
	}
	var got older
	if err := Decode(Encode(NewSpaceReply(whole)), &got); err != nil || got != (older{100, 20}) {
		t.Errorf("an older client: got %+v, %v", got, err)
	}
}

// TestBriefInfo checks that an entry of a listing takes no more bytes than before entries had an ID
// and times of change and access.
func TestBriefInfo(t *testing.T) {
	at := time.Unix(1e9, 1)
	i := NewInfo(pfs.Info{
		Name: "part-00001.rec", Size: 1 << 30, Mode: 0o644, ModTime: at, Owner: "1000", Group: "1000",
		ID: 1 << 40, Links: 1, UID: 1000, GID: 1000, ChangeTime: at, AccessTime: at, Replication: 3, BlockSize: 128 << 20,
	})
	if whole, brief := len(Encode(i)), len(Encode(i.Brief())); whole != 215 || brief != 95 {
		t.Errorf("an entry takes %d bytes, a brief one %d", whole, brief)
	}
}
