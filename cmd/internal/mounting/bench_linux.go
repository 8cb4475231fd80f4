package mounting

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/urfave/cli/v2"
)

const (
	benchFiles     = 200       // small files
	benchFile      = 100 << 10 // their size, where the command makes them
	mostBenchFile  = 1 << 20   // the largest existing file that counts as small
	benchRead      = 128 << 10 // of a sequential read
	benchTime      = 3 * time.Second
	benchRandom    = 4 << 10
	defaultBenched = 256 << 20
)

// benching is a run of the command bench.
type benching struct {
	a     *app.App
	o     options
	json  bool
	given cliio.SizeFlag
	size  int64 // of the large file that is read
	mount fuse.Status

	large   string // names below the directory
	small   []string
	results []benchResult
}

// benchResult is one measurement.
type benchResult struct {
	What  string  `json:"what"`  // sequential, random, small, stat, list
	Where string  `json:"where"` // mount, disk, store
	Pass  int     `json:"pass"`  // 2: the same once more
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// Cached is the share of the bytes that the server read from its cache, in percent; -1 where it is not known or
	// the kernel has read everything itself.
	Cached int `json:"cached_percent"`
}

// Bench returns the command bench.
func Bench(a *app.App) *cli.Command {
	b := &benching{a: a}
	return a.NewCommand(app.Spec{
		Name: "bench", Args: "PATH", Least: 1, Most: 1,
		Summary: "compare a mount with the disk below its cache and the store behind",
		Text: `Measures reading in the directory PATH of a mount, twice; the same on the disk of the
mount's cache; and the same directly from the store, if --store or the configuration
reaches it: a large file in order (128 KiB a read) and at random (4 KiB), small files,
stat, and a listing, with one reader. In a mount for changes, bench makes its own files
below PATH and removes them; in a read-only mount it reads those that are there.

Pass 1 is without the kernel's page cache; the column says how much of it came from the
mount's own cache. Pass 2 is with all caches.`,
		Examples: []string{a.Program + " bench /data", a.Program + " bench --json /data/public"},
		Exits:    app.RemoteExits(cliio.NotFound, cliio.Partly),
		Flags: []cli.Flag{
			&cli.GenericFlag{Name: "size", Usage: "read at most `SIZE` of the large file, and make it that large (default: 256M)", Value: &b.given},
			&cli.StringFlag{Name: "store", Usage: "the `URL` of the store with its options, if the mount has --store", Destination: &b.o.store},
			&cli.StringFlag{Name: "fingerprint", Usage: "accept the certificate of the mount's service only if its SHA-256 is `HEX`", Destination: &b.o.service.Fingerprint},
			&cli.BoolFlag{Name: "json", Usage: "print the results as a JSON array", Destination: &b.json},
		},
		Run: func(ctx context.Context, operands []string) error { return b.run(ctx, operands[0]) },
	})
}

func (b *benching) run(ctx context.Context, dir string) (err error) {
	dir, err = filepath.EvalSymlinks(string(absolute(dir)))
	if err != nil {
		return pfs.E("mounting.bench", pfs.Path(dir), pfs.KindOf(err), cause(err))
	}
	if b.size = defaultBenched; b.given.Given {
		b.size = b.given.Bytes
	}
	if b.mount, err = fuse.MountOf(dir); err != nil {
		return err
	}
	var own string
	if !b.mount.ReadOnly {
		if own, err = os.MkdirTemp(dir, "pfs-bench-"); err != nil {
			return pfs.E("mounting.bench", pfs.Path(dir), pfs.KindOf(err), cause(err))
		}
		defer func() { err = errors.Join(err, os.RemoveAll(own)) }()
		dir = own
		err = b.makeFiles(dir)
	} else {
		err = b.findFiles(dir)
	}
	if err != nil {
		return err
	}
	left := cliio.NewTally(b.a.ReportFailure)
	left.Add(b.measure(ctx, "mount", osPlace(dir)))
	left.Add(b.onDisk(ctx, dir))
	left.Add(b.onStore(ctx, dir))
	if b.json {
		err = b.a.JSON(b.results)
	} else {
		b.table()
	}
	return errors.Join(err, left.Err())
}

// makeFiles makes the files to read.
func (b *benching) makeFiles(dir string) error {
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(rand.Uint32())
	}
	b.large = "large"
	f, err := os.Create(filepath.Join(dir, b.large))
	if err != nil {
		return err
	}
	for n := int64(0); n < b.size && err == nil; n += int64(len(block)) {
		_, err = f.Write(block)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	for i := range benchFiles {
		name := fmt.Sprintf("small-%04d", i)
		if err := os.WriteFile(filepath.Join(dir, name), block[:benchFile], 0o644); err != nil {
			return err
		}
		b.small = append(b.small, name)
	}
	time.Sleep(2 * time.Second) // younger files are not cached
	return nil
}

// findFiles chooses the files to read: the largest of those that are found first, and small ones.
func (b *benching) findFiles(dir string) error {
	const most = 20_000 // that are looked at
	seen, largest := 0, int64(0)
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if info.Size() > largest {
			largest, b.large = info.Size(), rel
		}
		if info.Size() <= mostBenchFile && len(b.small) < benchFiles {
			b.small = append(b.small, rel)
		}
		if seen++; seen == most {
			return filepath.SkipAll
		}
		return nil
	})
	if err == nil && b.large == "" {
		err = pfs.Errorf("mounting.bench", pfs.Path(dir), pfs.NotExist, "there is no file to read")
	}
	return err
}

// place is a directory to measure.
type place struct {
	open func(name string) (io.ReaderAt, io.Closer, error)
	stat func(name string) (int64, error)
	list func() error
	cold func(name string) // makes the kernel forget the pages of a file; may be nil
}

// osPlace is a directory of this machine.
func osPlace(dir string) place {
	return place{
		open: func(name string) (io.ReaderAt, io.Closer, error) {
			f, err := os.Open(filepath.Join(dir, name))
			return f, f, err
		},
		stat: func(name string) (int64, error) {
			info, err := os.Lstat(filepath.Join(dir, name))
			if err != nil {
				return 0, err
			}
			return info.Size(), nil
		},
		list: func() error { _, err := os.ReadDir(dir); return err },
		cold: func(name string) { dropPages(filepath.Join(dir, name)) },
	}
}

// storePlace is a directory of a store.
func storePlace(ctx context.Context, fsys pfs.FileSystem, dir pfs.Path) place {
	at := func(name string) pfs.Path {
		p := dir
		for e := range strings.SplitSeq(name, "/") {
			p = p.Join(e)
		}
		return p
	}
	return place{
		open: func(name string) (io.ReaderAt, io.Closer, error) {
			f, err := fsys.Open(ctx, at(name))
			if err != nil {
				return nil, nil, err
			}
			return storeFile{ctx, f}, f, nil
		},
		stat: func(name string) (int64, error) {
			info, err := fsys.Stat(ctx, at(name))
			return info.Size, err
		},
		list: func() error {
			for _, err := range pfs.Entries(ctx, fsys, dir, nil) {
				if err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// storeFile reads a file of a store.
type storeFile struct {
	ctx context.Context
	f   pfs.File
}

func (f storeFile) ReadAt(p []byte, off int64) (int, error) { return f.f.ReadAt(f.ctx, p, off) }

// measure measures p twice.
func (b *benching) measure(ctx context.Context, where string, p place) error {
	for pass := 1; pass <= 2; pass++ {
		if pass == 1 && p.cold != nil {
			for _, name := range append(b.small, b.large) {
				p.cold(name)
			}
		}
		for _, m := range []struct {
			what, unit string
			run        func(p place) (amount float64, err error)
		}{
			{"sequential", "MB/s", b.sequential}, {"random", "reads/s", b.random}, {"small", "files/s", b.readSmall},
			{"stat", "calls/s", b.statAll}, {"list", "ms", func(p place) (float64, error) { return 0, p.list() }},
		} {
			if err := pfs.CheckContext(ctx, "mounting.bench", ""); err != nil {
				return err
			}
			before := cacheCounts(b.mount.MountPoint)
			start := time.Now()
			amount, err := m.run(p)
			took := time.Since(start).Seconds()
			if err != nil {
				return fmt.Errorf("%s of the %s: %w", m.what, where, err)
			}
			r := benchResult{What: m.what, Where: where, Pass: pass, Value: amount / took, Unit: m.unit, Cached: -1}
			if m.unit == "ms" {
				r.Value = took * 1000
			}
			if where == "mount" {
				r.Cached = cacheCounts(b.mount.MountPoint).since(before)
			}
			b.results = append(b.results, r)
		}
	}
	return nil
}

// counts are what the cache of a mount has read.
type counts struct{ hit, other float64 }

func cacheCounts(dir string) counts {
	m, err := fuse.MountAt(dir)
	c, ok := m.Cache.(map[string]any)
	if err != nil || !ok {
		return counts{}
	}
	n := func(name string) float64 { v, _ := c[name].(float64); return v }
	return counts{n("hit_bytes"), n("missed_bytes") + n("passed_bytes")}
}

// since returns the share of the cache since before, in percent.
func (c counts) since(before counts) int {
	hit, other := c.hit-before.hit, c.other-before.other
	if hit+other == 0 {
		return -1
	}
	return int(100 * hit / (hit + other))
}

func (b *benching) sequential(p place) (megabytes float64, err error) {
	f, c, err := p.open(b.large)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	buf := make([]byte, benchRead)
	for off := int64(0); off < b.size; {
		n, err := f.ReadAt(buf, off)
		off += int64(n)
		megabytes += float64(n) / 1e6
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return 0, err
		}
	}
	return megabytes, nil
}

func (b *benching) random(p place) (reads float64, err error) {
	size, err := p.stat(b.large)
	if err != nil {
		return 0, err
	}
	f, c, err := p.open(b.large)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	buf := make([]byte, benchRandom)
	places := rand.New(rand.NewPCG(1, 2)) // the same in each pass
	for end := time.Now().Add(benchTime); reads < 20_000 && time.Now().Before(end); reads++ {
		if _, err := f.ReadAt(buf, places.Int64N(max(1, min(size, b.size)/benchRandom))*benchRandom); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return reads, nil
}

func (b *benching) readSmall(p place) (files float64, err error) {
	buf := make([]byte, mostBenchFile)
	for _, name := range b.small {
		f, c, err := p.open(name)
		if err != nil {
			return 0, err
		}
		_, err = f.ReadAt(buf, 0)
		c.Close()
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
	}
	return float64(len(b.small)), nil
}

func (b *benching) statAll(p place) (calls float64, err error) {
	for _, name := range append(b.small, b.large) {
		if _, err := p.stat(name); err != nil {
			return 0, err
		}
	}
	return float64(len(b.small) + 1), nil
}

// onDisk measures copies of the files on the disk of the cache.
func (b *benching) onDisk(ctx context.Context, dir string) (err error) {
	c, _ := b.mount.Cache.(map[string]any)
	dirs, _ := c["dirs"].([]any)
	if len(dirs) == 0 {
		b.a.Note("the disk is not measured: the mount has no cache")
		return nil
	}
	first, _ := dirs[0].(map[string]any)
	top, _ := first["path"].(string)
	tmp, err := os.MkdirTemp(top, "bench-")
	if err != nil {
		return fmt.Errorf("the disk of the cache cannot be measured: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	for _, name := range append(b.small, b.large) {
		if err := copyTo(filepath.Join(tmp, name), filepath.Join(dir, name), b.size); err != nil {
			return err
		}
	}
	return b.measure(ctx, "disk", osPlace(tmp))
}

// copyTo copies at most size bytes of a file, to the disk.
func copyTo(to, from string, size int64) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, size))
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// onStore measures the store without the mount.
func (b *benching) onStore(ctx context.Context, dir string) error {
	o := b.o
	o.root, o.cacheSize, o.readOnly = b.mount.Root, "0", true
	if strings.HasPrefix(b.mount.Source, "http") {
		if b.a.Main.Getenv("PFS_TOKEN_FILE") != "" {
			o.service.Endpoint = b.mount.Source
		}
	} else if o.store == "" {
		o.store = b.mount.Source
	}
	fsys, _, err := o.open(ctx, b.a, dir)
	if err != nil {
		return fmt.Errorf("the store cannot be measured: %w", err)
	}
	defer fsys.close(ctx)
	at, err := pfs.CleanPath(filepath.Join(b.mount.Root, strings.TrimPrefix(dir, b.mount.MountPoint)))
	if err != nil {
		return err
	}
	return b.measure(ctx, "store", storePlace(ctx, fsys.FileSystem, at))
}

// table prints the results, a line for each measurement.
func (b *benching) table() {
	columns := []string{"mount 1", "mount 2", "disk 1", "disk 2", "store 1", "store 2"}
	b.a.Printf("%-22s", "")
	for _, c := range columns {
		b.a.Printf("%12s", c)
	}
	b.a.Printf("  from the cache, pass 1\n")
	seen := map[string]bool{}
	for _, r := range b.results {
		if seen[r.What] {
			continue
		}
		seen[r.What] = true
		b.a.Printf("%-22s", r.What+", "+r.Unit)
		cached := "-"
		for _, c := range columns {
			cell := "-"
			for _, o := range b.results {
				if o.What == r.What && fmt.Sprintf("%s %d", o.Where, o.Pass) == c {
					cell = fmt.Sprintf("%.*f", digits(o.Value), o.Value)
					if c == columns[0] && o.Cached >= 0 {
						cached = fmt.Sprintf("%d %%", o.Cached)
					}
				}
			}
			b.a.Printf("%12s", cell)
		}
		b.a.Printf("  %s\n", cached)
	}
}

// digits returns how many digits of v after the point matter.
func digits(v float64) int {
	if v < 10 {
		return 2
	}
	return 0
}
