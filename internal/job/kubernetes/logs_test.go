package kubernetes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"k8s.io/client-go/rest"
)

// logServer is a fake whose pods have logs.
type logServer struct {
	*fake
	log func(r *http.Request) io.Reader
}

func (s logServer) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/log") {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(s.log(r)), Request: r}, nil
	}
	return s.fake.RoundTrip(r)
}

// withLogs gives the pods of the scene logs.
func (s *scene) withLogs(t *testing.T, log func(r *http.Request) io.Reader) {
	t.Helper()
	c, err := newClient(&rest.Config{Host: "http://kubernetes", Transport: logServer{s.f, log}})
	if err != nil {
		t.Fatal(err)
	}
	s.c = c
}

// reader is a function that reads.
type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }

// writer is a function that writes.
type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// TestLogsEnd: when Logs has returned, nothing writes any more: the answer to a request is then another one's memory.
func TestLogsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		s.addPod(t, "0", mainState(isRunning()))
		s.withLogs(t, func(r *http.Request) io.Reader {
			ended := false
			return reader(func(p []byte) (int, error) {
				<-r.Context().Done()
				if ended {
					return 0, r.Context().Err()
				}
				ended = true
				time.Sleep(time.Second)
				return copy(p, "2026-01-31T12:00:00.5Z the last line\n"), nil
			})
		})
		returned := false
		go func() {
			time.Sleep(time.Minute)
			s.f.mu.Lock()
			defer s.f.mu.Unlock()
			s.f.refuse = func(*http.Request, bool) int { return 403 }
		}()
		err := s.Logs(t.Context(), "alice@example.com", "Fit.A-line", job.LogOptions{Lines: -1, Follow: true}, writer(func(p []byte) (int, error) {
			if returned {
				t.Errorf("%q was written after the end", p)
			}
			return len(p), nil
		}))
		returned = true
		if !errors.Is(err, pfs.Permission) {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
	})
}

// TestLogsGoOn: a log whose stream ends, although the program runs, is followed further.
func TestLogsGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t)
		s.submit(t)
		s.addPod(t, "0", mainState(isRunning()))
		n := 0
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.withLogs(t, func(r *http.Request) io.Reader {
			n++
			switch n {
			case 1:
				return strings.NewReader("2026-01-31T12:00:00.5Z first\n")
			case 2:
				return strings.NewReader("2026-01-31T12:00:00.5Z first\n2026-01-31T12:00:01.5Z second\n")
			}
			return reader(func([]byte) (int, error) { <-r.Context().Done(); return 0, r.Context().Err() })
		})
		var got strings.Builder
		_ = s.Logs(ctx, "alice@example.com", "Fit.A-line", job.LogOptions{Lines: -1, Follow: true}, &got)
		if want := "trainer-0 2026-01-31T12:00:00.500000000Z stdout F first\ntrainer-0 2026-01-31T12:00:01.500000000Z stdout F second\n"; got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	})
}
