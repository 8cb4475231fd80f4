package wire

import (
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

func TestEveryKindHasAStatus(t *testing.T) {
	for _, k := range pfs.Kinds() {
		if _, ok := statuses[k]; !ok {
			t.Errorf("no HTTP status for %v", k)
		}
		if s := StatusOf(k); s < 400 {
			t.Errorf("%v is answered with %d, which is no error", k, s)
		}
	}
}

func TestErrorsCrossIntact(t *testing.T) {
	for _, k := range pfs.Kinds() {
		in := pfs.Errorf("store.Op", "/a/b", k, "the cause")
		var w Error
		if err := Decode(Encode(NewError(in)), &w); err != nil {
			t.Fatal(err)
		}
		out := w.Err()
		if !errors.Is(out, k) || out.Error() != in.Error() {
			t.Errorf("%v crossed as %v", in, out)
		}
	}
}

func TestDamageCrossesAsDamage(t *testing.T) {
	in := ReadChunk(strings.NewReader("data and no sum of it"), make([]byte, 4))
	var w Error
	if err := Decode(Encode(NewError(in)), &w); err != nil {
		t.Fatal(err)
	}
	if out := w.Err(); !errors.Is(out, ErrDamaged) || !errors.Is(out, pfs.Integrity) || out.Error() != in.Error() {
		t.Errorf("%v crossed as %v", in, out)
	}
	if out := NewError(pfs.Errorf("store.Op", "/a", pfs.Integrity, "the store's own")).Err(); errors.Is(out, ErrDamaged) {
		t.Errorf("%v crossed as damage on the way", out)
	}
}

func TestForeignErrorsTellTheirKindOnly(t *testing.T) {
	w := NewError(errors.New("secret of the host"))
	if w.Text != "" || pfs.KindOf(w.Err()) != pfs.Other {
		t.Errorf("got %+v", w)
	}
	if got := pfs.KindOf(Error{Kind: 250}.Err()); got != pfs.Other {
		t.Errorf("a kind of a newer peer reads as %v", got)
	}
}

func TestStatusOfStrangers(t *testing.T) {
	for status, want := range map[int]pfs.Kind{
		http.StatusBadGateway: pfs.Unavailable, http.StatusGatewayTimeout: pfs.Unavailable,
		http.StatusNotFound: pfs.Other, http.StatusForbidden: pfs.Other, http.StatusTooManyRequests: pfs.Limit,
	} {
		if got := KindOfStatus(status); got != want {
			t.Errorf("%d reads as %v, want %v: what no service said is not to be believed", status, got, want)
		}
	}
}

func TestModes(t *testing.T) {
	for _, m := range []fs.FileMode{
		0o644, fs.ModeDir | 0o755, fs.ModeSymlink | 0o777, fs.ModeNamedPipe | 0o600, fs.ModeSocket,
		fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice, 0o755 | fs.ModeSetuid | fs.ModeSetgid, fs.ModeDir | fs.ModeSticky | 0o777,
	} {
		if got := FileMode(ModeBits(m)); got != m {
			t.Errorf("%v crossed as %v", m, got)
		}
	}
	if got := ModeBits(fs.ModeDir | 0o755); got != 0o040755 {
		t.Errorf("a directory is %o", got)
	}
}

func TestTimes(t *testing.T) {
	for _, want := range []time.Time{
		time.Unix(0, 0), time.Unix(-1, 5), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC),
	} {
		if got := NewOptionalTime(want).Optional(); !got.Equal(want) {
			t.Errorf("%v crossed as %v", want, got)
		}
	}
	if got := NewOptionalTime(time.Time{}).Optional(); !got.IsZero() {
		t.Errorf("no time crossed as %v", got)
	}
}
