// The client runs where users sit: it must compile there.
package pfs_test

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOtherSystems type-checks paddlectl for other systems, which takes seconds. "make cross", a
// part of make test-all, builds it, which takes minutes.
func TestOtherSystems(t *testing.T) {
	for _, system := range [][2]string{{"darwin", "arm64"}, {"windows", "amd64"}} {
		t.Run(system[0], func(t *testing.T) {
			t.Parallel()
			c := exec.Command("go", "list", "-tags=", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module", "./cmd/paddlectl")
			c.Env = append(os.Environ(), "GOOS="+system[0], "GOARCH="+system[1], "CGO_ENABLED=0")
			c.Stderr = os.Stderr
			out, err := c.Output()
			if err != nil {
				t.Fatalf("go list: %v", err)
			}
			typeCheck(t, out, system[1])
		})
	}
}

// typeCheck type-checks the packages that go list printed, which lists each after its imports. Of
// other modules it checks only declarations.
func typeCheck(t *testing.T, list []byte, arch string) {
	done := imported{"unsafe": types.Unsafe}
	for d := json.NewDecoder(strings.NewReader(string(list))); ; {
		var p struct {
			ImportPath, Dir string
			GoFiles         []string
			ImportMap       map[string]string
			Module          *struct{ GoVersion string }
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" {
			continue
		}
		set := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		config := types.Config{
			Importer:         done.renamed(p.ImportMap),
			IgnoreFuncBodies: !strings.HasPrefix(p.ImportPath, module),
			Sizes:            types.SizesFor("gc", arch),
			Error:            func(err error) { t.Error(err) },
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			config.GoVersion = "go" + p.Module.GoVersion
		}
		done[p.ImportPath], _ = config.Check(p.ImportPath, set, files, nil)
	}
}

// imported maps paths to checked packages.
type imported map[string]*types.Package

// renamed returns an importer that knows packages by other paths too.
func (i imported) renamed(paths map[string]string) types.Importer {
	return importer(func(path string) (*types.Package, error) {
		if real, ok := paths[path]; ok {
			path = real
		}
		if i[path] == nil {
			return nil, errors.New("not listed: " + path)
		}
		return i[path], nil
	})
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
