package output

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/paddlecloud/pfs/pfs/transfer"
)

const (
	// logEvery is how often the log file that grows is sent, for each MiB that it has. So its
	// files are sent as a whole without much traffic.
	logEvery = 5 * time.Second

	// maxLogs bounds the bytes of logs at the store for one worker and attempt. The oldest files are removed.
	maxLogs = 1 << 30
)

// LogName returns the name at the store of the nth log file of a run. Names of one directory sort by restart
// and number.
func LogName(restart, n int) string {
	if restart == 0 {
		return job.LogName(n)
	}
	return fmt.Sprintf("restart-%04d-%s", restart, job.LogName(n))
}

// shipLogs sends the log files of the rank until everything is sent after the end. It returns why that did not
// succeed. passes is the context until it is too late for what is not the rest.
func (u *uploader) shipLogs(ctx, passes context.Context, ended <-chan struct{}) error {
	s := &logShipper{u: u, sent: map[string]int64{}, most: maxLogs}
	for running := true; running; {
		_ = s.pass(budgeted(passes, retry.Default), false)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			running = false
		case <-time.After(time.Second):
		}
	}
	ctx, cancel := context.WithDeadline(ctx, u.deadline)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := s.pass(budgeted(ctx, retry.Policy{Total: max(u.opts.Wait, time.Second)}), true)
		if err == nil && s.lost > 0 {
			return fmt.Errorf("%d log files of the rank were removed before they were sent, to bound its logs", s.lost)
		}
		if err == nil || retry.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// logShipper sends log files.
type logShipper struct {
	u    *uploader
	made bool             // the directory
	sent map[string]int64 // bytes of each local file that the store has
	last time.Time        // when a growing file was sent
	next int              // number of the first file that the store may not have as a whole; 0: not known
	most int64            // bytes of all files at the store
	lost int              // files that were removed before they were sent
}

// pass sends new log files. It returns the first failure.
func (s *logShipper) pass(ctx context.Context, final bool) (failed error) {
	names, err := filepath.Glob(filepath.Join(s.u.opts.Rank.Logs(), "*.log")) // sorted
	if err != nil || len(names) == 0 {
		return err
	}
	if !s.made {
		if err := pfs.MkdirAll(ctx, s.u.opts.FS, s.u.opts.Logs, 0o755); err != nil {
			return err
		}
		s.made = true
	}
	for i, name := range names {
		n, err := number(name)
		if err != nil {
			continue // not a log file
		}
		if s.next > 0 && n > s.next {
			s.lost += n - s.next // the launcher keeps only the last ones
		}
		s.next = max(s.next, n)
		growing := i == len(names)-1 && !final
		info, err := os.Stat(name)
		if err != nil {
			continue
		}
		if info.Size() == s.sent[name] {
			s.whole(n, growing)
			continue
		}
		if growing && time.Since(s.last) < logEvery*time.Duration(1+info.Size()>>20) {
			continue
		}
		size, err := s.send(ctx, name, n, info.Size(), growing)
		if err != nil {
			failed = cmp.Or(failed, err)
			continue
		}
		s.sent[name] = size
		s.whole(n, growing)
		if growing {
			s.last = time.Now()
		}
	}
	s.trim(ctx)
	return failed
}

// whole notes that the store has all of the nth file, if that does not grow any more.
func (s *logShipper) whole(n int, growing bool) {
	if n == s.next && !growing {
		s.next++
	}
}

// send sends the first size bytes of a log file; of a growing one, only whole lines.
func (s *logShipper) send(ctx context.Context, name string, n int, size int64, growing bool) (int64, error) {
	f, err := os.Open(name)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if growing {
		tail := make([]byte, min(size, job.MaxLogText+1024))
		if _, err := f.ReadAt(tail, size-int64(len(tail))); err != nil && err != io.EOF {
			return 0, err
		}
		if size += int64(bytes.LastIndexByte(tail, '\n') + 1 - len(tail)); size == 0 {
			return 0, nil
		}
	}
	j, err := transfer.New(transfer.Options{Origin: s.u.id, Pool: s.u.opts.Pool})
	if err != nil {
		return 0, err
	}
	target := transfer.End{FS: s.u.opts.FS, Path: s.u.opts.Logs.Join(LogName(s.u.opts.Run.Restart, n))}
	_, err = j.FromReader(ctx, target, io.NewSectionReader(f, 0, size), pfs.CommitOptions{Size: size})
	return size, err
}

// number returns the number of a log file.
func number(name string) (int, error) {
	return strconv.Atoi(strings.TrimSuffix(filepath.Base(name), ".log"))
}

// trim removes the oldest log files from the store if there are too many bytes.
func (s *logShipper) trim(ctx context.Context) {
	var total int64
	for _, n := range s.sent {
		total += n
	}
	if total <= s.most {
		return
	}
	var infos []pfs.Info
	total = 0
	for info, err := range pfs.Entries(ctx, s.u.opts.FS, s.u.opts.Logs, nil) {
		if err != nil {
			return
		}
		if strings.HasSuffix(info.Name, ".log") {
			infos = append(infos, info)
			total += info.Size
		}
	}
	slices.SortFunc(infos, func(a, b pfs.Info) int { return strings.Compare(a.Name, b.Name) })
	for _, info := range infos {
		if total <= s.most {
			return
		}
		if err := s.u.opts.FS.Remove(ctx, s.u.opts.Logs.Join(info.Name)); err != nil && !errors.Is(err, pfs.NotExist) {
			return
		}
		total -= info.Size
	}
}
