package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"golang.org/x/net/html"
)

const secret = "the secret of bob"

// newHostileSite returns a site on which bob has a secret, and alice is logged in and has links to it.
func newHostileSite(t *testing.T) *site {
	s := newSite(t, memfs.New(memfs.Options{}))
	pfstest.WriteFile(t, s.tree(t, gatewaytest.Bob), gatewaytest.Home(gatewaytest.Bob).Join("secret"), []byte(secret))
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.MustLink(t, tree, "../bob", home("escape"))
	pfstest.MustLink(t, tree, "..", home("escape-up"))
	s.login(t, gatewaytest.Alice)
	return s
}

// ask sends a request whose address is written as it is, without the client's own cleaning.
func (s *site) ask(t *testing.T, method, path, body, kind string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.web.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = path
	for _, set := range [][2]string{{"Origin", s.web.URL}, {"Content-Type", kind}, {csrfHeader, s.csrf}} {
		r.Header.Set(set[0], set[1])
	}
	for _, c := range s.client.Jar.Cookies(nil) {
		r.AddCookie(c)
	}
	got, err := s.client.Do(r)
	if err != nil {
		return answer{} // the client refuses to send it
	}
	defer got.Body.Close()
	var b strings.Builder
	buf := make([]byte, 64<<10)
	for {
		n, err := got.Body.Read(buf)
		b.Write(buf[:n])
		if err != nil {
			break
		}
	}
	return answer{got, b.String()}
}

// TestHostilePaths asks for what attacks could reach, by every page.
func TestHostilePaths(t *testing.T) {
	s := newHostileSite(t)
	const kind = "application/x-www-form-urlencoded"
	for _, p := range pfstest.HostilePaths {
		escaped := (&url.URL{Path: "/" + strings.TrimPrefix(p, "/")}).EscapedPath()
		for _, path := range []string{"/" + p, escaped, "/" + url.PathEscape(p), "/" + url.PathEscape(url.PathEscape(p))} {
			for _, page := range []string{"files", "raw", "zip", "usage", "rename", "send/leaf"} {
				got := s.ask(t, http.MethodGet, "/ui/"+page+path, "", kind)
				if strings.Contains(got.body, secret) || got.Response != nil && got.StatusCode >= 500 && got.StatusCode != http.StatusNotImplemented {
					t.Fatalf("%s %q: %s\n%.300s", page, path, got.Status, got.body)
				}
			}
		}
		q := url.Values{"name": {p}, "to": {p}, "confirm": {"yes"}}.Encode()
		for _, page := range []string{"mkdir", "rename", "delete", "zip"} {
			at := home()
			if page == "rename" {
				at = home("absent")
			}
			if got := s.ask(t, http.MethodPost, address(page, at), q, kind); strings.Contains(got.body, secret) {
				t.Fatalf("%s %q: %s", page, p, got.Status)
			}
		}
		body, multi := form(s.csrf, map[string]string{p: "overwritten"}, true)
		s.ask(t, http.MethodPost, address("upload", home()), body, multi)
		s.ask(t, http.MethodPost, "/ui/send/begin"+escaped+"?id="+uploadID+"&size=1&replace=yes&below="+url.QueryEscape(p), "", kind)
	}
	pfstest.WantFile(t, s.tree(t, gatewaytest.Bob), gatewaytest.Home(gatewaytest.Bob).Join("secret"), []byte(secret))
	pfstest.WantNames(t, s.tree(t, gatewaytest.Bob), gatewaytest.Home(gatewaytest.Bob), "secret")
}

// attacks are names that would run a script if a page did not escape them.
var attacks = []string{
	`<script>alert(1)<script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`, `' onmouseover='alert(1)`, `" onfocus=alert(1) autofocus x="`,
	`javascript:alert(1)`, `{{.CSRF}}`, `${alert(1)}`, `&lt;script&gt;`, `<!--`, `]]>`, `<base href=x>`, `<meta http-equiv=refresh content=0>`, `<style>*{}`,
	`\u003cscript\u003e`, `%3Cscript%3E`, "<scr\u200bipt>", "\u202egnp.exe", "<iframe srcdoc='x'>", "`-alert(1)-`", "a?b#c", `"`, `'`, `<a href=javascript:alert(1)>`,
}

// TestScripts makes files and folders whose names are attacks, and reads all pages that show them. A page has no
// element, attribute or address but those of its template.
func TestScripts(t *testing.T) {
	s := newHostileSite(t)
	tree := s.tree(t, gatewaytest.Alice)
	for _, n := range attacks {
		n = strings.ReplaceAll(n, "/", "|")
		pfstest.MustMkdir(t, tree, home(n))
		pfstest.WriteFile(t, tree, home(n, n), []byte("<script>alert(1)</script>"))
		pfstest.MustLink(t, tree, n, home(n, "link"))
		pages := []answer{
			s.get(t, address("files", home())), s.get(t, address("files", home(n))), s.get(t, address("files", home(n, n))),
			s.get(t, address("usage", home(n))), s.get(t, address("rename", home(n))), s.get(t, address("files", home(n, "absent"+n))),
			s.post(t, address("delete", home(n)), "name", n), s.post(t, address("rename", home(n, n)), "to", n+"/"+n),
			s.get(t, "/ui/login?next="+url.QueryEscape("/ui/"+n)), s.get(t, address("files", home())+"?by="+url.QueryEscape(n)+"&token="+url.QueryEscape(n)),
			s.post(t, "/ui/login", "user", n, "password", "x", "next", n),
		}
		for _, page := range pages {
			checkPage(t, n, page)
		}
		raw := s.get(t, address("raw", home(n, n))).want(t, http.StatusOK)
		if raw.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(raw.Header.Get("Content-Disposition"), "attachment") {
			t.Errorf("%q is sent as %v", n, raw.Header)
		}
	}
}

// checkPage fails the test if the page has what no template has.
func checkPage(t *testing.T, attack string, page answer) {
	t.Helper()
	if page.Header.Get("Content-Security-Policy") != policy || page.Header.Get("X-Content-Type-Options") != "nosniff" || page.Header.Get("X-Frame-Options") != "DENY" {
		t.Errorf("%s: the headers are %v", page.Request.URL, page.Header)
	}
	root, err := html.Parse(strings.NewReader(page.body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.CommentNode {
			t.Errorf("%q: the page %s has a comment", attack, page.Request.URL)
		}
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "iframe", "base", "style", "object", "embed", "svg":
			t.Errorf("%q: the page %s has an element %s", attack, page.Request.URL, n.Data)
		case "script":
			if n.FirstChild != nil {
				t.Errorf("%q: the page %s has a script", attack, page.Request.URL)
			}
		}
		for _, a := range n.Attr {
			switch {
			case strings.HasPrefix(a.Key, "on"), a.Key == "style", a.Key == "srcdoc":
				t.Errorf("%q: the page %s has an attribute %s", attack, page.Request.URL, a.Key)
			case a.Key == "href" || a.Key == "src" || a.Key == "action" || a.Key == "formaction":
				if !strings.HasPrefix(a.Val, "/ui/") && a.Val != "#main" {
					t.Errorf("%q: the page %s leads to %s", attack, page.Request.URL, a.Val)
				}
			}
		}
	}
}

// TestForged sends changes as other sites could make a browser send them.
func TestForged(t *testing.T) {
	s := newHostileSite(t)
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.WriteFile(t, tree, home("kept"), []byte("x"))
	good := url.Values{csrfField: {s.csrf}, "name": {"kept"}, "confirm": {"yes"}, "to": {"lost"}}
	without, wrong := url.Values{"name": {"kept"}, "confirm": {"yes"}, "to": {"lost"}}, url.Values{csrfField: {strings.Repeat("0", len(s.csrf))}, "name": {"kept"}, "confirm": {"yes"}}
	const kind = "application/x-www-form-urlencoded"
	for name, c := range map[string]struct {
		form   url.Values
		header []string
	}{
		"another origin":        {good, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}},
		"another subdomain":     {good, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "same-site"}},
		"an origin alone":       {good, []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "-"}},
		"an opaque origin":      {good, []string{"Origin", "null", "Sec-Fetch-Site", "-"}},
		"no origin":             {good, []string{"Origin", "-", "Sec-Fetch-Site", "-"}},
		"no token":              {without, nil},
		"another token":         {wrong, nil},
		"a token in the query":  {without, []string{"X", "query"}},
		"text that is no form":  {good, []string{"Content-Type", "text/plain"}},
		"a form with files":     {without, []string{"Content-Type", "multipart/form-data; boundary=x"}},
		"a cookie of the token": {without, []string{"Cookie", "csrf=" + s.csrf}},
	} {
		t.Run(name, func(t *testing.T) {
			query := ""
			if len(c.header) == 2 && c.header[0] == "X" {
				query = "?csrf=" + s.csrf
			}
			header := append([]string{"Content-Type", kind}, c.header...)
			for _, page := range []string{address("delete", home()), address("rename", home("kept")), address("mkdir", home()), "/ui/logout",
				address("send/begin", home("new")), address("send/commit", home("new")), address("zip", home())} {
				s.do(t, http.MethodPost, page+query, strings.NewReader(c.form.Encode()), header...).want(t, http.StatusForbidden)
			}
		})
	}
	login := url.Values{"user": {gatewaytest.Bob}, "password": {gatewaytest.Password}}.Encode()
	got := s.do(t, http.MethodPost, "/ui/login", strings.NewReader(login), "Content-Type", kind, "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site")
	if got.want(t, http.StatusForbidden); len(got.Cookies()) > 0 {
		t.Error("another site can log a browser in")
	}
	pfstest.WantNames(t, tree, home(), "escape", "escape-up", "kept")
	for _, next := range []string{"//evil.example", "https://evil.example", "/\\evil.example", "/ui/\\evil", "/ui/../v1", "/ui/logout", "/ui", ""} {
		got := s.post(t, "/ui/login", "user", gatewaytest.Alice, "password", gatewaytest.Password, "next", next).want(t, http.StatusSeeOther)
		if to := got.Header.Get("Location"); !strings.HasPrefix(to, "/ui/") || strings.Contains(to, `\`) || strings.Contains(to, "..") {
			t.Errorf("after the login at %q the browser goes to %q", next, to)
		}
	}
}
