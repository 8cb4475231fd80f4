//go:build linux

package local

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

// followEvery is the time between two looks for new lines.
const followEvery = 200 * time.Millisecond

// Logs copies the logs of one attempt to w, or with Follow and the attempt 0 also those of the attempts that come.
func (e *Engine) Logs(ctx context.Context, user, name string, opts job.LogOptions, w io.Writer) error {
	d, s, err := e.load(user, name)
	if err != nil {
		return err
	}
	first := opts.Attempt
	if first == 0 {
		first = s.Record.Attempt
	}
	f := &follower{dir: d, opts: opts, out: bufio.NewWriter(w), read: map[string]*cursor{}}
	for {
		s = &state{Record: *e.look(d, s)}
		over := opts.Over(&s.Record)
		last := s.Record.Attempt
		if opts.Attempt != 0 {
			last = first
		}
		for attempt := first; attempt <= last; attempt++ {
			if err := f.attempt(attempt); err != nil {
				return err
			}
		}
		if err := f.out.Flush(); err != nil {
			return err
		}
		if over {
			break
		}
		f.opts.Lines = -1 // all of what comes from now on
		if err := retry.Sleep(ctx, followEvery); err != nil {
			return err
		}
		if s, err = d.load(); err != nil {
			return err
		}
	}
	if len(f.read) == 0 && opts.Worker != "" && !slices.ContainsFunc(s.Record.Workers, func(w job.Worker) bool { return w.Name == opts.Worker }) {
		return pfs.Errorf("local.Logs", "", pfs.NotExist, "the job %q has no worker %q", name, opts.Worker)
	}
	return nil
}

// follower reads the logs of several ranks.
type follower struct {
	dir  dir
	opts job.LogOptions
	out  *bufio.Writer
	read map[string]*cursor // by directory of the logs
}

// cursor is how far a log was read.
type cursor struct {
	file   int // number of the file
	offset int64
}

// attempt reads the new lines of the logs of an attempt.
func (f *follower) attempt(n int) error {
	workers, err := filepath.Glob(filepath.Join(string(f.dir), "attempts", strconv.Itoa(n), "*"))
	if err != nil {
		return err
	}
	slices.SortFunc(workers, byNumber)
	for _, worker := range workers {
		if f.opts.Worker != "" && filepath.Base(worker) != f.opts.Worker {
			continue
		}
		runs, err := filepath.Glob(filepath.Join(worker, "*"))
		if err != nil {
			return err
		}
		slices.SortFunc(runs, byNumber)
		var readers []io.Reader
		for _, run := range runs {
			r, err := f.news(job.RankDir(run).Logs())
			if err != nil {
				return err
			}
			readers = append(readers, r...)
		}
		err = job.LogLines(io.MultiReader(readers...), f.opts, func(l job.LogLine) error {
			_, err := f.out.Write(job.AppendWorkerLine(nil, filepath.Base(worker), l))
			return err
		})
		for _, r := range readers {
			r.(*part).f.Close()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// byNumber sorts names such as trainer-2 and trainer-10 by their numbers.
func byNumber(a, b string) int {
	if len(a) != len(b) && bytes.Equal(bytes.TrimRight([]byte(a), "0123456789"), bytes.TrimRight([]byte(b), "0123456789")) {
		return len(a) - len(b)
	}
	return bytes.Compare([]byte(a), []byte(b))
}

// part has the new whole lines of one file.
type part struct {
	io.Reader
	f *os.File
}

// news returns the new lines of the log in dir, and advances its cursor.
func (f *follower) news(logs string) (parts []io.Reader, err error) {
	names, err := filepath.Glob(filepath.Join(logs, "*.log"))
	if err != nil {
		return nil, err
	}
	c := f.read[logs]
	if c == nil {
		c = &cursor{}
		f.read[logs] = c
	}
	for _, name := range names {
		n, err := strconv.Atoi(filepath.Base(name)[:len(filepath.Base(name))-len(".log")])
		if err != nil || n < c.file {
			continue
		}
		if n > c.file {
			*c = cursor{file: n}
		}
		file, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue // there are too many
		}
		if err != nil {
			return parts, err
		}
		end, err := wholeLines(file)
		if err != nil || end <= c.offset {
			file.Close()
			if err != nil {
				return parts, err
			}
			continue
		}
		parts = append(parts, &part{io.NewSectionReader(file, c.offset, end-c.offset), file})
		c.offset = end
	}
	return parts, nil
}

// wholeLines returns the offset after the last newline of a file.
func wholeLines(f *os.File) (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	buf := make([]byte, 2*job.MaxLogText)
	from := max(0, info.Size()-int64(len(buf)))
	n, err := f.ReadAt(buf[:min(int64(len(buf)), info.Size()-from)], from)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, err
	}
	return from + int64(bytes.LastIndexByte(buf[:n], '\n')) + 1, nil
}
