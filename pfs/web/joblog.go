package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/pace"
	"github.com/paddlecloud/pfs/pfs"
)

// The bounds of a log on a page.
const (
	logLines   = 1000             // of all workers together, from the store
	logBytes   = 1 << 20          // likewise
	logWorkers = 64               // of which logs are read
	logFor     = 30 * time.Minute // then the page asks again
	logBeat    = 500 * time.Millisecond
	logCheck   = 2 * time.Second // how often the session is checked
)

// jobLog sends the end of the logs of a job, as text for people, or with follow=1 as JSON for the script, which then gets
// all lines that come until the job has ended.
func (x *Web) jobLog(v *visit, _ pfs.Path) error {
	j, err := x.findJob(v)
	if err != nil {
		return err
	}
	q := v.URL.Query()
	l := job.Logs{FS: v.session.FS(), Engine: j.engine, Spec: &j.Record.Spec, Attempt: j.Attempt, Workers: workerNames(&j.Record.Spec)}
	opts := job.LogOptions{Worker: q.Get("worker"), Follow: q.Get("follow") != ""}
	if n, err := strconv.Atoi(q.Get("attempt")); err == nil && n > 0 && n < j.Attempt {
		l.Attempt, opts.Attempt = n, n
	}
	if opts.Worker != "" {
		if !slices.Contains(l.Workers, opts.Worker) {
			return pfs.Errorf("web.jobLog", "", pfs.NotExist, "the job has no such worker")
		}
		l.Workers = []string{opts.Worker}
	}
	ctx, cancel := context.WithTimeout(v.Context(), logFor)
	defer cancel()
	lines, err := x.storedLog(ctx, v, &l)
	if err != nil {
		return err
	}
	out := &logStream{w: v.w, b: bufio.NewWriter(v.w), follow: opts.Follow}
	kind := "text/plain; charset=utf-8"
	if opts.Follow {
		kind = "application/x-ndjson"
	}
	v.w.Header().Set("Content-Type", kind)
	stop := out.beat(v.session.Check, cancel)
	defer stop()
	for _, line := range lines {
		if err := out.line(line.worker, line.LogLine); err != nil {
			return errCut
		}
	}
	if j.engine != nil && opts.Attempt == 0 {
		opts.Lines = max(logLines/len(l.Workers), 10)
		if !opts.Follow {
			var done context.CancelFunc
			ctx, done = context.WithTimeout(ctx, engineWait)
			defer done()
		}
		err = l.Live(ctx, opts, out.line)
	}
	return out.end(err)
}

// workerLine is a line of a worker.
type workerLine struct {
	worker string
	job.LogLine
}

// storedLog returns the last lines that the store has, in the order of their times.
func (x *Web) storedLog(ctx context.Context, v *visit, l *job.Logs) (lines []workerLine, err error) {
	from := l.Workers[:min(len(l.Workers), logWorkers)]
	if len(from) == 0 {
		return nil, nil
	}
	l.Tail = int64(logBytes / len(from))
	opts := job.LogOptions{Lines: logLines / len(from)}
	err = v.session.Do(ctx, "job-log", func(ctx context.Context) error {
		for _, worker := range from {
			err := l.Stored(ctx, worker, opts, func(line job.LogLine) error {
				line.Text = bytes.Clone(line.Text)
				lines = append(lines, workerLine{worker, line})
				return nil
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortStableFunc(lines, func(a, b workerLine) int { return a.Time.Compare(b.Time) })
	return lines, err
}

// logStream is the answer with lines of a log.
type logStream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	b      *bufio.Writer
	follow bool
}

// logMessage is a line for the script, or the end.
type logMessage struct {
	Worker  string    `json:"worker,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Stream  string    `json:"stream,omitempty"`
	Text    string    `json:"text"`
	Partial bool      `json:"partial,omitempty"` // the line goes on in the next one of its stream
	End     string    `json:"end,omitempty"`     // why there are no more lines
}

func (s *logStream) line(worker string, l job.LogLine) error {
	text := shown(string(bytes.ToValidUTF8(bytes.ReplaceAll(l.Text, []byte("\t"), []byte("    ")), []byte("\ufffd"))))
	if s.follow {
		return s.message(logMessage{worker, l.Time, l.Stream, text, l.Partial, ""})
	}
	return s.write([]byte(worker + " " + l.Time.UTC().Format(time.RFC3339) + " " + text + "\n"))
}

func (s *logStream) message(m logMessage) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return s.write(append(b, '\n'))
}

func (s *logStream) write(b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.b.Available() < len(b) {
		_ = http.NewResponseController(s.w).SetWriteDeadline(time.Now().Add(pace.Stall))
	}
	_, err := s.b.Write(b)
	return err
}

// beat flushes the stream every half second, and ends it when the session has ended or the browser has left.
func (s *logStream) beat(check func() error, cancel func()) (stop func()) {
	done := make(chan struct{})
	var work sync.WaitGroup
	work.Go(func() {
		ticker := time.NewTicker(logBeat)
		defer ticker.Stop()
		for checked := time.Now(); ; {
			select {
			case <-done:
				return
			case <-ticker.C:
			}
			err := s.flush()
			if err == nil && time.Since(checked) > logCheck {
				checked = time.Now()
				if err = check(); err == nil && s.follow {
					err = s.write([]byte("\n")) // so that a browser that has left is noticed
				}
			}
			if err != nil {
				cancel()
				return
			}
		}
	})
	return func() {
		close(done)
		work.Wait()
	}
}

func (s *logStream) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	control := http.NewResponseController(s.w)
	_ = control.SetWriteDeadline(time.Now().Add(pace.Stall))
	if err := s.b.Flush(); err != nil {
		return err
	}
	return control.Flush()
}

// end sends why there are no more lines.
func (s *logStream) end(failed error) error {
	text := "The job has ended, or the engine has no more lines."
	if failed != nil {
		text = "The log broke off: " + textOf(failed)
	}
	var err error
	if s.follow {
		err = s.message(logMessage{End: text})
	} else if failed != nil {
		err = s.write([]byte("\n" + text + "\n"))
	}
	if err == nil {
		err = s.flush()
	}
	if err != nil {
		return errCut
	}
	return nil
}
