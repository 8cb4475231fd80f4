// These tests check rules for the source text, for all systems.
package pfs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
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
		f, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution|parser.ParseComments)
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

// TestNoInit checks that no package has an init function, except in generated code.
func TestNoInit(t *testing.T) {
	eachSource(t, func(_ string, set *token.FileSet, f *ast.File) {
		if ast.IsGenerated(f) {
			return
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && d.Name.Name == "init" {
				t.Errorf("%s: a func init; lists are values that can be read in one place", set.Position(d.Pos()))
			}
		}
	})
}

// opAt is the index of the Op argument of each function of package pfs that takes one.
var opAt = map[string]int{"E": 0, "Errorf": 0, "Known": 0, "CheckPath": 0, "Guard": 0, "CheckContext": 1}

var (
	opName = regexp.MustCompile(`^([oO]p|[a-z]\w*Op)$`)
	opForm = regexp.MustCompile(`^([a-z0-9]+)(\.[A-Za-z][A-Za-z0-9]*)+$`)
)

// TestOps checks the form that pfs.Error documents for Op: in literal arguments to functions of
// package pfs, and in constants and variables that are named like an Op. Tests are exempt.
func TestOps(t *testing.T) {
	found := 0
	eachSource(t, func(name string, set *token.FileSet, f *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		of := f.Name.Name
		if of == "main" {
			of = path.Base(path.Dir(name))
		}
		if strings.HasPrefix(name, "cmd/paddlectl/") {
			of = "paddlectl" // in any of its folders
		}
		for _, l := range ops(f) {
			found++
			op, err := strconv.Unquote(l.Value)
			if m := opForm.FindStringSubmatch(op); err != nil || m == nil || m[1] != of {
				t.Errorf("%s: the Op %s is not %s.Function", set.Position(l.Pos()), l.Value, of)
			}
		}
	})
	if found < 100 {
		t.Errorf("only %d Ops were found: the test does not see them any more", found)
	}
}

// ops returns the Op literals of f.
func ops(f *ast.File) (found []*ast.BasicLit) {
	add := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			found = append(found, l)
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if i, ok := opAt[calledOfPfs(n, f)]; ok && i < len(n.Args) {
				add(n.Args[i])
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if opName.MatchString(name.Name) && i < len(n.Values) {
					add(n.Values[i])
				}
			}
		}
		return true
	})
	return found
}

// calledOfPfs returns the name of the function of package pfs that c calls, or "".
func calledOfPfs(c *ast.CallExpr, f *ast.File) string {
	switch fun := c.Fun.(type) {
	case *ast.SelectorExpr:
		if x, ok := fun.X.(*ast.Ident); ok && x.Name == "pfs" {
			return fun.Sel.Name
		}
	case *ast.Ident:
		if f.Name.Name == "pfs" {
			return fun.Name
		}
	}
	return ""
}

// TestFiles checks that the list below the heading "Files" in a package's documentation names exactly
// the files of the package, and that packages with many files have such a list. The names, without
// ".go", precede two spaces.
func TestFiles(t *testing.T) {
	const many = 20
	files := map[string]int{}
	eachSource(t, func(name string, _ *token.FileSet, _ *ast.File) {
		if !strings.HasSuffix(name, "_test.go") {
			files[path.Dir(name)]++
		}
	})
	lists := map[string]bool{}
	eachPackageDoc(t, func(dir, doc string) {
		_, list, ok := strings.Cut(doc, "\n# Files\n")
		if !ok {
			return
		}
		lists[dir] = true
		var patterns []string
		for line := range strings.Lines(list) {
			if names, ok := strings.CutPrefix(line, "\t"); ok {
				names, _, _ = strings.Cut(names, "  ")
				patterns = append(patterns, strings.FieldsFunc(names, func(r rune) bool { return strings.ContainsRune(", \n", r) })...)
			}
		}
		used := map[string]bool{}
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			if name == "doc" || strings.HasSuffix(name, "_test") {
				continue
			}
			listed := false
			for _, p := range patterns {
				if ok, _ := path.Match(p, name); ok {
					listed, used[p] = true, true
				}
			}
			if !listed {
				t.Errorf("%s is not in the list of files of its package", file)
			}
		}
		for _, p := range patterns {
			if !used[p] {
				t.Errorf("%s: the list of files names %s.go, which does not exist", dir, p)
			}
		}
	})
	for dir, n := range files {
		if n > many && !lists[dir] {
			t.Errorf("%s has %d files and no list of them", dir, n)
		}
	}
	if len(lists) < 6 {
		t.Errorf("only %d lists were found: the test does not see them any more", len(lists))
	}
}

// eachPackageDoc calls look with the documentation of every package.
func eachPackageDoc(t *testing.T, look func(dir, doc string)) {
	t.Helper()
	eachSource(t, func(name string, _ *token.FileSet, f *ast.File) {
		if f.Doc != nil && !strings.HasSuffix(name, "_test.go") {
			look(path.Dir(name), f.Doc.Text())
		}
	})
}

var (
	fileName = regexp.MustCompile(`[\w/-]*\w\.go\b`)
	testName = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w*(?:\.\.\.)?`)
)

// TestNamed checks that the files and tests that the documents name exist. "TestSome..." means all
// tests with that prefix.
func TestNamed(t *testing.T) {
	files, tests := map[string]bool{}, map[string]bool{}
	eachSource(t, func(name string, _ *token.FileSet, f *ast.File) {
		for at := name; at != ""; _, at, _ = strings.Cut(at, "/") {
			files[at] = true // the full path, and each relative one
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Recv == nil && testName.MatchString(d.Name.Name) {
				for i := range d.Name.Name {
					tests[d.Name.Name[:i]+"..."] = true
				}
				tests[d.Name.Name] = true
			}
		}
	})
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, document := range append(documents, "README.md", "ARCHITECTURE.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range fileName.FindAllString(string(text), -1) {
			found++
			if !files[name] {
				t.Errorf("%s names %s, which does not exist", document, name)
			}
		}
		for _, name := range testName.FindAllString(string(text), -1) {
			found++
			if !tests[name] {
				t.Errorf("%s names the test %s, which does not exist", document, name)
			}
		}
	}
	if found < 100 {
		t.Errorf("only %d names were found: the test does not see them any more", found)
	}
}
