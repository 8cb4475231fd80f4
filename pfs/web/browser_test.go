package web

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/localfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// newBrowserSite returns a site over a local directory at an address of its own, which a browser visits.
func newBrowserSite(t *testing.T) *site {
	t.Helper()
	store, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &site{Service: gatewaytest.New(t, store)}
	s.serve(t)
	return s
}

// login logs alice in.
func (p *tab) login() {
	p.t.Helper()
	p.visit("/ui/")
	p.wait("document.activeElement.name === 'user'")
	p.write(gatewaytest.Alice)
	p.press("Tab")
	p.write(gatewaytest.Password)
	p.press("Enter")
	p.wait("document.getElementById('listing')")
}

// file makes a local file.
func file(t *testing.T, dir, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBrowser visits the pages once with a real browser: logs in by keyboard, uploads, renames, deletes, downloads.
func TestBrowser(t *testing.T) {
	s := newBrowserSite(t)
	p := startChromium(t, t.TempDir()).open(t, s)
	tree := s.tree(t, gatewaytest.Alice)
	p.login()

	local := t.TempDir()
	content := pfstest.Pattern(1, 3*pfs.ChunkSize+5)
	p.click("summary", "Upload")
	p.choose("input[name=file]", file(t, local, "model.bin", content), file(t, local, "read me.txt", []byte("hello")))
	p.click("#upload button", "Upload")
	p.wait("document.querySelector('#transfers').innerText.includes('2 of 2 uploaded and verified')")
	p.wait("document.querySelector('#listing').innerText.includes('model.bin')") // without a reload
	pfstest.WantFile(t, tree, home("model.bin"), content)

	p.click("summary", "New folder")
	p.run("document.querySelector('form[action*=mkdir] input[name=name]').focus()")
	p.write("data set")
	p.press("Enter")
	p.wait("document.querySelector('#listing').innerText.includes('data set')")

	p.visit(address("rename", home("read me.txt")))
	p.run("document.activeElement.select()")
	p.write("notes.txt")
	p.press("Enter")
	p.wait("document.querySelector('#listing')?.innerText.includes('notes.txt')")
	pfstest.WantNames(t, tree, home(), "data set", "model.bin", "notes.txt")

	p.run("document.querySelector('input[value=\"data set\"]').click()")
	p.wait("document.getElementById('count').textContent === '1 selected'")
	p.click(".chosen button", "Delete")
	p.wait("document.body.innerText.includes('There is no undo')")
	p.click("button", "Delete for good")
	p.wait("document.querySelector('#listing') && !document.querySelector('#listing').innerText.includes('data set')")
	pfstest.WantNames(t, tree, home(), "model.bin", "notes.txt")

	p.click(".tools a", "Download as zip")
	select {
	case state := <-p.saved:
		if state != "completed" {
			t.Errorf("the download of the archive: %s", state)
		}
	case <-time.After(patience):
		t.Error("the download of the archive did not end")
	}
	scene(t, tree)
	p.visit(address("files", home("digits")))
	for _, phone := range []bool{false, true} {
		for _, scheme := range []string{"light", "dark"} {
			p.look("web", phone, scheme)
		}
	}
}

// gate lets some leaves of uploads pass. It holds the others, until it cuts their connections.
type gate struct {
	mu      sync.Mutex
	handler http.Handler
	passes  int // leaves that may pass
	passed  int
	cut     chan struct{}
	held    chan struct{}
}

func newGate(t *testing.T, h http.Handler) *gate {
	g := &gate{handler: h, held: make(chan struct{}, 100), cut: make(chan struct{})}
	t.Cleanup(func() { g.set(h, 0) })
	return g
}

// set cuts the connections that are held and lets more leaves pass, to h.
func (g *gate) set(h http.Handler, passes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.cut)
	for len(g.held) > 0 {
		<-g.held
	}
	g.handler, g.passes, g.passed, g.cut = h, passes, 0, make(chan struct{})
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	h, cut, hold := g.handler, g.cut, false
	if r.Method == http.MethodPut {
		if hold = g.passes <= 0; !hold {
			g.passes--
			g.passed++
		}
	}
	g.mu.Unlock()
	if hold {
		g.held <- struct{}{}
		<-cut
		panic(http.ErrAbortHandler)
	}
	h.ServeHTTP(w, r)
}

// wait waits until a leaf is held.
func (g *gate) wait(t *testing.T) {
	t.Helper()
	select {
	case <-g.held:
	case <-time.After(patience):
		t.Fatal("the browser sends no more leaves")
	}
}

// TestBrowserInterrupted interrupts uploads: the service is replaced by another replica while the page waits; and the
// page is loaded again.
func TestBrowserInterrupted(t *testing.T) {
	s := newBrowserSite(t)
	first := s.web.Config.Handler
	g := newGate(t, first)
	s.web.Config.Handler = g
	p := startChromium(t, t.TempDir()).open(t, s)
	tree := s.tree(t, gatewaytest.Alice)
	p.login()
	const leaves = 6
	content := pfstest.Pattern(2, leaves*pfs.ChunkSize-77)
	path := file(t, t.TempDir(), "big.bin", content)
	upload := func() {
		t.Helper()
		p.click("summary", "Upload")
		p.choose("input[name=file]", path)
		p.click("#upload button", "Upload")
	}

	g.set(first, 2)
	upload()
	g.wait(t)
	g.set(pages(s.Replica(t), Jobs{}), leaves)
	p.wait("document.querySelector('#transfers').innerText.includes('1 of 1 uploaded and verified')")
	pfstest.WantFile(t, tree, home("big.bin"), content)

	if err := tree.Remove(t.Context(), home("big.bin")); err != nil {
		t.Fatal(err)
	}
	p.visit(address("files", home()))
	g.set(first, 3)
	upload()
	g.wait(t)
	p.visit(address("files", home()))
	p.wait("document.getElementById('interrupted')?.innerText.includes('big.bin')")
	g.set(first, leaves)
	upload()
	p.wait("document.querySelector('#transfers').innerText.includes('1 of 1 uploaded and verified')")
	pfstest.WantFile(t, tree, home("big.bin"), content)
	if g.passed > leaves-2 { // one or two of those that had passed may not have been answered
		t.Errorf("after the reload %d leaves of %d were sent", g.passed, leaves)
	}
	p.visit(address("files", home()))
	p.wait("!document.getElementById('interrupted')")
}

// TestBrowserTaken uploads to names that are taken, and a dropped folder.
func TestBrowserTaken(t *testing.T) {
	testbed.Long(t)
	s := newBrowserSite(t)
	p := startChromium(t, t.TempDir()).open(t, s)
	tree := s.tree(t, gatewaytest.Alice)
	for _, n := range []string{"a", "b"} {
		pfstest.WriteFile(t, tree, home(n), []byte("old"))
	}
	p.login()
	local := t.TempDir()
	p.click("summary", "Upload")
	p.choose("input[name=file]", file(t, local, "a", []byte("new")), file(t, local, "b", []byte("new")))
	p.click("#upload button", "Upload")
	p.wait("document.querySelectorAll('#transfers li[data-state=asking]').length === 2")
	p.click("#transfers li:first-child button", "Replace")
	p.wait("document.querySelector('#transfers').innerText.includes('1 of 2 uploaded')")
	p.click("#transfers li[data-state=asking] button", "Skip")
	p.wait("document.querySelector('#transfers li[data-state=stopped]')")
	both := string(pfstest.ReadFile(t, tree, home("a"))) + string(pfstest.ReadFile(t, tree, home("b")))
	if both != "newold" && both != "oldnew" {
		t.Errorf("the files are %s, want one new and one old", both)
	}

	p.visit(address("files", home()))
	for i := range 30 {
		file(t, local, fmt.Sprintf("folder/sub%d/f%d", i%3, i), pfstest.Pattern(uint64(i), 1000*i))
	}
	if err := os.Mkdir(filepath.Join(local, "folder", "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.drop(filepath.Join(local, "folder"))
	p.wait("document.querySelector('#transfers').innerText.includes('30 of 30 uploaded and verified')")
	for i := range 30 {
		pfstest.WantFile(t, tree, home("folder", fmt.Sprintf("sub%d", i%3), fmt.Sprintf("f%d", i)), pfstest.Pattern(uint64(i), 1000*i))
	}
	pfstest.WantNames(t, tree, home("folder"), "empty", "sub0", "sub1", "sub2")
}

// TestBrowserKeyboard does everything by keyboard.
func TestBrowserKeyboard(t *testing.T) {
	testbed.Long(t)
	s := newBrowserSite(t)
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.WriteFile(t, tree, home("one"), []byte("1"))
	pfstest.WriteFile(t, tree, home("two"), []byte("2"))
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	p.reach("e.textContent === 'New folder'")
	p.press("Enter")
	p.reach("e.name === 'name' && e.closest('form').action.includes('mkdir')")
	p.write("made")
	p.press("Enter")
	p.wait("document.querySelector('#listing').innerText.includes('made')")
	p.reach("e.textContent === 'New folder'")
	p.press("Enter")
	p.wait("document.querySelector('details[open]')")
	p.press("Escape")
	p.wait("!document.querySelector('details[open]') && document.activeElement.textContent === 'New folder'")

	p.reach("e.value === 'one'")
	p.press(" ")
	p.reach("e.textContent.startsWith('Delete')")
	p.press("Enter")
	p.wait("document.activeElement.textContent === 'Cancel'") // the harmless choice
	p.reach("e.textContent === 'Log out'")
	p.reach("e.textContent === 'Delete for good'")
	p.press("Enter")
	p.wait("document.querySelector('#listing') && !document.querySelector('#listing').innerText.includes('one')")
	pfstest.WantNames(t, tree, home(), "made", "two")

	p.reach("e.textContent.includes('two') && e.href?.includes('/ui/files')")
	p.press("Enter")
	p.wait("document.querySelector('.facts')")
	p.reach("e.textContent === 'Rename'")
	p.press("Enter")
	p.wait("document.activeElement.name === 'to'")
	p.run("document.activeElement.select()")
	p.write("three")
	p.press("Enter")
	p.wait("document.querySelector('#listing')?.innerText.includes('three')")
	p.reach("e.textContent === 'Log out'")
	p.press("Enter")
	p.wait("document.activeElement.name === 'user'")

	var nameless []string // what a screen reader would announce without a name
	p.login()
	const find = `[...document.querySelectorAll('a, button, input:not([type=hidden]), summary, select')].filter((e) =>
	  e.checkVisibility() && !(e.innerText || e.value && e.type === 'submit' || e.ariaLabel || e.labels?.length)).map((e) => e.outerHTML)`
	if err := p.eval(find, &nameless); err != nil || len(nameless) > 0 {
		t.Errorf("controls without a name: %q, %v", nameless, err)
	}
}

// TestBrowserWithoutScript uses the pages in a browser that runs no script.
func TestBrowserWithoutScript(t *testing.T) {
	testbed.Long(t)
	s := newBrowserSite(t)
	p := startChromium(t, t.TempDir()).open(t, s)
	tree := s.tree(t, gatewaytest.Alice)
	p.must("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	p.login()
	p.click("summary", "Upload")
	content := pfstest.Pattern(3, pfs.ChunkSize+9)
	p.choose("input[name=file]", file(t, t.TempDir(), "f", content), file(t, t.TempDir(), "g", nil))
	p.click("#upload button", "Upload")
	p.wait("document.querySelector('#listing')?.innerText.includes('g')")
	pfstest.WantFile(t, tree, home("f"), content)
	p.run("document.querySelector('input[value=f]').click()")
	p.click(".chosen button", "Delete")
	p.click("button", "Delete for good")
	p.wait("document.querySelector('#listing') && !document.querySelector('input[value=f]')")
	pfstest.WantNames(t, tree, home(), "g")
}

// TestBrowserAttacks shows names and files that attack, in a browser that would run them. Any dialog, error or
// violation of the policy fails the test.
func TestBrowserAttacks(t *testing.T) {
	testbed.Long(t)
	s := newBrowserSite(t)
	tree := s.tree(t, gatewaytest.Alice)
	for _, n := range attacks {
		n = strings.ReplaceAll(n, "/", "|")
		pfstest.MustMkdir(t, tree, home(n))
		pfstest.WriteFile(t, tree, home(n, n+".html"), []byte("<script>alert(1)</script>"))
	}
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	for _, n := range attacks {
		n = strings.ReplaceAll(n, "/", "|")
		p.visit(address("files", home(n)))
		p.visit(address("files", home(n, n+".html")))
		p.visit(address("rename", home(n)))
	}
	p.visit(address("files", home()))
	p.run("document.getElementById('all').click()")
	p.click(".chosen button", "Delete")
	p.wait("document.body.innerText.includes('There is no undo')")
	var scripts int
	if err := p.eval("document.scripts.length", &scripts); err != nil || scripts != 1 {
		t.Errorf("the page has %d scripts (%v), want its own", scripts, err)
	}
}

// TestBrowserKilled kills the service in the middle of an upload: one of two replicas behind a balancer, and then
// all. The page waits until one is there, and the upload goes on by itself.
func TestBrowserKilled(t *testing.T) {
	testbed.Long(t)
	program, data := testbed.BuildPfsd(t), filepath.Join(t.TempDir(), "data")
	testbed.AddUser(t, program, data, gatewaytest.Alice, gatewaytest.Password)
	r := testbed.StartReplicas(t, program, 2, "--data", data)
	address := r.Balance(func(p *testbed.Pfsd) string { return p.Address("listening on https://") })
	s := &site{web: &httptest.Server{URL: "https://" + address}}
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	content := pfstest.Pattern(4, 16*pfs.ChunkSize+1)
	path := file(t, t.TempDir(), "big.bin", content)
	p.click("summary", "Upload")
	p.choose("input[name=file]", path)
	r.KillAfter(5*pfs.ChunkSize, 4*pfs.ChunkSize)
	p.click("#upload button", "Upload")
	for end := time.Now().Add(2 * patience); r.Doomed() && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	r.Killed()
	p.wait("document.querySelector('#transfers').innerText.includes('Waiting')")
	name := filepath.Join(data, "store", "home", gatewaytest.Alice, "big.bin")
	if info, err := os.Stat(name); !os.IsNotExist(err) {
		t.Errorf("half of the upload is there: %v, %v", info, err)
	}
	r.Revive()
	p.wait("document.querySelector('#transfers').innerText.includes('1 of 1 uploaded and verified')")
	b, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(b, content) {
		t.Errorf("the uploaded file has %d bytes, %v; want %d", len(b), err, len(content))
	}
}

// scene makes a folder with what people keep, for pictures.
func scene(t *testing.T, tree pfs.FileSystem) {
	t.Helper()
	pfstest.MustMkdir(t, tree, home("digits"))
	for _, d := range []string{"checkpoints", "logs", "validation"} {
		pfstest.MustMkdir(t, tree, home("digits", d))
	}
	at := time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC)
	for n, size := range map[string]int{"README.md": 2210, "labels.csv": 183_411, "train-00000-of-00002.recordio": 6 << 20, "train-00001-of-00002.recordio": 5 << 20, "manifest.json": 4711, "Übersicht.pdf": 712_000} {
		pfstest.WriteFileWith(t, tree, home("digits", n), make([]byte, size), pfs.CommitOptions{Size: int64(size), ModTime: at})
	}
	pfstest.MustLink(t, tree, "train-00001-of-00002.recordio", home("digits", "latest"))
}

// look checks that the page fits, and that its text can be read.
func (p *tab) look(picture string, phone bool, scheme string) {
	p.t.Helper()
	p.colors(scheme)
	p.size(1000, 680, false)
	if phone {
		p.size(390, 640, true)
	}
	var got struct {
		Wide     float64
		Contrast float64
	}
	const measure = `(() => {
	  const parse = (c) => c.match(/[\d.]+/g).slice(0, 3).map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
	  const light = (c) => { const [r, g, b] = parse(c); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	  const background = (e) => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\)$|transparent/.test(c)) return c; } return 'rgb(255,255,255)'; };
	  let least = 21;
	  for (const e of document.querySelectorAll('a, button:not([disabled]), td, th, p, h1, h2, span, summary, dt, dd, label, li, code, div')) {
	    if (!e.innerText?.trim() || !e.checkVisibility() || e.closest('.away')) continue;
	    const [a, b] = [light(getComputedStyle(e).color), light(background(e))].sort((x, y) => y - x);
	    least = Math.min(least, (a + 0.05) / (b + 0.05));
	  }
	  return {Wide: document.documentElement.scrollWidth - innerWidth, Contrast: least};
	})()`
	if err := p.eval(measure, &got); err != nil {
		p.t.Fatal(err)
	}
	if got.Wide > 0 || got.Contrast < 4.5 {
		p.t.Errorf("phone %v, %s: the page is %v pixels too wide, its least contrast is %.2f, want 4.5", phone, scheme, got.Wide, got.Contrast)
	}
	if phone {
		picture += "-phone"
	}
	p.picture(picture + "-" + scheme + ".png")
}
