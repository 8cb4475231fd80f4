package transfer

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
)

const (
	// aheadAfter is how long a job works before its sources are counted: most are done by then.
	aheadAfter = time.Second
	// maxAhead is how many files the count may be ahead of the walk.
	maxAhead = 1 << 20
	// aheadPairs is how many pairs may wait to be counted.
	aheadPairs = 256
)

// ahead counts the files and bytes of the sources of a job while the walk waits for the copying. It keeps no names
// and retries nothing. The walk counts what ahead cannot count.
type ahead struct {
	j            *Job
	sources      chan End
	files, bytes atomic.Int64
	inexact      atomic.Bool // something was not counted
	complete     atomic.Bool
}

// countAhead starts counting if Options.Totals is set. The caller calls add for each source, last after the
// last source, and stop at the end.
func (j *Job) countAhead(ctx context.Context) (add func(End), last, stop func()) {
	if !j.opts.Totals {
		return func(End) {}, func() {}, func() {}
	}
	a := &j.ahead
	a.j, a.sources = j, make(chan End, aheadPairs)
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { a.run(ctx) })
	add = func(e End) {
		select {
		case a.sources <- e:
		default:
			a.inexact.Store(true)
		}
	}
	return add, sync.OnceFunc(func() { close(a.sources) }), func() { cancel(); work.Wait() }
}

func (a *ahead) run(ctx context.Context) {
	ctx = retry.Once(ctx)
	if a.j.sleep(ctx, aheadAfter) != nil {
		return
	}
	for {
		select {
		case e, ok := <-a.sources:
			if !ok {
				a.complete.Store(!a.inexact.Load())
				return
			}
			err := pfs.Guard("transfer.countAhead", e.Path, func() error { return a.source(ctx, e) })
			if err != nil {
				a.inexact.Store(true)
			}
		case <-ctx.Done():
			return
		}
	}
}

// source counts a source.
func (a *ahead) source(ctx context.Context, e End) error {
	info, err := e.FS.Stat(ctx, e.Path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return a.dir(ctx, e, "", a.j.filter.root)
	case info.IsLink():
		a.link()
	case info.IsRegular():
		a.file(info)
	}
	return nil
}

// dir counts everything below a directory. It holds one page for each level.
func (a *ahead) dir(ctx context.Context, e End, rel string, above choice) error {
	opts := pfs.ListOptions{Limit: pageLen}
	for {
		page, err := e.FS.List(ctx, e.Path, opts)
		if err != nil {
			return err
		}
		for _, info := range page.Entries {
			below := join(rel, info.Name)
			c := a.j.filter.choose(above, below, info.IsDir())
			switch {
			case c == excluded:
			case info.IsDir():
				if err := a.dir(ctx, End{e.FS, e.Path.Join(info.Name)}, below, c); err != nil {
					return err
				}
			case info.IsLink():
				a.link()
			case info.IsRegular() && c == taken:
				a.file(info)
			}
		}
		if opts.Token = page.Next; opts.Token == "" {
			return nil
		}
		if err := a.wait(ctx); err != nil {
			return err
		}
	}
}

func (a *ahead) file(info pfs.Info) {
	a.files.Add(1)
	a.bytes.Add(info.Size)
}

// link notes a link, which is not followed here.
func (a *ahead) link() {
	if a.j.opts.Links == Follow {
		a.inexact.Store(true)
	}
}

// wait pauses the count while it is too far ahead.
func (a *ahead) wait(ctx context.Context) error {
	for a.files.Load()-a.j.count.files.Load() > maxAhead {
		if err := a.j.sleep(ctx, aheadAfter); err != nil {
			return err
		}
	}
	return pfs.CheckContext(ctx, "transfer.countAhead", "")
}

// addTo raises the numbers of the walk to those of the count.
func (a *ahead) addTo(s *Stats) {
	if s.Complete {
		return
	}
	s.Files, s.Bytes = max(s.Files, a.files.Load()), max(s.Bytes, a.bytes.Load())
	s.Complete = a.complete.Load()
}
