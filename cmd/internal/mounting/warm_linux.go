package mounting

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/dataset/manifest"
	"github.com/urfave/cli/v2"
)

// warmWorkers is how many files are fetched at a time. The queue of the mount decides how many requests that are.
const warmWorkers = 32

// warming is a run of the command warm.
type warming struct {
	app.ChangeOptions
	a      *app.App
	epochs string
	quiet  bool

	meter   *app.Meter
	tally   *cliio.Tally
	planned int64        // bytes of the files so far
	limit   atomic.Int64 // bytes of the cache, once known
	unread  atomic.Int64 // bytes that were fetched and not read yet
	pending atomic.Int64 // bytes of --epochs that are being fetched
	sum     warmSummary
}

// warmSummary is the last event of warm.
type warmSummary struct {
	Event   string  `json:"event"`
	Files   int64   `json:"files"`    // that are cached now
	Bytes   int64   `json:"bytes"`    // of them
	Left    int64   `json:"left_out"` // files that do not fit
	Failed  int64   `json:"failed"`
	Seconds float64 `json:"seconds"`
}

// warmFile is a file to fetch, or the reason why it cannot be.
type warmFile struct {
	name string
	size int64
	err  error
}

// Warm returns the command warm.
func Warm(a *app.App) *cli.Command {
	w := warming{a: a}
	return a.NewCommand(app.Spec{
		Name: "warm", Args: "PATH...", Most: -1,
		Summary: "fetch files of a mount into its cache",
		Text: `Fetches files and directories of a mount into its cache, after everything that programs
read meanwhile: the files of a directory by name, or those of the manifest that
PATH names. Cached files are not fetched again. Files that do not fit into the
cache, and links to files outside PATH, are named, and the code is 8.

With --epochs, FILE has the paths in the order in which the training reads them, one a
line, one epoch after another; relative ones are below PATH. Half of the cache is
filled ahead of the training, and the rest as it reads.`,
		Examples: []string{
			a.Program + " warm /data/dataset/imagenet/3",
			"generate-order | " + a.Program + " warm --epochs - /data",
		},
		Exits: []cliio.Code{cliio.NotFound, cliio.Denied, cliio.Unavailable, cliio.Integrity, cliio.Partly, cliio.Interrupted},
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "epochs", Usage: "fetch the paths in `FILE` ahead of a training that reads them in this order; - is standard input", Destination: &w.epochs},
			w.JSONFlag(), app.QuietFlag(&w.quiet),
		},
		Run: w.run,
	})
}

func (w *warming) run(ctx context.Context, operands []string) error {
	switch {
	case w.epochs == "" && len(operands) == 0:
		return cliargs.Usagef("too few operands: PATH... is needed, or --epochs FILE")
	case w.epochs != "" && len(operands) > 1:
		return cliargs.Usagef("--epochs takes one PATH, below which the paths in the file are")
	}
	w.Begin(w.a)
	start := w.a.Now()
	w.tally = cliio.NewTally(w.a.ReportFailure)
	w.meter = w.a.StartMeter(w.quiet || w.JSON, -1, 0)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	files, results := make(chan warmFile), make(chan warmFile)
	var listing error
	go func() {
		defer close(files)
		if w.epochs != "" {
			listing = w.listEpochs(ctx, append(operands, ".")[0], files)
			return
		}
		for _, name := range operands {
			w.list(ctx, name, files)
		}
	}()
	var workers sync.WaitGroup
	for range warmWorkers {
		workers.Go(func() {
			for f := range files {
				if f.err == nil {
					f.err = w.fetch(ctx, f)
				}
				w.pending.Add(-f.size)
				results <- f
			}
		})
	}
	go func() {
		workers.Wait()
		close(results)
	}()
	for f := range results {
		w.done(f)
	}
	w.meter.End()
	if listing != nil {
		return listing
	}
	if ctx.Err() != nil {
		return pfs.CheckContext(ctx, "mounting.warm", "")
	}
	w.sum.Event, w.sum.Seconds = "summary", w.a.Now().Sub(start).Seconds()
	if w.JSON || !w.quiet {
		w.a.Show(w.JSON, w.sum, "%d files are cached (%s); %d do not fit, %d failed\n", w.sum.Files, cliio.Size(w.sum.Bytes), w.sum.Left, w.sum.Failed)
	}
	return w.tally.Err()
}

// done counts a file.
func (w *warming) done(f warmFile) {
	if pfs.KindOf(f.err) == pfs.Canceled {
		return
	}
	w.tally.Add(f.err)
	switch {
	case f.err == nil:
		w.sum.Files++
		w.sum.Bytes += f.size
		w.meter.Finished()
	case pfs.KindOf(f.err) == pfs.NoSpace:
		w.sum.Left++
	default:
		w.sum.Failed++
	}
}

// list sends the files below name.
func (w *warming) list(ctx context.Context, name string, to chan<- warmFile) {
	send := func(name string) error {
		f := describe(name)
		if f.err == nil && w.limit.Load() == 0 {
			_ = w.ask(name, nil) // for the size of the cache; its error shows when the file is fetched
		}
		w.planned += f.size
		if limit := w.limit.Load(); f.err == nil && limit > 0 && w.planned > limit {
			w.planned -= f.size
			f.err = largerCache(pfs.Errorf("mounting.warm", absolute(name), pfs.NoSpace, "it does not fit: the cache of %s is full of files that come before it", cliio.Size(limit)))
		}
		return put(ctx, to, f)
	}
	if _, ok := manifest.DatasetOf(filepath.Base(name)); ok {
		if shards, err := shardsOf(name); err == nil {
			for _, shard := range shards {
				if send(shard) != nil {
					return
				}
			}
			return
		}
	}
	if target, err := filepath.EvalSymlinks(name); err == nil { // such as that of latest; WalkDir follows no links
		name = target
	}
	top := absolute(name)
	_ = filepath.WalkDir(name, func(name string, e fs.DirEntry, err error) error { // it ends with ctx
		switch {
		case err != nil:
			return put(ctx, to, warmFile{name: name, err: pfs.E("mounting.warm", absolute(name), pfs.KindOf(err), cause(err))})
		case e.Type().IsRegular():
			return send(name)
		case e.IsDir():
			return nil
		case e.Type()&fs.ModeSymlink != 0:
			if target, err := filepath.EvalSymlinks(name); err == nil && absolute(target).Within(top) {
				return nil // the walk meets it under its own name
			}
			return put(ctx, to, warmFile{name: name, err: pfs.Errorf("mounting.warm", absolute(name), pfs.Invalid, "a link that leads out of %s is not followed: warm its target", top)})
		}
		return put(ctx, to, warmFile{name: name, err: pfs.Errorf("mounting.warm", absolute(name), pfs.Unsupported, "only files can be cached")})
	})
}

// largerCache adds a hint to an error about a full cache.
func largerCache(err error) error {
	if pfs.KindOf(err) != pfs.NoSpace {
		return err
	}
	return app.WithHint(err, "mount with a larger --cache-size, or with more directories (--cache-dir)")
}

// cause returns err without the path that os adds.
func cause(err error) error {
	if e, ok := err.(*fs.PathError); ok {
		return e.Err
	}
	return err
}

// shardsOf returns the files of the manifest name, in its order.
func shardsOf(name string) (files []string, err error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := manifest.Read(f)
	if err != nil {
		return nil, err
	}
	for _, shard := range m.Shards {
		files = append(files, filepath.Join(filepath.Dir(name), shard.Name))
	}
	return files, nil
}

// listEpochs sends the files that --epochs lists, below dir. It waits for the training while half of the cache
// is filled with what it has not read.
func (w *warming) listEpochs(ctx context.Context, dir string, to chan<- warmFile) error {
	var lines io.Reader = w.a.Main.Stdin
	if w.epochs != "-" {
		f, err := os.Open(w.epochs)
		if err != nil {
			return pfs.E("mounting.warm", pfs.Path(w.epochs), pfs.KindOf(err), cause(err))
		}
		defer f.Close()
		lines = f
	}
	last := dir
	scan := bufio.NewScanner(lines)
	for scan.Scan() {
		name := strings.TrimSuffix(scan.Text(), "\r")
		if name == "" {
			continue
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		f := describe(name)
		for ahead := w.ahead(f); ahead; ahead = w.ahead(f) {
			select {
			case <-time.After(100 * time.Millisecond):
			case <-ctx.Done():
				return nil
			}
			_ = w.ask(last, nil) // for what is unread; its error shows when the file is fetched
		}
		w.pending.Add(f.size)
		if put(ctx, to, f) != nil {
			return nil
		}
		last = name
	}
	return scan.Err()
}

// ahead reports whether the training should read before f is fetched. Until the size of the cache is known, one
// file is fetched.
func (w *warming) ahead(f warmFile) bool {
	ahead := w.pending.Load() + w.unread.Load()
	return ahead > 0 && ahead+f.size > w.limit.Load()/2
}

// describe returns the file name, or its error.
func describe(name string) warmFile {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return warmFile{name: name, err: pfs.E("mounting.warm", absolute(name), pfs.KindOf(err), cause(err))}
	case !info.Mode().IsRegular():
		return warmFile{name: name, err: pfs.Errorf("mounting.warm", absolute(name), pfs.Invalid, "it is not a file")}
	}
	return warmFile{name: name, size: info.Size()}
}

// absolute returns the path of a file for messages.
func absolute(name string) pfs.Path {
	if abs, err := filepath.Abs(name); err == nil {
		name = abs
	}
	return pfs.Path(name)
}

// put sends f unless ctx is done.
func put(ctx context.Context, to chan<- warmFile, f warmFile) error {
	select {
	case to <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// ask makes the mount fetch part of a file.
func (w *warming) ask(name string, state *cachefs.Warmed) error {
	var s cachefs.Warmed
	if err := fuse.Warm(string(absolute(name)), &s); err != nil {
		return err
	}
	w.limit.Store(s.Limit)
	w.unread.Store(s.Unread)
	if state != nil {
		*state = s
	}
	return nil
}

// fetch brings all of a file into the cache.
func (w *warming) fetch(ctx context.Context, f warmFile) error {
	w.meter.Begin(f.name)
	const most = 60 // calls without progress
	for before, idle := int64(0), 0; ; {
		if err := pfs.CheckContext(ctx, "mounting.warm", ""); err != nil {
			return err
		}
		var s cachefs.Warmed
		err := w.ask(f.name, &s)
		if pfs.KindOf(err) == pfs.NoSpace && idle < most {
			idle++
			time.Sleep(100 * time.Millisecond) // what was not used for long is being removed
			continue
		}
		if err != nil {
			return largerCache(err)
		}
		w.meter.Add(s.Cached - before)
		if s.Cached >= s.Size {
			return nil
		}
		if idle++; s.Cached > before {
			idle = 0
		}
		if before = s.Cached; idle == most {
			return pfs.Errorf("mounting.warm", absolute(f.name), pfs.Unavailable, "nothing of it comes any more: %d of %d bytes are cached", s.Cached, s.Size)
		}
	}
}
