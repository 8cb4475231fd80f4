package server

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/wire"
)

const (
	// patience is how long a call may take before its answer becomes a stream of frames.
	patience = time.Second
	// heartbeat is the time between frames.
	heartbeat = 2 * time.Second
)

// outcome is the result of a call: an encoded reply or an error.
type outcome struct {
	reply []byte
	left  []int // entries of a batch that were not made because the client left
	err   error

	fleeting bool // the call may be done again, so its outcome is not remembered
}

// size returns the approximate size of o in bytes.
func (o outcome) size() int {
	if o.err != nil {
		return len(o.err.Error())
	}
	return len(o.reply) + 8*len(o.left)
}

// answer runs call and answers its outcome, as frames if it takes long. The call's
// context ends when the client has gone.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, call func(ctx context.Context, progress func(int64)) outcome) {
	var progress atomic.Int64
	done := make(chan outcome, 1)
	go func() {
		var o outcome
		if err := pfs.Guard("server.answer", "", func() error {
			o = call(r.Context(), progress.Store)
			return nil
		}); err != nil {
			o = outcome{err: err}
		}
		done <- o
	}()

	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case o := <-done:
		s.answerAtOnce(w, r, o)
	case <-timer.C:
		s.answerLate(w, r, &progress, done)
	}
}

// answerAtOnce answers an outcome that is ready within patience, with the HTTP status of its error.
func (s *Server) answerAtOnce(w http.ResponseWriter, r *http.Request, o outcome) {
	if o.err != nil {
		s.fail(w, r, o.err)
		return
	}
	s.replyEncoded(w, http.StatusOK, o.reply)
}

// answerLate answers with a frame every heartbeat and the outcome in the last one. The HTTP
// status is sent before the outcome is known.
func (s *Server) answerLate(w http.ResponseWriter, r *http.Request, progress *atomic.Int64, done <-chan outcome) {
	w.Header().Set("Content-Type", wire.TypeFrames)
	w.WriteHeader(http.StatusOK)
	ticker := time.NewTicker(heartbeat)
	defer ticker.Stop()
	control := http.NewResponseController(w)
	send := func(f wire.Frame) {
		_ = control.SetWriteDeadline(time.Now().Add(pace.Stall))
		_ = wire.WriteFrame(w, f) // if the client has left the call's context is done
		_ = control.Flush()
	}
	for {
		send(wire.Frame{Progress: progress.Load()})
		select {
		case o := <-done:
			f := wire.Frame{Progress: progress.Load(), Done: true, Reply: o.reply}
			if o.err != nil {
				e := wire.NewError(o.err)
				f.Error = &e
				s.failed(r, o.err)
			}
			send(f)
			return
		case <-ticker.C:
		}
	}
}
