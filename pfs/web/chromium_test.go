package web

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/testbed"
)

// patience is how long a test waits for the browser.
const patience = 90 * time.Second

// chromium is a running browser. It is driven by the DevTools protocol over a pipe, in JSON with a NUL after each
// message.
type chromium struct {
	out *os.File

	mu      sync.Mutex
	last    int
	waiting map[int]chan reply
	pages   map[string]*tab // by session
	saved   chan string     // names of downloads that have ended
	lost    error           // why there are no more answers
}

type reply struct {
	Result json.RawMessage
	Error  *struct{ Message string }
}

// tab is a page of the browser, of a user of its own.
type tab struct {
	*chromium
	t        *testing.T
	session  string
	site     *site
	mu       sync.Mutex
	problems []string // what the browser has refused, and uncaught errors
}

// startChromium starts a browser that ends with the test. downloads is where it saves files.
func startChromium(t *testing.T, downloads string) *chromium {
	t.Helper()
	bin := testbed.Chromium(t)
	toRead, toWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	fromRead, fromWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "--headless", "--no-sandbox", "--remote-debugging-pipe", "--disable-gpu", "--disable-dev-shm-usage",
		"--ignore-certificate-errors", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--hide-scrollbars", "--lang=en-US", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = []*os.File{toRead, fromWrite} // descriptors 3 and 4
	cmd.Env = append(os.Environ(), "TZ=UTC")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	toRead.Close()
	fromWrite.Close()
	c := &chromium{out: toWrite, waiting: map[int]chan reply{}, pages: map[string]*tab{}, saved: make(chan string, 10)}
	var reading sync.WaitGroup
	reading.Go(func() { c.read(fromRead) })
	t.Cleanup(func() {
		_ = c.ask("", "Browser.close", nil, nil)
		toWrite.Close()
		ended := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		ended.Stop()
		fromRead.Close()
		reading.Wait()
	})
	err = c.ask("", "Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": downloads, "eventsEnabled": true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// read hands out the answers and events of the browser.
func (c *chromium) read(from *os.File) {
	messages := bufio.NewReaderSize(from, 1<<20)
	for {
		b, err := messages.ReadBytes(0)
		if err != nil {
			c.mu.Lock()
			c.lost = err
			for id, to := range c.waiting {
				close(to)
				delete(c.waiting, id)
			}
			c.mu.Unlock()
			return
		}
		var m struct {
			ID                int
			SessionID, Method string
			Params            json.RawMessage
			reply
		}
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		c.mu.Lock()
		to, page := c.waiting[m.ID], c.pages[m.SessionID]
		delete(c.waiting, m.ID)
		c.mu.Unlock()
		switch {
		case to != nil:
			to <- m.reply
		case page != nil:
			page.event(m.Method, m.Params)
		case m.Method == "Browser.downloadProgress":
			var p struct{ State, GUID string }
			if _ = json.Unmarshal(m.Params, &p); p.State != "inProgress" {
				c.saved <- p.State
			}
		}
	}
}

// ask sends a command and waits for its answer.
func (c *chromium) ask(session, method string, params, result any) error {
	to := make(chan reply, 1)
	c.mu.Lock()
	if c.lost != nil {
		c.mu.Unlock()
		return c.lost
	}
	c.last++
	m := map[string]any{"id": c.last, "method": method}
	if c.waiting[c.last] = to; params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	b, err := json.Marshal(m)
	if err == nil {
		_, err = c.out.Write(append(b, 0))
	}
	c.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case r, ok := <-to:
		switch {
		case !ok:
			return errors.New("the browser has ended")
		case r.Error != nil:
			return fmt.Errorf("%s: %s", method, r.Error.Message)
		case result != nil:
			return json.Unmarshal(r.Result, result)
		}
		return nil
	case <-time.After(patience):
		return fmt.Errorf("%s: no answer", method)
	}
}

// open opens a tab of a user who is not logged in.
func (c *chromium) open(t *testing.T, s *site) *tab {
	t.Helper()
	var context struct{ BrowserContextID string }
	var target struct{ TargetID string }
	var attached struct{ SessionID string }
	err := c.ask("", "Target.createBrowserContext", nil, &context)
	if err == nil {
		err = c.ask("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": context.BrowserContextID}, &target)
	}
	if err == nil {
		err = c.ask("", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	}
	if err != nil {
		t.Fatal(err)
	}
	p := &tab{chromium: c, t: t, session: attached.SessionID, site: s}
	c.mu.Lock()
	c.pages[p.session] = p
	c.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "DOM", "Network"} {
		p.must(domain+".enable", nil, nil)
	}
	p.must("Browser.setDownloadBehavior", map[string]any{"behavior": "allow", "downloadPath": filepath.Join(t.TempDir()), "eventsEnabled": true, "browserContextId": context.BrowserContextID}, nil)
	p.size(1280, 800, false)
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, problem := range p.problems {
			t.Errorf("the browser reports: %s", problem)
		}
	})
	return p
}

// event notes what should not happen on a page.
func (p *tab) event(method string, params json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch method {
	case "Page.javascriptDialogOpening":
		if strings.Contains(string(params), `"beforeunload"`) { // the test leaves the page on purpose
			go func() { _ = p.ask(p.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true}, nil) }()
			return
		}
		p.problems = append(p.problems, "a dialog: "+string(params))
	case "Runtime.exceptionThrown":
		p.problems = append(p.problems, method+": "+string(params))
	case "Log.entryAdded":
		if strings.Contains(string(params), "Content Security Policy") || strings.Contains(string(params), `"source":"security"`) {
			p.problems = append(p.problems, string(params))
		}
	}
}

func (p *tab) must(method string, params, result any) {
	p.t.Helper()
	if err := p.ask(p.session, method, params, result); err != nil {
		p.t.Fatal(err)
	}
}

// eval evaluates an expression in the page.
func (p *tab) eval(expression string, result any) error {
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	err := p.ask(p.session, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true}, &got)
	switch {
	case err != nil:
		return err
	case got.ExceptionDetails != nil:
		return fmt.Errorf("%s: %s", expression, got.ExceptionDetails)
	case result != nil:
		return json.Unmarshal(got.Result.Value, result)
	}
	return nil
}

// wait waits until a condition of the page is true.
func (p *tab) wait(condition string) {
	p.t.Helper()
	var last error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var ok bool
		if last = p.eval("!!("+condition+")", &ok); last == nil && ok {
			return
		}
	}
	var text string
	_ = p.eval("location.href + '\\n' + document.body.innerText", &text)
	p.picture("failed.png")
	p.t.Fatalf("the page never has %s (%v); it shows\n%s", condition, last, text)
}

// run evaluates a statement that may lead to another page.
func (p *tab) run(statement string) {
	p.t.Helper()
	if err := p.eval(statement+"; null", nil); err != nil && !strings.Contains(err.Error(), "navigated") {
		p.t.Fatal(err)
	}
}

// visit opens a page and waits until it is whole.
func (p *tab) visit(path string) {
	p.t.Helper()
	p.run("window.leaving = true")
	p.must("Page.navigate", map[string]any{"url": p.site.web.URL + path}, nil)
	p.wait("!window.leaving && document.readyState === 'complete'")
}

// click clicks the first element that a selector finds, and whose text contains text.
func (p *tab) click(selector, text string) {
	p.t.Helper()
	find := fmt.Sprintf("[...document.querySelectorAll(%q)].find((e) => e.textContent.includes(%q))", selector, text)
	p.wait(find)
	p.run("(" + find + ").click()")
}

// choose sets the files of an input.
func (p *tab) choose(selector string, files ...string) {
	p.t.Helper()
	var document struct{ Root struct{ NodeID int } }
	p.must("DOM.getDocument", nil, &document)
	var node struct{ NodeID int }
	p.must("DOM.querySelector", map[string]any{"nodeId": document.Root.NodeID, "selector": selector}, &node)
	p.must("DOM.setFileInputFiles", map[string]any{"files": files, "nodeId": node.NodeID}, nil)
}

// drop drops files and folders on the page.
func (p *tab) drop(files ...string) {
	p.t.Helper()
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		p.must("Input.dispatchDragEvent", map[string]any{"type": kind, "x": 400, "y": 400, "data": map[string]any{
			"items": []any{}, "files": files, "dragOperationsMask": 1}}, nil)
	}
}

// keys of the keyboard, with their codes.
var keys = map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, " ": 32}

// press presses keys.
func (p *tab) press(names ...string) {
	p.t.Helper()
	for _, name := range names {
		text := map[string]string{"Enter": "\r", " ": " "}[name]
		key := map[string]any{"type": "keyDown", "key": name, "code": map[string]string{" ": "Space"}[name], "windowsVirtualKeyCode": keys[name], "text": text}
		p.must("Input.dispatchKeyEvent", key, nil)
		p.must("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": name, "windowsVirtualKeyCode": keys[name]}, nil)
	}
}

// write types text.
func (p *tab) write(text string) {
	p.t.Helper()
	p.must("Input.insertText", map[string]any{"text": text}, nil)
}

// reach presses Tab until the focus is at what a condition on document.activeElement says.
func (p *tab) reach(condition string) {
	p.t.Helper()
	for range 60 {
		var there bool
		if err := p.eval("((e) => "+condition+")(document.activeElement)", &there); err == nil && there {
			return
		}
		p.press("Tab")
	}
	p.t.Fatalf("the keyboard does not reach %s", condition)
}

func (p *tab) size(width, height int, phone bool) {
	p.t.Helper()
	p.must("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": phone}, nil)
}

// colors asks for light or dark pages.
func (p *tab) colors(scheme string) {
	p.t.Helper()
	p.must("Emulation.setEmulatedMedia", map[string]any{"features": []any{map[string]any{"name": "prefers-color-scheme", "value": scheme},
		map[string]any{"name": "prefers-reduced-motion", "value": "reduce"}}}, nil)
}

// picture saves what the page shows in the directory that PFS_SCREENSHOTS names, if it is set.
func (p *tab) picture(name string) {
	p.t.Helper()
	dir := os.Getenv("PFS_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data string }
	p.must("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, name), b, 0o644)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}
