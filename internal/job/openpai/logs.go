package openpai

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// Logs copies logs to w. The tasks upload their logs to the store within seconds, with the time of each line. For a task without
// uploaded logs, Logs copies OpenPAI's own log.
func (e *Engine) Logs(ctx context.Context, user, name string, opts job.LogOptions, w io.Writer) error {
	l := &following{engine: e, opts: opts, w: w, read: map[string]*readLog{}}
	for {
		r, err := e.Job(ctx, user, name)
		if err != nil {
			return err
		}
		if l.fs == nil {
			if l.fs, err = e.Store(user); err != nil {
				return err
			}
		}
		if err := l.pass(ctx, r); err != nil || opts.Over(r) {
			return err
		}
		if err := retry.Sleep(ctx, poll); err != nil {
			return err
		}
	}
}

// following is one request for logs.
type following struct {
	engine *Engine
	fs     pfs.FileSystem
	opts   job.LogOptions
	w      io.Writer
	read   map[string]*readLog // by attempt and worker
	buf    []byte
}

// readLog is the copied part of the log of a worker.
type readLog struct {
	files map[string]int64 // bytes of each file
	begun bool
}

// pass copies new lines.
func (l *following) pass(ctx context.Context, r *job.Record) error {
	attempt := cmp.Or(l.opts.Attempt, r.Attempt)
	var d *detail
	for _, role := range r.Spec.Roles {
		for i := range role.Replicas {
			worker := job.WorkerName(role.Name, i)
			if l.opts.Worker != "" && l.opts.Worker != worker {
				continue
			}
			dir := job.LogDir(&r.Spec, attempt, worker)
			known := l.read[string(dir)]
			if known == nil {
				known = &readLog{files: map[string]int64{}}
				l.read[string(dir)] = known
			}
			found, err := l.stored(ctx, dir, worker, known)
			if err != nil {
				return err
			}
			if found || known.begun || !r.State.Ended() && l.opts.Follow {
				continue
			}
			if d == nil {
				if d, err = l.engine.c.get(ctx, nameOf(&r.Spec, attempt)); errors.Is(err, pfs.NotExist) {
					d, err = new(detail), nil
				}
				if err != nil {
					return err
				}
			}
			if err := l.foreign(ctx, d, nameOf(&r.Spec, attempt), role.Name, i); err != nil {
				return err
			}
		}
	}
	return nil
}

// stored copies what the store has of the log of a worker. found is false if it has none.
func (l *following) stored(ctx context.Context, dir pfs.Path, worker string, known *readLog) (found bool, err error) {
	var files []pfs.Info
	for info, err := range pfs.Entries(ctx, l.fs, dir, nil) {
		if errors.Is(err, pfs.NotExist) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
		if info.IsRegular() && strings.HasSuffix(info.Name, ".log") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) })
	var parts []io.Reader
	for _, f := range files {
		file, err := l.fs.Open(ctx, dir.Join(f.Name))
		if errors.Is(err, pfs.NotExist) {
			continue // the oldest file was just removed
		}
		if err != nil {
			return false, err
		}
		defer file.Close()
		size, from := file.Info().Size, known.files[f.Name]
		if size > from {
			parts = append(parts, io.NewSectionReader(pfs.NewReader(ctx, file), from, size-from))
			known.files[f.Name] = size
		}
	}
	opts := l.opts
	if known.begun {
		opts.Lines = -1 // those before were selected
	}
	known.begun = known.begun || len(parts) > 0
	return len(files) > 0, job.LogLines(io.MultiReader(parts...), opts, func(line job.LogLine) error { return l.emit(worker, line) })
}

// foreign copies the log that OpenPAI has of a task.
func (l *following) foreign(ctx context.Context, d *detail, name, role string, index int) error {
	tasks := d.tasks(role)
	for i := range tasks {
		t := &tasks[i]
		if t.Index != index || t.State == waiting {
			continue
		}
		at := cmp.Or(t.Launched.Time, d.Status.Launched.Time, time.Unix(0, 0))
		text, from, err := l.engine.c.logOf(ctx, name, d, role, t)
		switch {
		case errors.Is(err, pfs.NotExist):
			return nil // it has not begun, or its log is gone
		case err != nil:
			return err
		case text == "" && from != "":
			text = "pfs: the task has brought no log yet; OpenPAI has one at " + from
		}
		var b []byte
		for line := range bytes.Lines([]byte(text)) {
			for len(line) > 0 {
				n := min(len(line), job.MaxLogText)
				part := bytes.TrimRight(line[:n], "\r\n")
				b = job.LogLine{Time: at, Stream: job.Stdout, Partial: n < len(line), Text: part}.Append(b)
				line = line[n:]
			}
		}
		worker := job.WorkerName(role, index)
		return job.LogLines(bytes.NewReader(b), l.opts, func(line job.LogLine) error { return l.emit(worker, line) })
	}
	return nil
}

// emit writes a line.
func (l *following) emit(worker string, line job.LogLine) error {
	l.buf = job.AppendWorkerLine(l.buf[:0], worker, line)
	_, err := l.w.Write(l.buf)
	return err
}
