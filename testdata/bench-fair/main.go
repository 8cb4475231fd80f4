//go:build linux

// Command bench-fair measures what one user at full load costs another: the latency of the
// other's stat, and the memory of pfsd, for each kind of load. It starts pfsd by itself. The
// load comes from a process of its own at nice 19, so that what is measured is the service
// and not the generator. Results are for docs/benchmarks.md.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paddlecloud/pfs/pfs"
)

const (
	password = "correct horse battery"
	homes    = "/pfs/local/home/"
	// every is the time between two requests of the one who is measured.
	every = 5 * time.Millisecond
)

func main() {
	pfsd := flag.String("pfsd", "bin/pfsd", "the service")
	only := flag.String("only", "", "only kinds of load that match this regular expression")
	seconds := flag.Int("seconds", 10, "how long each is measured")
	names := flag.Int("names", 500000, "names of the large directory")
	load := flag.String("load", "", "make this kind of load; used by the program itself")
	endpoint := flag.String("endpoint", "", "of the service, for -load")
	webhdfs := flag.String("webhdfs", "", "of its gateway for HDFS, for -load")
	ssh := flag.String("ssh", "", "of its gateway for SFTP, for -load")
	flag.Parse()
	var err error
	if *load != "" {
		err = makeLoad(*load, *endpoint, *webhdfs, *ssh, time.Duration(*seconds)*time.Second)
	} else {
		err = run(*pfsd, *only, *seconds, *names)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run measures all kinds and prints a table.
func run(pfsd, only string, seconds, names int) (err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "pfs-fair.")
	if err != nil {
		return err
	}
	// The caller removes dir after the last run: ext4 searches long for an inode after many were freed.
	s, err := startService(pfsd, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := s.fill(names); err != nil {
		return err
	}
	fmt.Println("| load of one user | another's | idle p99 ms | p50 ms | p99 ms | p99 against idle | pfsd MiB | pfsd ran, s | waited for a processor, s | done by the load a second |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|")
	for _, k := range kinds {
		if match.MatchString(k.name) {
			if err := s.row(k, seconds); err != nil {
				return fmt.Errorf("%s: %w", k.name, err)
			}
		}
	}
	return nil
}

// service is a running pfsd.
type service struct {
	dir, endpoint, webhdfs, ssh string
	cmd                         *exec.Cmd
}

func startService(pfsd, dir string) (*service, error) {
	data := filepath.Join(dir, "data")
	for _, user := range []string{"alice", "bob"} {
		add := exec.Command(pfsd, "user", "add", user, "--data", data, "--password-stdin")
		add.Stdin = strings.NewReader(password + "\n")
		if out, err := add.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("user add: %w: %s", err, out)
		}
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s := &service{dir: dir, cmd: exec.Command(pfsd, "serve", "--data", data, "--listen", "127.0.0.1:0", "--webhdfs", "127.0.0.1:0", "--sftp", "127.0.0.1:0")}
	s.cmd.Stderr = log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	listening := regexp.MustCompile(`listening on (https:[^ "\n]*)`)
	for range 1000 {
		b, err := os.ReadFile(log.Name())
		if err != nil {
			return nil, err
		}
		if m := listening.FindSubmatch(b); m != nil {
			s.endpoint = string(m[1])
			if m := regexp.MustCompile(`WebHDFS on (http.*)/webhdfs/v1`).FindSubmatch(b); m != nil {
				s.webhdfs = string(m[1])
			}
			if m := regexp.MustCompile(`sftp -P (\d+) `).FindSubmatch(b); m != nil {
				s.ssh = "127.0.0.1:" + string(m[1])
			}
			return s, nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	s.stop()
	return nil, errors.New("pfsd does not listen")
}

func (s *service) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// home is the directory of a user on the disk.
func (s *service) home(user string) string {
	return filepath.Join(s.dir, "data/store/home", user)
}

// fill makes what the loads work on.
func (s *service) fill(names int) error {
	for _, user := range []string{"alice", "bob"} { // which makes the home
		c, err := newUser(s.endpoint, user)
		if err == nil {
			_, err = c.Stat(context.Background(), pfs.Path(homes+user))
		}
		if err != nil {
			return err
		}
	}
	home := s.home("alice")
	if err := os.WriteFile(filepath.Join(home, "file"), bytes.Repeat([]byte("0123456789abcdef"), fileSize/16), 0o644); err != nil {
		return err
	}
	huge, err := os.Create(filepath.Join(home, "huge"))
	if err == nil {
		err = errors.Join(huge.Truncate(1<<40), huge.Close())
	}
	if err != nil {
		return err
	}
	folder := filepath.Join(home, "folder")
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	for i := range 100 {
		if err := os.WriteFile(filepath.Join(folder, strconv.Itoa(i)), make([]byte, fileSize/100), 0o644); err != nil {
			return err
		}
	}
	many := filepath.Join(home, "many")
	if err := os.Mkdir(many, 0o755); err != nil {
		return err
	}
	for i := range names {
		f, err := os.Create(filepath.Join(many, "name-"+strconv.Itoa(i)))
		if err != nil {
			return err
		}
		f.Close()
	}
	return nil
}

// row measures one kind of load.
func (s *service) row(k kind, seconds int) error {
	c, err := newUser(s.endpoint, "bob")
	if err != nil {
		return err
	}
	stat := func() error {
		_, err := c.Stat(context.Background(), homes+"bob")
		return err
	}
	login := func() error { return login(s.endpoint, "bob", "127.0.0.99") }
	probes := []probe{{"stat", stat, every, nil}}
	if k.logins {
		probes = append(probes, probe{"login", login, 100 * time.Millisecond, nil})
	}
	length := time.Duration(seconds) * time.Second
	time.Sleep(time.Second)
	for i := range probes {
		if err := probes[i].measure(length / 2); err != nil {
			return err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		return err
	}
	ran, waited := s.processors()
	warm := 2
	load := exec.Command("nice", "-n", "19", self, "-load", k.name, "-endpoint", s.endpoint, "-webhdfs", s.webhdfs, "-ssh", s.ssh, "-seconds", strconv.Itoa(warm+len(probes)*seconds))
	load.Stderr = os.Stderr
	var done bytes.Buffer
	load.Stdout = &done
	if err := load.Start(); err != nil {
		return err
	}
	time.Sleep(time.Duration(warm) * time.Second)
	for i := range probes {
		p := &probes[i]
		idle := p.took
		if err := p.measure(length); err != nil {
			return err
		}
		calm, busy := quantile(idle, 0.99), quantile(p.took, 0.99)
		fmt.Printf("| %s | %s | %.1f | %.1f | %.1f | %.1f | %s |", k.text, p.name, ms(calm), ms(quantile(p.took, 0.5)), ms(busy), float64(busy)/float64(calm), s.peak())
		if i < len(probes)-1 {
			fmt.Println(" | | |")
		}
	}
	if err := load.Wait(); err != nil {
		return err
	}
	ranNow, waitedNow := s.processors()
	fmt.Printf(" %.1f | %.1f | %s |\n", (ranNow - ran).Seconds(), (waitedNow - waited).Seconds(), strings.TrimSpace(done.String()))
	return nil
}

// probe is what is measured.
type probe struct {
	name string
	do   func() error
	each time.Duration
	took []time.Duration
}

// measure calls do for the given time.
func (p *probe) measure(length time.Duration) error {
	p.took = nil
	for end := time.Now().Add(length); time.Now().Before(end); {
		began := time.Now()
		if err := p.do(); err != nil {
			return err
		}
		took := time.Since(began)
		p.took = append(p.took, took)
		time.Sleep(p.each - took)
	}
	return nil
}

func quantile(took []time.Duration, q float64) time.Duration {
	slices.Sort(took)
	return took[min(len(took)-1, int(q*float64(len(took))))]
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// processors returns how long the threads of pfsd ran, and how long they were ready to run and had no processor. If they waited for
// much longer than they ran, other programs of the machine delay the requests.
func (s *service) processors() (ran, waited time.Duration) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	for _, name := range threads {
		var r, w time.Duration // in nanoseconds
		b, _ := os.ReadFile(name)
		_, _ = fmt.Sscan(string(b), (*int64)(&r), (*int64)(&w))
		ran, waited = ran+r, waited+w
	}
	return ran, waited
}

// peak returns the most MiB that were resident.
func (s *service) peak() string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	m := regexp.MustCompile(`VmHWM:\s*(\d+) kB`).FindSubmatch(b)
	if m == nil {
		return "-"
	}
	kib, _ := strconv.Atoi(string(m[1]))
	return strconv.Itoa(kib / 1024)
}
