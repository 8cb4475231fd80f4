package jobfile

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// row is a field of a format, with "[]" for indexes and "*" for the keys of maps.
type row struct {
	field string
	typ   reflect.Type
	tag   reflect.StructTag
}

// rowOf returns the row of a field of a document: the field itself, or the one whose value it is in.
func rowOf(t reflect.Type, field string) row {
	r := row{typ: t}
	for _, part := range segments().FindAllString(field, -1) {
		for r.typ.Kind() == reflect.Pointer {
			r.typ = r.typ.Elem()
		}
		if name, err := strconv.Unquote(strings.Trim(part, "[]")); err == nil {
			part = name
		}
		switch r.typ.Kind() {
		case reflect.Struct:
			m, ok := members(r.typ)[part]
			if !ok {
				return r
			}
			r.field, r.typ, r.tag = strings.TrimPrefix(r.field+"."+part, "."), m.typ, m.tag
		case reflect.Map:
			if !isObject(r.typ.Elem()) {
				return r
			}
			r.field, r.typ = r.field+".*", r.typ.Elem()
		case reflect.Slice:
			if !isObject(r.typ.Elem()) {
				return r
			}
			r.field, r.typ = r.field+"[]", r.typ.Elem()
		default:
			return r
		}
	}
	return r
}

// isObject reports whether values of a type have fields of their own.
func isObject(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() == reflect.Struct && t != reflect.TypeFor[resource.Quantity]() && t != reflect.TypeFor[metav1.Duration]()
}

// leaves adds the fields of a type, but not those of pods and of other types of Kubernetes.
func leaves(t reflect.Type, field string, to map[string]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && isObject(t.Elem()) || t.Kind() == reflect.Map && isObject(t.Elem()) {
		switch t.Kind() {
		case reflect.Slice:
			field += "[]"
		case reflect.Map:
			field += ".*"
		}
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct && t.PkgPath() == reflect.TypeFor[paddleJob]().PkgPath() {
		for name, m := range members(t) {
			leaves(m.typ, strings.TrimPrefix(field+"."+name, "."), to)
		}
		return
	}
	to[field] = true
}

// elsewhere matches rows that another one describes: the pods of all roles are alike, and the cluster writes the status.
var elsewhere = atFirstUse(`^(spec\.(ps|heter)\..*|metadata(\..*)?|status|apiVersion|kind)$`)

// submitted says what submit does with a field of a job.
func submitted(left []Left, within func(Left) bool) string {
	said := "yes"
	for _, l := range left {
		switch {
		case !within(l):
		case l.Matters() && l.Option() == "":
			return "refused"
		case l.Matters():
			said = "refused without `" + l.Option() + "`"
		case said == "yes":
			said = "named"
		}
	}
	return said
}

// TestFields compares docs/jobfiles.md with the formats: which fields they have, which rules there are for them, which other
// formats carry them, and what submit does with them. That is tried out with testdata/fields, where each format has each of its fields.
func TestFields(t *testing.T) {
	linted := rulesByField(t)
	var out bytes.Buffer
	out.WriteString(`# Job files: fields and rules

This page is generated from the readers of paddlectl and their tests; [jobs.md](jobs.md#job-files-of-other-systems) describes the commands.

## Rules

Below, a field counts as carried if the other format has an equivalent for all of it. A key that is there twice, a field that a format does not have, a value of the wrong type and an invisible character are findings everywhere.
The column submit says what paddlectl submit does with a field: "yes" carries it; "named" runs the job without it and says so; "refused" runs nothing, because the job would be another one
without it, unless an option (by its key in the YAML of paddlectl) decides.

| rule | finds |
|---|---|
`)
	for _, id := range slices.Sorted(maps.Keys(Rules)) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", id, Rules[id])
	}
	for _, format := range []struct{ file, title string }{
		{"pfs.yaml", "pfs"}, {"paddlejob.yaml", "paddlejob: `batch.paddlepaddle.org/v1`"}, {"kubeflow.yaml", "PaddleJob `kubeflow.org/v1`"},
		{"volcano.yaml", "volcano: `batch.volcano.sh/v1alpha1`"}, {"openpai-v1.json", "openpai-v1"}, {"openpai-v2.yaml", "openpai-v2"},
	} {
		text, err := os.ReadFile("testdata/fields/" + format.file)
		if err != nil {
			t.Fatal(err)
		}
		f := Read(format.file, text)
		if f.Err() != nil {
			t.Fatal(f.Err())
		}
		d := f.docs[0]
		top := reflect.TypeOf(d.value)
		rows := map[string]row{}
		fields := map[string][]string{} // of the document, by row
		for field := range d.places {
			r := rowOf(top, field)
			if isObject(r.typ) || r.typ.Kind() == reflect.Slice && isObject(r.typ.Elem()) || r.typ.Kind() == reflect.Map && isObject(r.typ.Elem()) {
				continue
			}
			rows[r.field] = r
			fields[r.field] = append(fields[r.field], field)
		}
		needed := map[string]bool{}
		leaves(top, "", needed)
		for field := range needed {
			if _, ok := rows[field]; !ok && !elsewhere().MatchString(field) && !strings.HasSuffix(field, ".template") && !strings.HasSuffix(field, "volumeClaim") {
				t.Errorf("%s does not have the field %s", format.file, field)
			}
		}
		left := map[string][]Left{}
		for _, to := range Formats() {
			j, all, err := f.Job()
			if err != nil {
				t.Fatal(err)
			}
			_, more, err := j.Write(Format(to))
			if err != nil {
				t.Fatal(err)
			}
			left[to] = append(all, more...)
		}
		dropped, err := NewDraft().Load(f)
		if err != nil && !strings.Contains(err.Error(), "jobs have no pservers.gpu") {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "\n## %s\n\n", format.title)
		if d.format == PaddleJob {
			out.WriteString("`ps` and `heter` have the fields of `worker`. All fields of pods of Kubernetes are read; these are examples.\n\n")
		} else if d.kind != "" {
			out.WriteString("The fields of metadata and of pods are those of the section above.\n\n")
		}
		out.WriteString("| field | rules | carried to | submit |\n|---|---|---|---|\n")
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			if elsewhere().MatchString(name) && (d.format != PaddleJob || !strings.HasPrefix(name, "metadata.")) || strings.Contains(name, ".template.") && d.format != PaddleJob {
				continue
			}
			about := func(l Left) bool {
				return slices.ContainsFunc(fields[name], func(field string) bool { return within(field, l.Field) || within(l.Field, field) })
			}
			var carried []string
			for _, to := range Formats() {
				if !slices.ContainsFunc(left[to], about) {
					carried = append(carried, to)
				}
			}
			to := strings.Join(carried, ", ")
			switch len(carried) {
			case 0:
				to = "-"
			case len(Formats()):
				to = "all"
			}
			rules := linted[string(d.format)+" "+name]
			if rules == nil {
				rules = map[string]bool{}
			}
			typ := rows[name].typ
			for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
				typ = typ.Elem()
			}
			if enums[typ] != nil {
				rules["enum"] = true
			}
			if typ == reflect.TypeFor[resource.Quantity]() {
				rules["quantity"] = true
			}
			if _, ok := rows[name].tag.Lookup("range"); ok {
				rules["range"] = true
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | %s |\n", name, strings.Join(slices.Sorted(maps.Keys(rules)), ", "), to, submitted(dropped, about))
		}
	}
	golden(t, "../../../../docs/jobfiles.md", out.Bytes())
}

// rulesByField returns the rules that broken files show, by format and row.
func rulesByField(t *testing.T) map[string]map[string]bool {
	t.Helper()
	archive, err := txtar.ParseFile("testdata/broken.txtar")
	if err != nil {
		t.Fatal(err)
	}
	general := []string{"unknown-field", "type", "duplicate-key", "unicode", "yaml-1.1"}
	rules := map[string]map[string]bool{}
	for i := 0; i < len(archive.Files); i += 2 {
		f := Read(archive.Files[i].Name, archive.Files[i].Data)
		for _, found := range Check(f) {
			d, err := f.jobDocument()
			if err != nil || d.value == nil || slices.Contains(general, found.Rule) {
				continue
			}
			key := string(d.format) + " " + rowOf(reflect.TypeOf(d.value), found.Field).field
			if rules[key] == nil {
				rules[key] = map[string]bool{}
			}
			rules[key][found.Rule] = true
		}
	}
	return rules
}
