package kubernetes

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxFollowed is how many logs one request follows at a time.
const maxFollowed = 256

// Logs copies the logs of the pods that exist to w.
func (e *Engine) Logs(ctx context.Context, user, name string, opts job.LogOptions, w io.Writer) error {
	const op = "kubernetes.Logs"
	j, err := e.find(ctx, user, name)
	if err != nil {
		return err
	}
	var streams sync.WaitGroup
	defer streams.Wait() // nothing writes to w afterwards
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	lines := &lineWriter{w: w}
	begun := map[string]bool{}
	for {
		found, err := e.look(ctx, j.ns(), j.selector())
		if err != nil {
			return err
		}
		s := found[key{j.ns(), j.name()}]
		if s == nil {
			s = &seen{}
		}
		attempt := cmp.Or(opts.Attempt, j.Attempt)
		for _, r := range j.Spec.Roles {
			for i := range r.Replicas {
				worker := job.WorkerName(r.Name, i)
				p := podOf(s.pods, r.Name, attempt, i)
				if p == nil || begun[string(p.UID)] || opts.Worker != "" && opts.Worker != worker || !hasLog(p) {
					continue
				}
				begun[string(p.UID)] = true
				if !opts.Follow {
					if err := e.stream(ctx, p, worker, opts, lines); err != nil {
						return err
					}
					continue
				}
				if len(begun) > maxFollowed {
					return pfs.Errorf(op, "", pfs.Limit, "at most %d logs can be followed at a time: choose one with --rank", maxFollowed)
				}
				streams.Go(func() {
					if err := e.stream(ctx, p, worker, opts, lines); err != nil {
						cancel(err)
					}
				})
			}
		}
		if opts.Over(&j.Record) {
			streams.Wait()
			return context.Cause(ctx)
		}
		if retry.Sleep(ctx, 2*poll) != nil {
			return context.Cause(ctx)
		}
		if j, err = e.read(ctx, j.ns(), j.name()); errors.Is(err, pfs.NotExist) { // it is being removed, and its pods end
			streams.Wait()
			return nil
		} else if err != nil {
			return err
		}
	}
}

// hasLog reports whether the program of a pod has started.
func hasLog(p *corev1.Pod) bool {
	s := statusOf(p, mainContainer)
	return s.State.Running != nil || s.State.Terminated != nil || s.RestartCount > 0
}

// stream copies the log of a pod. With Follow it asks again while the program runs, and resumes after the last line: a node that is
// restarted ends the answer as if the log had ended.
func (e *Engine) stream(ctx context.Context, p *corev1.Pod, worker string, opts job.LogOptions, to *lineWriter) error {
	ask := &corev1.PodLogOptions{Container: mainContainer, Timestamps: true, Follow: opts.Follow}
	if opts.Lines >= 0 {
		ask.TailLines = ptr(int64(opts.Lines))
	}
	last := opts.Since
	for {
		if !last.IsZero() {
			ask.SinceTime = ptr(metav1.NewTime(last)) // in whole seconds
		}
		body, err := retried(ctx, func(ctx context.Context) (io.ReadCloser, error) {
			return e.c.core.Get().Namespace(p.Namespace).Resource("pods").Name(p.Name).SubResource("log").VersionedParams(ask, e.c.params).Stream(ctx)
		})
		if err != nil {
			return gone(err)
		}
		at, err := copyLines(body, worker, last, to)
		body.Close()
		if !opts.Follow || ctx.Err() != nil || errors.Is(err, errWriter) {
			return err
		}
		if err == nil {
			now, err := retried(ctx, func(ctx context.Context) (*corev1.Pod, error) {
				return e.c.pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
			})
			if err != nil {
				return gone(err)
			}
			if main := statusOf(now, mainContainer); now.UID != p.UID || main.State.Running == nil {
				return nil
			}
		}
		if at.After(last) {
			last, ask.TailLines = at, nil
		}
		if retry.Sleep(ctx, 2*time.Second) != nil {
			return nil
		}
	}
}

// copyLines copies the lines of a log that are later than after, and returns the time of the last one.
func copyLines(r io.Reader, worker string, after time.Time, to *lineWriter) (last time.Time, err error) {
	last = after
	in := bufio.NewReaderSize(r, job.MaxLogText)
	begins := true
	for {
		text, err := in.ReadSlice('\n')
		if len(text) > 0 {
			at := last
			if begins {
				stamp, rest, _ := bytes.Cut(text, []byte(" "))
				if t, err := time.Parse(time.RFC3339Nano, string(stamp)); err == nil {
					at, text = t, rest
				}
			}
			partial := errors.Is(err, bufio.ErrBufferFull)
			if at.After(after) || after.IsZero() {
				line := job.LogLine{Time: at, Stream: job.Stdout, Partial: partial, Text: bytes.TrimSuffix(text, []byte("\n"))}
				if err := to.write(worker, line); err != nil {
					return last, err
				}
			}
			begins, last = !partial, at
		}
		switch {
		case errors.Is(err, io.EOF):
			return last, nil
		case err != nil && !errors.Is(err, bufio.ErrBufferFull):
			return last, err
		}
	}
}

// errWriter is returned when the reader of the logs has gone.
var errWriter = errors.New("the reader of the logs has gone")

// lineWriter writes whole lines of several workers to one writer.
type lineWriter struct {
	mu  sync.Mutex
	w   io.Writer
	buf []byte
}

func (l *lineWriter) write(worker string, line job.LogLine) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = job.AppendWorkerLine(l.buf[:0], worker, line)
	if _, err := l.w.Write(l.buf); err != nil {
		return errors.Join(errWriter, err)
	}
	return nil
}
