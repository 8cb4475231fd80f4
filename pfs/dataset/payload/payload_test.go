package payload

import (
	"errors"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/recordio/convert"
)

// encoder returns the encoder of that name.
func encoder(t testing.TB, name string) convert.Encoder {
	for _, e := range convert.Encodings {
		if e.Name == name {
			return e.New(convert.Limits{Record: 1 << 20, Depth: 64})
		}
	}
	t.Fatalf("no encoding %q", name)
	return nil
}

// sample has a value of every type.
func sample(enc convert.Encoder) {
	enc.Map(-1)
	for _, v := range []struct {
		key string
		put func()
	}{
		{"nil", enc.Nil},
		{"bool", func() { enc.Bool(true) }},
		{"int", func() { enc.Int(-70_000) }},
		{"small", func() { enc.Int(-3) }},
		{"uint", func() { enc.Uint(1<<64 - 1) }},
		{"f4", func() { enc.Float32(0.5) }},
		{"f8", func() { enc.Float64(0.1) }},
		{"text", func() { enc.String([]byte(strings.Repeat("ü", 40))) }},
		{"bytes", func() { enc.Bytes([]byte{0, 255}) }},
		{"array", func() { enc.Array(2); enc.Int(1); enc.Int(300); enc.End() }},
		{"tensor", func() { enc.Tensor(convert.Int16, []int64{2, 2}, []byte{1, 0, 2, 0, 3, 0, 4, 0}) }},
		{"empty", func() { enc.Tensor(convert.Float64, []int64{0, 3}, nil) }},
	} {
		enc.Key(v.key)
		v.put()
	}
	enc.End()
}

func TestWalk(t *testing.T) {
	packed := encoder(t, Msgpack)
	sample(packed)
	for _, name := range []string{JSON, Msgpack, Pickle} {
		direct, walked := encoder(t, name), encoder(t, name)
		sample(direct)
		want := direct.Append(nil)
		record := packed.Append(nil)
		sample(packed)
		if err := Walk(record, walked, 64); err != nil {
			t.Fatal(err)
		}
		if err := walked.Err(); err != nil {
			t.Fatal(err)
		}
		if got := walked.Append(nil); string(got) != string(want) {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, want)
		}
	}
}

func TestWalkAsJSON(t *testing.T) {
	for _, tt := range []struct{ record, want string }{
		{"\x81\x01\xa1x", `{"1":"x"}`},
		{"\x81\xff\xc0", `{"-1":null}`},
		{"\x81\xc4\x01k\xc2", `{"k":false}`},
		{"\x81\xd9\x01k\xc2", `{"k":false}`},
		{"\x81\xcd\x01\x00\xc2", `{"256":false}`},
		{"\x81\xd1\xff\x00\xc2", `{"-256":false}`},
		{"\x81\xa1\xff\x00", `{"/w==":0}`},
		{"\xa1\xff", `"/w=="`},
		{"\xd3\xff\xff\xff\xff\xff\xff\xff\xfe", `-2`},
		{"\xdc\x00\x01\x05", `[5]`},
		{"\xde\x00\x01\xa1a\x05", `{"a":5}`},
	} {
		enc := encoder(t, JSON)
		if err := Walk([]byte(tt.record), enc, 8); err != nil {
			t.Errorf("%q: %v", tt.record, err)
			continue
		}
		if got := string(enc.Append(nil)); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.record, got, tt.want)
		}
	}
}

func TestRefused(t *testing.T) {
	for _, tt := range []struct{ record, want string }{
		{"", "1 bytes are needed and 0 left"},
		{"\xdd\xff\xff\xff\xff", "an array of 4294967295 values in 0 bytes"},
		{"\xdf\xff\xff\xff\xff", "a map of 4294967295 pairs in 0 bytes"},
		{"\xc6\xff\xff\xff\xffx", "4294967295 bytes are needed and 1 left"},
		{"\x81\xc0\x01", "a key that is neither text nor an integer"},
		{"\xc1", "0xc1 begins no value"},
		{"\xd4\x01\x02", "extension 0xd4"},
		{"\x01\x02", "1 bytes follow the value"},
		{strings.Repeat("\x91", 20), "nested too deeply"},
		{"\xcb\x00", "8 bytes are needed and 1 left"},
	} {
		err := Walk([]byte(tt.record), encoder(t, JSON), 8)
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.20q: got %v, want %q", tt.record, err, tt.want)
		}
	}
}

func TestGuess(t *testing.T) {
	for record, want := range map[string]string{
		`{"a":1}`: JSON, "[1]": JSON, "\x80\x02K\x01.": Pickle, "(lp0\nI1\na.": Pickle, "\x80": Msgpack, "\x05": Msgpack, "\x92\x01\x02": Msgpack,
	} {
		if got := Guess([]byte(record)); got != want {
			t.Errorf("Guess(%q) = %s, want %s", record, got, want)
		}
	}
}

// FuzzWalk checks that every encoding accepts the values that Walk accepts.
func FuzzWalk(f *testing.F) {
	enc := encoder(f, Msgpack)
	sample(enc)
	f.Add(enc.Append(nil))
	f.Add([]byte("\x81\x01\xa1x"))
	f.Add([]byte("\xdd\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, record []byte) {
		enc := encoder(t, JSON)
		if err := Walk(record, enc, 16); err != nil {
			if !errors.Is(err, ErrMalformed) {
				t.Fatalf("got %v, want ErrMalformed", err)
			}
			return
		}
		if enc.Err() == nil && len(enc.Append(nil)) == 0 {
			t.Fatal("nothing was written")
		}
	})
}
