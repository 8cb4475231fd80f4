package faults

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"golang.org/x/sys/unix"
)

// TestMillionNames lists a directory of a million files by every gateway at once. The service needs memory for pages, not for
// the directory, and other requests of the same user are served meanwhile.
func TestMillionNames(t *testing.T) {
	testbed.Long(t)
	testbed.SSH(t)
	store, err := os.MkdirTemp("/dev/shm", "pfs-million-") // on a disk it takes minutes to make and remove a million files
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(store) })
	sftp, webhdfs := freeAddress(t), freeAddress(t)
	s := newScene(t, "--sftp", sftp, "--webhdfs", webhdfs, "--datacenter", "local=file://"+store)
	s.ask(t, sftp, webhdfs) // makes the home
	many := filepath.Join(store, "home", "alice", "many")
	must(t, os.Mkdir(many, 0o755))
	const n = 1_000_000
	dir, err := unix.Open(many, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for i := range n {
		f, err := unix.Openat(dir, fmt.Sprintf("f%07d", i), unix.O_CREAT|unix.O_WRONLY, 0o644)
		must(t, err)
		must(t, unix.Close(f))
	}
	must(t, unix.Close(dir))

	var listings sync.WaitGroup
	ctx, listed := context.WithCancel(t.Context())
	list := func(what string, do func() error) {
		listings.Go(func() {
			began := time.Now()
			if err := do(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			t.Logf("%s took %v", what, time.Since(began))
		})
	}
	home := "/pfs/local/home/alice"
	list("SFTP", func() error { return s.listSFTP(sftp, home+"/many", n) })
	list("WebHDFS", func() error {
		return s.countIn("GET", "http://"+webhdfs+"/webhdfs/v1"+home+"/many?op=LISTSTATUS", `"pathSuffix":`, n)
	})
	list("WebDAV", func() error {
		return s.countIn("PROPFIND", "https://"+s.listen+"/dav"+home+"/many", "<D:response>", n+1)
	})
	list("usage by WebHDFS", func() error {
		return s.countIn("GET", "http://"+webhdfs+"/webhdfs/v1"+home+"?op=GETCONTENTSUMMARY", fmt.Sprintf(`"fileCount":%d`, n+1), 1)
	})
	list("pages", func() error { return s.readPages(home+"/many", 100) })
	go func() {
		listings.Wait()
		listed()
	}()
	slowest := time.Duration(0)
	for ; ctx.Err() == nil; time.Sleep(time.Second) {
		began := time.Now()
		s.ask(t, sftp, webhdfs)
		slowest = max(slowest, time.Since(began))
	}
	t.Logf("beside the listings a round of requests took at most %v; %d MiB", slowest, s.mostMemory()>>20)
	if slowest > time.Minute {
		t.Errorf("a round of requests took %v", slowest)
	}
	if most := s.mostMemory(); most > 256<<20 {
		t.Errorf("the service needs %d MiB", most>>20)
	}
}

// listSFTP lists a directory of n entries with OpenSSH's client.
func (s *scene) listSFTP(address, dir string, n int) error {
	askpass := filepath.Join(s.work, "askpass")
	if err := os.WriteFile(askpass, []byte("#!/bin/sh\necho '"+password+"'\n"), 0o700); err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(address)
	c := exec.Command("sftp", "-F/dev/null", "-P"+port, "-oUserKnownHostsFile="+filepath.Join(s.work, "known"), "-oStrictHostKeyChecking=accept-new", "-oBatchMode=no", "-b-", "alice@127.0.0.1")
	c.Env = append(os.Environ(), "SSH_ASKPASS="+askpass, "SSH_ASKPASS_REQUIRE=force")
	c.Stdin = strings.NewReader("ls -1f " + dir + "\n")
	out, err := c.Output()
	if got := bytes.Count(out, []byte("/f0")) + bytes.Count(out, []byte("/f1")); err != nil || got != n {
		return fmt.Errorf("%d names, %w", got, err)
	}
	return nil
}

// client returns an HTTP client that trusts the service.
func (s *scene) client() *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Timeout: 20 * time.Minute, Jar: jar, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
}

// countIn counts a text in an answer, of which it keeps a line.
func (s *scene) countIn(method, address, text string, want int) error {
	r, err := http.NewRequest(method, address, nil)
	if err != nil {
		return err
	}
	r.SetBasicAuth("alice", password)
	r.Header.Set("Depth", "1")
	a, err := s.client().Do(r)
	if err != nil {
		return err
	}
	defer a.Body.Close()
	got, lines := 0, bufio.NewReader(a.Body)
	for {
		line, err := lines.ReadString('\n')
		got += strings.Count(line, text)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	if got != want {
		return fmt.Errorf("%s: %q comes %d times, want %d", a.Status, text, got, want)
	}
	return nil
}

var nextPage = regexp.MustCompile(`rel="next" href="([^"]+)"`)

// readPages reads n pages of a folder, and asks for it as an archive, which is refused.
func (s *scene) readPages(dir string, n int) error {
	c, site := s.client(), "https://"+s.listen
	login, err := http.NewRequest("POST", site+"/ui/login", strings.NewReader(url.Values{"user": {"alice"}, "password": {password}}.Encode()))
	if err != nil {
		return err
	}
	login.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	login.Header.Set("Origin", site)
	get := func(r *http.Request) (string, int, error) {
		a, err := c.Do(r)
		if err != nil {
			return "", 0, err
		}
		defer a.Body.Close()
		b, err := io.ReadAll(a.Body)
		return string(b), a.StatusCode, err
	}
	if _, status, err := get(login); status != 200 || err != nil {
		return fmt.Errorf("login: %d, %w", status, err)
	}
	next, longest := "/ui/files"+dir, time.Duration(0)
	for i := range n {
		r, err := http.NewRequest("GET", site+next, nil)
		if err != nil {
			return err
		}
		began := time.Now()
		page, status, err := get(r)
		longest = max(longest, time.Since(began))
		m := nextPage.FindStringSubmatch(page)
		if err != nil || m == nil || strings.Count(page, `class="plain"`) > 500 {
			return fmt.Errorf("page %d: %d with %d entries, %w", i, status, strings.Count(page, `class="plain"`), err)
		}
		next = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	if longest > 30*time.Second {
		return fmt.Errorf("a page took %v", longest)
	}
	r, err := http.NewRequest("GET", site+"/ui/zip"+dir, nil)
	if err != nil {
		return err
	}
	if _, status, err := get(r); status != http.StatusTooManyRequests || err != nil {
		return fmt.Errorf("an archive: %d, %w", status, err)
	}
	return nil
}
