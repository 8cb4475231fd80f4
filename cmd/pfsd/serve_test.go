package main

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/cmd/internal/cliio"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/auth"
	"github.com/paddlecloud/pfs/pfs/client"
)

func put(t *testing.T, fsys pfs.FileSystem, name pfs.Path, content string) error {
	t.Helper()
	w, err := fsys.Create(t.Context(), name, pfs.CreateOptions{Size: int64(len(content))})
	if err != nil {
		return err
	}
	defer w.Close(t.Context())
	if _, err := w.WriteAt(t.Context(), []byte(content), 0); err != nil {
		return err
	}
	_, err = w.Commit(t.Context(), pfs.CommitOptions{Size: int64(len(content))})
	return err
}

func get(t *testing.T, fsys pfs.FileSystem, name pfs.Path) (string, error) {
	t.Helper()
	f, err := fsys.Open(t.Context(), name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(pfs.NewReader(t.Context(), f))
	return string(b), err
}

// With only --data there is a service with one datacenter, homes that only their users see, and
// state files that nobody else may read.
func TestServe(t *testing.T) {
	s := start(t, dataFor(t))
	ann, tokens := s.login(t, "ann")
	if err := put(t, ann, "/pfs/local/home/ann/hello", "world"); err != nil {
		t.Fatal(err)
	}
	if got, err := get(t, ann, "/pfs/local/home/ann/hello"); got != "world" || err != nil {
		t.Errorf("read back %q, %v", got, err)
	}
	bob, _ := s.login(t, "bob")
	if _, err := get(t, bob, "/pfs/local/home/ann/hello"); !errors.Is(err, pfs.Permission) {
		t.Errorf("bob reads ann's file: %v, want Permission", err)
	}
	if got, err := os.ReadFile(filepath.Join(s.data, "store", "home", "ann", "hello")); string(got) != "world" {
		t.Errorf("the file in the store is %q, %v", got, err)
	}
	fingerprint, _, err := client.Fingerprint(t.Context(), s.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	code, stderr := s.stop()
	if code != 0 {
		t.Errorf("code %d after a stop, want 0", code)
	}
	for _, want := range []string{
		"paddlectl login --endpoint " + s.endpoint, "--fingerprint " + fingerprint, "pfsd user add NAME --data " + s.data, "listening on " + s.endpoint,
	} {
		if n := strings.Count(stderr, want); n != 1 {
			t.Errorf("%q is said %d times, want once:\n%s", want, n, stderr)
		}
	}
	for _, want := range []string{"msg=login user=ann", "msg=audit user=ann", "path=/pfs/local/home/ann/hello", "msg=stopped"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("the log has no %q:\n%s", want, stderr)
		}
	}
	for _, secret := range []string{strings.TrimSpace(goodPassword), tokens.Access, tokens.Refresh} {
		if strings.Contains(stderr, secret) {
			t.Errorf("the log tells %q", secret)
		}
	}
	checkModes(t, s.data)
}

// checkModes checks that other users cannot read the service's files.
func checkModes(t *testing.T, data string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	for _, name := range []string{"", "accounts.yaml", "token.key", "tls.key", "refresh", "store"} {
		info, err := os.Stat(filepath.Join(data, name))
		if err != nil {
			t.Error(err)
		} else if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", name, info.Mode())
		}
	}
}

// A service started again on its directory is the same service.
func TestRestart(t *testing.T) {
	data := dataFor(t)
	first := start(t, data)
	ann, tokens := first.login(t, "ann")
	before, _, err := client.Fingerprint(t.Context(), first.endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if err := put(t, ann, "/pfs/local/home/ann/f", "kept"); err != nil {
		t.Fatal(err)
	}
	first.stop()
	second := start(t, data)
	after, _, err := client.Fingerprint(t.Context(), second.endpoint)
	if err != nil || after != before {
		t.Errorf("fingerprint %s, %v; was %s", after, err, before)
	}
	again, err := client.New(client.Options{Endpoint: second.endpoint, Fingerprint: before, Token: constantToken(tokens.Access)})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, err := get(t, again, "/pfs/local/home/ann/f"); got != "kept" || err != nil {
		t.Errorf("with the access token of before: %q, %v", got, err)
	}
	if _, err := again.Refresh(t.Context(), tokens.Refresh); err != nil {
		t.Errorf("with the refresh token of before: %v", err)
	}
}

func TestDatacenters(t *testing.T) {
	store := t.TempDir()
	s := start(t, dataFor(t), "--datacenter", "east=mem:", "--datacenter", "west=file://"+store, "--current", "west")
	ann, _ := s.login(t, "ann")
	info, err := ann.Service(t.Context())
	if err != nil || strings.Join(info.Datacenters, " ") != "east west" || info.Current != "west" {
		t.Errorf("service: %+v, %v", info, err)
	}
	for _, dc := range info.Datacenters {
		name := pfs.Path("/pfs/" + dc + "/home/ann/f")
		if err := put(t, ann, name, dc); err != nil {
			t.Errorf("%s: %v", dc, err)
		}
		if got, err := get(t, ann, name); got != dc || err != nil {
			t.Errorf("%s: read %q, %v", dc, got, err)
		}
	}
	if _, err := os.Stat(filepath.Join(store, "home", "ann", "f")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(s.data, "store")); err == nil {
		t.Error("a store was made that nobody asked for")
	}
}

func TestJSONLog(t *testing.T) {
	s := start(t, dataFor(t), "--log-format", "json", "--log-level", "debug")
	s.login(t, "ann")
	_, stderr := s.stop()
	for line := range strings.Lines(stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	if !strings.Contains(stderr, "listening on "+s.endpoint) {
		t.Errorf("no line to wait for:\n%s", stderr)
	}
}

func TestAuditLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit")
	s := start(t, dataFor(t), "--audit-log", file)
	ann, _ := s.login(t, "ann")
	mkdir := func(name pfs.Path) {
		t.Helper()
		if err := ann.Mkdir(t.Context(), name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	mkdir("/pfs/local/home/ann/one")
	if err := os.Rename(file, file+".1"); err != nil {
		t.Fatal(err)
	}
	s.hangup <- os.Interrupt
	s.hangup <- os.Interrupt // taken when the one before has been followed
	mkdir("/pfs/local/home/ann/two")
	_, stderr := s.stop()
	if strings.Contains(stderr, "msg=audit") {
		t.Errorf("audit lines are in the log too:\n%s", stderr)
	}
	for path, want := range map[string]string{file + ".1": "/ann/one", file: "/ann/two"} {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(want)) || bytes.Count(b, []byte("method=mkdir")) != 1 {
			t.Errorf("%s: %v, want one line with %s:\n%s", path, err, want, b)
		}
	}
}

func TestReloadOfCertificate(t *testing.T) {
	data := dataFor(t)
	s := start(t, data)
	dir := t.TempDir()
	other, err := auth.LoadOrMakeCertificate(t.Context(), filepath.Join(dir, "c"), filepath.Join(dir, "k"), nil)
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{"c": "tls.crt", "k": "tls.key"} {
		if err := os.Rename(filepath.Join(dir, from), filepath.Join(data, to)); err != nil {
			t.Fatal(err)
		}
	}
	s.hangup <- os.Interrupt
	s.hangup <- os.Interrupt
	got, _, err := client.Fingerprint(t.Context(), s.endpoint)
	if want := auth.Fingerprint(other.Leaf()); got != want || err != nil {
		t.Errorf("fingerprint %s, %v; want the new one %s", got, err, want)
	}
}

func TestOwnCertificate(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "c"), filepath.Join(dir, "k")
	own, err := auth.LoadOrMakeCertificate(t.Context(), cert, key, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, dataFor(t), "--tls-cert", cert, "--tls-key", key)
	got, _, err := client.Fingerprint(t.Context(), s.endpoint)
	if want := auth.Fingerprint(own.Leaf()); got != want || err != nil {
		t.Errorf("fingerprint %s, %v; want %s", got, err, want)
	}
	_, stderr := s.stop()
	if strings.Contains(stderr, "--fingerprint") {
		t.Errorf("clients are told to pin a certificate that is not self-made:\n%s", stderr)
	}
	missing := run(t, "", "serve", "--data", s.data, "--tls-cert", cert+".no", "--tls-key", key)
	if missing.code != int(cliio.NotFound) || !strings.Contains(missing.stderr, cert+".no") {
		t.Errorf("missing certificate: code %d: %s", missing.code, missing.stderr)
	}
}

// status asks for a URL without an account.
func status(t *testing.T, url string) (int, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	resp, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestWatching(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls")
	if code, page := status(t, s.endpoint+"/"); code != http.StatusOK || !strings.Contains(page, `action="/ui/login"`) {
		t.Errorf("a browser at the address of the service gets %d and no login: %.200q", code, page)
	}
	if !strings.HasPrefix(s.endpoint, "http://127.0.0.1:") {
		t.Errorf("endpoint %s", s.endpoint)
	}
	s.login(t, "ann")
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		if code, body := status(t, s.endpoint+path); code != http.StatusOK {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if _, body := status(t, s.endpoint+"/metrics"); !strings.Contains(body, "pfs") {
		t.Errorf("metrics:\n%s", body)
	}
	if code, _ := status(t, s.endpoint+"/v1/data?path=/&off=0&len=1"); code != http.StatusUnauthorized {
		t.Errorf("data without a token: %d, want 401", code)
	}
}

// With --metrics-listen, the metrics are at that address only, and nothing else is.
func TestMetricsListen(t *testing.T) {
	s := start(t, dataFor(t), "--metrics-listen", "127.0.0.1:0")
	if code, _ := status(t, s.endpoint+"/metrics"); code == http.StatusOK {
		t.Error("the metrics are at the front too")
	}
	_, rest, _ := strings.Cut(s.said, "metrics on ")
	url, _, _ := strings.Cut(rest, "/metrics\n")
	for path, want := range map[string]int{"/metrics": 200, "/healthz": 200, "/readyz": 200, "/v1/service": 404} {
		if code, body := status(t, url+path); code != want {
			t.Errorf("%s%s: %d, want %d\n%s", url, path, code, want, body)
		}
	}
}

func TestWhatKeepsAServiceFromStarting(t *testing.T) {
	busy := start(t, dataFor(t))
	_, port, _ := strings.Cut(strings.TrimPrefix(busy.endpoint, "https://"), ":")
	broken := dataFor(t)
	mustRun(t, goodPassword, "user", "add", "ann", "--data", broken, "--password-stdin")
	accounts := filepath.Join(broken, auth.AccountsFile)
	content, err := os.ReadFile(accounts)
	if err != nil {
		t.Fatal(err)
	}
	content = append(content, "mistake: 1\n"...)
	if err := os.WriteFile(accounts, content, 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	tests := []struct {
		why  string
		args []string
		code cliio.Code
		says string
	}{
		{"port in use", []string{"--data", dataFor(t), "--listen", "127.0.0.1:" + port}, cliio.Failed, "--listen 127.0.0.1:" + port + ": bind: "},
		{"broken accounts", []string{"--data", broken}, cliio.Usage, "accounts.yaml: line "},
		{"data is a file", []string{"--data", file}, cliio.Exists, file + " is a file"},
		{"missing store", []string{"--data", dataFor(t), "--listen", "127.0.0.1:0", "--datacenter", "a=file://" + missing}, cliio.NotFound, missing},
		{"audit log nowhere", []string{"--data", dataFor(t), "--audit-log", filepath.Join(missing, "log")}, cliio.NotFound, missing},
	}
	for _, tt := range tests {
		got := run(t, "", append([]string{"serve"}, tt.args...)...)
		if got.code != int(tt.code) || !strings.Contains(got.stderr, tt.says) {
			t.Errorf("%s: code %d, stderr %q; want code %d and %q", tt.why, got.code, got.stderr, tt.code, tt.says)
		}
		if strings.Contains(got.stderr, "listening on") {
			t.Errorf("%s: it says that it listens", tt.why)
		}
	}
	if after, err := os.ReadFile(accounts); err != nil || !bytes.Equal(after, content) {
		t.Errorf("the broken accounts file was changed: %v", err)
	}
}

// The service buffers a header for each connection, even of clients without an account. So the
// limit of a header is the size of the longest valid one.
func TestHeadersAreBounded(t *testing.T) {
	s := start(t, dataFor(t), "--no-tls")
	_, tokens := s.login(t, "ann")
	ask := func(path, header string) int {
		r, err := http.NewRequestWithContext(t.Context(), "GET", s.endpoint+"/v1/data?off=0&len=1&path="+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+tokens.Access)
		r.Header.Set("X-Fill", header)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	long := strings.Repeat("/"+strings.Repeat("ä", 127), pfs.MaxPath/255)
	if code := ask(url.QueryEscape(long), ""); code != http.StatusForbidden && code != http.StatusNotFound {
		t.Errorf("a path of %d bytes: %d", len(long), code)
	}
	if code := ask("/", strings.Repeat("x", 2*maxHeader)); code != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes: %d", 2*maxHeader, code)
	}
	if most := 32 << 10; maxHeader > most {
		t.Errorf("a header may have %d bytes, want %d at most", maxHeader, most)
	}
}
