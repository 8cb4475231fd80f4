// Package mounting has the commands for mounts: mount, status, flush and umount, which paddlectl and pfs-agent share,
// and broker, upgrade, warm and bench, which only pfs-agent has.
package mounting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/cmd/internal/app"
	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/cmd/internal/cliargs"
	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/retry"
	"github.com/urfave/cli/v2"
)

type options struct {
	root, store          string
	service              app.Service
	readOnly, foreground bool
	unprivileged, mkdir  bool
	broker               fuse.Broker // of a server
	openMode             string
	cacheDirs            []string
	cacheSize            string
	monitor              Monitor
	metrics, accessLog   string
	owner                string
	grace, retryTime     cliio.DurationFlag
}

// Monitor returns the handler of the metrics of a mount with opts, and the observer of its requests.
type Monitor func(opts fuse.Options) (http.Handler, func(fuse.Request))

// Mount returns the command mount, with the commands subs below it. It has the flag --metrics unless monitor
// is nil.
func Mount(a *app.App, monitor Monitor, subs ...*cli.Command) *cli.Command {
	o := &options{monitor: monitor}
	spec := mountSpec(a, o)
	spec.Flags = append(spec.Flags, &cli.BoolFlag{Name: "foreground", Usage: "stay in the foreground until the mount ends", Destination: &o.foreground})
	spec.Subs = subs
	return a.NewCommand(spec)
}

// Broker returns the command broker: mount --foreground.
func Broker(a *app.App, monitor Monitor) *cli.Command {
	spec := mountSpec(a, &options{monitor: monitor, foreground: true})
	spec.Name, spec.Summary = "broker", "mount, and stay in the foreground as the process that keeps the mount"
	spec.Text = `As mount, but the command itself is the broker: it mounts, starts the server, starts another
one if that dies, and ends with the mount. It is for containers and service managers.`
	spec.Examples = []string{a.Program + " broker --read-only /data"}
	return a.NewCommand(spec)
}

// mountSpec is what mount and broker have in common.
func mountSpec(a *app.App, o *options) app.Spec {
	o.grace.Duration, o.retryTime.Duration = 20*time.Second, retry.Default.Total
	spec := app.Spec{
		Name: "mount", Args: "MOUNTPOINT", Least: 1, Most: 1,
		Summary: "show a tree of a service or store as a directory",
		Text: `Mounts the current service at MOUNTPOINT, an empty directory, so that every program can
use its files (Linux only). Returns when the mount is ready. A server process in the
background serves the mount until umount or SIGTERM. If the server dies, another process,
the broker, replaces it, and programs notice only a pause. The log is in ~/.cache/pfs.
docs/mount.md states what works on which store.

The files of a service appear to belong to you; the service checks your permissions. The
files of --store keep their owners, and if root mounts a file:// or cephfs:// store, all
users can use it with their own permissions.

File contents of a service, HDFS or CephFS are cached on the local disk (--cache-dir). If
root mounts, the kernel itself reads files that are cached whole and that the mount
cannot change (--open-mode passthrough): public files, or all with --read-only. It also
reads and writes the files of a file:// store itself, except below a quota.

For trees of small files, --open-mode no-open with --read-only saves a request for each
open; a file that changes while it is read may then show both versions. The command
status shows the mode in use.

PFS_TOKEN_FILE names a file with a token to use in place of a login. With it,
--service names a service that is not in the configuration.`,
		Examples: []string{
			a.Program + " mount ~/pfs", a.Program + " mount --root /pfs/dc1/public --read-only /data",
			a.Program + " mount --store hdfs://namenode:8020/user/alice ~/hdfs",
		},
		Exits: app.RemoteExits(cliio.NotFound, cliio.Exists),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "root", Usage: "mount the directory `PATH` of the service or store (default: /pfs of a service, / of a store)", Destination: &o.root},
			&cli.StringFlag{Name: "store", Usage: "mount the store at `URL`, not a service: " + backends.Forms, Destination: &o.store},
			&cli.StringFlag{Name: "service", Usage: "mount the service at `URL`, with the token in PFS_TOKEN_FILE and without a configuration", Destination: &o.service.Endpoint},
			&cli.StringFlag{Name: "fingerprint", Usage: "accept the certificate of --service only if its SHA-256 is `HEX`", Destination: &o.service.Fingerprint},
			&cli.BoolFlag{Name: "read-only", Usage: "refuse all changes", Destination: &o.readOnly},
			&cli.GenericFlag{Name: "open-mode", Usage: "read open files by `MODE`: passthrough or no-open", Value: cliargs.OneOf(&o.openMode, fuse.Passthrough, fuse.NoOpen)},
			&cli.GenericFlag{Name: "cache-dir", Usage: "keep what is read in the directory `DIR` (default: pfs in your cache directory; none for file://); several times, for several disks", Value: app.ListFlag(&o.cacheDirs)},
			&cli.StringFlag{Name: "cache-size", Usage: "let all of the cache take `SIZE` at most, such as 100G; 0 for no cache (default: a tenth of its disks)", Destination: &o.cacheSize},
			&cli.StringFlag{Name: "owner", Usage: "show the files of a service as those of the user and group `UID:GID`, and let other users do what the modes of the files permit (root only)", Destination: &o.owner},
			&cli.StringFlag{Name: "access-log", Usage: "write a line for each request to `FILE`; SIGHUP opens it again", Destination: &o.accessLog},
			&cli.GenericFlag{Name: "retry-time", Usage: "let a program wait at most `DURATION` for a service or store that does not answer, and then give it an error; 0: until it answers", Value: &o.retryTime},
			&cli.GenericFlag{Name: "grace", Usage: "after SIGTERM, end within `DURATION`: what is staged and not uploaded by then is in the log and stays for the next mount", Value: &o.grace},
			&cli.BoolFlag{Name: "unprivileged", Usage: "run the server as the user nobody, who must be able to read PFS_TOKEN_FILE; root only", Destination: &o.unprivileged},
			&cli.BoolFlag{Name: "mkdir", Usage: "make the directory MOUNTPOINT if it does not exist", Destination: &o.mkdir},
		},
		Run: func(ctx context.Context, operands []string) error { return run(ctx, a, *o, operands[0]) },
	}
	if o.monitor != nil {
		spec.Flags = append(spec.Flags, &cli.StringFlag{Name: "metrics", Usage: "serve /metrics, for Prometheus, and /healthz at `HOST:PORT` over plain HTTP", Destination: &o.metrics})
	}
	return spec
}

// gcPercent is a quarter of Go's default: a mount that knows many files has a large heap that seldom
// changes.
const gcPercent = 25

// serve serves the mount at dir, which link keeps.
func serve(ctx context.Context, a *app.App, o options, dir string, link fuse.Broker) (err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return err
	}
	o.broker = link
	ctx = patient(ctx, o.retryTime.Duration, a.Waiting.Retry)
	fsys, opts, err := o.open(ctx, a, dir)
	if err != nil {
		return err
	}
	var m *fuse.Mounted
	defer func() { err = cmp.Or(err, o.end(m, fsys)) }()
	boundMemory(a.Main.Getenv)
	metrics, err := o.observe(&opts)
	if err != nil {
		return err
	}
	healthy := func() {}
	if link.Replacements() == 0 { // else the server before this one still uses the address
		if healthy, err = o.serveMetrics(metrics, opts.Logger); err != nil {
			return err
		}
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	m, err = fuse.Mount(ctx, fsys.FileSystem, dir, opts)
	if err != nil {
		return err
	}
	if link.Replacements() > 0 {
		if healthy, err = o.serveMetrics(metrics, opts.Logger); err != nil {
			opts.Logger.Warn("metrics are not served", "error", err)
			healthy = func() {}
		}
	}
	healthy()
	if err := settle(a); err != nil {
		return err
	}
	select {
	case <-m.Done():
	case <-ctx.Done():
	}
	return nil
}

// end ends the mount m, which may be nil, and closes fsys, within the grace time. The last tenth of it is for the log, and for
// closing what does not depend on the store.
func (o options) end(m *fuse.Mounted, fsys tree) error {
	if m != nil && m.Replaced() { // the next server goes on with what this one has open, and waits for its end
		return fsys.leave()
	}
	grace := max(o.grace.Duration, time.Second)
	ctx, cancel := context.WithTimeout(context.Background(), grace/10*9)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		var err error
		if m != nil {
			err = m.Close(ctx)
		}
		ended <- errors.Join(err, fsys.close(ctx))
	}()
	select {
	case err := <-ended:
		return err
	case <-time.After(grace):
		return pfs.Errorf("mounting.Mount", "", pfs.Unavailable, "the cache or the store did not close within --grace (%v)", grace)
	}
}

// tree is a file system to mount.
type tree struct {
	pfs.FileSystem
	close func(ctx context.Context) error // it uploads what is staged, until ctx is done
	leave func() error                    // instead of close, if another server takes over
}

// open returns the file system to mount at mountPoint.
func (o options) open(ctx context.Context, a *app.App, mountPoint string) (fsys tree, opts fuse.Options, err error) {
	root, err := pfs.CleanPath(cmp.Or(o.root, string(pfs.Root)))
	if o.store == "" {
		root, err = pfs.CleanPath(cmp.Or(o.root, string(app.Top)))
	}
	if err != nil {
		return fsys, opts, cliargs.Usagef("--root: %v", err)
	}
	if o.openMode == fuse.NoOpen && !o.readOnly {
		return fsys, opts, cliargs.Usagef("--open-mode no-open needs --read-only")
	}
	if o.openMode == fuse.NoOpen && o.store == "" && !isPublic(root) {
		return fsys, opts, cliargs.Usagef("--open-mode no-open needs a --root below /pfs/public or /pfs/DATACENTER/public: files of a home change")
	}
	if o.metrics != "" {
		if err := cliio.CheckAddress("--metrics", o.metrics); err != nil {
			return fsys, opts, err
		}
	}
	o.service.TokenFile = a.Main.Getenv("PFS_TOKEN_FILE")
	switch named := o.service.Endpoint != ""; {
	case named && o.store != "":
		return fsys, opts, cliargs.Usagef("--service and --store exclude each other")
	case named && o.service.TokenFile == "":
		return fsys, opts, cliargs.Usagef("--service needs PFS_TOKEN_FILE, the name of a file with a token")
	case !named && o.service.Fingerprint != "":
		return fsys, opts, cliargs.Usagef("--fingerprint needs --service")
	}
	opts = fuse.Options{Root: root, ReadOnly: o.readOnly, OpenMode: cmp.Or(o.openMode, fuse.Passthrough), Broker: o.broker,
		Logger: slog.New(slog.NewTextHandler(a.Stderr, nil))}
	if opts.Owner, err = parseOwner(o.owner); err != nil {
		return fsys, opts, err
	}
	if o.owner != "" && o.store != "" {
		return fsys, opts, cliargs.Usagef("--owner is for the mount of a service: a store knows the owners of its files")
	}
	if o.store == "" {
		opts.Squash = true
		if o.broker != nil {
			mount, _, _ := strings.Cut(o.broker.Session(), "-")
			a.Sender = fmt.Sprintf("%s/%d", mount, o.broker.Replacements())
		}
		var user string
		if fsys.FileSystem, opts.Source, user, err = a.Remotes.Tree(ctx, root, o.service); err != nil {
			return fsys, opts, err
		}
		fsys.close = func(context.Context) error { return nil }
		fsys.leave = func() error { return nil }
		opts.Protection = (&protections{fs: fsys.FileSystem, public: map[pfs.Path]publicRight{}}).of
		return o.stacked(fsys, opts, user, mountPoint)
	}
	// These stores know no user numbers.
	opts.Squash = strings.HasPrefix(o.store, "hdfs:") || strings.HasPrefix(o.store, "mem:")
	opts.Source, _, _ = strings.Cut(o.store, "?")
	caller := backends.Caller{Logger: opts.Logger}
	if o.broker != nil { // not of the command bench
		caller.Session = o.broker.Session()
	}
	dir, err := os.Getwd()
	var store backends.Store
	if err == nil {
		store, err = backends.Open(ctx, backends.Spec{URL: o.store, Dir: dir}, caller)
	}
	if err != nil {
		return fsys, opts, err
	}
	fsys = tree{store.FileSystem, func(context.Context) error { return store.Close() }, func() error { return nil }}
	if strings.HasPrefix(o.store, "cephfs:") { // else the cluster waits for the client that is gone before it lets the next one write
		fsys.leave = store.Close
	}
	if !strings.HasPrefix(o.store, "file:") {
		fsys.FileSystem = repeatReads(store.FileSystem)
	}
	fsys, opts, err = o.stacked(fsys, opts, store.Account, mountPoint)
	opts.StoreFiles = strings.HasPrefix(o.store, "file:") && opts.Cache == nil
	return fsys, opts, err
}

// stacked returns store with a cache, and with staging if it is to be changed. user is the account that
// uses it.
func (o options) stacked(store tree, opts fuse.Options, user, mountPoint string) (tree, fuse.Options, error) {
	store, opts, err := o.cached(store, opts, user)
	if err == nil && !o.readOnly {
		store, opts, err = o.staged(store, opts, user, mountPoint)
	}
	if err != nil {
		_ = store.close(context.Background())
	}
	return store, opts, err
}

// parseOwner parses the flag --owner.
func parseOwner(s string) (*fuse.Owner, error) {
	if s == "" {
		return nil, nil
	}
	var o fuse.Owner
	uid, gid, _ := strings.Cut(s, ":")
	for _, n := range []struct {
		text string
		to   *uint32
	}{{uid, &o.UID}, {gid, &o.GID}} {
		v, err := strconv.ParseUint(n.text, 10, 32)
		if err != nil {
			return nil, cliargs.Usagef("--owner is %q; it must be two numbers, such as 1000:1000", s)
		}
		*n.to = uint32(v)
	}
	return &o, nil
}

// Upgrade returns the command upgrade.
func Upgrade(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "upgrade", Args: "[MOUNTPOINT]", Most: 1,
		Summary: "run the mounts with the program as it is installed now",
		Text: `Replaces the server of the mount at MOUNTPOINT, or of all your mounts, by a new process of
the program, which takes over all open files. Programs that use the mount notice only a
pause. If the new process does not start, or cannot read the state of the old one because
its format differs, the old process continues.`,
		Examples: []string{a.Program + " upgrade", a.Program + " upgrade ~/pfs"},
		Exits:    []cliio.Code{cliio.NotFound, cliio.Denied, cliio.Unavailable, cliio.Partly},
		Run: func(ctx context.Context, operands []string) error {
			return upgrade(ctx, a, strings.Join(operands, ""))
		},
	})
}

// Umount returns the command umount.
func Umount(a *app.App) *cli.Command {
	return a.NewCommand(app.Spec{
		Name: "umount", Args: "MOUNTPOINT", Least: 1, Most: 1,
		Summary:  "end a mount",
		Text:     "Ends the mount at MOUNTPOINT, and waits for its server to end. It fails if the mount stays in\nuse for more than a second.",
		Examples: []string{a.Program + " umount ~/pfs"},
		Exits:    []cliio.Code{cliio.NotFound, cliio.Denied, cliio.Unavailable},
		Run:      func(_ context.Context, operands []string) error { return fuse.Unmount(operands[0]) },
	})
}

// Status returns the command status.
func Status(a *app.App) *cli.Command {
	var json bool
	return a.NewCommand(app.Spec{
		Name: "status", Args: "[MOUNTPOINT]", Most: 1,
		Summary: "list the mounts of this machine",
		Text: `Lists the mounts: mount point, state (serving; dead: its server has ended; silent: the
server does not answer; private: it belongs to another user), the mode in which open files
are read, the processes of the server and the broker, and the mounted directory. Below each
mount it lists the files that are not on the store yet (see flush). With MOUNTPOINT it
lists only this mount, and the exit code is 0 only if the mount is serving.`,
		Exits: []cliio.Code{cliio.NotFound, cliio.Unavailable},
		Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print the mounts as a JSON array", Destination: &json}},
		Run: func(_ context.Context, operands []string) error {
			var mounts []fuse.Status
			var err error
			if len(operands) > 0 {
				mounts, err = only(operands[0])
			} else {
				mounts, err = fuse.Mounts()
			}
			if err != nil && len(mounts) == 0 {
				return err
			}
			if json {
				return cmp.Or(a.JSON(mounts), err)
			}
			for i, m := range mounts {
				if i == 0 {
					a.Printf("%-8s %-10s %7s  %s\n", "STATE", "OPEN MODE", "PROCESS", "MOUNT POINT")
				}
				a.Printf("%-8s %-10s %7d  %s (%s)\n", m.State, cmp.Or(m.OpenMode, "-"), m.ServerPID, a.Name(m.MountPoint), a.Name(m.Source))
				printPending(a, pendingOf(m))
				if m.Behind > 0 {
					a.Printf("  %s are on their way to the store\n", cliio.Size(m.Behind))
				}
			}
			return err
		},
	})
}

// only returns the mount at dir, and an error if it does not serve.
func only(dir string) ([]fuse.Status, error) {
	m, err := fuse.MountAt(dir)
	if err != nil {
		return nil, err
	}
	if m.State != "serving" {
		err = pfs.Errorf("mounting.Status", "", pfs.Unavailable, "the mount at %s is %s", m.MountPoint, m.State)
	}
	return []fuse.Status{m}, err
}

// logName returns the name of the log of the mount at dir.
func logName(dir string) (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return "", err
	}
	name := strings.ReplaceAll(strings.Trim(dir, "/"), "/", "-")
	return filepath.Join(cache, "pfs", fmt.Sprintf("mount-%s.log", name[max(0, len(name)-200):])), nil
}
