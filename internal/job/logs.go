package job

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/paddlecloud/pfs/pfs"
)

// Logs reads the logs of one attempt of a job: the lines of the store, and then those that only the engine has.
type Logs struct {
	FS      pfs.FileSystem
	Engine  Engine
	Spec    *Spec
	Attempt int
	Workers []string // whose lines are read

	// Tail, if not 0, is how many bytes of a file in the store are read, from its end.
	Tail int64
	// Ahead, if not nil, returns a reader of a file that reads ahead until done is called.
	Ahead func(ctx context.Context, f pfs.File) (r io.Reader, done func())

	seen map[string]*LogSeen // by worker: the lines of the store
}

// Stored passes the lines of a worker in the store to emit, selected by the fields Lines and Since of opts.
func (l *Logs) Stored(ctx context.Context, worker string, opts LogOptions, emit func(LogLine) error) error {
	seen := &LogSeen{}
	if l.seen == nil {
		l.seen = map[string]*LogSeen{}
	}
	l.seen[worker] = seen
	pass := func(line LogLine) error {
		seen.Add(line)
		return emit(line)
	}
	dir := LogDir(l.Spec, l.Attempt, worker)
	var files []pfs.Info
	for info, err := range pfs.Entries(ctx, l.FS, dir, nil) {
		if errors.Is(err, pfs.NotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if info.IsRegular() && strings.HasSuffix(info.Name, ".log") {
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) })
	if opts.Lines < 0 {
		for _, f := range files {
			if err := l.file(ctx, dir.Join(f.Name), opts, pass); err != nil {
				return err
			}
		}
		return nil
	}
	// The last lines: from the last file backwards until there are enough.
	var lines []LogLine
	for _, f := range slices.Backward(files) {
		most := opts
		if most.Lines = opts.Lines - len(lines); most.Lines <= 0 {
			break
		}
		var more []LogLine
		err := l.file(ctx, dir.Join(f.Name), most, func(line LogLine) error {
			line.Text = bytes.Clone(line.Text)
			more = append(more, line)
			return nil
		})
		if err != nil {
			return err
		}
		lines = append(more, lines...)
	}
	for _, line := range lines {
		if err := pass(line); err != nil {
			return err
		}
	}
	return nil
}

// file passes the selected lines of one log file to emit.
func (l *Logs) file(ctx context.Context, path pfs.Path, opts LogOptions, emit func(LogLine) error) error {
	f, err := l.FS.Open(ctx, path)
	if errors.Is(err, pfs.NotExist) {
		return nil // the oldest file was just removed
	}
	if err != nil {
		return err
	}
	defer f.Close()
	off, size := int64(0), f.Info().Size
	if l.Tail > 0 && size > l.Tail {
		off = size - l.Tail
	}
	var r io.Reader = io.NewSectionReader(pfs.NewReader(ctx, f), off, size-off)
	if l.Ahead != nil && off == 0 {
		ahead, done := l.Ahead(ctx, f)
		defer done()
		r = ahead
	}
	if off > 0 {
		lines := bufio.NewReader(r)
		if _, err := lines.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) { // the rest of a line
			return err
		}
		r = lines
	}
	return LogLines(r, opts, emit)
}

// Live passes the lines of the engine to emit, except those that Stored has passed.
func (l *Logs) Live(ctx context.Context, opts LogOptions, emit func(worker string, line LogLine) error) error {
	skip := map[string]func(LogLine) bool{}
	for _, worker := range l.Workers {
		skip[worker] = func(LogLine) bool { return false }
		if seen := l.seen[worker]; seen != nil {
			skip[worker] = seen.Skip()
		}
	}
	w := &workerLines{each: func(worker string, line LogLine) error {
		if skip := skip[worker]; skip == nil || skip(line) {
			return nil
		}
		return emit(worker, line)
	}}
	err := l.Engine.Logs(ctx, l.Spec.User, l.Spec.Name, opts, w)
	if errors.Is(err, pfs.NotExist) && !opts.Follow {
		return nil // the engine has forgotten this attempt
	}
	return err
}

// workerLines parses the lines that Engine.Logs writes.
type workerLines struct {
	each func(worker string, line LogLine) error
	rest []byte
}

func (w *workerLines) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, ok := bytes.Cut(w.rest, []byte("\n"))
		if !ok {
			return len(p), nil
		}
		if worker, l, ok := ParseWorkerLine(line); ok {
			if err := w.each(worker, l); err != nil {
				return 0, err
			}
		}
		w.rest = rest
	}
}
