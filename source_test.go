// Rules for the text of the source, whatever it is built for.
package pfs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// eachSource calls look with every file of Go in the module.
func eachSource(t *testing.T, look func(name string, set *token.FileSet, f *ast.File)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err == nil {
			files++
			look(filepath.ToSlash(name), set, f)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d files, %v", files, err)
	}
}

// TestNoInit holds that nothing happens before main, or a test, calls it.
func TestNoInit(t *testing.T) {
	eachSource(t, func(_ string, set *token.FileSet, f *ast.File) {
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				t.Errorf("%s: a func init; lists are values that can be read in one place", set.Position(d.Pos()))
			}
		}
	})
}
