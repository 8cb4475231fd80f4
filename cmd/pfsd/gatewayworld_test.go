package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/paddlecloud/pfs/cmd/internal/backends"
	"github.com/paddlecloud/pfs/internal/relay"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/client"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// gatewayWorld is a service with all gateways, and files that a client sends to its directory in the home of ann.
type gatewayWorld struct {
	*webhdfsService
	t    *testing.T
	dir  string // of the client on this machine
	at   string // of the client in the tree
	fsys *client.Client
	ssh  testbed.SSHClient

	remote string // of rclone

	large, small []byte // the contents of the files large and small in dir and in dir/tree
	passed       *atomic.Int64
	cutAt        *atomic.Int64 // a connection of SSH breaks after so many bytes have passed; 0 for never
}

func newGatewayWorld(t *testing.T, store backends.Spec) *gatewayWorld {
	t.Helper()
	testbed.SSH(t)
	s := startWebHDFS(t, believing, datacenters(store), "--no-tls", "--sftp", "127.0.0.1:0")
	fsys, _ := s.login(t, "ann")
	w := &gatewayWorld{webhdfsService: s, t: t, fsys: fsys, large: pfstest.Pattern(1, 12<<20+5), small: []byte("small"), passed: new(atomic.Int64), cutAt: new(atomic.Int64)}
	to := relay.New(t, func() string { return "127.0.0.1:" + sshPort(t, s.said) }, func(_ int, p []byte) bool {
		n, limit := w.passed.Add(int64(len(p))), w.cutAt.Load()
		return limit == 0 || n < limit
	})
	w.ssh = testbed.SSHClient{Address: to.Address(), User: "ann", Password: strings.TrimSpace(goodPassword)}
	return w
}

// of returns the world of one client.
func (w *gatewayWorld) of(t *testing.T, client string) *gatewayWorld {
	t.Helper()
	x := *w
	x.t, x.dir, x.at = t, t.TempDir(), "/pfs/local/home/ann/"+strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return '-'
	}, client)
	x.ssh.Dir = x.dir
	if err := pfs.MkdirAll(t.Context(), x.fsys, pfs.Path(x.at), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{"large": x.large, "small": x.small, "tree/large": x.large, "tree/d/small": x.small, "tree/empty": nil} {
		name = filepath.Join(x.dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return &x
}

// same compares a file below w.at.
func (w *gatewayWorld) same(name string, want []byte) error {
	got, err := get(w.t, w.fsys, pfs.Path(w.at).Join(name))
	if err == nil && got != string(want) {
		err = fmt.Errorf("%s has %d bytes, which are not the %d expected", name, len(got), len(want))
	}
	return err
}

// sameTree compares a copy of the local directory tree.
func (w *gatewayWorld) sameTree(at string) error {
	return errors.Join(w.same(at+"/large", w.large), w.same(at+"/d/small", w.small), w.same(at+"/empty", nil))
}

// gone reports an error unless a name below w.at is free.
func (w *gatewayWorld) gone(name string) error {
	if _, err := w.fsys.Stat(w.t.Context(), pfs.Path(w.at).Join(name)); !errors.Is(err, pfs.NotExist) {
		return fmt.Errorf("%s is still there (%v)", name, err)
	}
	return nil
}

// info describes a file below w.at, and returns an error unless ok.
func (w *gatewayWorld) info(name string, ok func(pfs.Info) bool) error {
	info, err := w.fsys.Stat(w.t.Context(), pfs.Path(w.at).Join(name))
	if err == nil && !ok(info) {
		err = fmt.Errorf("%s is %+v", name, info)
	}
	return err
}

// local compares a file of the client.
func (w *gatewayWorld) local(name string, want []byte) error {
	got, err := os.ReadFile(filepath.Join(w.dir, name))
	if err == nil && !bytes.Equal(got, want) {
		err = fmt.Errorf("the local %s has %d bytes, which are not the %d expected", name, len(got), len(want))
	}
	return err
}

func (w *gatewayWorld) localTree(at string) error {
	return errors.Join(w.local(at+"/large", w.large), w.local(at+"/d/small", w.small), w.local(at+"/empty", nil))
}

// run runs a program of OpenSSH. AT in its arguments and its input is w.at.
func (w *gatewayWorld) run(stdin, program string, args ...string) (string, error) {
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "AT", w.at)
	}
	out, err := w.ssh.Run(w.t, strings.ReplaceAll(stdin, "AT", w.at), program, args...)
	if err != nil {
		err = fmt.Errorf("%s %q: %w\n%s%s", program, args, err, stdin, out)
	}
	return out, err
}

func (w *gatewayWorld) sftp(lines ...string) error {
	_, err := w.run(strings.Join(lines, "\n")+"\n", "sftp", "-oBatchMode=no", "-b-", "HOST")
	return err
}

// interrupt breaks the connection of SSH after n bytes.
func (w *gatewayWorld) interrupt(n int64, do func() error) error {
	w.passed.Store(0)
	w.cutAt.Store(n)
	err := do()
	w.cutAt.Store(0)
	if err == nil {
		return errors.New("it succeeds although the connection was cut")
	}
	return nil
}

// shell runs a script in the directory m of the client.
func (w *gatewayWorld) shell(script string) error {
	c := exec.CommandContext(w.t.Context(), "sh", "-ec", script)
	c.Dir = filepath.Join(w.dir, "m")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", script, err, out)
	}
	return nil
}

// mount mounts w.at with sshfs.
func (w *gatewayWorld) mount() {
	w.t.Helper()
	m := filepath.Join(w.dir, "m")
	if err := os.Mkdir(m, 0o755); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.run("", "sshfs", "HOST:AT", m); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if out, err := exec.Command("fusermount", "-u", m).CombinedOutput(); err != nil {
			w.t.Errorf("%v\n%s", err, out)
			_ = exec.Command("fusermount", "-uz", m).Run()
		}
	})
}

// curl runs curl in w.dir, and returns the body of an answer that is no error.
func (w *gatewayWorld) curl(args ...string) (string, error) {
	c := exec.CommandContext(w.t.Context(), "curl", append([]string{"-sS", "--fail-with-body"}, args...)...)
	var stderr strings.Builder
	c.Dir, c.Stderr = w.dir, &stderr
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("curl %q: %w: %s%s", args, err, &stderr, out)
	}
	return string(out), err
}

// dav sends a request of WebDAV for a name below w.at.
func (w *gatewayWorld) dav(method, name string, args ...string) (string, error) {
	args = append([]string{"-u", "ann:" + strings.TrimSpace(goodPassword), "-X", method}, args...)
	return w.curl(append(args, w.davURL(name))...)
}

func (w *gatewayWorld) davURL(name string) string { return w.endpoint + "/dav" + w.at + "/" + name }

// hdfs sends a request of WebHDFS for a name below w.at, and returns what is at a path of keys in the answer. AT/ in the query is w.at.
func (w *gatewayWorld) hdfs(method, name, query string, keys ...string) (any, error) {
	status, answer := ask(w.t, method, w.webhdfs+"/webhdfs/v1"+w.at+"/"+name+"?user.name=ann&op="+strings.ReplaceAll(query, "AT/", url.QueryEscape(w.at+"/")), "")
	if status >= 300 {
		return nil, fmt.Errorf("%s %s: %d %s", method, query, status, answer)
	}
	if len(keys) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal([]byte(answer), &v); err != nil {
		return nil, err
	}
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("%s %s has no %s: %s", method, query, k, answer)
		}
		v = m[k]
	}
	return v, nil
}

// hdfsWant is hdfs for an answer with one expected value.
func (w *gatewayWorld) hdfsWant(want any, method, name, query string, keys ...string) error {
	got, err := w.hdfs(method, name, query, keys...)
	if err == nil && fmt.Sprint(got) != fmt.Sprint(want) {
		err = fmt.Errorf("%s %s answers %v, want %v", method, query, got, want)
	}
	return err
}

// send sends a file by CREATE or APPEND.
func (w *gatewayWorld) send(method, name, query, file string) error {
	to, err := w.hdfs(method, name, query+"&noredirect=true", "Location")
	if err == nil {
		_, err = w.curl("-X", method, "-T", file, fmt.Sprint(to))
	}
	return err
}

// again repeats what fails until the service has noticed that the connection before has ended, but not what has nothing
// to continue.
func again(do func() error) (err error) {
	for range 30 {
		if err = do(); err == nil || strings.Contains(err.Error(), "No such file") {
			return err
		}
		time.Sleep(time.Second)
	}
	return err
}
