package web

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/paddlecloud/pfs/internal/testbed"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
)

// logOf makes the log of an engine: lines that are there, and those that come by the channel, until it is closed.
func logOf(more chan string) func(w io.Writer) error {
	return func(w io.Writer) error {
		send := func(worker string, second int, stream, text string) error {
			at := time.Date(2026, 11, 20, 9, 31, second, 0, time.UTC)
			_, err := w.Write(job.AppendWorkerLine(nil, worker, job.LogLine{Time: at, Stream: stream, Text: []byte(text)}))
			return err
		}
		for i := range 8 {
			if err := send(fmt.Sprintf("trainer-%d", i%2), i, job.Stdout, fmt.Sprintf("pass 0, batch %d, cost %.4f", 100*(i/2), 2.3/float64(i/2+1))); err != nil {
				return err
			}
		}
		for text := range more {
			if err := send("trainer-1", 30, job.Stderr, text); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestBrowserJobs types a job file with a mistake, has it corrected, submits it, follows its log and stops it, by keyboard; and looks
// at the pages on a desktop and a phone, light and dark.
func TestBrowserJobs(t *testing.T) {
	engine := jobtest.New()
	more := make(chan string, 1)
	end := sync.OnceFunc(func() { close(more) })
	engine.Log = logOf(more)
	s := newJobSite(t, engine)
	t.Cleanup(end)
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	p.reach("e.textContent === 'Jobs'")
	p.press("Enter")
	p.wait("document.getElementById('jobs')")
	p.reach("e.textContent === 'New job'")
	p.press("Enter")
	p.wait("document.getElementById('text') && document.readyState === 'complete'") // the script runs
	p.reach("e.id === 'text'")
	p.write(paddleJobFile)
	p.wait("document.getElementById('findings').innerText.includes('line 6, column 3')") // without a button
	p.run("document.querySelector('#findings a').click()")
	p.wait("document.activeElement.id === 'text' && document.activeElement.value.slice(document.activeElement.selectionStart).startsWith('cleanPodPolicy')")
	lookAll(p, "jobfile")
	p.reach("e.id === 'fix'")
	p.press("Enter")
	p.wait("document.getElementById('text').value.includes('cleanPodPolicy: OnFailure') && document.getElementById('findings').innerText.includes('No mistakes')")
	p.reach("e.name === 'file-package'")
	p.write(string(home("fit")))
	p.reach("e.textContent === 'Submit the file'")
	p.press("Enter")

	p.wait("document.querySelector('#job .state')?.textContent === 'Running'")
	p.wait("document.getElementById('log').innerText.includes('batch 300')")
	more <- "<img src=x onerror=alert(1)> learning rate is now 0.001"
	p.wait("document.getElementById('log').innerText.includes('<img src=x') && document.querySelector('#log .stderr') && !document.querySelector('#log img')")
	tree := s.tree(t, gatewaytest.Alice)
	dir := job.Dir(gatewaytest.Datacenter, gatewaytest.Alice, "from-file").Join("attempts").Join("1")
	if err := pfs.MkdirAll(t.Context(), tree, dir, 0o755); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, tree, dir.Join("_SUCCESS"), []byte("{}"))
	p.run("document.activeElement.blur()")
	p.wait("document.querySelector('.outputs')?.innerText.includes('_SUCCESS')") // without a reload
	lookAll(p, "jobs")
	p.size(1000, 1330, false)
	p.picture("jobs-light.png") // with the log
	p.size(1000, 680, false)

	p.reach("e.textContent === 'Stop…'")
	p.press("Enter")
	p.wait("document.activeElement.textContent === 'Cancel'") // the harmless choice
	p.reach("e.textContent === 'Log out'")
	p.reach("e.textContent === 'Stop it'")
	end()
	p.press("Enter")
	p.wait("document.querySelector('#job .state')?.textContent === 'Killed'")
	p.reach("e.textContent === 'Clone'")
	p.press("Enter")
	p.wait("document.querySelector('#newjob input[name=name]').value === 'from-file-2'")
	lookAll(p, "newjob")
	p.reach("e.name === 'entry'")
	p.reach("e.textContent === 'Submit'")
	p.press("Enter")
	p.wait("document.querySelector('#job h1 bdi')?.textContent === 'from-file-2'")
	p.visit("/ui/jobs")
	p.wait("document.querySelectorAll('#jobs tbody tr').length === 2")
	lookAll(p, "joblist")
	var nameless []string // what a screen reader would announce without a name
	for _, page := range []string{"/ui/jobs", "/ui/newjob", jobURL + "from-file-2"} {
		p.visit(page)
		const find = `[...document.querySelectorAll('a, button, input:not([type=hidden]), textarea, select, summary')].filter((e) =>
		  e.checkVisibility() && !(e.innerText || e.ariaLabel || e.labels?.length)).map((e) => e.outerHTML)`
		if err := p.eval(find, &nameless); err != nil || len(nameless) > 0 {
			t.Errorf("%s: controls without a name: %q, %v", page, nameless, err)
		}
	}
}

// lookAll looks at the page on a desktop and a phone, light and dark.
func lookAll(p *tab, picture string) {
	if testing.Short() && picture != "jobs" {
		return
	}
	for _, phone := range []bool{true, false} {
		for _, scheme := range []string{"dark", "light"} {
			p.look(picture, phone, scheme)
		}
	}
}

// TestBrowserJobsWithoutScript submits, lists and stops a job in a browser that runs no script.
func TestBrowserJobsWithoutScript(t *testing.T) {
	testbed.Long(t)
	engine := jobtest.New()
	s := newJobSite(t, engine)
	p := startChromium(t, t.TempDir()).open(t, s)
	p.must("Emulation.setScriptExecutionDisabled", map[string]any{"value": true}, nil)
	p.login()
	p.visit("/ui/newjob")
	for name, value := range map[string]string{"name": "fit", "package": string(home("fit")), "entry": "python3 train.py"} {
		p.run(fmt.Sprintf("document.querySelector('#newjob [name=%s]').focus()", name))
		p.write(value)
	}
	p.click("#newjob button", "Submit")
	p.wait("document.querySelector('#job .state')?.textContent === 'Running'")
	p.click("#job a", "Stop")
	p.click("button", "Stop it")
	p.wait("document.querySelector('#job .state')?.textContent === 'Killed'")
	p.click("a", "Jobs")
	p.wait("document.querySelector('#jobs')?.innerText.includes('Killed')")
	p.visit("/ui/newjob")
	p.run("document.getElementById('text').focus()")
	p.write(paddleJobFile)
	p.click("#jobfile button", "Check")
	p.wait("document.getElementById('findings').innerText.includes('line 6, column 3')")
	p.click("#jobfile button", "Correct it")
	p.wait("document.getElementById('text').value.includes('cleanPodPolicy: OnFailure')")
}

// TestBrowserJobAttacks shows attacks in logs, records and files, in a browser that would run them. Any dialog, error or violation
// of the policy fails the test.
func TestBrowserJobAttacks(t *testing.T) {
	testbed.Long(t)
	engine := jobtest.New()
	engine.Log = func(w io.Writer) error {
		for _, a := range attacks {
			if _, err := w.Write(job.AppendWorkerLine(nil, "trainer-0", job.LogLine{Time: time.Now(), Stream: job.Stderr, Text: []byte(a)})); err != nil {
				return err
			}
		}
		return nil
	}
	s := newJobSite(t, engine)
	p := startChromium(t, t.TempDir()).open(t, s)
	p.login()
	s.login(t, gatewaytest.Alice)
	s.post(t, "/ui/newjob", with(with(jobForm("fit"), "entry", strings.Join(attacks, "\n")), "env", "A="+strings.Join(attacks, " "))...).want(t, http.StatusSeeOther)
	p.visit(jobURL + "fit")
	p.wait(fmt.Sprintf("document.querySelectorAll('#log div').length === %d", len(attacks)))
	p.visit(jobURL + "fit/clone")
	p.visit("/ui/newjob")
	for _, a := range attacks {
		p.run("document.getElementById('text').select()")
		p.write("name: x\n" + a + ": " + a)
		p.run("document.getElementById('findings').replaceChildren(); document.getElementById('fix').click()")
		p.wait("document.getElementById('findings').innerText.trim()")
	}
	var scripts int
	if err := p.eval("document.scripts.length", &scripts); err != nil || scripts != 2 {
		t.Errorf("the page has %d scripts (%v), want its own two", scripts, err)
	}
}
