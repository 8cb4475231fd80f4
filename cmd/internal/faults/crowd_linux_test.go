package faults

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
	"golang.org/x/crypto/ssh"
)

// TestManyConnections keeps 10,000 connections of strangers at the three addresses of a service, who say nothing or not enough:
// the service needs little memory, serves a user by every gateway meanwhile, and keeps no connection afterwards.
func TestManyConnections(t *testing.T) {
	testbed.Long(t)
	sftp, webhdfs := freeAddress(t), freeAddress(t)
	s := newScene(t, "--sftp", sftp, "--webhdfs", webhdfs)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var work sync.WaitGroup
	var connected atomic.Int64
	strange := []struct{ address, says string }{
		{s.listen, ""}, {s.listen, "\x16\x03\x01\x02\x00\x01"}, {webhdfs, ""}, {webhdfs, "GET /webhdfs/v1/?op=LISTSTATUS HTTP/1.1\r\nHost: "}, {sftp, ""}, {sftp, "SSH-2.0-x\r\n"},
	}
	const many = 10_000
	for i := range many {
		who := strange[i%len(strange)]
		from := &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(1+i%16))}
		work.Go(func() {
			for d := (net.Dialer{LocalAddr: from, Timeout: time.Minute}); ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
				c, err := d.DialContext(ctx, "tcp", who.address)
				if err != nil {
					continue
				}
				end := context.AfterFunc(ctx, func() { c.Close() })
				connected.Add(1)
				_, _ = io.WriteString(c, who.says)
				_, _ = io.Copy(io.Discard, c)
				connected.Add(-1)
				end()
				c.Close()
			}
		})
	}
	descriptors := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.server.Process.Pid))
		must(t, err)
		return len(list)
	}
	most := 0
	for began := time.Now(); most < many && time.Since(began) < 2*time.Minute; time.Sleep(100 * time.Millisecond) {
		most = max(most, descriptors())
	}
	if most < many*3/4 {
		t.Errorf("at most %d descriptors were open", most)
	}
	for range 3 {
		began := time.Now()
		s.ask(t, sftp, webhdfs)
		t.Logf("with %d connections, alice is served by every gateway within %v", connected.Load(), time.Since(began))
	}
	memory := s.mostMemory()
	t.Logf("%d descriptors, %d MiB", most, memory>>20)
	if memory > 1<<30 {
		t.Errorf("the service needs %d MiB", memory>>20)
	}
	stop()
	work.Wait()
	for began := time.Now(); descriptors() > 100; time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > 2*time.Minute {
			t.Fatalf("%d descriptors are still open", descriptors())
		}
	}
	s.ask(t, sftp, webhdfs)
}

// mostMemory returns the most memory that the service has had so far, in bytes.
func (s *scene) mostMemory() int {
	s.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.server.Process.Pid))
	must(s.T, err)
	kib, err := strconv.Atoi(regexp.MustCompile(`VmHWM:\s+(\d+)`).FindStringSubmatch(string(status))[1])
	must(s.T, err)
	return kib << 10
}

// ask uses every gateway as alice.
func (s *scene) ask(t *testing.T, sftp, webhdfs string) {
	t.Helper()
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	for _, r := range []struct {
		method, url string
		status      int
	}{
		{"PUT", "https://" + s.listen + "/dav/pfs/local/home/alice/f", 0}, // 201 or 204
		{"GET", "https://" + s.listen + "/dav/pfs/local/home/alice/f", 200},
		{"GET", "https://" + s.listen + "/ui/login", 200}, {"GET", "http://" + webhdfs + "/webhdfs/v1/pfs/local/home/alice/f?op=GETFILESTATUS", 200},
	} {
		q, err := http.NewRequestWithContext(t.Context(), r.method, r.url, nil)
		must(t, err)
		q.SetBasicAuth("alice", password)
		a, err := client.Do(q)
		must(t, err)
		a.Body.Close()
		if r.status != 0 && a.StatusCode != r.status {
			t.Errorf("%s %s: %s", r.method, r.url, a.Status)
		}
	}
	c, err := ssh.Dial("tcp", sftp, &ssh.ClientConfig{User: "alice", Auth: []ssh.AuthMethod{ssh.Password(password)}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), Timeout: time.Minute})
	must(t, err)
	defer c.Close()
	x, err := c.NewSession()
	must(t, err)
	if out, err := x.CombinedOutput("md5sum f"); err != nil || !strings.HasSuffix(string(out), "  f\n") {
		t.Errorf("%v %s", err, out)
	}
}
