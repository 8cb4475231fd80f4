package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/gateway/gatewaytest"
	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/jobhttp"
	"github.com/paddlecloud/pfs/internal/job/jobtest"
	"github.com/paddlecloud/pfs/internal/job/submit"
	"github.com/paddlecloud/pfs/pfs"
	"github.com/paddlecloud/pfs/pfs/memfs"
	"github.com/paddlecloud/pfs/pfs/pfstest"
	"github.com/paddlecloud/pfs/pfs/server"
	"golang.org/x/net/html"
)

// newJobSite returns a site over store whose datacenter has an engine, with a package in alice's home.
func newJobSite(t *testing.T, engine job.Engine) *site {
	t.Helper()
	extensions := map[string]server.Extension{}
	for name, m := range jobhttp.Methods(jobhttp.Engines{gatewaytest.Datacenter: {Name: "test", Engine: engine}}) {
		e := server.Extension{Serve: m}
		if jobhttp.Changes(name) {
			e.Fields = jobhttp.Fields
		}
		extensions[name] = e
	}
	s := &site{Service: gatewaytest.NewExtended(t, memfs.New(memfs.Options{}), extensions), jobs: Jobs{
		Datacenters: []JobDatacenter{{gatewaytest.Datacenter, "test"}, {"laptops", ""}},
		Submit: func(ctx context.Context, tree pfs.FileSystem, e job.Engine, kind string, spec *job.Spec) error {
			return (&submit.Submission{FS: tree, Engine: e, Kind: kind, Spec: spec}).Submit(ctx)
		},
	}}
	s.serve(t)
	tree := s.tree(t, gatewaytest.Alice)
	pfstest.MustMkdir(t, tree, home("fit"))
	pfstest.WriteFile(t, tree, home("fit", "train.py"), []byte("print(1)"))
	return s
}

// jobForm are the fields of a job.
func jobForm(name string, more ...string) []string {
	return append([]string{"datacenter", gatewaytest.Datacenter, "name", name, "package", string(home("fit")), "entry", "python3 train.py",
		"trainers.replicas", "2", "trainers.cpu", "500m", "trainers.memory", "1Gi", "trainers.gpu", "0", "env", "A=1\r\nB=x=y\r\n", "pservers.replicas", "0", "claims", "data:/data:ro", "node-selector", "disk=ssd"}, more...)
}

const jobURL = "/ui/jobs/" + gatewaytest.Datacenter + "/"

func (a answer) wants(t *testing.T, texts ...string) answer {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			t.Errorf("%s %s lacks %q:\n%.6000s", a.Request.Method, a.Request.URL, text, a.body)
		}
	}
	return a
}

// TestJobs submits a job by the form, looks at it, clones it, stops it and deletes it.
func TestJobs(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	s.get(t, "/ui/jobs").want(t, http.StatusOK).wants(t, "No jobs yet", `href="/ui/newjob"`)
	s.get(t, "/ui/newjob").want(t, http.StatusOK).wants(t, "Jobs of laptops run on the machine", `name="entry"`)

	to := s.post(t, "/ui/newjob", jobForm("fit")...).want(t, http.StatusSeeOther).Header.Get("Location")
	if to != jobURL+"fit" {
		t.Fatalf("the submit leads to %q", to)
	}
	r, err := engine.Job(t.Context(), gatewaytest.Alice, "fit")
	if err != nil || r.Spec.Roles[0].Replicas != 2 || r.Spec.Roles[0].CPU != 500 || r.Spec.Env["B"] != "x=y" || r.Spec.Package != home("fit") || len(r.Spec.Roles) != 1 {
		t.Fatalf("the spec is %+v, %v", r, err)
	}
	s.get(t, "/ui/jobs").want(t, http.StatusOK).wants(t, `href="`+jobURL+`fit"`, "Running", "2 of 2")
	s.get(t, to).want(t, http.StatusOK).wants(t, "trainer-1", "python3 train.py", jobURL+"fit/stop", `data-reload="3"`)
	s.get(t, to+"/clone").want(t, http.StatusOK).wants(t, `value="fit-2"`, "A=1\nB=x=y", `value="500m"`, "data:/data:ro", "disk=ssd")
	s.post(t, "/ui/newjob", jobForm("fit")...).want(t, http.StatusConflict).wants(t, `aria-invalid="true"`)

	s.get(t, to+"/stop").want(t, http.StatusOK).wants(t, "Stop it")
	s.post(t, to+"/delete").want(t, http.StatusConflict).wants(t, "stop it first")
	s.post(t, to+"/stop").want(t, http.StatusSeeOther)
	page := s.get(t, to).want(t, http.StatusOK).wants(t, "Killed", to+"/delete")
	if strings.Contains(page.body, "data-reload") || strings.Contains(page.body, to+"/stop") {
		t.Error("the page of a job that has ended offers to stop it, or follows it")
	}
	s.post(t, to+"/delete").want(t, http.StatusSeeOther)
	s.get(t, to).want(t, http.StatusNotFound)
	if ok, err := pfs.Exists(t.Context(), s.tree(t, gatewaytest.Alice), job.RecordPath(gatewaytest.Datacenter, gatewaytest.Alice, "fit")); ok || err != nil {
		t.Errorf("the record is there: %v, %v", ok, err)
	}
	for _, want := range []string{"method=jobs.submit result=ok", "method=jobs.kill result=ok", "method=jobs.delete result=ok", "method=job-delete result=ok"} {
		if !strings.Contains(s.Log(), want) {
			t.Errorf("the audit log lacks %q", want)
		}
	}
}

// TestJobRefused submits what is wrong: the form says which field, keeps what was typed, and nothing is left.
func TestJobRefused(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	for field, value := range map[string]string{
		"name": "a_b", "package": string(home("absent")), "entry": " ", "trainers.replicas": "many", "trainers.memory": "1", "env": "A", "inputs": "x", "time-limit": "-1h",
		"restart": "never", "image": "none", "engine": "local", "datacenter": "laptops", "max-attempts": "1000",
	} {
		got := s.post(t, "/ui/newjob", with(jobForm("fit"), field, value)...)
		if got.StatusCode < 400 || got.StatusCode >= 500 && got.StatusCode != http.StatusInsufficientStorage || !strings.Contains(got.body, `role="alert"`) || !strings.Contains(got.body, "python3 train.py") && field != "entry" {
			t.Errorf("%s=%q: %s\n%s", field, value, got.Status, got.body)
		}
	}
	if engine.Submitted != 0 {
		t.Errorf("%d jobs were started", engine.Submitted)
	}
	pfstest.WantNames(t, s.tree(t, gatewaytest.Alice), home(), "fit")
}

// with returns fields with another value of one.
func with(fields []string, name, value string) []string {
	for i := 0; i < len(fields); i += 2 {
		if fields[i] == name {
			fields[i+1] = value
			return fields
		}
	}
	return append(fields, name, value)
}

// paddleJobFile has a mistake that can be corrected, in its sixth line.
const paddleJobFile = `apiVersion: batch.paddlepaddle.org/v1
kind: PaddleJob
metadata:
  name: from-file
spec:
  cleanPodPolicy: onfailure
  worker:
    replicas: 2
    template:
      spec:
        containers:
        - name: main
          image: registry.example.org/train:1
          command: ["python3", "train.py"]
          resources: {limits: {cpu: "1", memory: 1Gi}}
`

// TestJobFile checks, corrects, takes over and submits a file.
func TestJobFile(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	fields := func(do, text string) []string {
		return []string{"do", do, "text", strings.ReplaceAll(text, "\n", "\r\n"), "file-datacenter", gatewaytest.Datacenter, "file-package", string(home("fit"))}
	}
	s.post(t, "/ui/newjob/file", fields("check", paddleJobFile)...).want(t, http.StatusOK).wants(t, "line 6, column 3", "OnFailure", "Format: paddlejob")
	s.post(t, "/ui/newjob/file", fields("submit", paddleJobFile)...).want(t, http.StatusBadRequest).wants(t, `role="alert"`, "job:6:3")
	fixed := s.post(t, "/ui/newjob/file", fields("fix", paddleJobFile)...).want(t, http.StatusOK).wants(t, "Corrected 1", "cleanPodPolicy: OnFailure")
	if strings.Contains(fixed.body, "line 6") {
		t.Errorf("the mistake is still there:\n%s", fixed.body)
	}
	text := strings.ReplaceAll(paddleJobFile, "onfailure", "OnFailure")
	s.post(t, "/ui/newjob/file", fields("form", text)...).want(t, http.StatusOK).wants(t, `value="from-file"`, `name="trainers.replicas" value="2"`, `value="registry.example.org/train:1"`)
	s.post(t, "/ui/newjob/file", fields("submit", text)...).want(t, http.StatusSeeOther)
	if r, err := engine.Job(t.Context(), gatewaytest.Alice, "from-file"); err != nil || r.Spec.Image != "registry.example.org/train:1" {
		t.Errorf("the job is %+v, %v", r, err)
	}
	for _, text := range []string{"", "a: [", "kind: Pod", "\xff", "name: x\nname: y\n", strings.Repeat("[", 5000), "a: &a [x]\nb: [*a, *a]\n"} {
		if got := s.post(t, "/ui/newjob/file", fields("submit", text)...); got.StatusCode != http.StatusBadRequest {
			t.Errorf("%.20q: %s", text, got.Status)
		}
	}
	s.post(t, "/ui/newjob/file", fields("check", strings.Repeat("a", 1<<20+1))...).want(t, http.StatusOK).wants(t, "more than 1048576 bytes")
}

// paiJobFile is a job of OpenPAI, whose program is in alice's home.
const paiJobFile = `{"jobName": "pai-job", "image": "registry.example.org/train:1", "codeDir": "$PAI_DEFAULT_FS_URI/$PAI_USER_NAME/fit",
"taskRoles": [{"name": "reader", "taskNumber": 2, "cpuNumber": 1, "memoryMB": 1024, "gpuNumber": 0, "command": "python3 train.py --reader"}]}`

// TestJobFilePAI submits a job of OpenPAI, whose roles the form does not have.
func TestJobFilePAI(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	fields := func(do string) []string {
		return []string{"do", do, "text", paiJobFile, "file-datacenter", gatewaytest.Datacenter}
	}
	s.post(t, "/ui/newjob/file", fields("form")...).want(t, http.StatusBadRequest).wants(t, "submit the file as it is")
	to := s.post(t, "/ui/newjob/file", fields("submit")...).want(t, http.StatusSeeOther).Header.Get("Location") // the name has a suffix
	if r, err := engine.Job(t.Context(), gatewaytest.Alice, strings.TrimPrefix(to, jobURL)); err != nil || r.Spec.Package != home("fit") || r.Spec.Roles[0].Name != "reader" {
		t.Errorf("the job is %+v, %v", r, err)
	}
	s.get(t, to).want(t, http.StatusOK).wants(t, "<dt>reader</dt>", "train.py --reader", "reader-1")
	s.get(t, to+"/clone").want(t, http.StatusConflict).wants(t, "Not possible", ">The job came from a file of OpenPAI")
}

// TestJobsOfOthers asks for jobs of another user, and without the token of the session.
func TestJobsOfOthers(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	s.post(t, "/ui/newjob", jobForm("mine")...).want(t, http.StatusSeeOther)
	token := s.csrf
	for _, page := range []string{"/ui/newjob", "/ui/newjob/file", jobURL + "mine/stop", jobURL + "mine/delete"} {
		s.csrf = strings.Repeat("0", 32)
		s.post(t, page, jobForm("forged", "do", "submit")...).want(t, http.StatusForbidden)
		s.csrf = token
		s.do(t, http.MethodPost, page, strings.NewReader(csrfField+"="+token), "Content-Type", "application/x-www-form-urlencoded", "Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site").want(t, http.StatusForbidden)
	}
	bob := &site{Service: s.Service, jobs: s.jobs}
	bob.serve(t)
	for _, page := range []string{"/ui/jobs", "/ui/newjob", jobURL + "mine", jobURL + "mine/log?follow=1"} {
		bob.get(t, page).want(t, http.StatusSeeOther)
	}
	bob.login(t, gatewaytest.Bob)
	if got := bob.get(t, "/ui/jobs").want(t, http.StatusOK); strings.Contains(got.body, "mine") {
		t.Error("bob sees a job of alice")
	}
	for _, page := range []string{"", "/log", "/clone", "/stop", "/delete"} {
		bob.get(t, jobURL+"mine"+page).want(t, http.StatusNotFound)
	}
	bob.post(t, jobURL+"mine/stop").want(t, http.StatusNotFound)
	for _, page := range []string{"/ui/jobs/nowhere/mine", "/ui/jobs/dc/..%2f..%2fx", "/ui/jobs/dc/" + strings.Repeat("a", 5000), "/ui/jobs/%00/x"} {
		s.get(t, page).want(t, http.StatusNotFound)
	}
	if r, err := engine.Job(t.Context(), gatewaytest.Alice, "mine"); err != nil || r.State != job.Running {
		t.Errorf("the job of alice is %+v, %v", r, err)
	}
}

// TestJobLog reads a log: what the store has, and what comes.
func TestJobLog(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	s.post(t, "/ui/newjob", jobForm("fit")...).want(t, http.StatusSeeOther)
	spec := &job.Spec{Name: "fit", User: gatewaytest.Alice, Datacenter: gatewaytest.Datacenter}
	tree := s.tree(t, gatewaytest.Alice)
	line := func(second int, text string) job.LogLine {
		return job.LogLine{Time: time.Unix(int64(second), 0), Stream: job.Stdout, Text: []byte(text)}
	}
	dir := job.LogDir(spec, 1, "trainer-0")
	if err := pfs.MkdirAll(t.Context(), tree, dir, 0o755); err != nil {
		t.Fatal(err)
	}
	pfstest.WriteFile(t, tree, dir.Join(job.LogName(1)), line(2, "second").Append(line(1, "first").Append(nil)))
	engine.Log = func(w io.Writer) error {
		for _, text := range [][]byte{job.AppendWorkerLine(nil, "trainer-0", line(2, "second")), job.AppendWorkerLine(nil, "trainer-1", line(3, "<b>\x1b[31m third"))} {
			if _, err := w.Write(text); err != nil {
				return err
			}
		}
		return nil
	}
	got := s.get(t, jobURL+"fit/log").want(t, http.StatusOK)
	want := "trainer-0 1970-01-01T00:00:01Z first\ntrainer-0 1970-01-01T00:00:02Z second\ntrainer-1 1970-01-01T00:00:03Z <b>\\x1b[31m third\n"
	if kind := got.Header.Get("Content-Type"); got.body != want || kind != "text/plain; charset=utf-8" || got.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the log is %q, of type %s; want %q", got.body, kind, want)
	}
	follow := s.get(t, jobURL+"fit/log?follow=1").want(t, http.StatusOK).wants(t, `"text":"first"`, `"worker":"trainer-1"`, `"end":"The job has ended`)
	if strings.Count(follow.body, `"second"`) != 1 {
		t.Errorf("a line is there twice:\n%s", follow.body)
	}
	if got := s.get(t, jobURL+"fit/log?worker=trainer-1").want(t, http.StatusOK); strings.Contains(got.body, "first") {
		t.Errorf("the log of one worker:\n%s", got.body)
	}
	s.get(t, jobURL+"fit/log?worker=trainer-7").want(t, http.StatusNotFound)
	engine.Log = func(io.Writer) error { return pfs.Errorf("test.Logs", "", pfs.Unavailable, "away") }
	s.get(t, jobURL+"fit/log?follow=1").want(t, http.StatusOK).wants(t, "The log broke off", "away")
}

// TestJobLogRevoked ends a session while its page follows a log, which ends, too.
func TestJobLogRevoked(t *testing.T) {
	engine := jobtest.New()
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	s.post(t, "/ui/newjob", jobForm("fit")...).want(t, http.StatusSeeOther)
	begun, ended := make(chan struct{}), make(chan struct{})
	engine.Log = func(w io.Writer) error {
		close(begun)
		defer close(ended)
		for { // until the request is given up
			if _, err := w.Write(job.AppendWorkerLine(nil, "trainer-0", job.LogLine{Time: time.Now(), Stream: job.Stdout, Text: []byte("line")})); err != nil {
				return err
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	go func() {
		<-begun
		_ = s.Auth.Accounts().SetPassword(context.Background(), gatewaytest.Alice, "another password")
	}()
	s.get(t, jobURL+"fit/log?follow=1")
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the engine still sends the log")
	}
}

// stuck is an engine that answers alice only when it is released.
type stuck struct {
	*jobtest.Engine
	asked   chan struct{}
	release chan struct{}
}

func (e stuck) Jobs(ctx context.Context, user string) ([]job.Record, error) {
	if user != gatewaytest.Alice {
		return e.Engine.Jobs(ctx, user)
	}
	e.asked <- struct{}{}
	select {
	case <-ctx.Done():
	case <-e.release:
	}
	return nil, pfs.Errorf("test.Jobs", "", pfs.Unavailable, "away")
}

// TestJobsStuck lists the jobs of bob while the engine answers none of alice's requests. Her pages then show the records of
// the store, and say so.
func TestJobsStuck(t *testing.T) {
	const many = 20
	engine := stuck{jobtest.New(), make(chan struct{}, many), make(chan struct{})}
	s := newJobSite(t, engine)
	s.login(t, gatewaytest.Alice)
	s.post(t, "/ui/newjob", jobForm("fit")...).want(t, http.StatusSeeOther)
	bob := &site{Service: s.Service, jobs: s.jobs}
	bob.serve(t)
	bob.login(t, gatewaytest.Bob)
	alice := make(chan error, many)
	cookies := s.client.Jar.Cookies(nil)
	for range many {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.web.URL+"/ui/jobs", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range cookies {
			r.AddCookie(c)
		}
		go func() {
			got, err := s.web.Client().Transport.RoundTrip(r)
			if err != nil {
				alice <- err
				return
			}
			defer got.Body.Close()
			b, err := io.ReadAll(got.Body)
			if err == nil && (!strings.Contains(string(b), "does not say what it runs") || !strings.Contains(string(b), ">fit<")) {
				err = fmt.Errorf("%s: %s", got.Status, b)
			}
			alice <- err
		}()
	}
	for range many / 2 { // the others may wait for a slot
		select {
		case <-engine.asked:
		case <-time.After(time.Minute):
			t.Fatal("the engine is not asked")
		}
	}
	bob.get(t, "/ui/jobs").want(t, http.StatusOK).wants(t, "No jobs yet")
	close(engine.release)
	for range many {
		if err := <-alice; err != nil {
			t.Error(err)
		}
	}
}

// TestJobScripts shows attacks in every text of a job. The pages have no element, attribute or address but those of their templates.
func TestJobScripts(t *testing.T) {
	s := newJobSite(t, jobtest.New())
	s.login(t, gatewaytest.Alice)
	tree := s.tree(t, gatewaytest.Alice)
	a := strings.Join(attacks, " ")
	r := &job.Record{State: job.State(a), Reason: a, Engine: a, Host: a, Attempt: 1, Spec: job.Spec{
		Name: "hostile", User: gatewaytest.Alice, Datacenter: gatewaytest.Datacenter, Entry: strings.Join(attacks, "\n"), Image: a, Package: pfs.Path(a), Env: map[string]string{a: a}, Queue: a,
	}}
	var file strings.Builder
	for i, a := range attacks {
		r.Spec.Inputs = append(r.Spec.Inputs, pfs.Path(a))
		r.Spec.Roles = append(r.Spec.Roles, job.Role{Name: a, Replicas: 1})
		r.Workers = append(r.Workers, job.Worker{Name: a, Role: a, State: job.State(a), Reason: a, Signal: a, Outputs: a})
		fmt.Fprintf(&file, "%q: %q\nkey%d: &a %s\n", a, a, i, a)
	}
	if err := job.CreateRecord(t.Context(), tree, r); err != nil {
		t.Fatal(err)
	}
	valid := fmt.Sprintf("name: x\nentry: %q\nenv: {A: %q}\n", a, a)
	for _, page := range []answer{
		s.get(t, "/ui/jobs"), s.get(t, jobURL+"hostile"), s.get(t, jobURL+"hostile/clone"), s.get(t, jobURL+"hostile/stop"), s.get(t, jobURL+"hostile/log?worker="+url.QueryEscape(a)),
		s.post(t, "/ui/newjob", jobForm(a, "image", a, "inputs", a)...), s.post(t, "/ui/newjob", with(jobForm("x"), "env", a)...),
		s.post(t, "/ui/newjob/file", "do", "submit", "text", file.String(), "file-package", a, "file-datacenter", a),
		s.post(t, "/ui/newjob/file", "do", "submit", "text", valid, "file-package", a, "file-datacenter", a),
		s.post(t, "/ui/newjob/file", "do", "form", "text", valid), s.post(t, "/ui/newjob/file", "do", a, "text", strings.Replace(paddleJobFile, "onfailure", fmt.Sprintf("%q", a), 1)),
	} {
		checkJobPage(t, page)
	}
}

// TestJobElsewhere shows the record of a job on the machine of the user, which the service can neither stop nor delete.
func TestJobElsewhere(t *testing.T) {
	s := newJobSite(t, jobtest.New())
	s.login(t, gatewaytest.Alice)
	r := &job.Record{State: job.Running, Engine: "local", Host: "laptop-7", Attempt: 1, Spec: job.Spec{Name: "mine", User: gatewaytest.Alice, Datacenter: gatewaytest.Datacenter}}
	if err := job.CreateRecord(t.Context(), s.tree(t, gatewaytest.Alice), r); err != nil {
		t.Fatal(err)
	}
	s.get(t, "/ui/jobs").want(t, http.StatusOK).wants(t, "local on laptop-7")
	if page := s.get(t, jobURL+"mine").want(t, http.StatusOK).wants(t, "only there can it be followed and stopped"); strings.Contains(page.body, "mine/stop") || strings.Contains(page.body, "mine/delete") {
		t.Error("the page offers to stop or delete the job")
	}
	for _, page := range []string{"mine/stop", "mine/delete"} {
		s.post(t, jobURL+page).want(t, http.StatusConflict).wants(t, "paddlectl kill mine")
	}
}

// checkJobPage fails if a page has what could run.
func checkJobPage(t *testing.T, page answer) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(page.body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "base", "style", "iframe", "svg", "object", "b":
			t.Fatalf("%s: an element %s", page.Request.URL, n.Data)
		}
		for _, a := range n.Attr {
			v := strings.TrimSpace(strings.ToLower(a.Val))
			own := strings.HasPrefix(v, "/ui/") || strings.HasPrefix(v, "#")
			switch {
			case strings.HasPrefix(a.Key, "on") || a.Key == "style" || a.Key == "srcdoc" || n.Data == "script" && a.Key == "src" && !strings.HasPrefix(v, "/ui/static/"),
				(a.Key == "href" || a.Key == "src" || a.Key == "action") && !own:
				t.Fatalf("%s: <%s %s=%q>", page.Request.URL, n.Data, a.Key, a.Val)
			}
		}
	}
}
