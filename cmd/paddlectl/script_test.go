package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/fuse"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(suite{m}, map[string]func(){"paddlectl": watched, "paddlecloud": watched, "resident": resident})
}

// password is that of all accounts of the services that scripts start.
const password = "a password for tests"

// TestScripts runs the scripts in testdata against services that they start. In addition to the
// usual commands of testscript there are
//
//	service NAME [FLAG...]  start pfsd with the users alice and (an admin) ada; sets
//	                        $NAME to its address and $NAME_PIN to its fingerprint
//	end NAME                end it (stop is a command of testscript: it ends the script)
//	login NAME [FLAG...]    paddlectl login as alice
//	exits CODE CMD ARG...   run CMD, which must exit with CODE
//	rehearsed CODE CMD ...  exits, of CMD with --dry-run and then of CMD: the output must be
//	                        the same, except for copied bytes
//	disk DIR SIZE           mount a file system of that size
//	fill FILE SIZE          make a file of the given size
//
// and $GOLDEN, the directory of files that the reference of package recordio wrote.
func TestScripts(t *testing.T) {
	tools := newTools(t)
	golden, err := filepath.Abs("../../recordio/testdata/golden")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PADDLE_CONFIG", filepath.Join(e.WorkDir, ".paddle", "config"))
			e.Setenv("GOLDEN", golden)
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("PATH", tools.dir+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Defer(func() { unmountBelow(e.WorkDir) })
			e.Defer(func() { endJobs(t, e.WorkDir) })
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else a second for each command, under -race
			return os.WriteFile(filepath.Join(e.WorkDir, ".password"), []byte(password+"\n"), 0o600)
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "mount":
				return canMount(t)
			case "fuse":
				_, err := os.Stat("/dev/fuse")
				if err != nil && os.Getenv("CI") == "true" {
					return false, err
				}
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"service": tools.service,
			"end":     tools.end,
			"login":   login,
			"openpai": tools.openpai,
			"exits":   exits,
			"fill":    fill,
			"disk":    disk,

			"rehearsed": rehearsed,
		},
	})
}

// endJobs ends the supervisors and launchers of jobs below dir that a script has left.
func endJobs(t *testing.T, dir string) {
	left := func() (pids []int) {
		names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, name := range names {
			args, _ := os.ReadFile(name) // the process may have ended
			if bytes.Contains(args, []byte("\x00job-process\x00")) && bytes.Contains(args, []byte("\x00"+dir+"/")) {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				pids = append(pids, pid)
			}
		}
		return pids
	}
	all := left()
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGTERM) // it may have ended
	}
	for end := time.Now().Add(2 * time.Minute); len(all) > 0; all = left() {
		if time.Now().After(end) {
			t.Errorf("the processes %v of jobs ignore SIGTERM", all)
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// tools are shared by scripts: pfsd, pfs-agent, and the accounts of its services.
type tools struct {
	dir      string // of the programs
	pfsd     string
	accounts string   // a data directory with the accounts
	running  sync.Map // process id -> *running
}

func newTools(t *testing.T) *tools {
	t.Helper()
	dir := t.TempDir()
	s := &tools{dir: dir, pfsd: filepath.Join(dir, "pfsd"), accounts: filepath.Join(dir, "accounts")}
	if out, err := exec.Command("go", "build", "-o", dir, "../pfsd", "../pfs-agent").CombinedOutput(); err != nil {
		t.Fatalf("build pfsd and pfs-agent: %v\n%s", err, out)
	}
	for _, user := range [][]string{{"alice"}, {"bob@example.org"}, {"ada", "--role", "admin"}} {
		cmd := exec.Command(s.pfsd, append([]string{"user", "add", "--data", s.accounts, "--password-stdin"}, user...)...)
		cmd.Stdin = strings.NewReader(password + "\n")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("pfsd user add: %v\n%s", err, out)
		}
	}
	return s
}

// running is a service of one script.
type running struct {
	cmd  *exec.Cmd
	done chan error
}

func (r *running) stop() {
	r.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-r.done
}

func (s *tools) service(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: service NAME [FLAG...]")
	}
	name, flags := args[0], args[1:]
	data := ts.MkAbs(name + "-data")
	if _, err := os.Stat(data); errors.Is(err, os.ErrNotExist) {
		ts.Check(os.CopyFS(data, os.DirFS(s.accounts)))
		ts.Check(os.Chmod(data, 0o700))
		ts.Check(filepath.WalkDir(data, func(p string, e os.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				err = os.Chmod(p, 0o600)
			}
			return err
		}))
	}
	listen := "127.0.0.1:0"
	if old := ts.Getenv(name); old != "" { // again, where clients know it
		listen = strings.TrimPrefix(strings.TrimPrefix(old, "https://"), "http://")
	}
	cmd := exec.Command(s.pfsd, append([]string{"serve", "--data", data, "--listen", listen}, flags...)...)
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	r := &running{cmd: cmd, done: make(chan error, 1)}
	ts.Defer(r.stop)
	url, pin, err := announced(stderr)
	go func() {
		io.Copy(io.Discard, stderr)
		r.done <- cmd.Wait()
		close(r.done)
	}()
	ts.Check(err)
	ts.Setenv(name, url)
	ts.Setenv(name+"_PIN", pin)
	ts.Setenv(name+"_PID", strconv.Itoa(cmd.Process.Pid))
	s.running.Store(cmd.Process.Pid, r)
}

var (
	pinLine    = regexp.MustCompile(`fingerprint ([0-9a-f]{64})`)
	listenLine = regexp.MustCompile(`listening on (https?://\S+)`)
)

// announced reads the output of a service until it is reachable.
func announced(r io.Reader) (url, pin string, err error) {
	var said strings.Builder
	for lines := bufio.NewScanner(r); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
		if m := pinLine.FindStringSubmatch(lines.Text()); m != nil {
			pin = m[1]
		}
		if m := listenLine.FindStringSubmatch(lines.Text()); m != nil {
			return m[1], pin, nil
		}
	}
	return "", "", fmt.Errorf("the service ended:\n%s", &said)
}

func (s *tools) end(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: end NAME")
	}
	pid, err := strconv.Atoi(ts.Getenv(args[0] + "_PID"))
	ts.Check(err)
	r, ok := s.running.Load(pid)
	if !ok {
		ts.Fatalf("%s does not run", args[0])
	}
	r.(*running).stop()
}

// openpai starts a double of OpenPAI that runs tasks, and writes the configuration NAME.yaml of a service NAME, which must have run, with
// the engine for it.
func (s *tools) openpai(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: openpai NAME v1|v2")
	}
	name, work := args[0], ts.MkAbs(".")
	o := &jobtest.OpenPAI{API: args[1], User: "svc", Password: "secret", Clusters: []string{"default"}, Dir: ts.MkAbs(name + "-tasks"), Stores: work, Path: s.dir}
	server := o.Start()
	ts.Defer(func() { o.Close(); server.Close() })
	ts.Check(os.WriteFile(ts.MkAbs("password"), []byte("secret\n"), 0o600))
	ts.Check(os.MkdirAll(ts.MkAbs(name+"-store"), 0o755))
	more := ""
	if args[1] == "v1" {
		more = fmt.Sprintf(", code-uri: $PAI_DEFAULT_FS_URI/%s-store, agent-file: %q", name, filepath.Join(s.dir, "pfs-agent"))
	}
	ts.Check(os.WriteFile(ts.MkAbs(name+".yaml"), fmt.Appendf(nil, `datacenters:
  local:
    store: file://%[1]s/%[2]s-store
    engine: openpai
    engine-options: {address: %[3]q, user: svc, password-file: %[1]s/password, service: %[4]q, fingerprint: %[5]s%[6]s}
`, work, name, server.URL, ts.Getenv(name), ts.Getenv(name+"_PIN"), more), 0o644))
}

func login(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: login NAME [FLAG...]")
	}
	words := append([]string{"login", "--endpoint", ts.Getenv(args[0]), "--username", "alice", "--password-stdin"}, args[1:]...)
	cmd := exec.Command("paddlectl", words...)
	cmd.Path = lookPath(ts, "paddlectl")
	cmd.Dir = ts.MkAbs(".")
	for _, key := range []string{"PADDLE_CONFIG", "PATH", "GORACE"} {
		cmd.Env = append(cmd.Env, key+"="+ts.Getenv(key))
	}
	cmd.Stdin = strings.NewReader(password + "\n")
	out, err := cmd.CombinedOutput()
	ts.Logf("%s", out)
	ts.Check(err)
}

func lookPath(ts *testscript.TestScript, name string) string {
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(filepath.ListSeparator)) {
		if p := filepath.Join(dir, name); isExecutable(p) {
			return p
		}
	}
	ts.Fatalf("no %s in PATH", name)
	return ""
}

func isExecutable(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// rehearsed compares a dry run with the run.
func rehearsed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 4 {
		ts.Fatalf("usage: rehearsed CODE paddlectl COMMAND ARG...")
	}
	exits(ts, false, append(slices.Clone(args), "--dry-run"))
	said := complaints(ts)
	exits(ts, false, args)
	if now := complaints(ts); now != said {
		ts.Fatalf("the dry run said:\n%sthe run said:\n%s", said, now)
	}
}

// complaints returns the lines of the last command on standard error, sorted, but for the
// summary.
func complaints(ts *testscript.TestScript) string {
	var all []string
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.Contains(line, " copied") && !strings.Contains(line, "would copy") {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// canMount reports whether disk works here.
func canMount(t *testing.T) (bool, error) {
	unmount, err := mountSmall(t.TempDir(), "1m")
	if err == nil {
		unmount()
	} else if os.Getenv("CI") == "true" {
		return false, err
	}
	return err == nil, nil
}

// unmountBelow ends mounts that a failed script has left.
func unmountBelow(dir string) {
	mounts, _ := fuse.Mounts() // none, where there is no FUSE
	for _, m := range mounts {
		if strings.HasPrefix(m.MountPoint, dir) {
			exec.Command("umount", "-l", m.MountPoint).Run()
		}
	}
}

func mountSmall(dir, size string) (unmount func(), err error) {
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "tmpfs", dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mount: %w: %s", err, out)
	}
	return func() { exec.Command("umount", "-l", dir).Run() }, nil
}

func disk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: disk DIR SIZE")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o755))
	unmount, err := mountSmall(dir, args[1])
	ts.Check(err)
	ts.Defer(unmount)
}

// fill makes a file of the given size, in lines.
func fill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: fill FILE SIZE")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	data := make([]byte, size)
	x := uint32(1)
	for i := range data {
		x = x*1664525 + 1013904223
		data[i] = 'a' + byte(x>>24)%26
		if i%80 == 79 {
			data[i] = '\n'
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), data, 0o600))
}
