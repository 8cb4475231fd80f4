//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/cachefs"
	"github.com/paddlecloud/pfs/pfs/cephfs"
	"github.com/paddlecloud/pfs/pfs/hdfsfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/stagefs"
)

// serve is the process of a mount, until its standard input ends.
func serve(args []string) error {
	ctx := context.Background()
	flags := flag.NewFlagSet("serve", flag.ExitOnError)
	store := flags.String("store", "simulated", "simulated, or as openStore takes it")
	cache := flags.String("cache", "", "the cache directory; none if empty")
	opts := fuse.Options{Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)), Source: "bench"}
	flags.StringVar(&opts.OpenMode, "mode", fuse.Passthrough, "the open mode")
	flags.BoolVar(&opts.ReadOnly, "read-only", false, "refuse changes")
	flags.DurationVar(&opts.Timeout, "timeout", time.Second, "how long names are known")
	_ = flags.Parse(args)
	debug.SetGCPercent(25) // as the command mount does
	fsys, err := openStore(ctx, *store)
	if err != nil {
		return err
	}
	if c, ok := fsys.(io.Closer); ok { // else CephFS waits for the files of a client that is gone
		defer c.Close()
	}
	opts.StoreFiles = *cache == "" && strings.HasPrefix(*store, "file ")
	if *cache != "" {
		c, err := cachefs.New(fsys, cachefs.Options{Dirs: []string{*cache}, Size: 16 << 30, Reserve: 1 << 30, Identity: *store, Logger: opts.Logger})
		if err != nil {
			return err
		}
		defer c.Close()
		fsys = c
		if strings.HasPrefix(*store, "ceph ") {
			opts.WriteBehind = *cache
		}
	}
	if strings.HasPrefix(*store, "hdfs ") && !opts.ReadOnly {
		f, err := stagefs.New(fsys, stagefs.Options{Dir: *cache + "-staging", Logger: opts.Logger})
		if err != nil {
			return err
		}
		defer f.Close()
		fsys = f
	}
	m, err := fuse.Mount(ctx, fsys, flags.Arg(0), opts)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return m.Close(ctx)
}

// openStore opens "simulated", "file DIR", "hdfs NAMENODES USER ROOT" or "ceph CONF USER KEYRING ROOT".
func openStore(ctx context.Context, spec string) (pfs.FileSystem, error) {
	f := strings.Fields(spec)
	switch f[0] {
	case "file":
		return localfs.New(f[1], localfs.Options{})
	case "hdfs":
		return hdfsfs.New(ctx, hdfsfs.Options{NameNodes: strings.Split(f[1], ","), User: f[2], Root: f[3]})
	case "ceph":
		return cephfs.Open(ctx, cephfs.Options{Config: f[1], User: f[2], Keyring: f[3], Root: f[4]})
	}
	return newSimulated(), nil
}

// mounted is a running mount.
type mounted struct {
	dir   string // where
	cmd   *exec.Cmd
	input io.Closer // whose end stops it; nil: unmount it
	gone  bool
}

// process is the ID of the process that serves the mount.
func (m *mounted) process() int { return m.cmd.Process.Pid }

// mount starts a process of this program that serves store. Its cache is in the directory cache of this
// run unless that is empty.
func (b *bench) mount(store, cache string, flags ...string) (*mounted, error) {
	dir, err := os.MkdirTemp(b.dir, "mount.")
	if err != nil {
		return nil, err
	}
	if cache != "" {
		flags = append(flags, "-cache", b.path(cache))
	}
	m := &mounted{dir: dir, cmd: exec.Command(b.self, append(append([]string{"serve", "-store", store}, flags...), dir)...)}
	m.cmd.Stderr = os.Stderr
	if m.input, err = m.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := m.cmd.StdoutPipe()
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	b.mounts = append(b.mounts, m)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return nil, fmt.Errorf("the mount of %s did not begin: %q, %w", store, line, errors.Join(err, m.stop()))
	}
	return m, nil
}

// program mounts with another program, which serves the mount until it is unmounted.
func (b *bench) program(command ...string) (*mounted, error) {
	dir, err := os.MkdirTemp(b.dir, "mount.")
	if err != nil {
		return nil, err
	}
	log, err := os.Create(dir + ".log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	m := &mounted{dir: dir, cmd: exec.Command(command[0], append(command[1:], dir)...)}
	m.cmd.Stdout, m.cmd.Stderr = log, log
	parent, err := device(b.dir)
	if err == nil {
		err = m.cmd.Start()
	}
	if err != nil {
		return nil, err
	}
	b.mounts = append(b.mounts, m)
	for range 3000 {
		if d, err := device(dir); err == nil && d != parent {
			return m, nil
		}
		if m.cmd.ProcessState != nil || syscall.Kill(m.process(), 0) != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	text, _ := os.ReadFile(log.Name())
	return nil, fmt.Errorf("%s did not mount: %s: %w", filepath.Base(command[0]), text, errors.Join(m.stop()))
}

func device(dir string) (uint64, error) {
	var st syscall.Stat_t
	err := syscall.Stat(dir, &st)
	return st.Dev, err
}

// stop ends a mount.
func (m *mounted) stop() error {
	if m.gone {
		return nil
	}
	m.gone = true
	if m.input != nil {
		_ = m.input.Close()
	} else if err := syscall.Unmount(m.dir, 0); err != nil {
		_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
		_ = m.cmd.Process.Kill()
	}
	late := time.AfterFunc(time.Minute, func() { _ = m.cmd.Process.Kill() })
	defer late.Stop()
	err := m.cmd.Wait()
	_ = syscall.Unmount(m.dir, syscall.MNT_DETACH)
	_ = os.Remove(m.dir)
	return err
}

// stopAll ends all mounts.
func (b *bench) stopAll() {
	for _, m := range b.mounts {
		_ = m.stop()
	}
	b.mounts = nil
}

// rcloneMount mounts with rclone and its full cache. It keeps names for ever, as a published dataset does here.
func (b *bench) rcloneMount(remote, cache string, flags ...string) (*mounted, error) {
	return b.program(append([]string{b.rclone, "mount", remote, "--config", os.DevNull, "--vfs-cache-mode", "full", "--cache-dir", b.path(cache),
		"--dir-cache-time", "24h", "--attr-timeout", "24h", "--poll-interval", "0"}, flags...)...)
}

// dav serves the simulated store to rclone, and returns the remote.
func dav() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(l, newSimulated()) }()
	return fmt.Sprintf(":webdav,url='http://%s',vendor=other:", l.Addr()), nil
}

// cpu returns the seconds of processor time that a process has used.
func (m *mounted) cpu() (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", m.process()))
	if err != nil {
		return 0, err
	}
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')'):]))
	var ticks int
	for _, s := range f[14-2 : 16-2] { // utime and stime, fields 14 and 15, where f[0] is the end of field 2
		n, err := strconv.Atoi(s)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return float64(ticks) / 100, nil
}

// memory returns the MiB of a process that are resident now, and were at most.
func (m *mounted) memory() (now, most float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", m.process()))
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) > 1 && f[0] == "VmRSS:":
			now, _ = strconv.ParseFloat(f[1], 64)
		case len(f) > 1 && f[0] == "VmHWM:":
			most, _ = strconv.ParseFloat(f[1], 64)
		}
	}
	return now / 1024, most / 1024, err
}
