package server

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// slowStore takes longer for a piece than a client may take for one, and for a few pieces
// longer than a client may take for all.
type slowStore struct {
	*memfs.FS
	err error // of reading, from the second piece on
}

func (s slowStore) Create(ctx context.Context, name pfs.Path, opts pfs.CreateOptions) (pfs.Staged, error) {
	w, err := s.FS.Create(ctx, name, opts)
	return slowStaged{w}, err
}

func (s slowStore) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	f, err := s.FS.Open(ctx, name)
	return slowFile{f, s.err}, err
}

type slowStaged struct{ pfs.Staged }

func (w slowStaged) WriteAt(ctx context.Context, p []byte, off int64) (int, error) {
	time.Sleep(2 * pace.Stall)
	return w.Staged.WriteAt(ctx, p, off)
}

type slowFile struct {
	pfs.File
	err error
}

func (f slowFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	time.Sleep(2 * pace.Stall)
	if off > 0 && f.err != nil {
		return 0, f.err
	}
	return f.File.ReadAt(ctx, p, off)
}

// ask sends a request to s by way of net/http and returns the answer, read whole.
func ask(t *testing.T, s *Server, request string) (*http.Response, []byte) {
	t.Helper()
	c := serve(t, s)()
	defer c.Close()
	go io.WriteString(c, request)
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Errorf("the answer broke off after %d bytes: %v", len(body), err)
	}
	c.Close()
	time.Sleep(time.Second) // net/http lingers after some answers
	return answer, body
}

// The time that a store takes is not the client's.
func TestSlowStores(t *testing.T) {
	content := bytes.Repeat([]byte("slow"), 3*pieceSize/4)
	chunk := onWire(content)
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(t, slowStore{memfs.New(memfs.Options{}), nil}, nil)
		do(s, "POST", "/v1/call/create", wire.Encode(wire.CreateRequest{Path: "/f", ID: "12345678"}))
		answer, body := ask(t, s, header(http.MethodPut, "/v1/data?path=/f&id=12345678", len(chunk))+string(chunk))
		if answer.StatusCode != http.StatusNoContent {
			t.Errorf("writing: HTTP %d: %q", answer.StatusCode, body)
		}
	})
	broken := pfs.E("slow.ReadAt", "/f", pfs.Integrity, nil)
	for _, want := range []error{nil, broken} {
		synctest.Test(t, func(t *testing.T) {
			store := slowStore{memfs.New(memfs.Options{}), want}
			pfstest.WriteFile(t, store.FS, "/f", content)
			s, _ := newServer(t, store, nil)
			request := header(http.MethodGet, "/v1/data?path=/f&len=4194304", 0)
			request = strings.Replace(request, "\r\n", "\r\n"+wire.TE+": "+wire.TETrailers+"\r\n", 1)
			answer, body := ask(t, s, request)
			told := answer.Trailer.Get(wire.TrailerError)
			if want == nil && (told != "" || !bytes.Equal(body, chunk)) || want != nil && told == "" {
				t.Errorf("reading with the error %v: %d bytes, the trailer is %q", want, len(body), told)
			}
		})
	}
}
