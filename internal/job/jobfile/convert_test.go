package jobfile

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares got with a file in testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	name = filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (go test -update writes it):\n%s", name, got)
	}
}

// files returns the job files of testdata/jobs.
func files(t *testing.T) []*File {
	t.Helper()
	names, err := filepath.Glob("testdata/jobs/*")
	if err != nil || len(names) < 10 {
		t.Fatal(names, err)
	}
	var list []*File
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Read(filepath.Base(name), text))
	}
	return list
}

// TestConvert compares the translations of every job file into every format with golden files. It reads each translation
// again, and expects no finding and the same text.
func TestConvert(t *testing.T) {
	for _, f := range files(t) {
		if f.Format() == "" {
			continue
		}
		if f.Err() != nil && f.Name == "data-demo.yaml" { // its unknown field is corrected first
			text, n := f.Fix(f.Findings)
			if n != 1 {
				t.Fatalf("%d corrections of %v", n, f.Findings)
			}
			f = Read(f.Name, text)
		}
		for _, to := range Formats() {
			j, left, err := f.Job()
			if err != nil {
				t.Fatal(err)
			}
			text, more, err := j.Write(Format(to))
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			out.Write(text)
			for _, l := range append(left, more...) {
				fmt.Fprintf(&out, "# %s\n", l)
			}
			name := strings.ReplaceAll(strings.TrimSuffix(f.Name, ".yaml"), ".", "-") + "." + to
			golden(t, filepath.Join("convert", name), out.Bytes())
			if Format(to) == Kubernetes {
				continue
			}
			again := Read(name, text)
			if len(again.Findings) > 0 || again.Format() != Format(to) {
				t.Errorf("%s: what was written has format %q and findings %v", name, again.Format(), again.Findings)
				continue
			}
			k, left, err := again.Job()
			if err != nil || len(left) > 0 {
				t.Errorf("%s: what was written says more than a Job: %v, %v", name, left, err)
				continue
			}
			second, more, err := k.Write(Format(to))
			if err != nil || !bytes.Equal(second, text) {
				t.Errorf("%s: written again as\n%s%v %v", name, second, more, err)
			}
		}
	}
}
