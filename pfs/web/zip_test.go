package web

import (
	"archive/zip"
	"context"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway"
	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

func TestZip(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	tree := s.tree(t, gatewaytest.Alice)
	names := []string{"plain", `..\..\evil`, "C:evil", "%5C", `\`, "CON", "aux.txt", "tail.", "tail ", "\u202etxt.exe", "a\nb", "ü"}
	pfstest.MustMkdir(t, tree, home("top"), home("top", "sub"), home("top", "sub", "empty"))
	for i, n := range names {
		pfstest.WriteFile(t, tree, home("top", "sub", n), pfstest.Pattern(uint64(i), gateway.Step+i))
	}
	pfstest.MustLink(t, tree, "sub/plain", home("top", "link"))
	pfstest.MustLink(t, tree, "sub", home("top", "circle"))
	pfstest.MustLink(t, tree, "/pfs/dc/home/bob/secret", home("top", "escape"))
	s.login(t, gatewaytest.Alice)
	got := s.get(t, address("zip", home("top"))).want(t, http.StatusOK)
	if d := got.Header.Get("Content-Disposition"); !strings.Contains(d, "top.zip") {
		t.Errorf("Content-Disposition: %s", d)
	}
	z, err := zip.NewReader(strings.NewReader(got.body), int64(len(got.body)))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, f := range z.File {
		if !filepath.IsLocal(f.Name) || strings.ContainsAny(f.Name, "\\:\n\u202e") {
			t.Errorf("the archive has the name %q", f.Name)
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(r)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if _, twice := seen[f.Name]; twice {
			t.Errorf("%s is twice in the archive", f.Name)
		}
		seen[f.Name] = string(b)
	}
	for i, n := range names {
		if seen["sub/"+zipName(n)] != string(pfstest.Pattern(uint64(i), gateway.Step+i)) {
			t.Errorf("%q is missing or wrong in the archive", n)
		}
	}
	if seen["link"] != seen["sub/plain"] || !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "sub/empty/" }) {
		t.Error("a link to a file or an empty folder is missing")
	}
	if out := seen[leftOut]; !strings.Contains(out, "circle: ") || !strings.Contains(out, "escape: ") || strings.Contains(out, "plain") {
		t.Errorf("left out: %q", out)
	}

	form := url.Values{csrfField: {s.csrf}, "name": {"link"}}
	some := s.do(t, http.MethodPost, address("zip", home("top")), strings.NewReader(form.Encode()), "Content-Type", "application/x-www-form-urlencoded").want(t, http.StatusOK)
	if z, err := zip.NewReader(strings.NewReader(some.body), int64(len(some.body))); err != nil || len(z.File) != 1 {
		t.Errorf("an archive of one entry: %v", err)
	}
}

// FuzzZipName checks that names stay different and local.
func FuzzZipName(f *testing.F) {
	f.Add(`a\b`, "a%5Cb")
	f.Add("%2", "%25")
	f.Add("COM¹", "com1.x")
	f.Fuzz(func(t *testing.T, a, b string) {
		if pfs.CheckName(a) != "" || pfs.CheckName(b) != "" {
			return
		}
		za, zb := zipName(a), zipName(b)
		if a != b && za == zb {
			t.Errorf("%q and %q are both %q", a, b, za)
		}
		if !filepath.IsLocal(za) || strings.ContainsAny(za, "/\\:\x00") || strings.HasSuffix(za, ".") {
			t.Errorf("%q is %q", a, za)
		}
	})
}

// failing fails when a file is read beyond its first piece.
type failing struct{ pfs.FileSystem }

func (f failing) Open(ctx context.Context, name pfs.Path) (pfs.File, error) {
	file, err := f.FileSystem.Open(ctx, name)
	if err != nil || name.Base() != "bad" {
		return file, err
	}
	return failingFile{file}, nil
}

type failingFile struct{ pfs.File }

func (f failingFile) ReadAt(ctx context.Context, p []byte, off int64) (int, error) {
	if off >= gateway.Step {
		return 0, pfs.E("test.ReadAt", "", pfs.Integrity, nil)
	}
	return f.File.ReadAt(ctx, p, off)
}

// TestCut checks that a download that fails in the middle is cut, and does not end as if it were whole.
func TestCut(t *testing.T) {
	s := newSite(t, failing{memfs.New(memfs.Options{})})
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Alice), home("bad"), make([]byte, 4*gateway.Step))
	s.login(t, gatewaytest.Alice)
	link := regexp.MustCompile(`/ui/s/[\w-]+`).FindString(s.post(t, address("share", home()), "days", "1").want(t, http.StatusOK).body)
	for _, page := range []string{address("zip", home()), address("raw", home("bad")), link + "/download"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.web.URL+page, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		n, err := io.Copy(io.Discard, got.Body)
		got.Body.Close()
		if got.StatusCode != http.StatusOK || err == nil {
			t.Errorf("%s: %s, %d bytes, then %v; want an error in the middle", page, got.Status, n, err)
		}
	}
	if !strings.Contains(s.Log(), "method=shared-read") || strings.Contains(s.Log(), "method=shared-read result=ok") {
		t.Errorf("no audit line about the link:\n%s", s.Log())
	}
}

// TestArchives refuses more archives of a user than a share.
func TestArchives(t *testing.T) {
	var a archives
	var ends []func()
	for range archivesOfUser {
		end, err := a.begin("u")
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, end)
	}
	if _, err := a.begin("u"); pfs.KindOf(err) != pfs.Limit {
		t.Errorf("one archive more: %v", err)
	}
	if _, err := a.begin("other"); err != nil {
		t.Error(err)
	}
	for _, end := range ends {
		end()
	}
	if len(a.each) != 1 || a.all != 1 {
		t.Errorf("%d archives of %d users are left", a.all, len(a.each))
	}
}
