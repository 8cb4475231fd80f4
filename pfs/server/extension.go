package server

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

// Extension is a method of another part of the service, such as jobs.
type Extension struct {
	// Serve executes a request of a user. tree is the tree that the user sees. Bytes written to w
	// are sent at once. A repeated request is served again.
	Serve func(ctx context.Context, user string, tree pfs.FileSystem, request []byte, w io.Writer) error

	// Fields, if not nil, returns the fields of the audit line of a request. Without it requests have
	// no audit lines.
	Fields func(request []byte) []any
}

// serveExtension makes a handler of an extension. Its answer is a sequence of frames, or the HTTP status
// of an error that comes before the first one.
func (s *Server) serveExtension(method string, e Extension) handler {
	serve := func(w http.ResponseWriter, r *request) error {
		b, err := body(w, r.Request, wire.MaxLongRequest)
		if err != nil {
			return err
		}
		end, err := s.begin(r, s.extended)
		if err != nil {
			return err
		}
		defer end()
		f := &frames{w: w}
		stop := f.beat()
		err = pfs.Guard("server.extension", "", func() error { return e.Serve(r.Context(), r.id.Name, r.tree, b, f) })
		stop()
		if e.Fields != nil {
			s.audit(r.Request, r.id.Name, method, err, e.Fields(b)...)
		}
		switch {
		case err != nil && !f.begun:
			s.fail(w, r.Request, err)
		case err != nil:
			s.failed(r.Request, err)
			message := wire.NewError(err)
			f.send(wire.Frame{Done: true, Error: &message})
		default:
			f.send(wire.Frame{Done: true})
		}
		return nil
	}
	if e.Fields != nil {
		return s.audited(method, serve)
	}
	return serve
}

// frames sends what is written to it. An error shows as the end of the request's context.
type frames struct {
	mu    sync.Mutex
	w     http.ResponseWriter
	begun bool
}

func (f *frames) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := min(len(rest), maxPart)
		if err := f.send(wire.Frame{Reply: rest[:n]}); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(p), nil
}

// maxPart is the largest number of bytes in one frame.
const maxPart = 64 << 10

func (f *frames) send(frame wire.Frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.begun = true
		f.w.Header().Set("Content-Type", wire.TypeFrames)
		f.w.WriteHeader(http.StatusOK)
	}
	control := http.NewResponseController(f.w)
	_ = control.SetWriteDeadline(time.Now().Add(pace.Stall))
	if err := wire.WriteFrame(f.w, frame); err != nil {
		return err
	}
	return control.Flush()
}

// beat sends an empty frame every heartbeat until stop is called.
func (f *frames) beat() (stop func()) {
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_ = f.send(wire.Frame{}) // if the client has left, the context is done
			case <-done:
				return
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}
