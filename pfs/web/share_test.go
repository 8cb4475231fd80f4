package web

import (
	"archive/zip"
	"bytes"
	"context"
	"html"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

var madeLink = regexp.MustCompile(`<input class="address" readonly value="https?://[^/]+(/ui/s/[^"]+)"`)

// link makes a link to name and returns its path.
func (s *site) link(t *testing.T, name pfs.Path) string {
	t.Helper()
	got := s.post(t, address("share", name), "days", "1").want(t, http.StatusOK)
	found := madeLink.FindStringSubmatch(got.body)
	if found == nil {
		t.Fatalf("no link in\n%s", got.body)
	}
	return found[1]
}

// guest returns a browser without a session.
func (s *site) guest() *site {
	guest := *s
	c := *s.client
	c.Jar = &jar{}
	guest.client = &c
	return &guest
}

func TestShare(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := newSite(t, store)
	alice := s.tree(t, gatewaytest.Alice)
	pfstest.WriteFile(t, alice, home("private"), []byte("private"))
	if err := alice.Mkdir(t.Context(), home("d"), 0o755); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, alice, home("d", "<f>.html"), []byte("<script>content"))
	if err := pfs.MakeLink(t.Context(), alice, "../private", home("d", "escape")); err != nil {
		t.Fatal(err)
	}
	s.login(t, gatewaytest.Alice)
	file, folder := s.link(t, home("d", "<f>.html")), s.link(t, home("d"))
	guest := s.guest()

	page := guest.get(t, file).want(t, http.StatusOK)
	if !strings.Contains(page.body, "&lt;f&gt;.html") || strings.Contains(page.body, gatewaytest.Alice) {
		t.Errorf("the page of the link:\n%s", page.body)
	}
	got := guest.get(t, file+"/download").want(t, http.StatusOK)
	if got.body != "<script>content" || !strings.HasPrefix(got.Header.Get("Content-Disposition"), "attachment") || got.Header.Get("Content-Type") != "application/octet-stream" {
		t.Errorf("%q %v", got.body, got.Header)
	}
	guest.do(t, http.MethodGet, file+"/download", nil, "Range", "bytes=0-3").want(t, http.StatusPartialContent)
	got = guest.get(t, folder+"/download").want(t, http.StatusOK)
	in, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	if len(in.File) != 2 || strings.Contains(got.body, "private") && !strings.Contains(got.body, "escape") || in.File[1].Name != leftOut {
		t.Errorf("the archive has %d entries:\n%q", len(in.File), got.body)
	}
	if strings.Contains(got.body, "\nprivate") || strings.Contains(s.guest().get(t, folder).body, "private") {
		t.Error("the link leads out of the folder")
	}

	// Everything that is no link has one answer.
	gone := guest.get(t, "/ui/s/"+strings.Repeat("A", 64)).want(t, http.StatusNotFound)
	same := func(what, target string) {
		t.Helper()
		if got := guest.get(t, target); got.StatusCode != gone.StatusCode || got.body != gone.body {
			t.Errorf("%s: %s\n%s", what, got.Status, got.body)
		}
	}
	flipped := file[:len(file)-1] + map[bool]string{true: "B", false: "A"}[file[len(file)-1] == 'A']
	same("another token", flipped)
	same("a short token", "/ui/s/x")
	same("a download of no link", "/ui/s/x/download")

	// The list has both, and only the user's own links can be revoked.
	list := s.get(t, address("share", home())).want(t, http.StatusOK)
	if n := strings.Count(list.body, "Revoke"); n != 2 {
		t.Errorf("%d links are listed:\n%s", n, list.body)
	}
	id := regexp.MustCompile(`name="link" value="([0-9a-f]+)"`).FindAllStringSubmatch(list.body, -1)
	bob := s.guest()
	bob.login(t, gatewaytest.Bob)
	for _, found := range id {
		bob.post(t, address("unshare", home()), "link", found[1]).want(t, http.StatusNotFound)
	}
	if list := bob.get(t, "/ui/share/").want(t, http.StatusOK); strings.Contains(list.body, "Revoke") {
		t.Error("bob sees links of alice")
	}
	bob.post(t, address("share", home("private")), "days", "1").want(t, http.StatusForbidden)
	bob.post(t, address("share", home("absent")), "days", "1").want(t, http.StatusForbidden)
	s.post(t, address("share", home("absent")), "days", "1").want(t, http.StatusNotFound)
	s.post(t, address("share", home("d", "escape")), "days", "1").want(t, http.StatusBadRequest)
	for _, days := range []string{"0", "-1", "91", "x", ""} {
		s.post(t, address("share", home("private")), "days", days).want(t, http.StatusBadRequest)
	}
	s.do(t, http.MethodPost, address("share", home("private")), strings.NewReader("days=1"), "Content-Type", "application/x-www-form-urlencoded").want(t, http.StatusForbidden)

	for _, found := range id {
		s.post(t, address("unshare", home()), "link", found[1]).want(t, http.StatusSeeOther)
	}
	same("a revoked link", file)
	same("a download of a revoked link", folder+"/download")
	for _, want := range []string{"method=share ", "method=unshare", "method=shared-read"} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("the audit log has no %s:\n%s", want, html.UnescapeString(s.Log()))
		}
	}

	// A link ends with what it leads to, and with the account.
	file = s.link(t, home("private"))
	guest.get(t, file).want(t, http.StatusOK)
	if err := alice.Remove(t.Context(), home("private")); err != nil {
		t.Fatal(err)
	}
	same("a link to nothing", file)
	if err := pfs.MakeLink(t.Context(), alice, "/pfs/dc/home/"+gatewaytest.Alice+"/d", home("private")); err != nil {
		t.Fatal(err)
	}
	same("a link to a symbolic link", file+"/download")
	folder = s.link(t, home("d"))
	guest.get(t, folder).want(t, http.StatusOK)
	if err := s.Auth.Accounts().SetPassword(t.Context(), gatewaytest.Alice, "another horse"); err != nil {
		t.Fatal(err)
	}
	same("a link of an earlier password", folder)
}

// opened calls hook when a file is opened.
type opened struct {
	pfs.FileSystem
	hook func(name pfs.Path)
}

func (o *opened) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	if o.hook != nil {
		o.hook(name)
	}
	return o.FileSystem.Open(ctx, name)
}

// TestSharedLinks checks that nobody who can change a public directory leads a share link into the home of the user who made it.
func TestSharedLinks(t *testing.T) {
	store := memfs.New(memfs.Options{})
	hooked := &opened{FileSystem: store}
	s := newSite(t, hooked)
	pfstest.MustMkdir(t, store, "/public/a/d")
	// The first entry of the archive: more than one write of the answer, so that the client does not ask again when it is cut.
	pfstest.WriteFile(t, store, "/public/a/d/f", bytes.Repeat([]byte("shared"), 20000))
	pfstest.MustMkdir(t, store, "/public/a/d/x")
	pfstest.WriteFile(t, store, "/public/a/d/x/g", []byte("shared"))
	pfstest.MustLink(t, store, "a", "/public/to-a")
	alice := s.tree(t, gatewaytest.Alice)
	pfstest.MustMkdir(t, alice, home("d"))
	pfstest.WriteFile(t, alice, home("d", "f"), []byte("private"))
	pfstest.WriteFile(t, alice, home("g"), []byte("private"))
	s.login(t, gatewaytest.Alice)
	links := map[string]string{}
	for _, name := range []pfs.Path{"a/d", "a/d/f", "to-a/d"} {
		links[string(name)] = s.link(t, "/pfs/dc/public/"+name)
	}
	guest := s.guest()
	for name, link := range links {
		if got := guest.get(t, link+"/download").want(t, http.StatusOK); !strings.Contains(got.body, "shared") {
			t.Errorf("%s: %q", name, got.body)
		}
	}

	// In the middle of a download, after its entries were listed.
	hooked.hook = func(name pfs.Path) {
		hooked.hook = nil
		if err := store.Rename(t.Context(), "/public/a/d/x", "/public/a/old"); err != nil {
			t.Error(err)
		}
		pfstest.MustLink(t, store, string(home()), "/public/a/d/x")
	}
	r, err := guest.client.Get(s.web.URL + links["a/d"] + "/download")
	if err == nil {
		defer r.Body.Close()
		b, err := io.ReadAll(r.Body)
		if err == nil || strings.Contains(string(b), "private") {
			t.Errorf("the download follows a link: %q, %v", b, err)
		}
	}

	if err := store.Rename(t.Context(), "/public/a", "/public/old"); err != nil {
		t.Fatal(err)
	}
	pfstest.MustLink(t, store, string(home()), "/public/a")
	for _, link := range links {
		guest.get(t, link).want(t, http.StatusNotFound)
		guest.get(t, link+"/download").want(t, http.StatusNotFound)
	}
}
