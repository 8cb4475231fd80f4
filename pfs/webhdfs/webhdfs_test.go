package webhdfs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/webhdfs"
)

const (
	alice = gatewaytest.Alice
	bob   = gatewaytest.Bob
)

var home = string(gatewaytest.Home(alice))

// gate is a gateway that listens.
type gate struct {
	*gatewaytest.Service
	url string // with the prefix of WebHDFS
}

// newGate starts a gateway over store, whose users are believed.
func newGate(t testing.TB, store pfs.FileSystem) *gate {
	return serve(t, gatewaytest.New(t, store), webhdfs.Config{TrustUserName: true, Root: "/pfs/dc/home/{user}"})
}

func serve(t testing.TB, s *gatewaytest.Service, cfg webhdfs.Config) *gate {
	t.Helper()
	cfg.Auth, cfg.Open, cfg.Home = s.Auth, s.Open("webhdfs"), gatewaytest.Home
	cfg.Refused = func(ctx context.Context, user, remote string, err error) {
		s.Server.AuditLogin(ctx, "webhdfs", user, remote, err)
	}
	h, err := webhdfs.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	return &gate{s, server.URL + "/webhdfs/v1"}
}

// ask sends a request as alice, by user.name, follows redirects with the body, and returns the answer.
func (g *gate) ask(t testing.TB, method, path, query, body string) (status int, answer string) {
	t.Helper()
	u := g.url + (&url.URL{Path: path}).EscapedPath() + "?" + query
	if !strings.Contains(query, "user.name") {
		u += "&user.name=" + url.QueryEscape(alice)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, u, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return g.send(t, r)
}

func (g *gate) send(t testing.TB, r *http.Request) (status int, answer string) {
	t.Helper()
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// must is ask of what must succeed.
func (g *gate) must(t testing.TB, method, path, query, body string) string {
	t.Helper()
	status, answer := g.ask(t, method, path, query, body)
	if status/100 != 2 {
		t.Fatalf("%s %s %s: %d %s", method, path, query, status, answer)
	}
	return answer
}

// put makes a file.
func (g *gate) put(t testing.TB, path, content string) {
	t.Helper()
	g.must(t, "PUT", path, "op=CREATE&overwrite=true", content)
}

// exception returns the name of the exception of an answer.
func exceptionOf(answer string) string {
	var e struct {
		RemoteException struct{ Exception string }
	}
	_ = json.Unmarshal([]byte(answer), &e)
	return e.RemoteException.Exception
}

// TestTranscript runs the commands of testdata/transcript.txt with curl, and compares what they print with what is there.
func TestTranscript(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	g := newGate(t, memfs.New(memfs.Options{}))
	want, err := os.ReadFile("testdata/transcript.txt")
	if err != nil {
		t.Fatal(err)
	}
	varies := regexp.MustCompile(`"(accessTime|modificationTime|fileId)":\d+|pfs-(expires|session|signature|version)=[^&"]*|127.0.0.1:\d+`)
	var got bytes.Buffer
	for line := range strings.Lines(string(want)) {
		command, ok := strings.CutPrefix(line, "$ curl ")
		if !ok {
			if strings.HasPrefix(line, "#") {
				got.WriteString(line)
			}
			continue
		}
		got.WriteString(line)
		c := exec.CommandContext(t.Context(), "sh", "-c", `curl -s -w '\n%{http_code} %{content_type} %header{location}\n' `+command)
		c.Env = append(os.Environ(), "BASE="+g.url, "HOME="+t.TempDir(), "AS=user.name="+url.QueryEscape(alice))
		out, err := c.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		out = varies.ReplaceAllFunc(out, func(b []byte) []byte {
			if i := bytes.IndexAny(b, ":="); i >= 0 && !bytes.HasPrefix(b, []byte("127")) {
				return append(b[:i+1:i+1], '*')
			}
			return []byte("HOST")
		})
		for l := range strings.Lines(string(out)) {
			if l = strings.TrimRight(l, " \n"); l != "" {
				fmt.Fprintln(&got, l)
			}
		}
	}
	if got.String() != string(want) {
		t.Errorf("testdata/transcript.txt is not what happened, which is:\n%s", got.String())
	}
}

func decode(t testing.TB, answer string, to any) {
	t.Helper()
	if err := json.Unmarshal([]byte(answer), to); err != nil {
		t.Fatalf("%q: %v", answer, err)
	}
}

// TestCreate makes files of lengths around that of small files, of which the service knows the length beforehand or not.
func TestCreate(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	for _, n := range []int{0, 1, 256<<10 - 1, 256 << 10, 256<<10 + 1, 1 << 20, 1<<20 + 1} {
		for _, known := range []bool{true, false} {
			content := strings.Repeat("0123456789abcdef", n/16+1)[:n]
			path := fmt.Sprintf("/new-%v-%d/f", known, n)
			status, answer := g.ask(t, "PUT", path, "op=CREATE&noredirect=true&overwrite=true", "")
			if status != 200 {
				t.Fatalf("%s: %d %s", path, status, answer)
			}
			var there struct{ Location string }
			if err := json.Unmarshal([]byte(answer), &there); err != nil {
				t.Fatal(err)
			}
			var body io.Reader = strings.NewReader(content)
			if !known {
				body = io.MultiReader(body)
			}
			r, err := http.NewRequestWithContext(t.Context(), "PUT", there.Location, body)
			if err != nil {
				t.Fatal(err)
			}
			if status, answer := g.send(t, r); status != 201 {
				t.Fatalf("%s: %d %s", path, status, answer)
			}
			if status, got := g.ask(t, "GET", path, "op=OPEN", ""); status != 200 || got != content {
				t.Errorf("%s: %d, %d bytes", path, status, len(got))
			}
			info, err := g.Store.Stat(t.Context(), pfs.Path("/home/"+alice+path))
			if want := digest.Bytes([]byte(content)); err != nil || info.Digest != want || info.Mode.Perm() != 0o644 {
				t.Errorf("%s: %+v, %v; want the digest %s", path, info, err, want)
			}
			if status, answer := g.ask(t, "PUT", path, "op=CREATE", "x"); status != 403 || !strings.Contains(answer, "FileAlreadyExistsException") {
				t.Errorf("%s again: %d %s", path, status, answer)
			}
		}
	}
	if status, answer := g.ask(t, "PUT", "/none/f", "op=CREATE&createparent=false", "x"); status != 404 {
		t.Errorf("createparent=false: %d %s", status, answer)
	}
}

// copying is a store that tells how many copies it keeps.
type copying struct{ *memfs.FS }

func (s copying) WithOwner(owner pfs.Owner) (pfs.FileSystem, error) {
	fsys, err := s.FS.WithOwner(owner)
	return copying{fsys.(*memfs.FS)}, err
}

func (s copying) Space(ctx context.Context, name pfs.Path) (pfs.Space, error) {
	space, err := s.FS.Space(ctx, name)
	space.Copies = 3
	return space, err
}

func (s copying) Usage(ctx context.Context, name pfs.Path) (pfs.Usage, error) {
	u, err := s.FS.Usage(ctx, name)
	u.Stored, u.MaxStored = 2*u.Bytes, 3*u.MaxBytes
	return u, err
}

// TestReplication makes files with numbers of copies and lengths of blocks, on a store that has such numbers and on one that has none.
func TestReplication(t *testing.T) {
	g, plain := newGate(t, copying{memfs.New(memfs.Options{})}), newGate(t, memfs.New(memfs.Options{Without: pfs.CanSetReplication | pfs.CanSpace}))
	for _, n := range []int{10, 300 << 10} { // received in both ways
		for query, want := range map[string]string{"": "1", "&replication=2&blocksize=1048576": "2", "&replication=null": "1"} {
			for store, want := range map[*gate]string{g: want, plain: "1"} {
				store.must(t, "PUT", "/d/f", "op=CREATE&overwrite=true"+query, strings.Repeat("x", n))
				if answer := store.must(t, "GET", "/d/f", "op=GETFILESTATUS", ""); !strings.Contains(answer, `"replication":`+want+`,`) {
					t.Errorf("%d bytes, %q: %s, want %s", n, query, answer, want)
				}
			}
		}
	}
	for _, bad := range []string{
		"replication=0", "replication=-1", "replication=x", "replication=1.5", "replication=32768", "blocksize=0", "blocksize=-512", "blocksize=x", "blocksize=1000", "blocksize=99999999999999999999",
	} {
		if status, answer := g.ask(t, "PUT", "/bad", "op=CREATE&"+bad, "x"); status != 400 || !strings.HasSuffix(exceptionOf(answer), "IllegalArgumentException") {
			t.Errorf("%s: %d %s", bad, status, answer)
		}
		if status, _ := g.ask(t, "GET", "/bad", "op=GETFILESTATUS", ""); status != 404 {
			t.Fatalf("%s makes a file", bad)
		}
	}
	g.must(t, "PUT", "/d/f", "op=CREATE&overwrite=true&replication=3", "0123456789")
	if err := g.Store.(pfs.QuotaSetter).SetQuota(t.Context(), "/home/"+pfs.Path(alice), 100, 10); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, op, want string }{
		{"/d/f", "GETCONTENTSUMMARY", `"spaceConsumed":30,`}, {"/d", "GETCONTENTSUMMARY", `"spaceConsumed":20,`}, {"/d", "GETQUOTAUSAGE", `"spaceConsumed":20,`},
		{"/", "GETQUOTAUSAGE", `"spaceQuota":300,`}, {"/", "GETCONTENTSUMMARY", `"spaceQuota":300,`}, {"/", "GETSERVERDEFAULTS", `"replication":3,`},
		{"/", "GETQUOTAUSAGE", `"quota":11,`}, {"/", "GETCONTENTSUMMARY", `"quota":11,`}, {"/d", "GETQUOTAUSAGE", `"quota":-1,`},
	} {
		if answer := g.must(t, "GET", tt.path, "op="+tt.op, ""); !strings.Contains(answer, tt.want) {
			t.Errorf("%s of %s: %s, want %s", tt.op, tt.path, answer, tt.want)
		}
	}
	plain.must(t, "PUT", "/d/f", "op=CREATE&overwrite=true", "0123456789")
	if err := plain.Store.(pfs.QuotaSetter).SetQuota(t.Context(), "/home/"+pfs.Path(alice), 100, 0); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, op, want string }{
		{"/d", "GETCONTENTSUMMARY", `"spaceConsumed":10,`}, {"/d/f", "GETCONTENTSUMMARY", `"spaceConsumed":10,`}, {"/", "GETQUOTAUSAGE", `"spaceQuota":100,`}, {"/", "GETSERVERDEFAULTS", `"replication":1,`},
	} {
		if answer := plain.must(t, "GET", tt.path, "op="+tt.op, ""); !strings.Contains(answer, tt.want) {
			t.Errorf("%s of %s on a store without copies: %s, want %s", tt.op, tt.path, answer, tt.want)
		}
	}
}

// TestXattrNamedTwice: a short request that repeats a name does not make a long answer.
func TestXattrNamedTwice(t *testing.T) {
	g := newGate(t, memfs.New(memfs.Options{}))
	g.put(t, "/f", "x")
	g.must(t, "PUT", "/f", "op=SETXATTR&flag=CREATE&xattr.name=user.a&xattr.value="+strings.Repeat("x", 1000), "")
	once := g.must(t, "GET", "/f", "op=GETXATTRS&xattr.name=user.a", "")
	if often := g.must(t, "GET", "/f", "op=GETXATTRS"+strings.Repeat("&xattr.name=user.a", 100), ""); often != once {
		t.Errorf("%d bytes for the name once, %d for it often", len(once), len(often))
	}
	if status, answer := g.ask(t, "GET", "/f", "op=GETXATTRS&xattr.name=USER.a", ""); status/100 == 2 {
		t.Errorf("another spelling of the name: %s", answer)
	}
}
