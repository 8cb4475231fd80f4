package hadooptoken

import (
	"bytes"
	"encoding/hex"
	"math"
	"reflect"
	"testing"
	"time"
)

// TestLong compares with what WritableUtils.writeVLong writes.
func TestLong(t *testing.T) {
	for n, want := range map[int64]string{
		0: "00", 127: "7f", -112: "90", 128: "8f80", -113: "8770", 255: "8fff", 256: "8e0100", -256: "87ff", -257: "860100",
		math.MaxInt64: "887fffffffffffffff", math.MinInt64: "807fffffffffffffff",
	} {
		b := appendLong(nil, n)
		if got := hex.EncodeToString(b); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
		d := decoder{rest: b}
		if got := d.long(); got != n || d.err != nil || len(d.rest) > 0 {
			t.Errorf("%s reads as %d, %v", want, got, d.err)
		}
	}
}

// TestToken takes a token through its forms, and cuts it.
func TestToken(t *testing.T) {
	id := Identifier{Owner: "alice", Renewer: "yarn", Issued: time.UnixMilli(1700000000000), Max: time.UnixMilli(1800000000000), Sequence: 7}
	back, err := ParseIdentifier(id.Encode())
	if err != nil || !reflect.DeepEqual(back, id) {
		t.Errorf("%+v, %v", back, err)
	}
	want := Token{id.Encode(), []byte("secret"), WebHDFS, "127.0.0.1:9870"}
	got, err := ParseURL(want.URL())
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range len(want.URL()) {
		if _, err := ParseURL(want.URL()[:n]); err == nil {
			t.Errorf("the first %d characters of a token are one", n)
		}
	}
	file := File([]Token{want, want})
	if !bytes.HasPrefix(file, []byte("HDTS\x00\x02\x0e127.0.0.1:9870")) || file[len(file)-1] != 0 {
		t.Errorf("file %q", file)
	}
	if all, err := ParseFile(file); err != nil || !reflect.DeepEqual(all, []Token{want, want}) {
		t.Errorf("the file has %+v, %v", all, err)
	}
	for n := range len(file) - 1 {
		if _, err := ParseFile(file[:n]); err == nil {
			t.Errorf("the first %d bytes of a file are one", n)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(Token{Identifier{Owner: "a"}.Encode(), []byte("b"), "c", "d"}.URL())
	f.Fuzz(func(t *testing.T, s string) {
		_, _ = ParseFile([]byte("HDTS\x00" + s))
		if token, err := ParseURL(s); err == nil {
			_, _ = ParseIdentifier(token.Identifier)
		}
	})
}
