// The import rules of ARCHITECTURE.md, held over what go list says.
package pfs_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/paddlecloud/pfs/"

// allowed tells for each room which other rooms of this module it may import. A room
// that is not listed fails the test: whoever adds one decides here where it stands.
var allowed = map[string][]string{
	"pfs":        {},
	"pfs/digest": {"pfs"},
	"pfs/auth":   {"pfs"},
	"pfs/wire":   {"pfs"},

	// Stores never import each other.
	"pfs/memfs":   {"pfs", "pfs/digest"},
	"pfs/localfs": {"pfs", "pfs/digest"},
	"pfs/aferofs": {"pfs", "pfs/digest"},
	"pfs/cephfs":  {"pfs", "pfs/digest"},
	"pfs/hdfsfs":  {"pfs", "pfs/digest"},

	// Decorators, and the tree that users see, made of them.
	"pfs/rofs":      {"pfs"},
	"pfs/permfs":    {"pfs"},
	"pfs/linkfs":    {"pfs"},
	"pfs/namespace": {"pfs", "pfs/auth", "pfs/permfs", "pfs/linkfs"},

	"pfs/transfer": {"pfs", "pfs/digest"},
	"pfs/server":   {"pfs", "pfs/auth", "pfs/digest", "pfs/transfer", "pfs/wire"},
	"pfs/client":   {"pfs", "pfs/wire"},
	"pfs/pfstest":  {"pfs", "pfs/digest"},

	// For tests only: a proxy that spoils what passes, and real clusters.
	"internal/relay":   {},
	"internal/testbed": {},
	// Data preparation knows nothing of file systems.
	"recordio":         {},
	"recordio/convert": {},
	"split":            {},
	"shard":            {},

	// Only cmd reads flags and configuration, and only the list of stores imports
	// stores; paddlectl's own local side is one.
	"cmd/internal/backends":   {"pfs", "cmd/internal/cliargs", "pfs/cephfs", "pfs/hdfsfs", "pfs/localfs", "pfs/memfs"},
	"cmd/internal/cliargs":    {},
	"cmd/internal/manifest":   {},
	"cmd/internal/payload":    {"recordio/convert"},
	"cmd/internal/cliio":      {"pfs", "pfs/transfer", "cmd/internal/cliargs"},
	"cmd/internal/strictyaml": {"pfs", "cmd/internal/cliargs"},
	"cmd/internal/config":     {"pfs", "pfs/client", "cmd/internal/cliargs", "cmd/internal/strictyaml"},
	"cmd/paddlectl": {"pfs", "pfs/client", "pfs/digest", "pfs/localfs", "pfs/transfer", "pfs/wire",
		"recordio", "recordio/convert", "split", "shard", "cmd/internal/manifest", "cmd/internal/payload",
		"cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/config"},
	"cmd/pfsd": {"pfs", "pfs/auth", "pfs/namespace", "pfs/server", "pfs/wire",
		"cmd/internal/backends", "cmd/internal/cliargs", "cmd/internal/cliio", "cmd/internal/strictyaml"},
}

// longest is the length of the longest allowed chain of imports.
const longest = 4

type listed struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func TestImports(t *testing.T) {
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	imports := map[string][]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		room, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours || len(p.Imports) == 0 {
			continue // the root, and packages of tests only
		}
		rules, known := allowed[room]
		if !known {
			t.Errorf("%s has no import rule", room)
		}
		for _, path := range p.Imports {
			other, ours := strings.CutPrefix(path, module)
			switch {
			case ours && !slices.Contains(rules, other):
				t.Errorf("%s must not import %s", room, other)
			case ours:
				imports[room] = append(imports[room], other)
			case room == "pfs" && strings.Contains(path, "."):
				t.Errorf("the contract must not import %s", path)
			}
		}
	}
	for room := range imports {
		if n := depth(imports, room); n > longest {
			t.Errorf("the imports of %s are %d deep, more than %d", room, n, longest)
		}
	}
	for room := range allowed {
		if exec.Command("go", "list", module+room).Run() != nil {
			t.Errorf("there is a rule for %s, which does not exist", room)
		}
	}
}

// depth is the number of imports in the longest chain from room down.
func depth(imports map[string][]string, room string) int {
	most := 0
	for _, other := range imports[room] {
		most = max(most, 1+depth(imports, other))
	}
	return most
}
