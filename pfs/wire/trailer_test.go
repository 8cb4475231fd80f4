package wire

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
)

func TestErrorsCrossInTrailers(t *testing.T) {
	for _, k := range pfs.Kinds() {
		in := pfs.Errorf("store.Op", "/a/b", k, "the cause")
		out := ErrorOf(http.Header{TrailerError: {EncodeTrailer(in)}})
		var e *pfs.Error
		if !errors.As(out, &e) || e.Kind != k || e.Path != "" || e.Err == nil || e.Err.Error() != "the cause" {
			t.Errorf("%v crossed as %v", in, out)
		}
	}
	if err := ErrorOf(http.Header{TrailerError: nil}); err != nil {
		t.Errorf("no error crossed as %v", err)
	}
	if err := ErrorOf(http.Header{TrailerError: {"%"}}); err == nil {
		t.Error("nonsense reads as no error")
	}
}

func TestTrailersAreShort(t *testing.T) {
	long := strings.Repeat("ü", 1<<20)
	value := EncodeTrailer(pfs.Errorf("store.Op", pfs.Path("/"+long), pfs.Integrity, "x%s", long))
	if len(value) > 3<<10 {
		t.Errorf("a trailer of %d bytes", len(value))
	}
	if err := ErrorOf(http.Header{TrailerError: {value}}); !errors.Is(err, pfs.Integrity) {
		t.Errorf("got %.200v", err)
	}
}
