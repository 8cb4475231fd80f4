package jobfile

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/paddlecloud/pfs/internal/job"
	"github.com/paddlecloud/pfs/internal/nearest"
	"go.yaml.in/yaml/v3"
)

// Rules describes every rule, by its ID.
var Rules = map[string]string{
	"too-large": "the file, or its number of documents, exceeds a bound", "encoding": "the file is not UTF-8", "syntax": "the file is not YAML or JSON", "format": "the file is not a job of a known format",
	"duplicate-key": "a key is there twice", "aliases": "a document has too many values", "nesting": "a document is nested too deeply", "unicode": "a text has invisible characters",
	"yaml-1.1": "a text that kubectl reads as true or false", "unknown-field": "a field that the format does not have", "pruned-field": "a field that the cluster drops without a message",
	"type": "a value of another type than the field", "enum": "a value that is not among those allowed", "range": "a number outside its bounds", "quantity": "a text that is not an amount",
	"required": "a field is missing", "name": "a name that is not allowed", "duplicate-name": "a name is there twice", "reference": "a name that refers to nothing",
	"roles": "roles that do not make a job", "elastic": "an elastic job that cannot be", "no-effect": "a field that nothing reads", "gang": "a gang of another size than the pods", "scheduler": "a gang without its scheduler",
	"claim-shared": "a claim that several pods use, and may not", "claim-volume": "a claim that does not fit its volume", "reclaim-policy": "a volume that is wiped with its claim", "no-resources": "a container without processors and memory",
	"native-sidecar": "a sidecar that would never let the job begin", "grace": "too little time to save what a job has", "port": "a port that cannot be", "restart-policy": "a program that is started again after it has ended",
	"pai-env": "a variable of OpenPAI that is empty here", "secret": "a secret in clear text", "template": "a template of OpenPAI that refers to nothing",
}

// Check returns all findings about files that belong together.
func Check(files ...*File) []Finding {
	c := &checker{}
	for _, f := range files {
		for _, d := range f.docs {
			if d.value != nil {
				c.docs = append(c.docs, d)
			}
		}
	}
	for _, d := range c.docs {
		if len(d.file.Findings) <= maxFindings {
			c.document(d)
		}
	}
	var all []Finding
	for _, f := range files {
		all = append(all, f.Findings...)
	}
	sortFindings(all)
	return all
}

// checker has the documents of all files.
type checker struct{ docs []*document }

func (c *checker) document(d *document) {
	switch v := d.value.(type) {
	case *ownJob:
		d.checkOwn(v)
	case *paiJob:
		d.checkPAI1(v)
	case *paiProtocol:
		d.checkPAI2(v)
	case *paddleJob:
		c.paddle(d, v)
	case *kubeflowJob:
		c.kubeflow(d, v)
	case *volcanoJob:
		c.volcano(d, v)
	case *podGroup:
		c.podGroup(d, v)
	default:
		c.volume(d)
	}
	d.checkTexts()
}

// warn and fail report a finding by rule, field and corrected text.
func (d *document) warn(rule, field, fix, format string, args ...any) *Finding {
	return d.report(rule, Warning, field, fix, format, args...)
}

func (d *document) fail(rule, field, fix, format string, args ...any) *Finding {
	return d.report(rule, Error, field, fix, format, args...)
}

// need reports fields of an object that are missing.
func (d *document) need(object string, fields map[string]bool) {
	if len(d.file.Findings) > maxFindings {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field := child(object, name)
		if strings.Contains(name, ".") {
			field = strings.TrimPrefix(object+"."+name, ".")
		}
		if fields[name] && !d.wasWrong(field) {
			d.fail("required", field, "", "%s is missing", field)
		}
	}
}

// wasWrong reports whether a field is there, and has a finding already.
func (d *document) wasWrong(field string) bool {
	return slices.ContainsFunc(d.file.Findings, func(f Finding) bool {
		return f.Severity == Error && (within(f.Field, field) || within(field, f.Field) && f.Field != "")
	})
}

// within reports whether a field is another, or a part of it.
func within(field, of string) bool {
	rest, ok := strings.CutPrefix(field, of)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// checkOwn checks this project's YAML.
func (d *document) checkOwn(o *ownJob) {
	if reason := job.CheckName(o.Name); o.Name != "" && reason != "" {
		fix := ownSlug(o.Name)
		d.badName("name", o.Name, fix, "the name %q: %s", o.Name, reason)
	}
	if strings.TrimSpace(o.Entry) == "" && o.Topology == "" {
		d.need("", map[string]bool{"entry": true})
	}
	if t := o.Trainers; t != nil && t.Replicas != nil && *t.Replicas == 0 {
		d.fail("range", "trainers.replicas", "1", "a job needs at least 1 trainer").edit = d.replaceValue("trainers.replicas", "1")
	}
	for name := range o.Env {
		if !envName().MatchString(name) {
			d.fail("name", child("env", name), "", "%q is not the name of a variable: letters, digits and '_', not beginning with a digit", name)
		}
	}
	for i, p := range o.Inputs {
		if field := fmt.Sprintf("inputs[%d]", i); !strings.HasPrefix(p, "/pfs/") {
			d.fail("reference", field, "", "%q is not a path on the service, such as /pfs/DC/home/USER/data", p)
		}
	}
	for i, text := range o.Claims {
		if _, err := job.ParseClaim(text); err != nil {
			d.fail("reference", fmt.Sprintf("claims[%d]", i), "", "%v", err)
		}
	}
	for field, text := range map[string]string{"time-limit": o.TimeLimit, "upload-wait": o.UploadWait} {
		if text != "" && !ownDuration().MatchString(text) {
			d.fail("quantity", field, "", "%q is not a duration: write it as 30s, 10m or 12h", text)
		}
	}
	if m := seconds().FindStringSubmatch(o.UploadWait); m != nil {
		if n, _ := strconv.Atoi(m[1]); n < 30 {
			d.warn("grace", "upload-wait", "10m", "outputs get %s after the program has ended, then they are incomplete", o.UploadWait).edit = d.replaceValue("upload-wait", "10m")
		}
	}
}

var (
	envName     = atFirstUse(`^[A-Za-z_][A-Za-z0-9_]*$`)
	ownDuration = atFirstUse(`^([0-9.]+(ns|us|µs|ms|s|m|h|d|w))+$`)
	seconds     = atFirstUse(`^([0-9]+)s$`)
	notOwnName  = atFirstUse(`[^A-Za-z0-9.-]+`)
)

// ownSlug returns a name like name that is allowed here.
func ownSlug(name string) string {
	fixed := strings.Trim(notOwnName().ReplaceAllString(name, "-"), "-.")
	if job.CheckName(fixed) != "" {
		return job.Slug(name, 63)
	}
	return fixed
}

// The rules of OpenPAI for names.
var (
	paiJobName  = atFirstUse(`^[A-Za-z0-9\-._~]+$`)
	paiRoleName = atFirstUse(`^[A-Za-z0-9._~]+$`)
	paiName     = atFirstUse(`^[a-zA-Z0-9_-]{1,255}$`)
	paiTaskName = atFirstUse(`^[a-zA-Z_]\w*$`)
)

func (d *document) checkPAI1(p *paiJob) {
	d.need("", map[string]bool{"jobName": p.JobName == "", "image": p.Image == "", "taskRoles": len(p.TaskRoles) == 0})
	d.checkName("jobName", p.JobName, paiJobName(), notPAIName(), "letters, digits, '-', '.', '_' and '~'")
	for _, dir := range []struct{ field, value string }{{"codeDir", p.CodeDir}, {"dataDir", p.DataDir}, {"outputDir", p.OutputDir}} {
		if dir.field == "codeDir" && (strings.HasPrefix(dir.value, "hdfs://") || strings.HasPrefix(dir.value, "webhdfs://")) {
			d.fail("reference", dir.field, "$PAI_DEFAULT_FS_URI/...", "the client of VS Code takes no scheme here: begin it with $PAI_DEFAULT_FS_URI")
		}
		for _, name := range []string{"$PAI_JOB_NAME", "$PAI_USER_NAME"} {
			if strings.Count(dir.value, name) > 1 {
				d.warn("template", dir.field, "", "only the first %s is replaced", name)
			}
		}
	}
	if p.KillAll != nil {
		d.warn("no-effect", "killAllOnCompletedTaskNumber", "minSucceededTaskCount", "it was replaced by minFailedTaskCount and minSucceededTaskCount of the roles")
	}
	for name, value := range p.JobEnvs {
		if strings.Contains(string(value), "$") {
			d.warn("template", child("jobEnvs", name), "", "variables are not replaced in jobEnvs: the program gets the text as it is")
		}
		if !envName().MatchString(name) {
			d.fail("name", child("jobEnvs", name), "", "%q is not the name of a variable: letters, digits and '_', not beginning with a digit", name)
		}
	}
	seen := map[string]bool{}
	for i := range p.TaskRoles {
		r := &p.TaskRoles[i]
		at := fmt.Sprintf("taskRoles[%d]", i)
		d.need(at, map[string]bool{"name": r.Name == "", "command": r.Command == ""})
		d.checkName(at+".name", r.Name, paiRoleName(), notPAIRole(), "letters, digits, '.', '_' and '~'")
		if seen[r.Name] && r.Name != "" {
			d.fail("duplicate-name", at+".name", "", "there is another role %q", r.Name)
		}
		seen[r.Name] = true
		if memory := deref(r.MemoryMB, 100); deref(r.ShmMB, 0) > memory {
			d.fail("range", at+".shmMB", strconv.FormatInt(memory, 10), "shared memory (%d MB) is part of the memory, of which there are %d MB", *r.ShmMB, memory).edit = d.replaceValue(at+".shmMB", strconv.FormatInt(memory, 10))
		}
		d.completion(at, deref(r.TaskNumber, 1), map[string]*int{"minFailedTaskCount": r.MinFailed, "minSucceededTaskCount": r.MinSucceeded})
		labels := map[string]bool{}
		for k, port := range r.PortList {
			field := fmt.Sprintf("%s.portList[%d]", at, k)
			last := port.BeginAt + deref(port.PortNumber, 1) - 1
			switch {
			case labels[port.Label]:
				d.fail("duplicate-name", field+".label", "", "there are other ports %q", port.Label)
			case port.BeginAt > 0 && last > 65535:
				d.fail("port", field, "", "the last port would be %d, and 65535 is the highest", last)
			case port.BeginAt > 0 && deref(r.TaskNumber, 1) > 1:
				d.warn("port", field+".beginAt", "0", "only one task can have the port %d on a machine: 0 lets OpenPAI choose", port.BeginAt).edit = d.replaceValue(field+".beginAt", "0")
			}
			labels[port.Label] = true
		}
	}
}

// checkName reports a name that does not match.
func (d *document) checkName(field, name string, ok, not *regexp.Regexp, allowed string) {
	if name == "" || ok.MatchString(name) {
		return
	}
	fix := not.ReplaceAllString(name, "_")
	if !ok.MatchString(fix) {
		fix = ""
	}
	d.badName(field, name, fix, "the name %.60q is not allowed: it has %s", name, allowed)
}

// badName reports a name. The allowed one is certain to be meant only if it has the same letters and digits:
// a name that is cut, or loses letters of another alphabet, could be that of another job.
func (d *document) badName(field, name, fix, format string, args ...any) {
	found := d.fail("name", field, fix, format, args...)
	if strings.EqualFold(nameSigns().ReplaceAllString(name, ""), nameSigns().ReplaceAllString(fix, "")) {
		found.edit = d.replaceValue(field, fix)
	}
}

// nameSigns matches what users put between the words of a name.
var nameSigns = atFirstUse(`[-_.~ ]`)

// completion checks the numbers of tasks that end a job.
func (d *document) completion(at string, instances int, limits map[string]*int) {
	for name, n := range limits {
		if n != nil && *n > instances {
			d.fail("range", at+"."+name, strconv.Itoa(instances), "there are %d tasks, so never %d", instances, *n).edit = d.replaceValue(at+"."+name, strconv.Itoa(instances))
		}
	}
}

func (d *document) checkPAI2(p *paiProtocol) {
	d.need("", map[string]bool{"protocolVersion": p.ProtocolVersion == nil, "name": p.Name == "", "type": p.Type == "", "taskRoles": len(p.TaskRoles) == 0})
	if v := fmt.Sprint(p.ProtocolVersion); p.ProtocolVersion != nil && v != "2" {
		d.fail("enum", "protocolVersion", "2", "the version is 2, not %.20s", v).edit = d.replaceValue("protocolVersion", "2")
	}
	d.checkName("name", p.Name, paiName(), notPAI2Name(), "at most 255 letters, digits, '_' and '-'")
	images := []string{}
	for i, q := range p.Prerequisites {
		at := fmt.Sprintf("prerequisites[%d]", i)
		if slices.Contains(images, q.Name) {
			d.fail("duplicate-name", at+".name", "", "there is another prerequisite %q", q.Name)
		}
		if q.Type == "dockerimage" {
			images = append(images, q.Name)
			uri, ok := q.URI.(string)
			d.need(at, map[string]bool{"uri": !ok || uri == "", "name": q.Name == ""})
		}
		if q.Auth != nil && q.Auth.Password != "" && !strings.Contains(q.Auth.Password, "<%") {
			d.warn("secret", at+".auth.password", "<% $secrets.NAME %>", "a password in clear text: put it into secrets, and refer to it")
		}
	}
	roles := slices.Sorted(maps.Keys(p.TaskRoles))
	gang := p.Extras == nil || deref(p.Extras.Gang, true)
	for _, name := range roles {
		at, t := child("taskRoles", name), p.TaskRoles[name]
		if t == nil {
			t = &paiTask{}
		}
		if !paiTaskName().MatchString(name) {
			d.fail("name", at, "_"+notPAITask().ReplaceAllString(name, "_"), "the name %.60q is not allowed: a role has letters, digits and '_', and does not begin with a digit", name)
		}
		d.need(at, map[string]bool{"commands": len(t.Commands) == 0, "dockerImage": t.DockerImage == ""})
		d.refers(at+".dockerImage", t.DockerImage, images, "prerequisite of type dockerimage")
		if t.TaskRetry != nil && *t.TaskRetry != 0 && gang {
			d.fail("no-effect", at+".taskRetryCount", "", "tasks are retried only with gangAllocation: false in extras")
		}
		if t.Completion != nil {
			d.completion(at+".completion", deref(t.Instances, 1), map[string]*int{"minFailedInstances": t.Completion.MinFailed, "minSucceededInstances": t.Completion.MinSucceeded})
		}
		if r := t.Resources; r == nil || r.CPU == nil || r.MemoryMB == nil {
			d.warn("no-resources", at+".resourcePerInstance", "resourcePerInstance: {cpu: 4, memoryMB: 8192, gpu: 0}", "the role %q does not say how many processors and how much memory it needs", name)
		} else if t.Options != nil && deref(t.Options.ShmMB, 0) > *r.MemoryMB {
			d.fail("range", at+".extraContainerOptions.shmMB", strconv.FormatInt(*r.MemoryMB, 10), "shared memory (%d MB) is part of the memory, of which there are %d MB", *t.Options.ShmMB, *r.MemoryMB)
		}
	}
	deployments := []string{}
	for i, e := range p.Deployments {
		deployments = append(deployments, e.Name)
		for _, role := range slices.Sorted(maps.Keys(e.TaskRoles)) {
			d.refers(child(fmt.Sprintf("deployments[%d].taskRoles", i), role), role, roles, "role")
		}
	}
	if p.Defaults != nil {
		d.refers("defaults.deployment", p.Defaults.Deployment, deployments, "deployment")
	}
	if p.Extras != nil && p.Extras.Hived != nil {
		for _, role := range slices.Sorted(maps.Keys(p.Extras.Hived.TaskRoles)) {
			d.refers(child("extras.hivedScheduler.taskRoles", role), role, roles, "role")
		}
	}
	d.templates(p)
}

// refers reports a name that is not among those known.
func (d *document) refers(field, name string, known []string, what string) {
	if name == "" || slices.Contains(known, name) {
		return
	}
	near := nearest.Word(name, known)
	found := d.fail("reference", field, near, "there is no %s %q", what, name)
	if near != "" {
		found.Text += fmt.Sprintf(": did you mean %q?", near)
		if p := d.places[field]; p.key != nil && p.key.Value == name {
			found.edit = d.replaceKey(field, near)
		} else {
			found.edit = d.replaceValue(field, near)
		}
	}
}

// templates checks what commands refer to.
func (d *document) templates(p *paiProtocol) {
	d.eachText(func(field, text string) {
		for _, m := range template().FindAllStringSubmatch(text, -1) {
			known := p.Parameters
			if m[1] == "secrets" {
				known = p.Secrets
			}
			if _, ok := known[m[2]]; !ok {
				near := nearest.Word(m[2], slices.Sorted(maps.Keys(known)))
				hint := ""
				if near != "" {
					hint = fmt.Sprintf(": did you mean %q?", near)
				}
				d.fail("template", field, near, "%s has no %q%s", m[1], m[2], hint)
			}
		}
	})
}

// eachText calls do with all texts of the document, in the order of the file.
func (d *document) eachText(do func(field, text string)) {
	var fields []string
	for field, p := range d.places {
		if n := p.value; n != nil && n.Kind == yaml.ScalarNode {
			fields = append(fields, field)
		}
	}
	slices.SortFunc(fields, func(a, b string) int {
		x, y := d.places[a].value, d.places[b].value
		return cmp.Or(x.Line-y.Line, x.Column-y.Column, strings.Compare(a, b))
	})
	for _, field := range fields {
		do(field, d.places[field].value.Value)
	}
}
