package pfstest

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDocs holds that docs/stores.md has a row for each promise about handles, attributes, block
// locations and capabilities.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/stores.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range slices.Concat(handlePromises, nodePromises, locatePromises, capabilityPromises) {
		if !strings.Contains(string(text), "\n| "+p.says+" | ") {
			t.Errorf("docs/stores.md has no row %q", p.says)
		}
	}
}
