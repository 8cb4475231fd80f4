package jobfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// printed returns findings, one a line.
func printed(findings []Finding) string {
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%d:%d %s %s %s: %s", f.Line, f.Column, f.Severity, f.Rule, f.Field, f.Text)
		if f.Fix != "" {
			fmt.Fprintf(&b, " => %s", f.Fix)
		}
		if f.Fixable() {
			b.WriteString(" (fixable)")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestCheckExamples compares the findings about the job files of the manuals of PaddleCloud and OpenPAI, and of other good
// files, with golden ones. After the corrections no error is left, and no finding that had one.
func TestCheckExamples(t *testing.T) {
	list := files(t)
	var together, alone []*File // the job with its volumes; the others
	for _, f := range list {
		if f.Name == "data-demo.yaml" || f.Name == "pv-pvc.yaml" {
			together = append(together, f)
		} else {
			alone = append(alone, f)
		}
	}
	groups := [][]*File{together}
	for _, f := range alone {
		groups = append(groups, []*File{f})
	}
	var out bytes.Buffer
	for _, group := range groups {
		all := Check(group...)
		var fixed []*File
		for _, f := range group {
			of := slices.DeleteFunc(slices.Clone(all), func(found Finding) bool { return found.File != f.Name })
			fmt.Fprintf(&out, "%s\n%s", f.Name, printed(of))
			text, _ := f.Fix(all)
			fixed = append(fixed, Read(f.Name, text))
		}
		for _, found := range Check(fixed...) {
			if found.Severity == Error || found.Fixable() {
				t.Errorf("after the corrections: %v", &found)
			}
		}
	}
	golden(t, "examples.txt", out.Bytes())
}

// TestBroken checks each file of an archive of broken job files: its exact findings, that corrections make the findings
// go away that have them, and that nothing panics. testdata/broken.txtar has each file, and then its findings.
func TestBroken(t *testing.T) {
	const name = "testdata/broken.txtar"
	archive, err := txtar.ParseFile(name)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rules := map[string]bool{}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, want := archive.Files[i], &archive.Files[i+1]
		if want.Name != in.Name+".findings" {
			t.Fatalf("%s follows %s", want.Name, in.Name)
		}
		n++
		text := []byte(strings.NewReplacer("<TAB>", "\t", "<ZWSP>", "\u200b", "<RLO>", "\u202e", "<NBSP>", "\u00a0", "<BAD>", "\xff", "<NUL>", "\x00").Replace(string(in.Data)))
		f := Read(in.Name, text)
		findings := Check(f)
		if len(findings) == 0 {
			t.Errorf("%s: no finding", in.Name)
		}
		for _, found := range findings {
			rules[found.Rule] = true
		}
		if got := printed(findings); *update {
			want.Data = []byte(got)
		} else if got != string(want.Data) {
			t.Errorf("%s: findings\n%swant\n%s", in.Name, got, want.Data)
		}
		if text, n := f.Fix(findings); n > 0 {
			for _, again := range Check(Read(in.Name, text)) { // a file with a known format may have others
				if slices.ContainsFunc(findings, func(f Finding) bool { return f.Fixable() && f.Rule == again.Rule && f.Field == again.Field }) {
					t.Errorf("%s: %d corrections leave %v", in.Name, n, &again)
				}
			}
		}
		if j, _, err := f.Job(); err == nil {
			for _, to := range Formats() {
				if _, _, err := j.Write(Format(to)); err != nil {
					t.Errorf("%s to %s: %v", in.Name, to, err)
				}
			}
		}
	}
	if *update {
		if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n < 100 {
		t.Errorf("%d broken files", n)
	}
	for rule := range Rules {
		switch rule {
		case "too-large", "nesting", "aliases", "claim-shared", "claim-volume", "reclaim-policy", "scheduler":
			continue // TestBombs, TestClaims and TestCheckExamples
		}
		if !rules[rule] {
			t.Errorf("no broken file has the finding %s", rule)
		}
	}
	for rule := range rules {
		if Rules[rule] == "" {
			t.Errorf("the rule %s is not described", rule)
		}
	}
}

// TestBombs reads files that grow when they are read. The bound on time is generous; without a bound on aliases the time
// would be that of 10^9 values.
func TestBombs(t *testing.T) {
	laughs := "jobName: x\nextras:\n  a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
	merges := "name: x\nenv:\n  <<: &m0 {A: b}\n"
	for i := 1; i < 9; i++ {
		laughs += fmt.Sprintf("  a%d: &a%d [%s]\n", i, i, strings.Join(strings.Split(strings.Repeat(fmt.Sprintf("*a%d ", i-1), 10), " ")[:10], ", "))
	}
	for i := 1; i < 30; i++ {
		merges += fmt.Sprintf("x%d: &m%d {<<: [*m%d, *m%d], B%d: c}\n", i, i, i-1, i-1, i)
	}
	many := "kind: PaddleJob\napiVersion: batch.paddlepaddle.org/v1\nspec:\n" + strings.Repeat("  x: y\n", 100_000)
	for _, tt := range []struct{ name, text, rule string }{
		{"lists in flow style, 10 MiB", strings.Repeat("[", 10<<20), "too-large"},
		{"lists in flow style", strings.Repeat("[", MaxFile), "syntax"},
		{"lists in block style", strings.Repeat("- ", MaxFile/2), "syntax"},
		{"objects of JSON", strings.Repeat(`{"a":`, MaxFile/5), "syntax"},
		{"9,000 levels", "jobName: x\nextras: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000), "nesting"},
		{"aliases of aliases", laughs, "aliases"},
		{"merges of merges", merges, "unknown-field"},
		{"an alias of itself", "jobName: x\nextras: &a [*a]\n", "nesting"},
		{"a merge of itself", "name: x\nenv: &a\n  <<: *a\n", "nesting"},
		{"duplicate keys", many, "duplicate-key"},
		{"documents", strings.Repeat("---\nname: x\n", 10_000), "too-large"},
		{"a long key", "name: x\n" + strings.Repeat("k", 900_000) + ": x\n", "syntax"},
		{"a long text", "name: " + strings.Repeat("k", 900_000) + "\nentry: x\n", "name"},
		{"numbers", "jobName: x\ntaskRoles: [" + strings.Repeat("1,", 300_000) + "1]\n", "too-large"},
		{"roles", "jobName: x\ntaskRoles: [" + strings.Repeat("{},", 20_000) + "{}]\n", "too-large"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			begun := time.Now()
			f := Read("x", []byte(tt.text))
			findings := Check(f)
			has := map[string]bool{}
			size := 0
			for _, found := range findings {
				has[found.Rule] = true
				size += len(found.Text) + len(found.Field) + len(found.Fix)
			}
			if !has[tt.rule] || size > 4<<20 {
				t.Errorf("%d findings with %d bytes: %.2000s", len(findings), size, printed(findings))
			}
			if _, _, err := f.Job(); err == nil {
				t.Error("it is a job")
			}
			if d := time.Since(begun); d > time.Minute {
				t.Errorf("it took %v", d)
			}
		})
	}
}

// TestClaims checks jobs with their volumes in other files.
func TestClaims(t *testing.T) {
	jobText, err := os.ReadFile("testdata/jobs/data-demo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	volume := func(mode, class, size, policy string) string {
		return "apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: v}\nspec:\n  capacity: {storage: " + size + "}\n  accessModes: [" + mode + "]\n  persistentVolumeReclaimPolicy: " + policy + "\n  storageClassName: " + class + "\n  nfs: {path: /nas, server: nas}\n"
	}
	claim := func(mode string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: nfs-pvc}\nspec:\n  accessModes: [" + mode + "]\n  resources: {requests: {storage: 10Gi}}\n  storageClassName: slow\n  volumeName: v\n"
	}
	for _, tt := range []struct{ volume, claim, want string }{
		{volume("ReadWriteMany", "slow", "10Gi", "Retain"), claim("ReadWriteMany"), ""},
		{volume("ReadWriteOnce", "slow", "10Gi", "Retain"), claim("ReadWriteOnce"), "claim-shared claim-shared"},
		{volume("ReadWriteOncePod", "slow", "10Gi", "Retain"), claim("ReadWriteOncePod"), "claim-shared"},
		{volume("ReadWriteOnce", "slow", "10Gi", "Retain"), claim("ReadWriteMany"), "claim-volume"},
		{volume("ReadWriteMany", "slow", "9Gi", "Retain"), claim("ReadWriteMany"), "claim-volume"},
		{volume("ReadWriteMany", "fast", "10Gi", "Recycle"), claim("ReadWriteMany"), "claim-volume reclaim-policy"},
		{volume("ReadWriteMany", "slow", "10Gi", "Erase"), claim("ReadWriteMany"), "enum"},
	} {
		var rules []string
		for _, f := range Check(Read("job", jobText), Read("volumes", []byte(tt.volume+"---\n"+tt.claim))) {
			if f.File == "volumes" {
				rules = append(rules, f.Rule)
			}
		}
		if got := strings.Join(rules, " "); got != tt.want && got != strings.Join([]string{"reclaim-policy", "claim-volume"}, " ") {
			t.Errorf("%s%s: %q, want %q", tt.volume, tt.claim, got, tt.want)
		}
	}
}

// TestSARIF checks the places and corrections of a log.
func TestSARIF(t *testing.T) {
	text, err := json.Marshal(SARIF(Check(Read("a b.yaml", []byte("apiVersion: kubeflow.org/v1\nkind: Paddlejob\n"))), "1"))
	want := `"results":[{"fixes":[{"artifactChanges":[{"artifactLocation":{"uri":"a%20b.yaml"},"replacements":[{"deletedRegion":{"endColumn":16,"startColumn":7,"startLine":2},"insertedContent":{"text":"PaddleJob"}}]}],"description":{"text":"write PaddleJob"}}],"level":"error",`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s %v", text, err)
	}
}

// FuzzRead checks that no input makes the readers, the rules or the writers panic, that a correction applies, and that findings
// are bounded.
func FuzzRead(f *testing.F) {
	archive, err := txtar.ParseFile("testdata/broken.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive.Files); i += 2 {
		f.Add(archive.Files[i].Data)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := Read("x", text)
		findings := Check(file)
		if len(findings) > maxFindings+1 {
			t.Errorf("%d findings", len(findings))
		}
		file.Fix(findings)
		j, _, err := Read("x", text).Job()
		if err != nil {
			return
		}
		for _, to := range Formats() {
			if _, _, err := j.Write(Format(to)); err != nil {
				t.Errorf("%s: %v", to, err)
			}
		}
	})
}
