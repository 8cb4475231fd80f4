package server

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// buggy panics on the file /bug.
type buggy struct{ pfs.FileSystem }

func (b buggy) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if name == "/bug" {
		panic("no such luck")
	}
	return b.FileSystem.Open(ctx, name)
}

func (b buggy) Stat(ctx context.Context, name pfs.Path) (pfs.Info, error) {
	if name == "/bug" {
		panic("no such luck")
	}
	return b.FileSystem.Stat(ctx, name)
}

// TestPanicsOfAStoreAreLoggedWithTheirStacks checks that a panic fails only its request, of any
// kind, not the service.
func TestPanicsOfAStoreAreLoggedWithTheirStacks(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, m, "/f", []byte("12345"))
	var read bytes.Buffer
	_ = wire.WriteFrame(&read, wire.ReadRequest{Files: []wire.ReadFile{{Path: "/bug"}, {Path: "/f", Size: 5}}})
	for _, c := range []struct {
		target string
		body   []byte
		code   int
	}{
		{"POST /v1/call/stat", wire.Encode(wire.PathRequest{Path: "/bug"}), 500},
		{"POST /v1/read", read.Bytes(), 200},
	} {
		s, log := newServer(t, buggy{m}, nil)
		method, target, _ := strings.Cut(c.target, " ")
		if w := do(s, method, target, c.body); w.Code != c.code {
			t.Errorf("%s: HTTP %d, want %d", c.target, w.Code, c.code)
		}
		if text := log.String(); !strings.Contains(text, "panic_test.go") || !strings.Contains(text, "no such luck") {
			t.Errorf("%s: the log has no stack:\n%s", c.target, text)
		}
	}
}

// halfway panics on the second piece of any file.
type halfway struct{ pfs.FileSystem }

func (h halfway) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := h.FileSystem.Open(ctx, name)
	return halfwayFile{f}, err
}

type halfwayFile struct{ pfs.File }

func (f halfwayFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off >= pieceSize {
		panic("no such luck")
	}
	return f.File.ReadAt(ctx, p, off)
}

// TestAnAnswerThatAPanicEndsDoesNotLookWhole checks that a reader who does not know the length of
// the answer notices the missing rest.
func TestAnAnswerThatAPanicEndsDoesNotLookWhole(t *testing.T) {
	m := memfs.New(memfs.Options{})
	pfstest.WriteFile(t, m, "/f", pfstest.Pattern(1, 2*pieceSize))
	s, _ := newServer(t, halfway{m}, nil)
	web := httptest.NewServer(s)
	defer web.Close()
	for _, te := range []string{"", wire.TETrailers} {
		r, err := http.NewRequestWithContext(t.Context(), "GET", web.URL+"/v1/data?path=/f&len=524288", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer alice")
		if te != "" {
			r.Header.Set(wire.TE, te)
		}
		answer, err := web.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 200 || err == nil {
			t.Errorf("TE %q: HTTP %d, %d bytes, and no error", te, answer.StatusCode, len(body))
		}
	}
}
