package deploy_test

import (
	"archive/zip"
	"bytes"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/job/output"
)

// browser sends requests to the pages of pfsd as a browser does.
type browser struct {
	http.Client
	site, token string
}

// browse logs in.
func (j *jobs) browse(t *testing.T) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &browser{site: j.s.endpoint, Client: http.Client{
		Jar: jar, Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
	}}
	b.post(t, "/ui/login", "user", "alice", "password", strings.TrimSpace(password))
	m := regexp.MustCompile(`name="csrf" value="([0-9a-f]+)"`).FindStringSubmatch(b.get(t, "/ui/newjob"))
	if m == nil {
		t.Fatal("the form has no token")
	}
	b.token = m[1]
	return b
}

// get returns a page.
func (b *browser) get(t *testing.T, page string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.site+page, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, body := b.do(t, r, http.StatusOK)
	return body
}

// post sends the fields of a form, and returns the address to which the answer leads, and the page there.
func (b *browser) post(t *testing.T, page string, fields ...string) (to, body string) {
	t.Helper()
	form := url.Values{"csrf": {b.token}}
	for i := 0; i < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.site+page, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", b.site)
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.do(t, r, http.StatusOK)
}

func (b *browser) do(t *testing.T, r *http.Request, status int) (to, body string) {
	t.Helper()
	answer, err := b.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != status {
		t.Fatalf("%s %s: %s, %v\n%.4000s", r.Method, r.URL, answer.Status, err, text)
	}
	return answer.Request.URL.Path, string(text)
}

// pages has a user work with jobs on the pages of pfsd: submit by the form and by a file, watch, stop, clone, download and delete.
func (j *jobs) pages(t *testing.T) {
	j.s.paddlectl(t, "", "cp", "-r", j.program+"/", j.home()+"/fit")
	b := j.browse(t)
	form := []string{"name", "page", "datacenter", j.place.name, "package", j.home() + "/fit", "entry", "python3 train.py", "image", python,
		"trainers.replicas", "2", "trainers.cpu", "100m", "trainers.memory", "128Mi", "trainers.gpu", "0",
		"pservers.replicas", "1", "pservers.cpu", "100m", "pservers.memory", "64Mi", "pservers.gpu", "0",
		"env", "MODE=idle\r\nDATA=" + j.home() + "/lines", "max-attempts", "1", "upload-wait", "1m"}
	page, _ := b.post(t, "/ui/newjob", form...)
	if page != "/ui/jobs/"+j.place.name+"/page" {
		t.Fatalf("the form leads to %s", page)
	}
	shows := func(page string, texts ...string) {
		t.Helper()
		last := ""
		j.await(t, strings.Join(texts, ", "), func() bool {
			body := b.get(t, page)
			for _, text := range texts {
				if !strings.Contains(body, text) {
					if state := regexp.MustCompile(`data-state="\w+"|<dt>Reason</dt><dd>[^<]*`).FindAllString(body, 2); strings.Join(state, " ") != last {
						last = strings.Join(state, " ")
						t.Log(last)
					}
					return false
				}
			}
			return true
		})
	}
	shows(page, `data-state="Running"`, "trainer-1", "pserver-0", page+"/stop")
	j.await(t, "the log", func() bool { return strings.Count(b.get(t, page+"/log"), " waiting\n") == 2 })
	shows("/ui/jobs", `href="`+page+`"`, "Running")
	if got := b.get(t, page+"/clone"); !strings.Contains(got, `value="page-2"`) || !strings.Contains(got, "MODE=idle") {
		t.Errorf("the clone is\n%s", got)
	}
	b.post(t, page+"/stop")
	shows(page, `data-state="Killed"`, "_FAILED", page+"/delete")
	spec := j.spec("page", "")
	for i := range 2 {
		j.committed(t, spec, 1, job.WorkerName(job.Trainer, i), output.Failed)
	}
	b.post(t, page+"/delete")
	if got := b.get(t, "/ui/jobs"); strings.Contains(got, `href="`+page+`"`) {
		t.Error("the page of jobs shows a deleted one")
	}

	file := `name: page.file
package: ` + j.home() + `/fit
entry: python3 train.py
image: ` + python + `
trainers: {replicas: 2, cpu: 100m, memory: 128Mi}
env: {DATA: ` + j.home() + `/lines}
`
	if _, got := b.post(t, "/ui/newjob/file", "do", "check", "text", strings.Replace(file, "entry", "entri", 1)); !strings.Contains(got, "entri") || !strings.Contains(got, "did you mean") {
		t.Errorf("the check of a wrong file shows\n%s", got)
	}
	page, body := b.post(t, "/ui/newjob/file", "do", "submit", "text", file, "file-datacenter", j.place.name)
	if page != "/ui/jobs/"+j.place.name+"/page.file" {
		t.Fatalf("the file leads to %s\n%s", page, body)
	}
	shows(page, `data-state="Succeeded"`, "complete and verified (_SUCCESS)")
	archive := b.get(t, "/ui/zip"+string(job.OutputDir(j.spec("page.file", ""), 1, "trainer-0").Parent()))
	z, err := zip.NewReader(bytes.NewReader([]byte(archive)), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	models := 0
	for _, f := range z.File {
		if strings.HasSuffix(f.Name, "trainer-0/model") || strings.HasSuffix(f.Name, "trainer-1/model") {
			models++
		}
	}
	if models != 2 {
		t.Errorf("the archive has %d models", models)
	}
}
