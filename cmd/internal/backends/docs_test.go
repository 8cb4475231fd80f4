package backends

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDocumentedOptions compares the tables of docs/pfsd.md with the options of the stores.
func TestDocumentedOptions(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "pfsd.md"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile("`([a-z0-9-]+)`")
	for store, options := range map[string][]string{"HDFS": hdfsOptions, "CephFS": cephOptions} {
		_, table, _ := strings.Cut(string(text), "\n| "+store+" | |\n")
		table, _, _ = strings.Cut(table, "\n\n")
		var documented []string
		for row := range strings.Lines(table) {
			first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
			for _, m := range name.FindAllStringSubmatch(first, -1) {
				documented = append(documented, m[1])
			}
		}
		want := slices.Sorted(slices.Values(options))
		slices.Sort(documented)
		if !slices.Equal(documented, want) {
			t.Errorf("docs/pfsd.md has the options %q of a store on %s, which has %q", documented, store, want)
		}
	}
}
