package webhdfs_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/hadooptoken"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
)

// location returns the address of the second step of a request.
func (g *gate) location(t testing.TB, method, path, query string) string {
	t.Helper()
	var a struct{ Location string }
	decode(t, g.must(t, method, path, query+"&noredirect=true", ""), &a)
	return a.Location
}

// second sends the second step.
func (g *gate) second(t testing.TB, method, address, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return g.send(t, r)
}

// TestHostilePaths puts the paths of the corpus into requests and parameters: none shows or changes what is bob's.
func TestHostilePaths(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	const secret = "this is bob's"
	theirs := string(gatewaytest.Home(bob)) + "/secret"
	g.must(t, "PUT", theirs, "op=CREATE&user.name=bob", secret)
	g.put(t, "/mine", "this is alice's")
	pfstest.MustLink(t, g.Store, "../bob", "/home/"+alice+"/escape")
	pfstest.MustLink(t, g.Store, "..", "/home/"+alice+"/escape-up")
	for _, hostile := range pfstest.HostilePaths {
		for _, raw := range []string{escapeAll(hostile), hostile} {
			for _, q := range []string{"op=OPEN", "op=GETFILESTATUS", "op=LISTSTATUS", "op=CREATE", "op=RENAME&destination=/x", "op=DELETE&recursive=true"} {
				method := map[string]string{"CREATE": "PUT", "RENAME": "PUT", "DELETE": "DELETE"}[strings.TrimPrefix(strings.SplitN(q, "&", 2)[0], "op=")]
				answer := g.raw(t, map[string]string{"": "GET"}[method]+method, "/webhdfs/v1/"+strings.TrimPrefix(raw, "/")+"?"+q+"&user.name="+url.QueryEscape(alice))
				if strings.Contains(answer, secret) || strings.Contains(answer, `"pathSuffix":"secret"`) {
					t.Errorf("%s of %q shows what is bob's: %.300s", q, raw, answer)
				}
			}
		}
		g.put(t, "/mine", "this is alice's") // a name for her home removes it
		status, answer := g.ask(t, "PUT", "/mine", "op=RENAME&destination="+url.QueryEscape(hostile), "")
		if _, err := g.Store.Stat(t.Context(), "/home/bob/mine"); !errors.Is(err, pfs.NotExist) {
			t.Errorf("RENAME to %q came to bob: %d %s", hostile, status, answer)
		}
	}
	if got := g.must(t, "GET", theirs, "op=OPEN&user.name=bob", ""); got != secret {
		t.Errorf("bob's file is %q now", got)
	}
}

func escapeAll(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if s[i] == '/' {
			b.WriteByte('/')
		} else {
			fmt.Fprintf(&b, "%%%02x", s[i])
		}
	}
	return b.String()
}

// raw sends a request whose target no library has changed, and returns the answer, which may be a refusal of net/http.
func (g *gate) raw(t testing.TB, method, target string) string {
	t.Helper()
	c, err := net.Dial("tcp", g.host())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", method, target, g.host())
	b, _ := io.ReadAll(c)
	return string(b)
}

func (g *gate) host() string {
	u, _ := url.Parse(g.url)
	return u.Host
}

// TestRedirectBehindProxy asks for the second step through a proxy that ends TLS: the address is that of the proxy.
func TestRedirectBehindProxy(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	for proto, want := range map[string]string{"https": "https://data.example/", "": "http://data.example/", "javascript": "http://data.example/"} {
		r, err := http.NewRequestWithContext(t.Context(), "PUT", g.url+"/f?op=CREATE&noredirect=true&user.name="+alice, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = "data.example"
		r.Header.Set("X-Forwarded-Proto", proto)
		if status, answer := g.send(t, r); status != 200 || !strings.Contains(answer, want) {
			t.Errorf("%q: %d %s", proto, status, answer)
		}
	}
}

// TestRedirect replays, changes and delays the second step.
func TestRedirect(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	g := serve(t, s, webhdfs.Config{TrustUserName: true, Root: "/pfs/dc/home/{user}"})
	there := g.location(t, "PUT", "/f", "op=CREATE&overwrite=true&permission=600")
	for what, change := range map[string]func(url.Values, *url.URL){
		"path":       func(_ url.Values, u *url.URL) { u.Path = "/webhdfs/v1/g" },
		"user":       func(q url.Values, _ *url.URL) { q.Set("pfs-user", bob) },
		"nobody":     func(q url.Values, _ *url.URL) { q.Set("pfs-user", "nobody") },
		"expiry":     func(q url.Values, _ *url.URL) { q.Set("pfs-expires", "99999999999") },
		"version":    func(q url.Values, _ *url.URL) { q.Set("pfs-version", "x") },
		"mode":       func(q url.Values, _ *url.URL) { q.Set("permission", "644") },
		"more":       func(q url.Values, _ *url.URL) { q.Set("replication", "3") },
		"operation":  func(q url.Values, _ *url.URL) { q.Set("op", "MKDIRS") },
		"signature":  func(q url.Values, _ *url.URL) { q.Set("pfs-signature", "AAAA") },
		"two values": func(q url.Values, _ *url.URL) { q.Add("permission", "777") },
	} {
		u, _ := url.Parse(there)
		q := u.Query()
		change(q, u)
		u.RawQuery = q.Encode()
		if status, answer := g.second(t, "PUT", u.String(), "forged"); status != 403 || exceptionOf(answer) != "AccessControlException" {
			t.Errorf("with another %s: %d %s", what, status, answer)
		}
	}
	replica := serve(t, s.Replica(t), webhdfs.Config{Root: "/pfs/dc/home/{user}"})
	elsewhere := strings.Replace(there, g.host(), replica.host(), 1)
	if status, answer := replica.second(t, "PUT", elsewhere+"&user.name=x", "first"); status != 201 {
		t.Errorf("at another replica: %d %s", status, answer)
	}
	if status, answer := g.second(t, "PUT", there, "again"); status != 403 || exceptionOf(answer) != "FileAlreadyExistsException" {
		t.Errorf("replayed: %d %s", status, answer)
	}
	if got := g.must(t, "GET", "/f", "op=OPEN", ""); got != "first" {
		t.Errorf("the file is %q", got)
	}
	// An address for APPEND may be used for more than one part, as fsspec does.
	there = g.location(t, "POST", "/f", "op=APPEND")
	for range 2 {
		if status, answer := g.second(t, "POST", there, "+"); status != 200 {
			t.Errorf("APPEND: %d %s", status, answer)
		}
	}
	if got := g.must(t, "GET", "/f", "op=OPEN", ""); got != "first++" {
		t.Errorf("the file is %q", got)
	}
	if err := s.Auth.Accounts().SetPassword(t.Context(), alice, "another password"); err != nil {
		t.Fatal(err)
	}
	if status, answer := g.second(t, "POST", there, "+"); status != 403 {
		t.Errorf("after the password was changed: %d %s", status, answer)
	}
}

// TestBrokenBody cuts a body: nothing appears, and nothing is left.
func TestBrokenBody(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	for _, header := range []string{"Content-Length: 5000000\r\n", "Transfer-Encoding: chunked\r\n"} {
		u, _ := url.Parse(g.location(t, "PUT", "/f", "op=CREATE"))
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "PUT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", u.RequestURI(), u.Host, header)
		if strings.HasPrefix(header, "T") {
			fmt.Fprintf(c, "ffff\r\n")
		}
		_, _ = c.Write(bytes.Repeat([]byte("x"), 50_000))
		_ = c.(*net.TCPConn).CloseWrite()
		b, _ := io.ReadAll(c)
		c.Close()
		if bytes.Contains(b, []byte(" 201 ")) {
			t.Errorf("%s: a cut body is a file: %s", header, b)
		}
		if status, _ := g.ask(t, "GET", "/f", "op=GETFILESTATUS", ""); status != 404 {
			t.Errorf("%s: GETFILESTATUS after a cut body: %d", header, status)
		}
		page, err := g.Store.List(t.Context(), "/home/"+alice, pfs.ListOptions{})
		if err != nil || len(page.Entries)+len(page.Unnamed) > 0 {
			t.Errorf("%s: after a cut body there is %v (%v)", header, page.Entries, err)
		}
	}
}

// TestRevoked removes an account in the middle of an upload and of a download: the one makes no file, and the other is cut.
func TestRevoked(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	const size = 8 << 20 // more than the connection holds back
	g.put(t, "/large", strings.Repeat("x", size))
	address := g.location(t, "PUT", "/f", "op=CREATE")
	down, err := http.Get(g.url + "/large?op=OPEN&user.name=" + url.QueryEscape(alice))
	if err != nil {
		t.Fatal(err)
	}
	defer down.Body.Close()
	body, more := io.Pipe()
	go func() {
		_, _ = more.Write(make([]byte, 1<<20))
		if err := g.Auth.Accounts().Remove(context.Background(), alice); err != nil {
			t.Error(err)
		}
		_, _ = more.Write(make([]byte, 4<<20))
		more.Close()
	}()
	r, err := http.NewRequestWithContext(t.Context(), "PUT", address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Expect", "100-continue") // so the account is removed only after the server began to read
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	defer transport.CloseIdleConnections()
	if up, err := transport.RoundTrip(r); err == nil {
		if up.Body.Close(); up.StatusCode != http.StatusUnauthorized {
			t.Errorf("the upload: %s", up.Status)
		}
	}
	_ = body.CloseWithError(io.ErrClosedPipe)
	if n, err := io.Copy(io.Discard, down.Body); err == nil || n == size {
		t.Errorf("the download goes on to byte %d", n)
	}
	if _, err := g.Store.Stat(t.Context(), "/home/"+pfs.Path(alice)+"/f"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// counted counts the handles that are open.
type counted struct {
	pfs.FileSystem
	open atomic.Int32
}

func (c *counted) OpenHandle(ctx context.Context, name pfs.Path, flags pfs.OpenFlags, perm fs.FileMode) (pfs.Handle, error) {
	h, err := pfs.OpenHandle(ctx, c.FileSystem, name, flags, perm)
	if err == nil {
		c.open.Add(1)
		h = &countedHandle{Handle: h, closed: sync.OnceFunc(func() { c.open.Add(-1) })}
	}
	return h, err
}

type countedHandle struct {
	pfs.Handle
	closed func()
}

func (h *countedHandle) Close(ctx context.Context) error {
	h.closed()
	return h.Handle.Close(ctx)
}

// TestRevokedAppend changes the password in the middle of an APPEND: its file is not left open, which on HDFS would refuse
// all later ones.
func TestRevokedAppend(t *testing.T) {
	store := &counted{FileSystem: memfs.New(memfs.Options{})}
	g := newGate(t, store)
	g.put(t, "/f", "x")
	body, more := io.Pipe()
	r, err := http.NewRequestWithContext(t.Context(), "POST", g.location(t, "POST", "/f", "op=APPEND"), body)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = more.Write(make([]byte, 1<<20))
		for store.open.Load() == 0 && t.Context().Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if err := g.Auth.Accounts().SetPassword(t.Context(), alice, "another horse"); err != nil {
			t.Error(err)
		}
		more.Close()
	}()
	if status, answer := g.send(t, r); status != http.StatusUnauthorized {
		t.Errorf("%d %s", status, answer)
	}
	if n := store.open.Load(); n != 0 {
		t.Errorf("%d handles are open", n)
	}
}

// TestHugeHeader sends a header without end.
func TestHugeHeader(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	c, err := net.Dial("tcp", g.host())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	go func() {
		fmt.Fprintf(c, "GET /webhdfs/v1/?op=OPEN HTTP/1.1\r\nHost: x\r\n")
		for i := range 200_000 {
			if _, err := fmt.Fprintf(c, "X-%d: %032d\r\n", i, i); err != nil {
				return
			}
		}
	}()
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil && a.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("an endless header is answered %s", a.Status)
	}
}

// TestOtherSite holds that a page of another site changes nothing by a browser's credentials.
func TestOtherSite(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	r, _ := http.NewRequestWithContext(t.Context(), "PUT", g.url+"/d?op=MKDIRS&user.name="+url.QueryEscape(alice), nil)
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if status, answer := g.send(t, r); status != 403 {
		t.Errorf("%d %s", status, answer)
	}
}

// TestDelegationToken gets, uses, renews and cancels a token, at two replicas.
func TestDelegationToken(t *testing.T) {
	s := gatewaytest.New(t, memfs.New(memfs.Options{}))
	g := serve(t, s, webhdfs.Config{TrustUserName: true})
	replica := serve(t, s.Replica(t), webhdfs.Config{})
	var a struct {
		Token struct{ URLString string }
		Long  int64
		Path  string
	}
	decode(t, g.must(t, "GET", "/", "op=GETDELEGATIONTOKEN&renewer=alice&service=h:1", ""), &a)
	token := a.Token.URLString
	parsed, err := hadooptoken.ParseURL(token)
	if err != nil || parsed.Kind != "WEBHDFS delegation" || parsed.Service != "h:1" {
		t.Fatalf("%+v %v", parsed, err)
	}
	with := func(g *gate, method, query string) (int, string) {
		t.Helper()
		return g.ask(t, method, "/", query+"&user.name=", "") // ask adds no name
	}
	status, answer := with(replica, "GET", "op=GETHOMEDIRECTORY&delegation="+token)
	if decode(t, answer, &a); status != 200 || a.Path != home {
		t.Errorf("with a token: %d %s", status, answer)
	}
	if status, answer := with(replica, "GET", "op=GETDELEGATIONTOKEN&delegation="+token); status != 401 {
		t.Errorf("a token for a token: %d %s", status, answer)
	}
	status, answer = with(replica, "PUT", "op=RENEWDELEGATIONTOKEN&token="+token)
	if decode(t, answer, &a); status != 200 || time.UnixMilli(a.Long).Before(time.Now().Add(24*time.Hour)) {
		t.Errorf("renewed: %d %s", status, answer)
	}
	id, err := hadooptoken.ParseIdentifier(parsed.Identifier)
	if err != nil || id.Owner != alice || id.Max.UnixMilli() != a.Long {
		t.Errorf("identifier %+v, %v", id, err)
	}
	id.Owner = bob
	forged := parsed
	forged.Identifier = id.Encode()
	for what, text := range map[string]string{"of bob": forged.URL(), "cut": token[:40], "empty": "A", "no base64": "%%%"} {
		if status, answer := with(g, "GET", "op=GETHOMEDIRECTORY&delegation="+url.QueryEscape(text)); status != 403 || exceptionOf(answer) != "InvalidToken" {
			t.Errorf("a token %s: %d %s", what, status, answer)
		}
	}
	if status, answer := with(replica, "PUT", "op=CANCELDELEGATIONTOKEN&token="+token); status != 200 {
		t.Errorf("canceled: %d %s", status, answer)
	}
	if status, answer := with(g, "GET", "op=GETHOMEDIRECTORY&delegation="+token); status != 403 || exceptionOf(answer) != "InvalidToken" {
		t.Errorf("a canceled token: %d %s", status, answer)
	}
	files, _ := filepath.Glob(s.Dir + "/refresh/*/*")
	if len(files) > 1 {
		t.Errorf("files of canceled tokens are left: %v", files)
	}
}

// TestBruteForce guesses the password of a user: the other protocols refuse the user from there, too, and take others.
func TestBruteForce(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	basic := func(user, password string) int {
		r, _ := http.NewRequestWithContext(t.Context(), "GET", g.url+"/?op=GETHOMEDIRECTORY", nil)
		r.SetBasicAuth(user, password)
		status, _ := g.send(t, r)
		return status
	}
	for range 7 {
		if status := basic(alice, "wrong horse"); status != 401 && status != 429 {
			t.Fatalf("a wrong password: %d", status)
		}
	}
	if status := basic(alice, gatewaytest.Password); status != 429 {
		t.Errorf("the right password after seven guesses: %d", status)
	}
	if _, err := g.Auth.Login(t.Context(), alice, gatewaytest.Password, "127.0.0.1:1"); !errors.Is(err, pfs.Limit) {
		t.Errorf("the HTTP login: %v", err)
	}
	if status := basic(bob, gatewaytest.Password); status != 200 {
		t.Errorf("another user: %d", status)
	}
}

// TestAudit holds that changes and refused passwords leave audit lines, and what was read leaves none.
func TestAudit(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	g.put(t, "/f", "x")
	g.must(t, "GET", "/f", "op=OPEN", "")
	g.must(t, "PUT", "/f", "op=RENAME&destination=/g", "")
	r, _ := http.NewRequestWithContext(t.Context(), "GET", g.url+"/?op=LISTSTATUS", nil)
	r.SetBasicAuth(alice, "wrong")
	if status, answer := g.send(t, r); status != 401 {
		t.Errorf("a wrong password: %d %s", status, answer)
	}
	log := g.Log()
	for _, want := range []string{"method=create", "method=rename", "protocol=webhdfs", "path=" + home + "/f", "method=login result=\"not logged in\""} {
		if !strings.Contains(log, want) {
			t.Errorf("no %s in the log:\n%s", want, log)
		}
	}
	if strings.Contains(log, "method=open") {
		t.Errorf("reading leaves an audit line:\n%s", log)
	}
}
