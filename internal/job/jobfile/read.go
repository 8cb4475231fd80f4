package jobfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/paddlecloud/pfs/internal/nearest"
	"github.com/paddlecloud/pfs/internal/strictyaml"
	"go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
)

// Format is a format of job files.
type Format string

// The formats. Kubernetes is only written.
const (
	PFS        Format = "pfs"
	PaddleJob  Format = "paddlejob"
	Kubeflow   Format = "kubeflow"
	Volcano    Format = "volcano"
	OpenPAI1   Format = "openpai-v1"
	OpenPAI2   Format = "openpai-v2"
	Kubernetes Format = "kubernetes"
)

// Formats lists the formats that Write writes.
func Formats() []string {
	return []string{string(PFS), string(PaddleJob), string(Volcano), string(OpenPAI1), string(OpenPAI2), string(Kubernetes)}
}

// MaxFile bounds the size of a job file in bytes. Bigger ones are not parsed.
const MaxFile = 1 << 20

// The bounds of what a document may hold, after aliases.
const (
	maxDocs     = 100
	maxDepth    = 100
	maxNodes    = 100_000
	maxFindings = 1000
)

// maxShown bounds the length in bytes of what a finding repeats of a file.
const (
	maxShown = 200
)

// File is a file that was read.
type File struct {
	Name     string
	Findings []Finding // of syntax and of types
	text     []byte
	docs     []*document
}

// document is one document of a file.
type document struct {
	file   *File
	format Format // "" if it is not a job
	kind   string // group, version and kind of an object of Kubernetes
	value  any    // a pointer to the type of the kind
	places map[string]place
	nodes  int // visited
}

// place is where a field is. key is nil for elements of lists.
type place struct{ key, value *yaml.Node }

// kinds are the objects of Kubernetes that are read.
var kinds = map[string]struct {
	format Format
	make   func() any
}{
	"batch.paddlepaddle.org/v1 PaddleJob":    {PaddleJob, func() any { return new(paddleJob) }},
	"kubeflow.org/v1 PaddleJob":              {Kubeflow, func() any { return new(kubeflowJob) }},
	"batch.volcano.sh/v1alpha1 Job":          {Volcano, func() any { return new(volcanoJob) }},
	"scheduling.volcano.sh/v1beta1 PodGroup": {"", func() any { return new(podGroup) }},
	"v1 PersistentVolume":                    {"", func() any { return new(corev1.PersistentVolume) }},
	"v1 PersistentVolumeClaim":               {"", func() any { return new(corev1.PersistentVolumeClaim) }},
}

// Read reads a file. Its mistakes are in Findings.
func Read(name string, text []byte) *File {
	f := &File{Name: name, text: text}
	switch {
	case len(text) > MaxFile:
		f.add(Finding{Rule: "too-large", Severity: Error, Text: fmt.Sprintf("the file has more than %d bytes: this is not the description of a job", MaxFile)})
		return f
	case !utf8.Valid(text):
		line, column := 1, 1
		for _, r := range string(text[:firstInvalid(text)]) {
			if column++; r == '\n' {
				line, column = line+1, 1
			}
		}
		f.add(Finding{Rule: "encoding", Severity: Error, Line: line, Column: column, Text: "this byte is not UTF-8: save the file as UTF-8"})
		return f
	}
	dec := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var root yaml.Node
		err := dec.Decode(&root)
		switch {
		case errors.Is(err, io.EOF):
			if len(f.docs) == 0 && len(f.Findings) == 0 {
				f.add(Finding{Rule: "format", Severity: Error, Text: "the file is empty"})
			}
			return f
		case err != nil:
			line, reason := strictyaml.Syntax(text, err)
			f.add(Finding{Rule: "syntax", Severity: Error, Line: line, Column: 1, Text: reason})
			return f
		case len(f.docs) == maxDocs:
			f.add(Finding{Rule: "too-large", Severity: Error, Line: root.Line, Column: 1, Text: fmt.Sprintf("more than %d documents in a file", maxDocs)})
			return f
		case strictyaml.IsNull(root.Content[0]):
		default:
			f.document(root.Content[0])
		}
	}
}

// firstInvalid returns the index of the first byte that is not UTF-8.
func firstInvalid(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return len(text)
}

// add records a finding, and returns the record. A file has at most maxFindings, and then one that says so.
func (f *File) add(found Finding) *Finding {
	found.File = f.Name
	switch n := len(f.Findings); {
	case n == maxFindings:
		found = Finding{Rule: "too-large", Severity: Error, File: f.Name, Text: fmt.Sprintf("there are more than %d findings: these are the first", maxFindings)}
	case n > maxFindings:
		return &found
	}
	f.Findings = append(f.Findings, found)
	return &f.Findings[len(f.Findings)-1]
}

// document reads one document.
func (f *File) document(root *yaml.Node) {
	d := &document{file: f, places: map[string]place{"": {value: root}}}
	f.docs = append(f.docs, d)
	if root.Kind != yaml.MappingNode {
		d.report("format", Error, "", "", "%s where a job belongs", strictyaml.KindName(root))
		return
	}
	if !d.recognize(root) {
		return
	}
	if d.format == OpenPAI1 {
		f.onlyJSON()
	}
	d.value = d.make()
	tree := d.decode(root, reflect.TypeOf(d.value).Elem(), "", "")
	text, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(text, d.value)
	}
	if err != nil { // a check is missing in decode
		d.report("type", Error, "", "", "%v", err)
	}
}

// onlyJSON reports YAML that is not JSON: OpenPAI reads only JSON.
func (f *File) onlyJSON() {
	var syntax *json.SyntaxError
	var value any
	if err := json.Unmarshal(f.text, &value); !errors.As(err, &syntax) {
		return
	}
	before := f.text[:min(int(syntax.Offset), len(f.text))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	f.add(Finding{Rule: "syntax", Severity: Error, Line: line, Column: max(1, column), Text: "OpenPAI reads JSON, and this is not: " + syntax.Error()})
}

// make returns the empty value of the document's kind.
func (d *document) make() any {
	switch d.format {
	case PFS:
		return new(ownJob)
	case OpenPAI1:
		return new(paiJob)
	case OpenPAI2:
		return new(paiProtocol)
	}
	return kinds[d.kind].make()
}

// recognize finds out the format of a document.
func (d *document) recognize(root *yaml.Node) bool {
	top := map[string]*yaml.Node{}
	for i := 0; i+1 < len(root.Content); i += 2 {
		top[root.Content[i].Value] = root.Content[i+1]
	}
	has := func(key string) bool { return top[key] != nil }
	text := func(key string) string {
		if n := top[key]; n != nil && n.Kind == yaml.ScalarNode {
			return n.Value
		}
		return ""
	}
	roles := top["taskRoles"]
	for roles != nil && roles.Kind == yaml.AliasNode {
		roles = roles.Alias
	}
	switch {
	case has("apiVersion") || has("kind") && !has("taskRoles"):
		return d.recognizeKind(text("apiVersion"), text("kind"), top)
	case has("protocolVersion") || roles != nil && roles.Kind == yaml.MappingNode:
		d.format = OpenPAI2
	case has("jobName") || roles != nil:
		d.format = OpenPAI1
	case slices.ContainsFunc(keysOf(reflect.TypeFor[ownJob]()), has):
		d.format = PFS
	default:
		d.report("format", Error, "", "", "no known format: a job has apiVersion and kind (PaddleJob, Volcano), jobName and taskRoles (OpenPAI), or name and entry (pfs)")
	}
	return d.format != ""
}

// recognizeKind finds out the format of an object of Kubernetes.
func (d *document) recognizeKind(version, kind string, top map[string]*yaml.Node) bool {
	d.kind = version + " " + kind
	if known, ok := kinds[d.kind]; ok {
		d.format = known.format
		return true
	}
	for _, key := range []string{"kind", "apiVersion"} {
		if top[key] != nil {
			d.places[key] = place{value: top[key]}
		}
	}
	if version == "" || kind == "" {
		missing := "kind"
		if version == "" {
			missing = "apiVersion"
		}
		d.report("format", Error, "", "", "%s is missing: a job of Kubernetes has apiVersion and kind", missing)
		return false
	}
	var versions, all []string // of that kind; kinds
	for of := range kinds {
		v, k, _ := strings.Cut(of, " ")
		if k == kind {
			versions = append(versions, v)
		}
		if v == version {
			all = append(all, k)
		}
	}
	slices.Sort(versions)
	slices.Sort(all)
	switch near := nearest.Word(kind, all); {
	case near != "":
		found := d.report("format", Error, "kind", near, "%s has no kind %q: did you mean %q?", version, kind, near)
		found.edit = d.replaceValue("kind", near)
	case len(versions) > 0 && (nearest.Word(version, versions) != "" || kind == "PaddleJob" || kind == "PodGroup"):
		near := nearest.Word(version, versions)
		found := d.report("format", Error, "apiVersion", near, "the kind %s has no version %q: it is in %s", kind, version, strings.Join(versions, " and "))
		if near != "" {
			found.edit = d.replaceValue("apiVersion", near)
		}
	default:
		d.report("format", Warning, "kind", "", "a %s of %s is not a job, and is not checked", kind, version)
	}
	return false
}

// report adds a finding about a field.
func (d *document) report(rule string, severity Severity, field, fix, format string, args ...any) *Finding {
	at := d.at(field)
	for i, a := range args {
		if s, ok := a.(string); ok {
			args[i] = shorten(s)
		}
	}
	return d.file.add(Finding{Rule: rule, Severity: severity, Line: at.Line, Column: at.Column, Field: shorten(field), Fix: shorten(fix), Text: fmt.Sprintf(format, args...)})
}

// shorten returns the beginning of a text that is too long to show.
func shorten(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// at returns the node of a field, or of what holds it: its key, or the element of a list.
func (d *document) at(field string) *yaml.Node {
	for {
		if p, ok := d.places[field]; ok {
			if p.key != nil {
				return p.key
			}
			return p.value
		}
		if field == "" {
			return &yaml.Node{}
		}
		field = parent(field)
	}
}

// replaceValue returns the edit that gives a field another value; nil if its text cannot be replaced in one line.
func (d *document) replaceValue(field, text string) *edit {
	n := d.places[field].value
	if n == nil || n.Kind != yaml.ScalarNode || n.Style&(yaml.LiteralStyle|yaml.FoldedStyle|yaml.TaggedStyle) != 0 || n.Anchor != "" {
		return nil
	}
	quote := ""
	switch {
	case n.Style&yaml.DoubleQuotedStyle != 0:
		quote = `"`
	case n.Style&yaml.SingleQuotedStyle != 0:
		quote = "'"
	}
	return &edit{line: n.Line, column: n.Column, old: quote + n.Value + quote, text: quote + text + quote}
}

// replaceKey returns the edit that gives a field another name.
func (d *document) replaceKey(field, name string) *edit {
	k := d.places[field].key
	if k == nil {
		return nil
	}
	old, text := k.Value, name
	if k.Style&yaml.DoubleQuotedStyle != 0 {
		old, text = `"`+old+`"`, `"`+text+`"`
	}
	return &edit{line: k.Line, column: k.Column, old: old, text: text}
}
