package webdav_test

import (
	"bufio"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/digest"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/webdav"
)

// site is a service with WebDAV at a real address.
type site struct {
	*gatewaytest.Service
	*httptest.Server
}

func newSite(t testing.TB, store pfs.FileSystem) *site {
	s := gatewaytest.New(t, store)
	server := httptest.NewServer(newHandler(s))
	t.Cleanup(server.Close)
	return &site{s, server}
}

func newHandler(s *gatewaytest.Service) *webdav.Handler {
	return webdav.New(webdav.Config{
		Prefix: "/dav", Auth: s.Auth, Open: s.Open("webdav"),
		Refused: func(ctx context.Context, user, remote string, err error) {
			s.Server.AuditLogin(ctx, "webdav", user, remote, err)
		},
	})
}

// home is the path of alice's home in URLs.
const home = "/dav/pfs/dc/home/" + gatewaytest.Alice

// ask sends a request of alice's, unless headers have another Authorization. A name without a slash is in her home.
func (s *site) ask(t testing.TB, method, name, body string, headers ...string) gatewaytest.Answer {
	t.Helper()
	if !strings.HasPrefix(name, "/") {
		name = path.Join(home, name)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.URL.Opaque = "//" + r.URL.Host + name // as it is
	r.SetBasicAuth(gatewaytest.Alice, gatewaytest.Password)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatalf("%s %.100q: %v", method, name, err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return gatewaytest.Answer{Code: answer.StatusCode, Header: answer.Header, Body: string(b)}
}

func (s *site) want(t testing.TB, code int, method, name, body string, headers ...string) gatewaytest.Answer {
	t.Helper()
	a := s.ask(t, method, name, body, headers...)
	if a.Code != code {
		t.Fatalf("%s %.100q %q: %d, want %d: %.300s", method, name, headers, a.Code, code, a.Body)
	}
	return a
}

// at returns the URL of a name in alice's home, for Destination.
func (s *site) at(name string) string { return s.URL + home + "/" + name }

func TestFiles(t *testing.T) {
	for name, store := range map[string]func(t *testing.T) pfs.FileSystem{
		"memory": func(*testing.T) pfs.FileSystem { return memfs.New(memfs.Options{}) },
		"local": func(t *testing.T) pfs.FileSystem {
			fsys, err := localfs.New(t.TempDir(), localfs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return fsys
		},
	} {
		t.Run(name, func(t *testing.T) { testFiles(t, newSite(t, store(t))) })
	}
}

func testFiles(t *testing.T, s *site) {
	big := strings.Repeat("0123456789", 600<<10) // more than a leaf
	s.want(t, 201, "MKCOL", "d", "")
	s.want(t, 405, "MKCOL", "d", "")
	s.want(t, 409, "MKCOL", "no/d", "")
	s.want(t, 415, "MKCOL", "e", "<x/>")
	s.want(t, 201, "PUT", "d/f", "one")
	put := s.want(t, 201, "PUT", "d/f", big, "X-OC-Mtime", "1500000000")
	if put.Header.Get("X-OC-Mtime") != "accepted" {
		t.Error("the time is not acknowledged")
	}
	s.want(t, 409, "PUT", "no/f", "x")
	s.want(t, 409, "PUT", "d", "x")
	s.want(t, 409, "PUT", "d/", "x")
	s.want(t, 400, "PUT", "d/f", "x", "Content-Range", "bytes 0-0/3")

	got := s.want(t, 200, "GET", "d/f", "")
	if got.Body != big || got.Header.Get("Last-Modified") != "Fri, 14 Jul 2017 02:40:00 GMT" {
		t.Errorf("%d bytes, %q", len(got.Body), got.Header.Get("Last-Modified"))
	}
	if got.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Error("a browser could run the file")
	}
	if etag := got.Header.Get("ETag"); etag == "" || etag != put.Header.Get("ETag") {
		t.Errorf("ETag %q after a PUT that answered %q", etag, put.Header.Get("ETag"))
	}
	if b := s.want(t, 206, "GET", "d/f", "", "Range", "bytes=4194300-4194311").Body; b != "012345678901"[0:12] {
		t.Errorf("range %q", b)
	}
	if b := s.want(t, 206, "GET", "d/f", "", "Range", "bytes=-3").Body; b != "789" {
		t.Errorf("range %q", b)
	}
	s.want(t, 416, "GET", "d/f", "", "Range", "bytes=99999999-")
	s.want(t, 304, "GET", "d/f", "", "If-None-Match", got.Header.Get("ETag"))
	if a := s.want(t, 200, "HEAD", "d/f", ""); a.Header.Get("Content-Length") != fmt.Sprint(len(big)) {
		t.Errorf("HEAD: %v", a.Header)
	}
	s.want(t, 405, "GET", "d", "")
	s.want(t, 404, "GET", "d/no", "")
	s.want(t, 405, "POST", "d/f", "x")

	info, err := s.Store.Stat(t.Context(), pfs.Path("/home/"+gatewaytest.Alice+"/d/f"))
	if err != nil || info.Digest != digest.Bytes([]byte(big)) {
		t.Errorf("the store has the digest %q, %v", info.Digest, err)
	}

	s.want(t, 201, "COPY", "d", "", "Destination", s.at("copy"))
	if s.want(t, 200, "GET", "copy/f", "").Body != big {
		t.Error("the copy differs")
	}
	s.want(t, 201, "COPY", "d", "", "Destination", s.at("empty"), "Depth", "0")
	s.want(t, 404, "GET", "empty/f", "")
	s.want(t, 412, "COPY", "d/f", "", "Destination", s.at("copy/f"), "Overwrite", "F")
	s.want(t, 204, "COPY", "empty", "", "Destination", s.at("copy"))
	s.want(t, 404, "GET", "copy/f", "")
	s.want(t, 409, "COPY", "d/f", "", "Destination", s.at("no/f"))
	s.want(t, 404, "COPY", "no", "", "Destination", s.at("copy"))
	s.want(t, 403, "COPY", "d", "", "Destination", s.at("d/d"))
	s.want(t, 502, "COPY", "d", "", "Destination", "http://example.org/dav/pfs/x")
	s.want(t, 400, "COPY", "d", "")

	s.want(t, 201, "PUT", "g", "two")
	s.want(t, 404, "MOVE", "no", "", "Destination", s.at("g"))
	s.want(t, 409, "MOVE", "g", "", "Destination", s.at("no/g"))
	s.want(t, 409, "MOVE", "g", "", "Destination", s.at("no/g"), "Overwrite", "F")
	s.want(t, 412, "MOVE", "g", "", "Destination", s.at("d/f"), "Overwrite", "F")
	s.want(t, 204, "MOVE", "g", "", "Destination", s.at("d/f"))
	s.want(t, 404, "GET", "g", "")
	s.want(t, 403, "MOVE", "d/f", "", "Destination", s.at("d"))
	s.want(t, 204, "MOVE", "d", "", "Destination", s.at("copy"))
	if b := s.want(t, 200, "GET", "copy/f", "").Body; b != "two" {
		t.Errorf("after the moves: %q", b)
	}
	s.want(t, 204, "DELETE", "copy", "")
	s.want(t, 404, "DELETE", "copy", "")
	s.want(t, 204, "DELETE", "empty", "")
	page, err := s.Store.List(t.Context(), pfs.Path("/home/"+gatewaytest.Alice), pfs.ListOptions{})
	if err != nil || len(page.Entries) != 0 {
		t.Errorf("left: %v, %v", page.Entries, err)
	}
	for _, line := range []string{"method=commit", "method=rename", "method=copy", "method=mkdir", "method=remove"} {
		if !strings.Contains(s.Log(), line) {
			t.Errorf("the audit log has no %s", line)
		}
	}
}

func TestConditions(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	etag := s.want(t, 201, "PUT", "f", "one").Header.Get("ETag")
	s.want(t, 412, "PUT", "f", "two", "If-None-Match", "*")
	s.want(t, 201, "PUT", "new", "two", "If-None-Match", "*")
	s.want(t, 412, "PUT", "f", "two", "If-Match", `"other"`)
	s.want(t, 412, "PUT", "no", "two", "If-Match", "*")
	etag = s.want(t, 201, "PUT", "f", "two", "If-Match", etag).Header.Get("ETag")
	etag = s.want(t, 201, "PUT", "f", "two", "If-Match", `"other", `+etag).Header.Get("ETag")
	s.want(t, 412, "PUT", "f", "three", "If-None-Match", etag)
	for _, method := range []string{"DELETE", "MOVE", "COPY", "PROPPATCH", "LOCK"} {
		s.want(t, 412, method, "f", "", "If-Match", `"other"`, "Destination", s.at("g"))
		s.want(t, 412, method, "f", "", "If-None-Match", `"other", `+etag, "Destination", s.at("g"))
	}
	s.want(t, 201, "COPY", "f", "", "If-Match", etag, "Destination", s.at("g"))
	s.want(t, 204, "DELETE", "g", "", "If-Match", "*", "If-None-Match", etag+"0")
	s.want(t, 422, "PUT", "f", "three", "OC-Checksum", "SHA1:0000000000000000000000000000000000000000")
	s.want(t, 201, "PUT", "f", "three", "OC-Checksum", "MD5:35d6d33467aae9a2e3dccb4b6b027878")
	s.want(t, 501, "PUT", "f", "four", "OC-Checksum", "CRC:0")
	if b := s.want(t, 200, "GET", "f", "").Body; b != "three" {
		t.Errorf("content %q", b)
	}
}

func TestCutUploadsLeaveNothing(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := newSite(t, store)
	s.want(t, 201, "PUT", "old", "old")
	for _, lines := range []string{
		"Content-Length: 10000000\r\n\r\n" + strings.Repeat("x", 5000000),
		"Content-Length: 100\r\n\r\nx",
		"Content-Length: 100\r\n\r\n",
		"Transfer-Encoding: chunked\r\n\r\n4\r\nxxxx\r\n",
		"Transfer-Encoding: chunked\r\n\r\n4\r\nxxxx\r\nZZ\r\n",
	} {
		for _, name := range []string{"old", "new"} {
			c, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "PUT %s/%s HTTP/1.1\r\nHost: x\r\nAuthorization: %s\r\n%s", home, name, basic(gatewaytest.Alice, gatewaytest.Password), lines)
			_ = c.(*net.TCPConn).CloseWrite()
			if r, err := http.ReadResponse(bufio.NewReader(c), nil); err == nil && r.StatusCode < 400 {
				t.Errorf("%.60q: %s", lines, r.Status)
			}
			c.Close()
		}
	}
	s.want(t, 404, "GET", "new", "")
	if b := s.want(t, 200, "GET", "old", "").Body; b != "old" {
		t.Errorf("content %q", b)
	}
	end := time.Now().Add(30 * time.Second)
	for {
		n, bytes, err := store.Sweep(t.Context(), pfs.Root, -time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d uploads with %d bytes are left", n, bytes)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestSlowClients sends requests whose bodies do not come, or a byte a second.
func TestSlowClients(t *testing.T) {
	gatewaytest.Slow(t, func(t *testing.T) (http.Handler, []string) {
		s := gatewaytest.New(t, memfs.New(memfs.Options{}))
		h := newHandler(s)
		gatewaytest.Ask(t, h, "PUT", home+"/f", gatewaytest.Alice, strings.NewReader("x"))
		gatewaytest.Ask(t, h, "LOCK", home+"/locked", gatewaytest.Alice, strings.NewReader(lockInfo))
		var requests []string
		for i, method := range []string{"OPTIONS", "GET", "HEAD", "PROPFIND", "PUT", "DELETE", "MKCOL", "COPY", "MOVE", "PROPPATCH", "LOCK", "UNLOCK", "TRACE"} {
			for _, name := range []string{fmt.Sprint("absent", i), "f", "locked"} {
				requests = append(requests, fmt.Sprintf("%s %s/%s HTTP/1.1\r\nHost: x\r\nDepth: 0\r\nDestination: %s/to%d\r\nAuthorization: %s\r\n",
					method, home, name, home, i, basic(gatewaytest.Alice, gatewaytest.Password)))
			}
		}
		return h, requests
	})
}

func basic(user, password string) string {
	r := &http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

func TestAuthentication(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	tokens, err := s.Auth.Login(t.Context(), gatewaytest.Alice, gatewaytest.Password, "192.0.2.1:1")
	if err != nil {
		t.Fatal(err)
	}
	s.want(t, 200, "OPTIONS", "", "", "Authorization", "Bearer "+tokens.Access)
	for _, h := range []string{"", "Basic !", "Bearer x", "Bearer ", basic("nobody", "x"), "Digest x"} {
		if a := s.want(t, 401, "GET", "", "", "Authorization", h); !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Basic ") {
			t.Errorf("%q: a client does not learn how to log in", h)
		}
	}
	if log := s.Log(); !strings.Contains(log, "user=(unknown)") || strings.Contains(log, "user=nobody") || !strings.Contains(log, "method=login") {
		t.Errorf("the audit log of refused passwords:\n%s", log)
	}
	var a gatewaytest.Answer
	for range 20 {
		if a = s.ask(t, "GET", "", "", "Authorization", basic(gatewaytest.Bob, "wrong")); a.Code == 429 {
			break
		}
	}
	if a.Code != 429 || a.Header.Get("Retry-After") == "" {
		t.Errorf("after 20 wrong passwords: %d %v", a.Code, a.Header)
	}
	if _, err := s.Auth.Login(t.Context(), gatewaytest.Bob, gatewaytest.Password, "127.0.0.1:1"); !errors.Is(err, pfs.Limit) {
		t.Errorf("the HTTP login: %v", err)
	}
	s.want(t, 200, "OPTIONS", "", "") // another user
}

// TestRevoked: an upload that is under way fails when its account is removed.
func TestRevoked(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.want(t, 201, "PUT", "f", "old")
	more := make(chan struct{})
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), readerFunc(func([]byte) (int, error) {
		<-more
		return 0, io.EOF
	}), strings.NewReader(strings.Repeat("x", 1<<20)))
	r, err := http.NewRequestWithContext(t.Context(), "PUT", s.at("f"), body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = 2 << 20
	r.SetBasicAuth(gatewaytest.Alice, gatewaytest.Password)
	go func() {
		for strings.Count(s.Log(), "method=create") < 2 {
			time.Sleep(10 * time.Millisecond)
		}
		if err := s.Auth.Accounts().Remove(context.Background(), gatewaytest.Alice); err != nil {
			t.Error(err)
		}
		close(more)
	}()
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body.Close()
		if answer.StatusCode != 401 {
			t.Errorf("the upload ends with %s", answer.Status)
		}
	}
	f, err := s.Store.Open(t.Context(), pfs.Path("/home/"+gatewaytest.Alice+"/f"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if size := f.Info().Size; size != 3 {
		t.Errorf("the file has %d bytes", size)
	}
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// multistatus is the answer of a PROPFIND.
type multistatus struct {
	Responses []struct {
		Href     string `xml:"DAV: href"`
		Propstat []struct {
			Status string `xml:"DAV: status"`
			Prop   struct {
				Length    string    `xml:"DAV: getcontentlength"`
				Modified  string    `xml:"DAV: getlastmodified"`
				ETag      string    `xml:"DAV: getetag"`
				Available string    `xml:"DAV: quota-available-bytes"`
				Used      string    `xml:"DAV: quota-used-bytes"`
				Dir       *struct{} `xml:"DAV: resourcetype>collection"`
				Other     *struct{} `xml:"urn:x other"`
			} `xml:"DAV: prop"`
		} `xml:"DAV: propstat"`
	} `xml:"DAV: response"`
}

func (s *site) propfind(t *testing.T, name, depth, body string) (m multistatus) {
	t.Helper()
	a := s.want(t, 207, "PROPFIND", name, body, "Depth", depth)
	if err := xml.Unmarshal([]byte(a.Body), &m); err != nil {
		t.Fatalf("%v: %.300s", err, a.Body)
	}
	return m
}

func TestProperties(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{Capacity: 1 << 20}))
	put := s.want(t, 201, "PUT", "f%20%3c%26%01%c3%a9", "content")
	s.want(t, 201, "MKCOL", "d", "")
	alice := pfs.Path("/home/" + gatewaytest.Alice)
	if err := s.Store.(pfs.Symlinker).Symlink(t.Context(), "d", alice.Join("link")); err != nil {
		t.Fatal(err)
	}
	if err := s.Store.(pfs.Symlinker).Symlink(t.Context(), "/etc", alice.Join("nowhere")); err != nil {
		t.Fatal(err)
	}
	m := s.propfind(t, "", "1", "")
	seen := map[string]bool{}
	for _, r := range m.Responses {
		p := r.Propstat[0].Prop
		seen[r.Href] = p.Dir != nil
		if p.Dir == nil && (p.Length != "7" || p.ETag != put.Header.Get("ETag") || p.Modified == "") {
			t.Errorf("%s: %+v", r.Href, p)
		}
	}
	if want := map[string]bool{home + "/": true, home + "/d/": true, home + "/link/": true, home + "/f%20%3C&%01%C3%A9": false}; fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", seen, want)
	}
	m = s.propfind(t, "", "0", `<propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/><o:other xmlns:o="urn:x"/></prop></propfind>`)
	if len(m.Responses) != 1 || len(m.Responses[0].Propstat) != 2 {
		t.Fatalf("%+v", m)
	}
	if p := m.Responses[0].Propstat; p[0].Prop.Available != "1048564" || p[0].Prop.Used != "12" || p[1].Prop.Other == nil || !strings.Contains(p[1].Status, "404") {
		t.Errorf("%+v", p)
	}
	if err := pfs.SetQuota(t.Context(), s.Store, alice, 100, 0); err != nil {
		t.Fatal(err)
	}
	m = s.propfind(t, "d", "0", `<propfind xmlns="DAV:"><prop><quota-available-bytes/></prop></propfind>`)
	if p := m.Responses[0].Propstat; p[0].Prop.Available != "88" {
		t.Errorf("%+v", p)
	}
	s.want(t, 507, "PUT", "g", strings.Repeat("x", 89))
	if m := s.propfind(t, "/dav/", "1", ""); len(m.Responses) != 2 || m.Responses[1].Href != "/dav/pfs/" {
		t.Errorf("the top: %+v", m)
	}
	s.want(t, 207, "PROPFIND", "d", `<propfind xmlns="DAV:"><propname/></propfind>`, "Depth", "0")
	s.want(t, 403, "PROPFIND", "", "", "Depth", "infinity")
	s.want(t, 403, "PROPFIND", "", "")
	s.want(t, 404, "PROPFIND", "no", "", "Depth", "1")
	s.want(t, 400, "PROPFIND", "", "<propfind", "Depth", "1")
	s.want(t, 400, "PROPFIND", "", `<x xmlns="DAV:"/>`, "Depth", "1")

	set := func(property string) string {
		return `<D:propertyupdate xmlns:D="DAV:" xmlns:Z="urn:schemas-microsoft-com:"><D:set><D:prop>` + property + `</D:prop></D:set></D:propertyupdate>`
	}
	name := "f%20%3c%26%01%c3%a9"
	if a := s.want(t, 207, "PROPPATCH", name, set("<Z:Win32LastModifiedTime>Fri, 14 Jul 2017 02:40:00 GMT</Z:Win32LastModifiedTime>")); !strings.Contains(a.Body, "200 OK") {
		t.Error(a.Body)
	}
	if m := s.want(t, 200, "HEAD", name, "").Header.Get("Last-Modified"); m != "Fri, 14 Jul 2017 02:40:00 GMT" {
		t.Error(m)
	}
	if a := s.want(t, 207, "PROPPATCH", name, set("<D:lastmodified>1400000000</D:lastmodified><D:getetag>x</D:getetag>")); !strings.Contains(a.Body, "403 Forbidden") || !strings.Contains(a.Body, "424 ") {
		t.Error(a.Body)
	}
	if a := s.want(t, 207, "PROPPATCH", name, set("<D:lastmodified>1400000000</D:lastmodified><Z:x>y</Z:x>")); !strings.Contains(a.Body, "403 Forbidden") {
		t.Error(a.Body)
	}
	if m := s.want(t, 200, "HEAD", name, "").Header.Get("Last-Modified"); m != "Fri, 14 Jul 2017 02:40:00 GMT" {
		t.Error("a refused change was made:", m)
	}
}

func TestLargeDirectory(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.want(t, 201, "MKCOL", "d", "")
	n := 20000
	if testing.Short() {
		n = 3000
	}
	var entries []pfs.BatchEntry
	for i := range n {
		entries = append(entries, pfs.BatchEntry{Path: pfs.Path(fmt.Sprintf("/home/%s/d/%d", gatewaytest.Alice, i))})
	}
	if err := errors.Join(pfs.WriteBatch(t.Context(), s.Store, entries)...); err != nil {
		t.Fatal(err)
	}
	if m := s.propfind(t, "d", "1", ""); len(m.Responses) != n+1 {
		t.Errorf("%d responses, want %d", len(m.Responses), n+1)
	}
	s.want(t, 201, "COPY", "d", "", "Destination", s.at("e"))
	if m := s.propfind(t, "e", "1", ""); len(m.Responses) != n+1 {
		t.Errorf("%d responses of the copy, want %d", len(m.Responses), n+1)
	}
}

// The store of failing fails where fail says so.
func failing(fail func(a pfs.Access, name pfs.Path) error) pfs.FileSystem {
	store := memfs.New(memfs.Options{})
	return pfs.NewLayer(func(_ context.Context, a pfs.Access, name pfs.Path, call func(pfs.FileSystem, pfs.Path) error) error {
		if err := fail(a, name); err != nil {
			return err
		}
		return call(store, name)
	})
}

func TestAnUnavailableStoreIsNotAMissingFile(t *testing.T) {
	down := false
	s := newSite(t, failing(func(_ pfs.Access, name pfs.Path) error {
		if down && strings.Contains(string(name), "/f") {
			return pfs.Errorf("test", name, pfs.Unavailable, "the store is away")
		}
		return nil
	}))
	s.want(t, 201, "PUT", "f", "x")
	s.want(t, 201, "PUT", "g", "x")
	down = true
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "MKCOL", "PROPFIND", "PROPPATCH", "COPY", "MOVE"} {
		a := s.want(t, 503, method, "f", "", "Depth", map[bool]string{true: "0", false: "infinity"}[method == "PROPFIND"], "Destination", s.at("h"))
		if a.Header.Get("Retry-After") == "" {
			t.Errorf("%s: no Retry-After", method)
		}
	}
	s.want(t, 503, "LOCK", "f", lockInfo)
	s.want(t, 503, "MOVE", "g", "", "Destination", s.at("f"))
	s.want(t, 200, "GET", "g", "")
}

func TestALinkToAnUnavailableStoreIsNotMissing(t *testing.T) {
	down := false
	s := newSite(t, failing(func(_ pfs.Access, name pfs.Path) error {
		if down && name == "/public/f" {
			return pfs.Errorf("test", name, pfs.Unavailable, "the store is away")
		}
		return nil
	}))
	pfstest.WriteFile(t, s.Store, "/public/f", []byte("x"))
	s.want(t, 201, "MKCOL", "d", "")
	pfstest.MustLink(t, s.Store, "/pfs/dc/public/f", "/home/"+gatewaytest.Alice+"/d/link")
	pfstest.MustLink(t, s.Store, "nowhere", "/home/"+gatewaytest.Alice+"/d/other")
	if m := s.propfind(t, "d", "1", ""); len(m.Responses) != 2 {
		t.Errorf("%+v", m)
	}
	s.want(t, 201, "COPY", "d", "", "Destination", s.at("whole"))
	down = true
	s.want(t, 503, "PROPFIND", "d", "", "Depth", "1")
	s.want(t, 503, "COPY", "d", "", "Destination", s.at("copy"))
}

func TestAFailedReplacementKeepsWhatWasThere(t *testing.T) {
	fail := false
	s := newSite(t, failing(func(a pfs.Access, name pfs.Path) error {
		if fail && strings.HasSuffix(string(name), "/to/bad") && a.Changes() {
			return pfs.Errorf("test", name, pfs.NoSpace, "no room")
		}
		return nil
	}))
	for _, name := range []string{"from", "to"} {
		s.want(t, 201, "MKCOL", name, "")
	}
	s.want(t, 201, "PUT", "from/bad", "x")
	s.want(t, 201, "PUT", "to/old", "old")
	fail = true
	s.want(t, 507, "COPY", "from", "", "Destination", s.at("to"))
	if b := s.want(t, 200, "GET", "to/old", "").Body; b != "old" {
		t.Error(b)
	}
	if m := s.propfind(t, "", "1", ""); len(m.Responses) != 3 {
		t.Errorf("left: %+v", m)
	}
}

// TestAClientThatLeavesKeepsWhatWasThere: the client of a COPY over a directory leaves in the middle.
func TestAClientThatLeavesKeepsWhatWasThere(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	s := newSite(t, failing(func(a pfs.Access, name pfs.Path) error {
		if strings.HasSuffix(string(name), "/to/last") && a.Changes() {
			leave()
			return pfs.E("test", name, pfs.Canceled, context.Canceled)
		}
		return nil
	}))
	for _, name := range []string{"from", "to"} {
		s.want(t, 201, "MKCOL", name, "")
	}
	s.want(t, 201, "PUT", "from/first", "x")
	s.want(t, 201, "PUT", "from/last", "x")
	s.want(t, 201, "PUT", "to/old", "old")
	r := httptest.NewRequestWithContext(ctx, "COPY", home+"/from", http.NoBody)
	r.SetBasicAuth(gatewaytest.Alice, gatewaytest.Password)
	r.Header.Set("Destination", home+"/to")
	newHandler(s.Service).ServeHTTP(httptest.NewRecorder(), r)
	if ctx.Err() == nil {
		t.Fatal("the copy ended")
	}
	if b := s.want(t, 200, "GET", "to/old", "").Body; b != "old" {
		t.Error(b)
	}
	s.want(t, 404, "GET", "to/first", "")
	if m := s.propfind(t, "", "1", ""); len(m.Responses) != 3 {
		t.Errorf("left: %+v", m)
	}
}

// lossy loses the answer of a Rename that is carried out.
type lossy struct {
	pfs.FileSystem
	lose func(oldName, newName pfs.Path) bool
}

func (l *lossy) Rename(ctx context.Context, oldName, newName pfs.Path) error {
	err := l.FileSystem.Rename(ctx, oldName, newName)
	if err == nil && l.lose(oldName, newName) {
		err = pfs.Errorf("test", oldName, pfs.Unavailable, "the answer is lost")
	}
	return err
}

func TestALostAnswerLosesNoDirectory(t *testing.T) {
	for lost, want := range map[string]struct{ from, to string }{
		"from": {"", "new"}, // MOVE is done, and what was there has another name
		"to":   {"new", "old"},
	} {
		store := &lossy{memfs.New(memfs.Options{}), func(old, to pfs.Path) bool {
			return old.Base() == lost && (lost == "from" || strings.HasPrefix(to.Base(), ".replaced-"))
		}}
		s := newSite(t, store)
		for name, content := range map[string]string{"from": "new", "to": "old"} {
			s.want(t, 201, "MKCOL", name, "")
			s.want(t, 201, "PUT", name+"/f", content)
		}
		s.want(t, 503, "MOVE", "from", "", "Destination", s.at("to"))
		for name, content := range map[string]string{"from": want.from, "to": want.to} {
			if a := s.ask(t, "GET", name+"/f", ""); a.Code == 200 && a.Body != content || a.Code != 200 && content != "" {
				t.Errorf("the answer to the rename of %s is lost: %s has %d %q, want %q", lost, name, a.Code, a.Body, content)
			}
		}
		if n := strings.Count(s.want(t, 207, "PROPFIND", "", "", "Depth", "1").Body, "<D:response>"); n != 3 {
			t.Errorf("the answer to the rename of %s is lost: %d entries, want 3", lost, n)
		}
	}
}

const lockInfo = `<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype><owner>me</owner></lockinfo>`

func TestLocks(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	root := []string{"Authorization", basic(gatewaytest.Root, gatewaytest.Password)}
	lock := s.want(t, 201, "LOCK", "f", lockInfo, "Timeout", "Infinite")
	token := lock.Header.Get("Lock-Token")
	if !strings.Contains(lock.Body, "Second-3600") {
		t.Error("the lock has no end:", lock.Body)
	}
	s.want(t, 200, "GET", "f", "")
	s.want(t, 423, "PUT", "f", "x")
	s.want(t, 423, "LOCK", "f", lockInfo)
	s.want(t, 423, "DELETE", "f", "", root...)
	s.want(t, 412, "PUT", "f", "x", append(root, "If", "("+token+")")...)
	s.want(t, 409, "UNLOCK", "f", "", append(root, "Lock-Token", token)...)
	s.want(t, 412, "PUT", "f", "x", "If", "(<opaquelocktoken:1>)")
	s.want(t, 201, "PUT", "f", "x", "If", "("+token+")")
	etag := s.want(t, 200, "HEAD", "f", "").Header.Get("ETag")
	s.want(t, 412, "PUT", "f", "x", "If", "("+token+` ["other"])`)
	s.want(t, 412, "PUT", "f", "x", "If", "("+token+" Not ["+etag+"])")
	s.want(t, 412, "PUT", "f", "x", "If", "(Not "+token+")")
	s.want(t, 412, "PUT", "f", "x", "If", "(["+etag+"])") // without the token
	s.want(t, 201, "PUT", "f", "x", "If", `(["other"]) (`+token+" ["+etag+"] Not <DAV:no-lock>)")
	s.want(t, 200, "LOCK", "f", "", "If", "("+token+")")
	s.want(t, 412, "MOVE", "f", "", "Destination", s.at("g"), "If", "(<opaquelocktoken:1>)")
	s.want(t, 423, "MOVE", "f", "", "Destination", s.at("g"))
	s.want(t, 201, "COPY", "f", "", "Destination", s.at("g"), "If", "("+token+")")
	s.want(t, 200, "LOCK", "g", lockInfo, root[0], basic(gatewaytest.Root, gatewaytest.Password))
	s.want(t, 412, "MOVE", "f", "", "Destination", s.at("g"), "If", "("+token+")")
	s.want(t, 204, "UNLOCK", "f", "", "Lock-Token", token)
	s.want(t, 409, "UNLOCK", "f", "", "Lock-Token", token)
	s.want(t, 201, "PUT", "f", "y")
	etag = s.want(t, 200, "HEAD", "f", "").Header.Get("ETag")
	s.want(t, 412, "DELETE", "f", "", "If", `(["other"])`)
	s.want(t, 201, "PUT", "f", "y", "If", "(["+etag+"])")
	s.want(t, 409, "LOCK", "no/f", lockInfo)
	// Where a user may not write, locks tell nothing.
	other := []string{"Authorization", basic(gatewaytest.Bob, gatewaytest.Password)}
	s.want(t, 200, "LOCK", "f", lockInfo)
	s.want(t, 403, "PUT", "f", "x", other...)
	s.want(t, 403, "PUT", "g", "x", other...)

	for i := range 600 {
		if a := s.ask(t, "LOCK", fmt.Sprint("l", i), lockInfo); a.Code == 429 && i > 500 {
			return
		} else if a.Code != 201 {
			t.Fatalf("lock %d: %d %s", i, a.Code, a.Body)
		}
	}
	t.Error("a user has any number of locks")
}

func TestHostilePaths(t *testing.T) {
	store := memfs.New(memfs.Options{})
	s := newSite(t, store)
	bob := basic(gatewaytest.Bob, gatewaytest.Password)
	const secret = "the secret of bob"
	s.want(t, 201, "PUT", "/dav/pfs/dc/home/bob/secret", secret, "Authorization", bob)
	alice := pfs.Path("/home/" + gatewaytest.Alice)
	s.want(t, 201, "PUT", "f", "x") // makes the home
	for name, target := range map[string]string{"escape": "../bob", "escape-up": ".."} {
		if err := store.Symlink(t.Context(), target, alice.Join(name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range pfstest.HostilePaths {
		for _, at := range []string{"/dav/" + p, home + "/" + p, "/dav/" + url.PathEscape(p), home + "/" + url.PathEscape(p), p} {
			for _, method := range []string{"GET", "PROPFIND", "PUT", "DELETE", "MOVE"} {
				r := httptest.NewRecorder()
				q := httptest.NewRequest(method, "/", strings.NewReader("evil"))
				q.URL = &url.URL{Path: mustUnescape(at)}
				if method == "PROPFIND" {
					q.Header.Set("Depth", "1")
					q.Body = http.NoBody
				}
				q.Header.Set("Destination", "/dav"+home+"/moved")
				q.SetBasicAuth(gatewaytest.Alice, gatewaytest.Password)
				s.Config.Handler.ServeHTTP(r, q)
				if b := r.Body.String(); strings.Contains(b, secret) || method == "PROPFIND" && strings.Contains(b, "/secret<") {
					t.Errorf("%s %q: %d %.200s", method, at, r.Code, b)
				}
			}
		}
	}
	if b := s.want(t, 200, "GET", "/dav/pfs/dc/home/bob/secret", "", "Authorization", bob).Body; b != secret {
		t.Errorf("bob's file is now %q", b)
	}
	page, err := store.List(t.Context(), "/home/bob", pfs.ListOptions{})
	if err != nil || len(page.Entries) != 1 {
		t.Errorf("bob's home: %v, %v", page.Entries, err)
	}
	for _, dir := range []pfs.Path{pfs.Root, "/home"} {
		page, err := store.List(t.Context(), dir, pfs.ListOptions{})
		if err != nil || len(page.Entries) > 3 {
			t.Errorf("%s: %v, %v", dir, page.Entries, err)
		}
	}
}

// mustUnescape returns s as net/http unescapes it, or as it is.
func mustUnescape(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

func TestHostileXML(t *testing.T) {
	s := newSite(t, memfs.New(memfs.Options{}))
	s.want(t, 201, "PUT", "f", "x")
	lol := `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>`
	var many strings.Builder
	for i := range 200 {
		fmt.Fprintf(&many, "<p%d/>", i)
	}
	for name, body := range map[string]string{
		"entities":   lol + `<propfind xmlns="DAV:"><prop><x>&b;&c;</x></prop></propfind>`,
		"deep":       strings.Repeat("<a>", 5000),
		"deep props": `<propfind xmlns="DAV:"><prop>` + strings.Repeat("<a>", 5000),
		"many":       `<propfind xmlns="DAV:"><prop>` + many.String() + `</prop></propfind>`,
		"namespace":  `<propfind xmlns="DAV:" xmlns:a='` + strings.Repeat(`"`, 8000) + `'><prop>` + strings.Repeat("<a:x/><a:y/>", 30) + `</prop></propfind>`,
		"large":      strings.Repeat("<a/>", 100000),
		"not XML":    "\x00\xff\xfe",
		"unclosed":   `<propfind xmlns="DAV:"><prop><!--`,
	} {
		for _, method := range []string{"PROPFIND", "PROPPATCH", "LOCK"} {
			a := s.ask(t, method, "f", body, "Depth", "0")
			if a.Code < 400 || a.Code >= 500 && a.Code != 501 && a.Code != 507 {
				t.Errorf("%s %s: %d %.200s", method, name, a.Code, a.Body)
			}
			if len(a.Body) > 2000 || strings.Contains(a.Body, "root:") {
				t.Errorf("%s %s: %.2000s", method, name, a.Body)
			}
		}
	}
	s.want(t, 200, "GET", "f", "")
	once := `<propfind xmlns="DAV:"><prop><displayname/></prop></propfind>`
	if a, b := s.propfind(t, "f", "0", once), s.propfind(t, "f", "0", strings.Replace(once, "<displayname/>", strings.Repeat("<displayname/>", 60), 1)); fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("a property that is named many times: %v, want %v", b, a)
	}
}
