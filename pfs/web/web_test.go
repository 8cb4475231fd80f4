package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// site is a service with its pages, and a browser without a script: it keeps cookies and says where requests come from.
type site struct {
	*gatewaytest.Service
	web    *httptest.Server
	client *http.Client
	csrf   string
	jobs   Jobs
}

// newSite returns a site over store, with the files of alice's home.
func newSite(t *testing.T, store pfs.FileSystem) *site {
	t.Helper()
	s := &site{Service: gatewaytest.New(t, store)}
	s.serve(t)
	return s
}

func (s *site) serve(t *testing.T) {
	t.Helper()
	s.web = httptest.NewTLSServer(pages(s.Service, s.jobs))
	t.Cleanup(s.web.Close)
	jar := &jar{}
	s.client = s.web.Client()
	s.client.Jar = jar
	s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
}

func pages(s *gatewaytest.Service, jobs Jobs) http.Handler {
	return New(Config{Auth: s.Auth, Open: s.Open("web"), Service: s.Server, Home: gatewaytest.Home, Links: s.Auth, Jobs: jobs})
}

// jar keeps all cookies, whatever the host.
type jar struct{ cookies map[string]*http.Cookie }

func (j *jar) SetCookies(_ *url.URL, cookies []*http.Cookie) {
	if j.cookies == nil {
		j.cookies = map[string]*http.Cookie{}
	}
	for _, c := range cookies {
		if c.MaxAge < 0 {
			delete(j.cookies, c.Name)
			continue
		}
		j.cookies[c.Name] = c
	}
}

func (j *jar) Cookies(*url.URL) (all []*http.Cookie) {
	for _, c := range j.cookies {
		all = append(all, c)
	}
	return all
}

// answer is an answer with its body.
type answer struct {
	*http.Response
	body string
}

// do sends a request as these pages do. header has names and values; "-" as a value removes the header.
func (s *site) do(t *testing.T, method, target string, body io.Reader, header ...string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.web.URL+target, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Origin", s.web.URL)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	for i := 0; i+1 < len(header); i += 2 {
		if r.Header.Set(header[i], header[i+1]); header[i+1] == "-" {
			r.Header.Del(header[i])
		}
	}
	got, err := s.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	b, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatalf("%s %s: %v", method, target, err)
	}
	return answer{got, string(b)}
}

func (s *site) get(t *testing.T, target string) answer {
	t.Helper()
	return s.do(t, http.MethodGet, target, nil)
}

// post sends a form with the token of the session.
func (s *site) post(t *testing.T, target string, fields ...string) answer {
	t.Helper()
	form := url.Values{csrfField: {s.csrf}}
	for i := 0; i+1 < len(fields); i += 2 {
		form.Add(fields[i], fields[i+1])
	}
	return s.do(t, http.MethodPost, target, strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded")
}

// want fails the test if the answer has another status.
func (a answer) want(t *testing.T, status int) answer {
	t.Helper()
	if a.StatusCode != status {
		t.Fatalf("%s %s: %s, want %d\n%s", a.Request.Method, a.Request.URL, a.Status, status, a.body)
	}
	return a
}

var metaToken = regexp.MustCompile(`<meta name="csrf" content="([0-9a-f]+)">`)

// login logs user in and reads the token of the session from the first page.
func (s *site) login(t *testing.T, user string) {
	t.Helper()
	s.csrf = ""
	got := s.post(t, "/ui/login", "user", user, "password", gatewaytest.Password).want(t, http.StatusSeeOther)
	if to := got.Header.Get("Location"); to != "/ui/" {
		t.Fatalf("the login leads to %q", to)
	}
	home := s.get(t, s.get(t, "/ui/").want(t, http.StatusSeeOther).Header.Get("Location")).want(t, http.StatusOK)
	found := metaToken.FindStringSubmatch(home.body)
	if found == nil {
		t.Fatalf("no token in the page:\n%s", home.body)
	}
	s.csrf = found[1]
}

// tree returns the tree as user sees it, for preparations.
func (s *site) tree(t *testing.T, user string) pfs.FileSystem {
	t.Helper()
	return s.Session(t, user, "test").FS()
}

func home(elems ...string) pfs.Path {
	p := gatewaytest.Home(gatewaytest.Alice)
	for _, e := range elems {
		p = p.Join(e)
	}
	return p
}

func TestLoginAndBrowse(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), home("notes.txt"), []byte("hello"))
	if err := s.tree(t, gatewaytest.Alice).Mkdir(t.Context(), home("data"), 0o755); err != nil {
		t.Fatal(err)
	}

	got := s.get(t, "/ui/files"+string(home())).want(t, http.StatusSeeOther)
	if to := got.Header.Get("Location"); to != "/ui/login?next="+url.QueryEscape(address("files", home())) {
		t.Errorf("a page without a session leads to %q", to)
	}
	for _, password := range []string{"", "wrong"} {
		got := s.post(t, "/ui/login", "user", gatewaytest.Alice, "password", password).want(t, http.StatusUnauthorized)
		if !strings.Contains(got.body, "The user or the password is wrong.") {
			t.Errorf("a refused login says\n%s", got.body)
		}
	}
	s.login(t, gatewaytest.Alice)
	for _, c := range s.client.Jar.Cookies(nil) {
		if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteStrictMode || c.Expires.IsZero() {
			t.Errorf("the cookie %s", c)
		}
	}

	page := s.get(t, address("files", home())).want(t, http.StatusOK)
	folder, file := strings.Index(page.body, ">data<"), strings.Index(page.body, ">notes.txt<")
	if folder < 0 || file < folder {
		t.Errorf("the listing has the folder at %d and the file at %d:\n%s", folder, file, page.body)
	}
	if page := s.get(t, address("files", home("notes.txt"))).want(t, http.StatusOK); !strings.Contains(page.body, "5 B") {
		t.Errorf("the page of the file:\n%s", page.body)
	}
	s.get(t, address("files", home("absent"))).want(t, http.StatusNotFound)
	if page := s.get(t, address("usage", home())).want(t, http.StatusOK); !strings.Contains(page.body, "<dd>1</dd>") {
		t.Errorf("the usage:\n%s", page.body)
	}

	for folder, writable := range map[string]bool{"/": false, "/pfs": false, "/pfs/dc": false, "/pfs/dc/home": false, "/pfs/dc/public": false, string(home("data")): true} {
		page := s.get(t, address("files", pfs.Path(folder))).want(t, http.StatusOK)
		if strings.Contains(page.body, `id="upload"`) != writable {
			t.Errorf("%s has a form for uploads, or lacks it", folder)
		}
	}

	s.post(t, "/ui/logout").want(t, http.StatusSeeOther)
	s.get(t, address("files", home())).want(t, http.StatusSeeOther)
}

// TestRevoked ends sessions: by a new password, and with the account.
func TestRevoked(t *testing.T) {
	for name, end := range map[string]func(s *site) error{
		"password": func(s *site) error {
			return s.Auth.Accounts().SetPassword(t.Context(), gatewaytest.Alice, "another password")
		},
		"account": func(s *site) error { return s.Auth.Accounts().Remove(t.Context(), gatewaytest.Alice) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, memfs.New(memfs.Options{}))
			s.login(t, gatewaytest.Alice)
			if err := end(s); err != nil {
				t.Fatal(err)
			}
			s.get(t, address("files", home())).want(t, http.StatusSeeOther)
			if got := s.post(t, address("mkdir", home()), "name", "x"); got.StatusCode != http.StatusUnauthorized {
				t.Errorf("a change after the end: %s", got.Status)
			}
		})
	}
}

// TestRevokedTransfers removes an account in the middle of an upload and of downloads: the one makes no file, and the others
// are cut.
func TestRevokedTransfers(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	const size = 8 << 20 // more than the connection holds back
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), home("large"), make([]byte, size))
	s.login(t, gatewaytest.Alice)
	var downloads []*http.Response
	for _, page := range []string{address("raw", home("large")), address("zip", home())} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.web.URL+page, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Close()
		downloads = append(downloads, got)
	}
	text, kind := form(s.csrf, map[string]string{"f": strings.Repeat("x", 4<<20)}, false)
	body, more := io.Pipe()
	go func() {
		_, _ = io.WriteString(more, text[:1<<20])
		if err := s.Auth.Accounts().Remove(context.Background(), gatewaytest.Alice); err != nil {
			t.Error(err)
		}
		_, _ = io.WriteString(more, text[1<<20:])
		more.Close()
	}()
	if got := s.do(t, http.MethodPost, address("upload", home()), body, "Content-Type", kind); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("the upload: %s", got.Status)
	}
	_ = body.CloseWithError(io.ErrClosedPipe)
	for _, got := range downloads {
		if n, err := io.Copy(io.Discard, got.Body); err == nil {
			t.Errorf("%s goes on to its end, byte %d", got.Request.URL, n)
		}
	}
	if _, err := s.Store.Stat(t.Context(), "/home/"+gatewaytest.Alice+"/f"); !errors.Is(err, pfs.NotExist) {
		t.Errorf("the file is there: %v", err)
	}
}

// TestExpiredAccess renews the access token by the refresh token.
func TestExpiredAccess(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.login(t, gatewaytest.Alice)
	delete(s.client.Jar.(*jar).cookies, accessCookie)
	s.get(t, address("files", home())).want(t, http.StatusOK)
	if s.client.Jar.(*jar).cookies[accessCookie] == nil {
		t.Error("no new access token was set")
	}
}

// TestPages walks a large folder by its links.
func TestPages(t *testing.T) {
	for _, n := range []int{3*rows + 1, pfs.MaxPage + rows} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			s := newSite(t, memfs.New(memfs.Options{}))
			tree := s.tree(t, gatewaytest.Alice)
			if err := tree.Mkdir(t.Context(), home("many"), 0o755); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				pfstest.WriteFile(t, tree, home("many", fmt.Sprintf("f%05d", i)), nil)
			}
			s.login(t, gatewaytest.Alice)
			seen := map[string]int{}
			names, following := regexp.MustCompile(`>(f\d{5})</bdi></a>`), regexp.MustCompile(`rel="next" href="([^"]+)"`)
			for next := address("files", home("many")); next != ""; {
				page := s.get(t, next).want(t, http.StatusOK)
				found := names.FindAllStringSubmatch(page.body, -1)
				if len(found) > rows {
					t.Errorf("%s has %d entries", next, len(found))
				}
				for _, f := range found {
					seen[f[1]]++
				}
				if m := following.FindStringSubmatch(page.body); m != nil {
					next = strings.ReplaceAll(m[1], "&amp;", "&")
				} else {
					next = ""
				}
			}
			if len(seen) != n {
				t.Errorf("the pages have %d of %d entries", len(seen), n)
			}
		})
	}
}

func TestRaw(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	content := strings.Repeat("0123456789", 70_000)
	name := home("<b>a;\"ü\\.html")
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), name, []byte(content))
	s.login(t, gatewaytest.Alice)
	got := s.get(t, address("raw", name)).want(t, http.StatusOK)
	if got.body != content {
		t.Errorf("%d bytes of %d, or others", len(got.body), len(content))
	}
	for key, want := range map[string]string{
		"Content-Type": "application/octet-stream", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
		"Content-Disposition":     `attachment; filename=` + "_b_a___.html; filename*=UTF-8''%3Cb%3Ea%3B%22%C3%BC%5C.html",
	} {
		if v := got.Header.Get(key); v != want && key != "Content-Disposition" {
			t.Errorf("%s: %q, want %q", key, v, want)
		} else if key == "Content-Disposition" && (!strings.HasPrefix(v, "attachment; ") || !strings.HasSuffix(v, "filename*=UTF-8''%3Cb%3Ea%3B%22%C3%BC%5C.html")) {
			t.Errorf("%s: %q", key, v)
		}
	}
	etag := got.Header.Get("ETag")
	part := s.do(t, http.MethodGet, address("raw", name), nil, "Range", "bytes=300000-300009", "If-Range", etag).want(t, http.StatusPartialContent)
	if part.body != content[300000:300010] {
		t.Errorf("the range is %q", part.body)
	}
	s.do(t, http.MethodGet, address("raw", name), nil, "If-None-Match", etag).want(t, http.StatusNotModified)
	s.do(t, http.MethodGet, address("raw", name), nil, "Range", "bytes=9999999-").want(t, http.StatusRequestedRangeNotSatisfiable)
}

// message decodes an answer for the script.
func (a answer) message(t *testing.T) (m struct {
	Exists, Resumed    bool
	Unit               int64
	Size               int64
	SHA256, Leaf, Kind string
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), &m); err != nil && a.StatusCode == http.StatusOK {
		t.Fatalf("%s: %v\n%s", a.Request.URL, err, a.body)
	}
	return m
}

// send sends a request of the script.
func (s *site) send(t *testing.T, method, what string, name pfs.Path, query, body string) answer {
	t.Helper()
	sum := sha256.Sum256([]byte(body))
	var from io.Reader = http.NoBody
	if body != "" {
		from = strings.NewReader(body)
	}
	return s.do(t, method, address("send/"+what, name)+"?"+query, from, csrfHeader, s.csrf, sumHeader, hex.EncodeToString(sum[:]))
}
